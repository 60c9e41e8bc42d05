"""Ranking mementos: direction, and when a search ends."""

from base64 import b32encode
from collections.abc import Callable
from dataclasses import replace
from hashlib import md5, sha1, sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from archives.model import Closest, Memento, Relation
from archives.moment import Moment
from timegate.resolution.model import Attempt, Direction, Query
from timegate.resolution.ranking import ends_search, identical_first, in_direction, ranked

AT = Moment("20160122112029")


def copy(stamp: str) -> Memento:
    return Memento(stamp, f"http://a/{stamp}/http://x.org/", "http://x.org/", "a")


@pytest.mark.parametrize(
    ("direction", "chosen", "bound"),
    [("before", "20160122112030", "first"), ("after", "20160122112028", "last")],
)
def test_first_and_last_are_not_taken_for_the_next_in_a_direction(
    direction: Direction, chosen: str, bound: Relation
) -> None:
    linked = {"first": copy("19990101000000"), "last": copy("20250101000000")}
    closest = Closest(copy(chosen), "timegate", neighbours={bound: linked[bound]})

    assert in_direction(closest, AT, direction) is None


def test_the_neighbour_in_the_wanted_direction_is_the_answer() -> None:
    around: dict[Relation, Memento] = {
        "first": copy("19990101000000"),
        "prev": copy("20150101000000"),
    }
    closest = Closest(copy("20160122112030"), "timegate", neighbours=around)

    found = in_direction(closest, AT, "before")

    assert found is not None
    assert found.memento.stamp == "20150101000000"


def test_an_archived_error_does_not_end_the_search_for_a_page_that_any_archive_may_have() -> (
    None
):
    error = Closest(copy(AT.digits)._replace(status=404), "timegate")
    attempt = Attempt("a", error, 0.0, "http://x.org/")
    anywhere = Query("http://x.org/", AT)

    assert not ends_search(anywhere, attempt)
    assert ends_search(replace(anywhere, precision="part"), attempt)
    assert not ends_search(replace(anywhere, archive="a", archive_id="a.example"), attempt)


FINE = Moment("20160122112029250")


def attempt(archive: str, stamp: str) -> Attempt:
    return Attempt(archive, Closest(copy(stamp), "cdx"), 0.0, "http://x.org/")


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a")])
def test_of_captures_of_one_second_the_nearest_fraction_is_the_best(
    order: tuple[str, ...],
) -> None:
    attempts = [
        attempt("a", f"{AT.digits}100"),
        attempt("b", f"{AT.digits}250"),
        attempt("c", f"{AT.digits}900"),
    ]

    best = ranked(Query("http://x.org/", FINE), attempts, order)

    assert [each.archive for each in best] == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("stamp", "archives"), [(FINE.digits, 1), (f"{AT.digits}100", 2), (AT.digits, 2)]
)
def test_another_fraction_does_not_end_the_search_if_any_archive_may_answer(
    stamp: str, archives: int
) -> None:
    anywhere = Query("http://x.org/", FINE)

    assert ends_search(anywhere, attempt("a", stamp)) is (archives == 1)
    assert ends_search(replace(anywhere, archive="a", archive_id="a"), attempt("a", stamp))


@pytest.mark.parametrize(("direction", "found"), [("before", "100"), ("after", "900")])
def test_a_direction_counts_fractions(direction: Direction, found: str) -> None:
    around: dict[Relation, Memento] = {
        "prev": copy(f"{AT.digits}100"),
        "next": copy(f"{AT.digits}900"),
    }
    wrong = {"before": "300", "after": "200"}[direction]
    closest = Closest(copy(f"{AT.digits}{wrong}"), "cdx", neighbours=around)

    fitting = in_direction(closest, FINE, direction)

    assert fitting is not None
    assert fitting.memento.stamp == f"{AT.digits}{found}"


def test_the_neighbours_of_a_memento_in_a_direction_are_its_own() -> None:
    prev, chosen, following = map(copy, ("20150101000000", "20160122112030", "20170101000000"))
    around: dict[Relation, Memento] = {"prev": prev, "next": following, "last": following}

    found = in_direction(Closest(chosen, "timegate", neighbours=around), AT, "before")

    assert found is not None
    assert found.memento == prev
    assert found.neighbours == {"next": chosen, "last": following}


IDENTIFIED = Query("http://x.org/", AT, identifier="duri:2016-01-22T11:20:29Z:http://x.org/")
DAYS_BEFORE, WEEK_AFTER, MONTH_AFTER = "20151213112029", "20160129112029", "20160222112029"
YEARS_BEFORE = "20110122112029"


def capture(  # noqa: PLR0913 -- what captures differ in
    archive: str,
    stamp: str,
    content: str | None = "same",
    status: int | None = 200,
    *,
    variant: str | None = None,
    unchecked: str = "",
    doubts: tuple[str, ...] = (),
    original: str = "http://x.org/",
) -> Attempt:
    """Return an attempt that found a capture whose digest is that of *content*."""
    digest = None if content is None else sha1(content.encode()).hexdigest()  # noqa: S324
    uri = f"http://{archive}/{stamp}/{original}"
    memento = Memento(stamp, uri, original, archive, status, None, digest)
    return Attempt(
        archive,
        Closest(memento, "cdx", doubts),
        0.0,
        original if variant is None else variant,
        variant=None if variant is None else "scheme",
        unchecked=unchecked,
    )


def order_of(query: Query, *attempts: Attempt) -> list[str]:
    """Return the archives in the order of a selection."""
    in_order = ranked(query, attempts, [each.archive for each in attempts])
    return [each.archive for each in identical_first(query, in_order)]


NAMED = replace(IDENTIFIED, archive="named", archive_id="named.example")


@pytest.mark.parametrize(
    ("what", "query", "attempts", "expected"),
    [
        (
            "a copy of the named archive, 40 days off, before a nearer one with its octets",
            NAMED,
            [capture("near", WEEK_AFTER), capture("named", DAYS_BEFORE)],
            ["named", "near"],
        ),
        (
            "not if the octets differ",
            NAMED,
            [capture("near", WEEK_AFTER, "other"), capture("named", DAYS_BEFORE)],
            ["near", "named"],
        ),
        (
            "not if one of the two has no digest",
            NAMED,
            [capture("near", WEEK_AFTER, None), capture("named", DAYS_BEFORE)],
            ["near", "named"],
        ),
        (
            "not for a time map or TimeGate, which has no identifier",
            replace(NAMED, identifier=None),
            [capture("near", WEEK_AFTER), capture("named", DAYS_BEFORE)],
            ["near", "named"],
        ),
        (
            "not above a copy of the time itself",
            NAMED,
            [capture("exact", AT.digits, "other"), capture("named", DAYS_BEFORE)],
            ["exact", "named"],
        ),
        (
            "not above a copy inside the interval",
            replace(NAMED, at=Moment("201601")),
            [capture("inside", AT.digits), capture("named", DAYS_BEFORE)],
            ["inside", "named"],
        ),
        (
            "a copy 40 days off before one of 31 days of which nothing is known",
            IDENTIFIED,
            [
                capture("near", WEEK_AFTER),
                capture("far", DAYS_BEFORE),
                capture("unknown", MONTH_AFTER, None),
            ],
            ["near", "far", "unknown"],
        ),
        (
            "the exact URL before a nearer variant with its octets",
            IDENTIFIED,
            [
                capture("variant", WEEK_AFTER, variant="http://x.org/"),
                capture("far", DAYS_BEFORE),
            ],
            ["far", "variant"],
        ),
        (
            "the nearest of two, if nothing else differs",
            IDENTIFIED,
            [capture("far", DAYS_BEFORE), capture("near", WEEK_AFTER)],
            ["near", "far"],
        ),
        (
            "not if a nearer copy of another archive has other octets",
            NAMED,
            [
                capture("near", WEEK_AFTER),
                capture("between", "20160128112029", "other"),
                capture("named", DAYS_BEFORE),
            ],
            ["between", "near", "named"],
        ),
        (
            "not if a copy of the same second has other octets",
            NAMED,
            [
                capture("near", WEEK_AFTER),
                capture("twin", WEEK_AFTER, "other"),
                capture("named", DAYS_BEFORE),
            ],
            ["near", "twin", "named"],
        ),
        (
            "not if both are copies of an error",
            NAMED,
            [
                capture("near", WEEK_AFTER, status=404),
                capture("named", DAYS_BEFORE, status=404),
            ],
            ["near", "named"],
        ),
        (
            "not for more than a year",
            NAMED,
            [capture("near", WEEK_AFTER), capture("named", YEARS_BEFORE)],
            ["near", "named"],
        ),
        (
            "not for a copy that could not be verified",
            NAMED,
            [capture("near", WEEK_AFTER), capture("named", DAYS_BEFORE, unchecked="down")],
            ["near", "named"],
        ),
        (
            "not if a date is doubtful",
            NAMED,
            [capture("near", WEEK_AFTER), capture("named", DAYS_BEFORE, doubts=("late",))],
            ["near", "named"],
        ),
        (
            "not for another page",
            NAMED,
            [
                capture("near", WEEK_AFTER),
                capture(
                    "named", DAYS_BEFORE, variant="http://x.org/", original="http://y.org/"
                ),
            ],
            ["near", "named"],
        ),
    ],
)
def test_copies_that_are_identical_around_the_time_are_ranked_by_archive_and_url(
    what: str, query: Query, attempts: list[Attempt], expected: list[str]
) -> None:
    assert order_of(query, *attempts) == expected, what
    assert order_of(query, *attempts[::-1])[:1] in (expected[:1], ["twin"]), what


def test_a_padded_time_that_may_be_on_either_side_moves_nothing() -> None:
    attempts = [capture("near", "20160122000000"), capture("named", WEEK_AFTER)]
    in_order = ranked(NAMED, attempts, ["near", "named"])

    assert identical_first(NAMED, in_order)[0].archive == "named"
    padded = {"near": 8}
    digits = identical_first(NAMED, in_order, lambda memento: padded.get(memento.archive, 14))
    assert digits == in_order


def test_neighbours_of_an_answer_are_sides_as_well() -> None:
    """The named archive has one copy, and another archive states its neighbours."""
    near = capture("near", WEEK_AFTER)
    assert isinstance(near.outcome, Closest)
    between = capture("near", "20160120112029", "other").outcome
    assert isinstance(between, Closest)
    linked = structs.replace(
        near, outcome=structs.replace(near.outcome, neighbours={"prev": between.memento})
    )

    assert order_of(NAMED, near, capture("named", DAYS_BEFORE))[0] == "named"
    assert order_of(NAMED, linked, capture("named", DAYS_BEFORE))[0] == "near"


# How archives write digests. Two contents never have the same digest of one algorithm.
_WRITTEN: list[Callable[[bytes], str | None]] = [
    lambda octets: b32encode(sha1(octets).digest()).decode(),  # noqa: S324
    lambda octets: "sha1:" + b32encode(sha1(octets).digest()).decode(),  # noqa: S324
    lambda octets: sha1(octets).hexdigest(),  # noqa: S324
    lambda octets: "urn:sha1:" + b32encode(sha1(octets).digest()).decode().lower(),  # noqa: S324
    lambda octets: "sha256:" + sha256(octets).hexdigest(),
    lambda octets: md5(octets).hexdigest(),  # noqa: S324
    # Lies and nonsense: that of no octets, cut, of another algorithm's name, empty, unknown.
    lambda _: b32encode(sha1(b"").digest()).decode(),  # noqa: S324
    lambda octets: sha1(octets).hexdigest()[:39],  # noqa: S324
    lambda octets: "sha256:" + sha1(octets).hexdigest(),  # noqa: S324
    lambda _: "",
    lambda _: "-",
    lambda _: "ABCDEFABCDEF234567ABCDEFABCDEF23",
    lambda _: None,
]
_DRAWN = st.lists(
    st.tuples(
        st.integers(0, 20),
        st.sampled_from("abc"),
        st.sampled_from(["one", "two", "three", "named"]),
        st.sampled_from([200, 200, 200, None, 404, 301]),
        st.integers(0, len(_WRITTEN) - 1),
        st.sampled_from(["", "", "", "down"]),
        st.booleans(),
    ),
    max_size=10,
)


@given(_DRAWN, st.integers(0, 20), st.sampled_from([12, 14]))
@settings(max_examples=400)
def test_what_is_ranked_by_its_octets_is_identical_on_both_sides(
    drawn: list[tuple[int, str, str, int | None, int, str, bool]], minute: int, grain: int
) -> None:
    """Contents are known to the test alone; the ranking sees what archives state of them."""
    at = Moment(f"2016012212{minute:02}00"[:grain])
    query = replace(NAMED, at=at)
    contents: dict[str, str] = {}
    attempts = []
    for number, (when, content, archive, status, form, unchecked, revisit) in enumerate(drawn):
        stamp = f"2016012212{when:02}30"
        uri = f"http://{archive}/{number}/{stamp}"
        contents[uri] = content
        mime = "warc/revisit" if revisit else "text/html"
        digest = _WRITTEN[form](content.encode())
        memento = Memento(stamp, uri, "http://x.org/", archive, status, mime, digest)
        attempts.append(
            Attempt(archive, Closest(memento, "cdx"), 0.0, "http://x.org/", unchecked=unchecked)
        )
    before = ranked(query, attempts, ["one", "two", "three", "named"])

    after = identical_first(query, before)

    assert sorted(map(id, after)) == sorted(map(id, before))
    if after == before:
        return
    known = [each.outcome.memento for each in before if not each.unchecked]  # type: ignore[union-attr]
    start, end = (f"{edge:%Y%m%d%H%M%S}" for edge in at.window)
    assert not any(start <= memento.stamp <= end for memento in known)
    last = max(memento.stamp for memento in known if memento.stamp < start)
    first = min(memento.stamp for memento in known if memento.stamp > end)
    sides = [memento for memento in known if memento.stamp in (last, first)]
    assert len({contents[memento.uri] for memento in sides}) == 1
    moved = [each for each, old in zip(after, before, strict=True) if each is not old]
    top = [each.outcome.memento for each in after[: len(sides)]]  # type: ignore[union-attr]
    assert moved
    assert {memento.uri for memento in top} == {memento.uri for memento in sides}
    assert all(memento.status in (200, None) for memento in sides)
