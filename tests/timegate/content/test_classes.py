import pytest

from tests.quality.measure import classified, decided, ours, same_page
from timegate.content.classes import classify, leads_to_root
from timegate.content.main_text import PageText, extract

URL = "http://shop.example/articles/cat.html"


def class_of(html: str, redirect: str | None = None) -> str:
    page = extract(html.encode(), "text/html; charset=utf-8")
    assert isinstance(page, PageText)
    found = classify(page, URL, redirect)
    assert bool(found.evidence) == (found.page_class is not None)
    return str(found.page_class or "")


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<title>Page not found</title><p>The page you are looking for is gone.", "soft-404"),
        (
            "<title>Cat not found</title><p>Our grey cat Misse could not be found today.",
            "",
        ),
        ("<title>shop.example</title><p>This domain is for sale.", "parked"),
        (
            "<title>For sale</title><p>The house by the river is for sale. Make an offer soon.",
            "",
        ),
        (
            "<title>Log in</title><p>You must be logged in.<form><input type=password></form>",
            "login-wall",
        ),
        (
            "<title>Before you continue</title><p>Partners use cookies. Accept all. Agree.",
            "consent-wall",
        ),
        ("<title>x</title><div id=root></div>", "nearly-empty"),
        ("<frameset><frame src=a.html></frameset>", ""),
    ],
)
def test_classes_of_small_pages(html: str, expected: str) -> None:
    assert class_of(html) == expected


def test_a_redirect_to_the_front_page_is_one() -> None:
    assert class_of("<p>moved", "http://shop.example/") == "redirect-to-root"
    assert class_of('<meta http-equiv=refresh content="0; url=/">') == "redirect-to-root"


@pytest.mark.parametrize(
    ("url", "target", "expected"),
    [
        (URL, "https://shop.example/articles/cat.html", False),
        (URL, "http://shop.example/index.html", True),
        (URL, "http://shop.example/?id=3", False),
        ("http://shop.example/", "https://shop.example/", False),
        (URL, "other.html", False),
        (URL, "http://[broken/", False),
    ],
)
def test_which_redirects_lead_to_the_root(url: str, target: str, expected: bool) -> None:  # noqa: FBT001
    assert leads_to_root(url, target) is expected


@pytest.mark.parametrize("half", ["tuned", "held-out"])
def test_classes_keep_their_goals(half: str) -> None:
    scores = classified(half, 8, 3, ours).scores
    for name in ("soft-404", "parked"):
        assert scores[name].precision >= 0.98
        assert scores[name].recall >= 0.85


def test_the_decision_on_pairs_keeps_its_goal() -> None:
    assert decided("held-out", 12, 3, same_page).scores["same page"].f1 >= 0.95
