"""Looking for quotations: which copies are read, and what is only said after reading."""

import asyncio

import pytest

from archives.model import Closest, Memento
from archives.moment import Moment
from tests.clock import in_virtual_time
from timegate.content.findings import CopyText, LookLimits, QuoteFinding, UnreadCopy
from timegate.content.fragments import TextQuote
from timegate.content.main_text import PageText
from timegate.extract.quote_search import QuoteSearch, candidates, looked_at
from timegate.resolution.context import UNLIMITED, Budget, RequestContext
from timegate.resolution.model import Attempt, Preferences, Query, Resolution

URL = "http://museum.example/"
WANTED = TextQuote("The tower is open all year round")
LONG = "Something else is said on this page, at length and in several sentences. " * 5


def memento(stamp: str, archive: str = "a") -> Memento:
    return Memento(stamp, f"http://{archive}.example/{stamp}/{URL}", URL, archive)


CHOSEN, LATER = memento("20101105101500"), memento("20120101000000")
OTHER = memento("20101201000000", "b")


class Shelf:
    """Copies whose texts are known."""

    def __init__(self, texts: dict[Memento, str]) -> None:
        self.texts = texts
        self.read: list[Memento] = []

    async def of(
        self, memento: Memento, context: RequestContext, budget: Budget, most: int
    ) -> CopyText | UnreadCopy:
        del context, budget, most
        self.read.append(memento)
        text = self.texts.get(memento)
        if text is None:
            return UnreadCopy(memento, "the archive did not answer")
        if text == "hangs":
            await asyncio.sleep(1000)
        return CopyText(memento, PageText(text=text), text.encode())


class Resolved:
    """Resolves everything to one copy, with others beside it."""

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        del context
        assert preferences.quote is None
        assert query.quote is None
        best = Attempt("a", Closest(CHOSEN, "timegate", neighbours={"next": LATER}), 0.1, URL)
        other = Attempt("b", Closest(OTHER, "timegate"), 0.1, URL)
        return Resolution(query, preferences, best, (other,), (best, other))


async def resolved(
    shelf: Shelf, preferences: Preferences | None = None, query: Query | None = None
) -> QuoteFinding:
    search = QuoteSearch(Resolved(), shelf)
    asked = query or Query(URL, Moment("20101105"))
    preferences = preferences or Preferences(quote=WANTED)
    resolution = await search.resolve(asked, preferences, UNLIMITED)
    assert (resolution.query, resolution.preferences) == (asked, preferences)
    assert resolution.quote is not None
    return resolution.quote


async def test_a_quotation_in_the_chosen_copy_needs_no_other() -> None:
    shelf = Shelf({CHOSEN: f"{LONG} {WANTED.start}."})
    found = await resolved(shelf)
    assert (found.status, shelf.read) == ("found", [CHOSEN])


async def test_other_copies_are_read_from_the_nearest_on() -> None:
    shelf = Shelf({CHOSEN: LONG, OTHER: LONG, LATER: f"{LONG} {WANTED.start}"})
    found = await resolved(shelf)
    assert (found.status, shelf.read) == ("elsewhere", [CHOSEN, OTHER, LATER])
    assert found.holder is not None
    assert found.holder.memento == LATER


async def test_a_text_that_was_read_whole_lacks_the_quotation() -> None:
    found = await resolved(Shelf({CHOSEN: LONG, OTHER: LONG}))
    assert [copy.status for copy in found.copies] == ["absent", "absent", "not-looked"]
    assert found.status == "absent"


async def test_a_copy_that_could_not_be_read_is_not_known_to_lack_it() -> None:
    found = await resolved(Shelf({OTHER: LONG, LATER: LONG}))
    assert (found.status, found.why) == ("not-looked", "the archive did not answer")


async def test_a_copy_that_could_not_be_read_may_be_replaced_by_another() -> None:
    found = await resolved(Shelf({OTHER: WANTED.start}))
    assert found.status == "elsewhere"


def test_a_copy_that_takes_too_long_is_not_known_to_lack_it() -> None:
    preferences = Preferences(quote=WANTED, wait=3)
    found = in_virtual_time(resolved(Shelf({CHOSEN: "hangs"}), preferences))
    assert (found.status, found.why) == ("not-looked", "there was no time left after 3 s")


async def test_nothing_is_read_if_only_cached_answers_are_wanted() -> None:
    shelf = Shelf({CHOSEN: WANTED.start})
    found = await resolved(shelf, Preferences(quote=WANTED, only_if_cached=True))
    assert (found.status, shelf.read) == ("not-looked", [])


async def test_the_fragment_of_a_url_is_a_quotation() -> None:
    query = Query(URL, None, quote=WANTED)
    found = await resolved(Shelf({CHOSEN: f"{WANTED.start}."}), Preferences(), query)
    assert found.status == "found"


async def test_all_copies_are_read_on_demand_within_the_limit() -> None:
    shelf = Shelf({CHOSEN: WANTED.start, OTHER: LONG, LATER: WANTED.start})
    search = QuoteSearch(Resolved(), shelf)
    found = await search.look(
        WANTED, [CHOSEN, OTHER, LATER], UNLIMITED, LookLimits(copies=2), all_of_them=True
    )
    assert [copy.status for copy in found.copies] == ["found", "absent"]


def test_without_a_copy_there_is_nothing_to_look_at() -> None:
    assert candidates(Resolution(Query(URL, None), Preferences(), None, (), ())) == []


def page(text: str, **members: object) -> CopyText:
    return CopyText(CHOSEN, PageText(text=text, **members), text.encode())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("copy", "why"),
    [
        (page("Loading", scripts=3), "scripts or frames"),
        (page("Menu", frames=("menu.html",)), "scripts or frames"),
        (page(" "), "no text"),
        (page("x " * 500_000), "only the beginning"),
        (page("\ufffd" * 9 + LONG), "decoded"),
        (
            CopyText(
                CHOSEN, PageText(text=LONG), b'{"t":"The tower is open\\u00a0all\\nyear round"}'
            ),
            "in the source",
        ),
    ],
)
def test_a_text_that_may_not_be_whole_is_not_known_to_lack_it(copy: CopyText, why: str) -> None:
    seen = looked_at(WANTED, copy)
    assert seen.status == "not-looked"
    assert why in seen.why


def test_the_title_is_text_as_well() -> None:
    copy = CopyText(CHOSEN, PageText(title=WANTED.start, text=LONG), b"")
    assert looked_at(WANTED, copy).status == "found"
