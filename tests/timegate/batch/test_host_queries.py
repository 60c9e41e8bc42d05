"""One question for many pages of a host: when it is worth it, and what it settles."""

import json
from collections.abc import Sequence

import pytest

from archives.errors import Unreachable
from archives.listing import Excerpt
from archives.model import ArchiveEntry, Closest, Limits, Memento, Rate
from archives.moment import Moment
from archives.surt import surt
from tests.fakes import Canned, FakeFetcher, an_entry, clock
from timegate.batch.host_queries import HostQueries, HostQuery, can_be_asked, plan, settled
from timegate.resolution.model import Query

FAST = Rate(8, 1, 8)
SLOW = Rate(24, 60, 5)


def an_archive(index: Rate = FAST) -> ArchiveEntry:
    return an_entry(
        "memento",
        id="a",
        cdx="http://a.example/cdx",
        dialect="wayback-cdx",
        replay="http://a.example/{time14}/{uri}",
        limits=Limits(FAST, index, 8, "test"),
    )


def asking(number: int, *, at: str | None = "20150601120000", folder: str = "") -> list[Query]:
    return [
        Query(f"http://h.example/{folder}{n:03}", None if at is None else Moment(at))
        for n in range(number)
    ]


def capture(page: int, stamp: str) -> Memento:
    url = f"http://h.example/{page:03}"
    return Memento(stamp, f"http://a.example/{stamp}/{url}", url, "a")


@pytest.mark.parametrize(
    ("number", "index", "is_planned"),
    [(4, FAST, False), (6, FAST, True), (50, SLOW, False), (200, SLOW, True)],
)
def test_a_host_is_asked_where_that_costs_less_than_half(
    number: int, index: Rate, *, is_planned: bool
) -> None:
    assert (plan(an_archive(index), asking(number)) is not None) == is_planned


def test_the_question_has_the_common_folder_and_a_year_around_the_times() -> None:
    planned = plan(an_archive(), [*asking(20, folder="a/b"), *asking(20, folder="a/c/")])
    host = plan(an_archive(), [*asking(20, at="2010"), *asking(20, at="2013")])

    assert planned == HostQuery("h.example/a/", "prefix", 2014, 2016, 2000)
    assert host == HostQuery("h.example", "host", 2009, 2014, 1000)
    assert plan(an_archive(), asking(20, at=None)) is None


def test_the_nearest_capture_of_each_page_is_the_answer() -> None:
    query = HostQuery("h.example", "host", 2014, 2016, 100)
    captures = [capture(0, "20150101000000"), capture(0, "20150701000000")]

    answers = settled(query, Excerpt(captures, 2), asking(2))

    assert answers == {
        0: Closest(captures[1], "cdx", (), {"prev": captures[0]}),
    }
    assert answers[0].evidence == "promised"


def test_a_capture_is_no_answer_if_a_nearer_one_may_lie_outside_the_list() -> None:
    query = HostQuery("h.example", "host", 2014, 2016, 100)
    far = [capture(0, "20161231000000")]
    asked = asking(1, at="20140301000000")

    assert settled(query, Excerpt(far, 1), asked) == {}


def test_the_last_page_of_a_cut_list_is_no_answer() -> None:
    query = HostQuery("h.example", "host", 2014, 2016, 2)
    captures = [capture(n, "20150601000000") for n in range(2)]

    assert [*settled(query, Excerpt(captures, 2), asking(3))] == [0]
    assert settled(query, Excerpt(captures[::-1], 2), asking(3)) == {}


class Archive:
    """An index with one capture of each page, and a memory of what was answered."""

    def __init__(self, reply: Canned | Unreachable) -> None:
        self.fetcher = FakeFetcher(lambda _: reply, ["a.example"])
        self.remembered: dict[str, Closest | None] = {}
        fetchers = {"a": self.fetcher}
        self.queries = HostQueries([an_archive()], fetchers, self.remember, clock)

    async def remember(
        self, archive: str, original: str, at: Moment | None, outcome: Closest | None
    ) -> None:
        assert (archive, at) == ("a", Moment("20150601120000"))
        self.remembered[original] = outcome


def rows(pages: Sequence[str]) -> Canned:
    head = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
    listed = [[surt(p), "20150601120000", p, "text/html", "200", "A" * 32, "1"] for p in pages]
    return Canned(
        200, {"content-type": "application/json"}, json.dumps([head, *listed]).encode()
    )


async def test_one_question_answers_for_all_pages_of_a_host() -> None:
    asked = asking(20)
    archive = Archive(rows([query.original for query in asked[:15]]))

    first = await archive.queries.ask("a", "example,h", lambda: asked)
    again = await archive.queries.ask("a", "example,h", lambda: asked)

    assert (first, again) == ({"a": 1}, {})
    assert archive.remembered.keys() == {query.original for query in asked[:15]}
    (request,) = archive.fetcher.journal
    assert request.url == (
        "http://a.example/cdx?url=h.example&output=json&matchType=host&from=2014&to=2016"
        "&limit=1000"
    )


async def test_an_index_that_fails_twice_is_not_asked_again() -> None:
    archive = Archive(Unreachable("a", "http://a.example/cdx", "timed out"))

    asks = [await archive.queries.ask(None, f"h{n}", lambda: asking(20)) for n in range(3)]

    assert asks == [{"a": 1}, {"a": 1}, {"a": 0}]
    assert archive.remembered == {}


def test_an_archive_without_an_index_cannot_be_asked() -> None:
    assert can_be_asked(an_archive())
    assert not can_be_asked(an_entry("memento"))
