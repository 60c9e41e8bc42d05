"""The results of canaries in words."""

from collections.abc import Mapping

import pytest

from tests.scenario import FakeArchive, entry
from tests.timegate.pages.served_pages import BROWSER, Html, site
from timegate.pages.archives import alarm, archive_view, canary_view


def result(state: str, *history: tuple[str, float]) -> dict[str, object]:
    spans = [
        {"state": name, "why": "it <b>said</b> so", "first": at, "last": at + 60, "times": 2}
        for name, at in history
    ]
    return {
        "url": "http://example.org/",
        "at": "2016",
        "state": state,
        "since": 1_479_000_000.0,
        "last_asked": 1_479_003_600.0,
        "history": spans,
    }


def with_canary(has: str, lacks: str) -> Mapping[str, object]:
    return {
        "asked": True,
        "breaker": "closed",
        "last_success": 1.0,
        "canary": {
            "has": result(has, ("kept", 1_478_000_000.0), (has, 1_479_000_000.0)),
            "lacks": result(lacks, (lacks, 1_478_500_000.0)),
        },
    }


@pytest.mark.parametrize(
    ("has", "lacks", "tone", "words"),
    [
        ("kept", "kept", "good", "working"),
        ("lost", "kept", "poor", "no longer returns a page that it had"),
        ("kept", "claims", "poor", "returns a copy of a page that never existed"),
        ("unknown", "unknown", "good", "working"),
    ],
)
def test_the_list_of_archives_says_what_is_wrong(
    has: str, lacks: str, tone: str, words: str
) -> None:
    view = archive_view(entry("a"), with_canary(has, lacks))

    assert (view.tone, view.state) == (tone, words)


def test_an_open_breaker_is_shown_as_paused() -> None:
    resting = {**with_canary("lost", "kept"), "breaker": "open"}

    assert archive_view(entry("a"), resting).state == "paused after failures"


def test_the_page_of_an_archive_shows_the_history_newest_first() -> None:
    view = canary_view(with_canary("lost", "kept"))

    assert view is not None
    assert [row.tone for row in view.rows] == ["poor", "good"]
    assert [row.page for row in view.rows] == [
        "http://example.org/ from 2016",
        "http://example.org/",
    ]
    assert [past.words for past in view.past] == [
        "no longer returns a page that it had",
        "returns no copy of a page that never existed",
        "returns a page that it is known to have",
    ]
    assert view.past[0].first == "2016-11-13 01:20 UTC"


def test_without_canaries_nothing_is_shown() -> None:
    assert canary_view({"asked": True}) is None
    assert alarm({"asked": True}) is None


def test_an_archive_that_was_not_queried_is_not_called_silent() -> None:
    view = canary_view({"canary": {"lacks": {"state": "unknown", "history": []}}})

    assert view is not None
    assert view.rows[0].words == "not tested yet"
    assert view.rows[0].tested == view.rows[0].since == view.rows[0].page == ""


async def test_text_from_archives_is_escaped() -> None:
    async with site(FakeArchive("a"), state=lambda _: with_canary("lost", "unknown")) as served:
        page = await served.ask("/archives/a", BROWSER)

    html = Html(page.body.decode())
    assert "No longer returns a page that it had." in html.text
    assert "it <b>said</b> so" in html.text
    assert "Did not answer." in html.text
    assert html.all("b") == []
