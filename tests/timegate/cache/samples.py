"""Captures and answers for tests of the cache."""

from datetime import UTC, datetime

from hypothesis import strategies as st

from archives.model import Closest, Memento, Negotiation, Relation

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
)
