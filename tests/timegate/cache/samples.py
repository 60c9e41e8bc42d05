"""Captures and answers for tests of the cache."""

from datetime import UTC, datetime

from hypothesis import strategies as st

from archives.model import Closest, Memento, Negotiation, Relation
from timegate.cache.page_record import (
    ArchiveRecord,
    KnownAnswer,
    KnownCheck,
    ListKind,
    PageRecord,
    merged,
)

ARCHIVE = "example-archive"
PAGE = "http://example.org/page?q=1"
NOW = datetime(2026, 11, 15, tzinfo=UTC).timestamp()


def capture(stamp: str, *, archive: str = ARCHIVE, status: int | None = None) -> Memento:
    return Memento(stamp, f"https://archive.example/{stamp}/{PAGE}", PAGE, archive, status)


def found(stamp: str = "20140102030405", *, archive: str = ARCHIVE) -> Closest:
    neighbours: dict[Relation, Memento] = {
        "first": capture("20010101000000", archive=archive),
        "next": capture("20150101000000", archive=archive),
    }
    return Closest(capture(stamp, archive=archive), "timegate", ("header-link",), neighbours)


stamps = st.datetimes(datetime(1990, 1, 1), datetime(2027, 1, 1)).map(  # noqa: DTZ001
    lambda at: f"{at:%Y%m%d%H%M%S}"
) | st.sampled_from(
    [
        "20161231235959",
        "20161231235960",
        "20170101000000",
        "20160229120000",
        "20140101000000123",
    ]
)

_text = st.text(st.characters(exclude_categories=("C", "Z")), max_size=40)

mementos = st.builds(
    Memento,
    stamps,
    _text.map(lambda rest: f"https://archive.example/{rest}"),
    _text,
    st.just(ARCHIVE),
    st.none() | st.integers(100, 599),
    st.none() | _text,
    st.none() | _text,
    length=st.none() | st.integers(1, 10**15),
)

_via: st.SearchStrategy[Negotiation] = st.sampled_from(
    ["timegate", "timemap", "cdx", "template"]
)
_relations: st.SearchStrategy[Relation] = st.sampled_from(["first", "prev", "next", "last"])

outcomes = st.none() | st.builds(
    Closest,
    mementos,
    _via,
    st.lists(_text, max_size=3).map(tuple),
    st.dictionaries(_relations, mementos, max_size=4),
    hops=st.just(()),
)

# Few times, so that answers often have the same one.
_times = st.integers(0, 3).map(lambda n: NOW + n)
answers = st.builds(
    KnownAnswer, _times, st.sampled_from(["latest", "2014", "20140102030405"]), outcomes
)
_checks = st.dictionaries(
    st.sampled_from(["https://a/1", "https://a/2"]), st.builds(KnownCheck, _times, outcomes)
)
_kinds: st.SearchStrategy[ListKind] = st.sampled_from(["timemap", "index"])
_lists = st.dictionaries(_kinds, _times)


def _merged(
    each: list[KnownAnswer], checks: dict[str, KnownCheck], lists: dict[ListKind, float]
) -> ArchiveRecord:
    record = ArchiveRecord(checks=checks, lists=lists)
    for answer in each:
        record = merged(record, ArchiveRecord([answer]))
    return record


records = st.builds(_merged, st.lists(answers, max_size=12), _checks, _lists)
pages: st.SearchStrategy[PageRecord] = st.dictionaries(
    st.just(f"public/{ARCHIVE}"), records, max_size=1
)
