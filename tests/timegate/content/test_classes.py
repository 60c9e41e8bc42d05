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


FRAME = "<body><h1><a href=/>Shop</a></h1><h2>5 May 2004</h2>"
MODULE = "<body><h3>Who is online today</h3><p>We have 23 guests online"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        # The heading of the page is the one that the title repeats, in whatever element.
        (
            (
                f"<title>Shop: Page not found</title>{FRAME}<h3>Page not found</h3>"
                "<p>Sorry, but you are looking for something that isn't here."
            ),
            "soft-404",
        ),
        (
            (
                f"<title>Invalid record</title>{MODULE}<table><tr><td>Invalid record</table>"
                "<p>No record with the given identifier was found in the database."
            ),
            "soft-404",
        ),
        (
            (
                f"<title>Whoops</title>{FRAME}<h3>Whoops</h3>"
                "<p>The link you clicked may be broken or the page may have been removed."
            ),
            "soft-404",
        ),
        # A notice above a page is not the page.
        (
            (
                "<title>Stoneware teapot | Shop</title><h1>Stoneware teapot</h1>"
                "<p>This product is no longer available.<p>Sold out"
                f"<p>{'The teapot is thrown in one piece and fired twice on a wheel. ' * 5}"
            ),
            "",
        ),
        (
            (
                "<title>Introuvable</title><p>Le tableau reste introuvable<p>Volé en 1931, le "
                "tableau du port reste introuvable, et la police a interrogé le "
                "dernier gardien du musée."
            ),
            "",
        ),
        # What is only shown without scripts.
        (
            (
                "<title>shop.example</title><script>location='/lander'</script>"
                "<noscript>shop.example is parked. This domain may be for sale.</noscript>"
            ),
            "parked",
        ),
        # Checks for programs, in any language.
        (
            (
                "<title>Vérification</title><h1>Vérifions que vous êtes humain</h1><p>Merci de "
                "cocher la case afin de prouver que vous n'êtes pas un robot."
                "<div class=h-captcha></div>"
            ),
            "login-wall",
        ),
        (
            (
                "<title>Robots verify parcels</title><h1>Robots verify parcels in Hamburg</h1>"
                "<p>Since May, a robot reads the labels of parcels in the harbour of Hamburg."
            ),
            "",
        ),
        (
            (
                "<title>Contact</title><h1>Write to us</h1><p>We answer every letter, within a "
                "week if we can, on paper or by mail."
                "<form><input type=text name=name><input type=email>"
                "<div class=g-recaptcha></div></form>"
            ),
            "",
        ),
        # Nothing but a question, without the frame of a consent manager.
        (
            (
                "<title>Nastavení souhlasu</title><h1>Vstup na web</h1><p>Potřebujeme váš "
                "souhlas s používáním cookies a reklamami."
                "<button>Souhlasím a pokračovat</button>"
            ),
            "consent-wall",
        ),
    ],
)
def test_classes_by_the_structure_of_a_page(html: str, expected: str) -> None:
    assert class_of(html) == expected
