"""The reading of the common redirect agrees with the general reading of any answer."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archives.adapters import source_for
from archives.errors import ArchiveError
from archives.evidence import common_redirect
from archives.formats.httpdate import http_date
from archives.model import Closest, Memento, UniformNeighbours
from archives.moment import Moment
from archives.nearest import true_neighbours
from tests.fakes import Canned, FakeFetcher, an_entry, clock

BASE = "http://archive.example/web"
URL = "http://example.org/a"
TIMEGATE = f"{BASE}/{URL}"
NOW = "20261115130000"
ARCHIVE = an_entry("memento", id="mine", timegate=f"{BASE}/", hosts=("archive.example",))
# The general reading ignores a link without a date; the common redirect has none.
UNDATED = f'<{BASE}/20100101000000/{URL}>; rel="memento"'
TIMEMAPS = [
    f'<{BASE}/timemap/{URL}>; rel="timemap"; type="application/link-format"',
    (
        f'<{BASE}/timemap/{URL}>; rel="timemap"; from="{http_date("20100101000000")}"; '
        f'until="{http_date("20200202020202")}"; type="application/link-format"'
    ),
]

stamps = st.sampled_from(
    ["20100101000000", "20100102000000", "20150630235959", "20200202020202"]
)
rels = st.sampled_from(
    ["memento", "first memento", "last memento", "prev memento", "next last memento"]
)
times = st.sampled_from([None, Moment("2010"), Moment("20150101000000")])


@st.composite
def headers(draw: st.DrawFn) -> dict[str, str]:
    """Return a redirect: the common one, or with at most one deviation in each part."""
    originals = draw(st.sampled_from([[URL], [URL], [URL], [], [URL, "http://other.org/"]]))
    parts = [f'<{url}>; rel="original"' for url in originals]
    parts += draw(st.lists(st.sampled_from(TIMEMAPS), max_size=1))
    parts += draw(st.lists(_link(), max_size=4))
    parts += draw(st.lists(_deviating_link(), max_size=1))
    chosen = draw(st.one_of(stamps, st.just("18990101000000")))
    return {
        "location": f"{BASE}/{chosen}/{URL}",
        "link": ", ".join(draw(st.permutations(parts))),
    }


@st.composite
def _link(draw: st.DrawFn) -> str:
    stamp = draw(stamps)
    written = _written(f"{BASE}/{stamp}/{URL}", draw(rels), stamp)
    return written + draw(st.sampled_from(["", '; collection="all"']))


@st.composite
def _deviating_link(draw: st.DrawFn) -> str:
    stamp, rel = draw(stamps), draw(rels)
    uri = f"{BASE}/{stamp}/{URL}"
    deviations = [
        _written(uri, "timegate", stamp),
        _written(uri, "original memento", stamp),
        _written(uri, rel, "20110101000000"),
        _written(f"{BASE}/18990101000000/{URL}", rel, "18990101000000"),
        _written(f"{BASE}/{stamp}/http://example.org/b", rel, stamp),
        _written(f"{BASE}/20120101000000/a.b/{stamp}/{URL}", rel, stamp),
        _written(f"{BASE}/{stamp}id_/{URL}", rel, stamp),
        _written(f"http://other.example/web/{stamp}/{URL}", rel, stamp),
        _written(f"/web/{stamp}/{URL}", rel, stamp),
        _written(uri, rel, stamp) + f'; anchor="{URL}"',
        _written(uri, rel, stamp) + '; anchor="http://x.org/"',
        f'<{BASE}/timemap/{URL}>; rel="timemap"; anchor="http://x.org/"',
    ]
    return draw(st.sampled_from(deviations))


def _written(uri: str, rel: str, stamp: str) -> str:
    return f'<{uri}>; rel="{rel}"; datetime="{http_date(stamp)}"'


def _with_undated_link(redirect: dict[str, str]) -> dict[str, str]:
    return {**redirect, "link": ", ".join(filter(None, (redirect["link"], UNDATED)))}


def read(redirect: dict[str, str]) -> UniformNeighbours | None:
    return common_redirect(redirect["location"], redirect["link"], URL, "mine", NOW)


async def negotiated(redirect: dict[str, str], at: Moment | None) -> Closest | str | None:
    fetch = FakeFetcher({TIMEGATE: Canned(302, redirect)})
    try:
        return await source_for(ARCHIVE, fetch, clock).closest(URL, at)
    except ArchiveError as error:
        return str(error)


@settings(max_examples=400)
@given(headers(), times)
def test_the_common_redirect_gives_the_answer_of_the_general_reading(
    redirect: dict[str, str], at: Moment | None
) -> None:
    general = _with_undated_link(redirect)

    assert read(general) is None
    assert asyncio.run(negotiated(redirect, at)) == asyncio.run(negotiated(general, at))


@settings(max_examples=400)
@given(headers())
def test_the_common_redirect_proves_what_the_general_reading_proves(
    redirect: dict[str, str],
) -> None:
    common = read(redirect)
    if common is None:
        return

    # At the time of the chosen memento no neighbour is preferred.
    at = Moment(common.memento.stamp)
    answer = asyncio.run(negotiated(_with_undated_link(redirect), at))

    around = true_neighbours(common.memento, common)
    assert answer == Closest(common.memento, "timegate", (), around)


@pytest.mark.parametrize("timemap", TIMEMAPS)
@pytest.mark.parametrize("collection", ["", '; collection="all"'])
def test_links_of_pywb_and_ranges_of_timemaps_are_common(timemap: str, collection: str) -> None:
    uri = f"{BASE}/20100101000000/{URL}"
    memento = _written(uri, "memento", "20100101000000") + collection
    link = f'<{URL}>; rel="original", {timemap}, {memento}'

    assert read({"location": uri, "link": link}) is not None


def test_the_common_redirect_links_the_memento_and_its_neighbours() -> None:
    first = Memento("20100101000000", f"{BASE}/20100101000000/{URL}", URL, "mine")
    chosen = Memento("20150630235959", f"{BASE}/20150630235959/{URL}", URL, "mine")
    links = [
        f'<{URL}>; rel="original"',
        f'<{BASE}/timemap/{URL}>; rel="timemap"; type="application/link-format"',
        _written(first.uri, "first prev memento", first.stamp),
        _written(chosen.uri, "memento", chosen.stamp),
    ]

    found = read({"location": chosen.uri, "link": ", ".join(links)})

    assert found is not None
    assert found.memento == chosen
    assert found == {"first": first, "prev": first}
    assert found.prefix == f"{BASE}/"


CHOSEN = "20150630235959"
ORIGINAL = f'<{URL}>; rel="original"'
DATED = _written(f"{BASE}/{CHOSEN}/{URL}", "memento", CHOSEN)


@pytest.mark.parametrize(
    "links",
    [
        [DATED],
        [ORIGINAL, ORIGINAL, DATED],
        [ORIGINAL, '<http://other.org/>; rel="original"', DATED],
        ['<http://other.org/>; rel="original"', DATED],
        ['<\0>; rel="original"', DATED],
        [ORIGINAL, "junk", DATED],
        [ORIGINAL, f'<{BASE}/timemap/{URL}>; rel="timemap"; title="all"', DATED],
        [ORIGINAL, DATED, f'<{BASE}/20100101000000/{URL}>; rel="prev memento"'],
        [ORIGINAL, DATED, _written(f"{BASE}/{CHOSEN}/{URL}", "original memento", CHOSEN)],
        [ORIGINAL, _written(f"{BASE}/20100101000000/{URL}", "memento", "20100101000000")],
    ],
    ids=str,
)
def test_links_of_another_kind_are_left_to_the_general_reading(links: list[str]) -> None:
    redirect = {"location": f"{BASE}/{CHOSEN}/{URL}", "link": ", ".join(links)}

    assert read({**redirect, "link": f"{ORIGINAL}, {DATED}"}) is not None
    assert read(redirect) is None


def test_a_prefix_that_has_the_digits_of_the_stamp_is_left_to_the_general_reading() -> None:
    base = f"http://archive.example/{CHOSEN}"
    link = f"{ORIGINAL}, {_written(f'{base}/{CHOSEN}/{URL}', 'memento', CHOSEN)}"

    assert read({"location": f"{base}/{CHOSEN}/{URL}", "link": link}) is None


def test_a_memento_on_the_wrong_side_is_no_neighbour() -> None:
    late = _written(f"{BASE}/20200202020202/{URL}", "prev last memento", "20200202020202")

    found = read({"location": f"{BASE}/{CHOSEN}/{URL}", "link": f"{ORIGINAL}, {DATED}, {late}"})

    assert found is not None
    assert dict(found.stamps) == {"last": "20200202020202"}
