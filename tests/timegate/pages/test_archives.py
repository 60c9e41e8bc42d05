"""The pages of archives: their state in words and as a picture."""

import json
from collections.abc import Mapping

import pytest

from archives.kinds import KINDS
from archives.model import ArchiveEntry
from tests.scenario import LIMITS, FakeArchive, entry
from tests.timegate.pages.served_pages import BROWSER, Html, site
from timegate.pages.archives import HEIGHT, WIDTH, archive_view

CLOSED = ArchiveEntry(
    id="closed",
    name="The <b>Closed</b> Archive",
    kind=KINDS["none"],
    use=False,
    because="on site",
    access="onsite-only",
    limits=LIMITS,
)
HEALTHY: Mapping[str, object] = {
    "asked": True,
    "breaker": "closed",
    "median_seconds": 0.25,
    "p95_seconds": 1.5,
    "last_success": 1_479_000_000.0,
    "last_failure": None,
    "recent": [
        {"seconds": 0.1, "answered": True},
        {"seconds": 9.0, "answered": False},
        {"seconds": 0.2, "answered": True},
    ],
}


async def test_every_archive_is_listed_with_its_state() -> None:
    async with site(FakeArchive("a"), extra=(CLOSED,), state=lambda _: HEALTHY) as served:
        page = await served.ask("/archives", BROWSER)
        program = await served.ask("/archives")

    html = Html(page.body.decode())
    assert "working" in html.text
    assert "0.25 s" in html.text
    assert "The <b>Closed</b> Archive" in html.text
    assert html.all("b") == []
    assert "last 3 requests: 1 failed, slowest 9.00 s" in str(html.all("svg")[0]["aria-label"])
    assert [one["id"] for one in json.loads(program.body)] == ["a", "closed"]
    assert page.headers["Vary"] == program.headers["Vary"] == "accept"


async def test_one_archive_has_its_own_page() -> None:
    async with site(FakeArchive("a"), state=lambda _: HEALTHY) as served:
        page = await served.ask("/archives/a", BROWSER)
        program = await served.ask("/archives/a")
        stranger = await served.ask("/archives/nobody", BROWSER)

    assert "1.50 s" in Html(page.body.decode()).text
    assert json.loads(program.body)["id"] == "a"
    assert stranger.status == 404
    assert "there is no archive with this id" in Html(stranger.body.decode()).text.lower()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"asked": False}, "not in use"),
        ({"asked": True, "breaker": "open"}, "paused after failures"),
        ({"asked": True, "breaker": "half-open"}, "being retried"),
        ({"asked": True, "breaker": "closed"}, "no requests yet"),
        ({"asked": True, "last_success": 1.0, "last_failure": 2.0}, "last request failed"),
        ({"asked": True, "last_success": 2.0, "last_failure": 1.0}, "working"),
    ],
)
def test_a_state_is_described_in_words(state: Mapping[str, object], words: str) -> None:
    assert archive_view(entry("a"), state).state == words


def test_the_sparkline_stays_in_its_frame() -> None:
    spark = archive_view(entry("a"), HEALTHY).spark

    assert spark is not None
    points = [tuple(map(float, point.split(","))) for point in spark.points.split()]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)
    assert len(spark.failures) == 1
