"""The one-step reading says what the long way says, or nothing."""

import asyncio
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from archives.adapters import source_for
from archives.errors import ArchiveError
from archives.formats.httpdate import http_date
from archives.formats.linkformat import parse_any, parse_tidy
from archives.model import Closest
from archives.moment import Moment
from archives.usual_redirect import read_usual
from tests.fakes import Canned, FakeFetcher, an_entry

BASE = "http://archive.example/web"
URL = "http://example.org/a"
NOW = datetime(2026, 11, 16, tzinfo=UTC)
stamps = st.sampled_from(
    ["20100101000000", "20100102000000", "20150630235959", "20200202020202", "18990101000000"]
)
rels = st.sampled_from(
    [
        "memento",
        "first memento",
        "last memento",
        "prev memento",
        "next last memento",
        "timegate",
    ]
)


@st.composite
def links(draw: st.DrawFn) -> str:
    parts = draw(st.lists(_link(), max_size=5))
    originals = draw(st.sampled_from([[URL], [URL], [URL], [], [URL, "http://other.org/"]]))
    written = [f'<{url}>; rel="original"' for url in originals] + parts
    return ", ".join(draw(st.permutations(written)))


@st.composite
def _link(draw: st.DrawFn) -> str:
    stamp, rel = draw(stamps), draw(rels)
    stated = draw(st.sampled_from([stamp, stamp, stamp, "20110101000000"]))
    page = draw(st.sampled_from([URL, URL, URL, "http://example.org/b"]))
    anchor = draw(
        st.sampled_from(["", "", "", f'; anchor="{URL}"', '; anchor="http://x.org/"'])
    )
    return f'<{BASE}/{stamp}/{page}>; rel="{rel}"; datetime="{http_date(stated)}"{anchor}'


@settings(max_examples=400)
@given(links(), stamps, st.sampled_from([None, Moment("2010"), Moment("20150101000000")]))
def test_the_quick_way_says_what_the_long_way_says(
    header: str, chosen: str, at: Moment | None
) -> None:
    location = f"{BASE}/{chosen}/{URL}"
    headers = {"location": location, "link": header}
    quick = read_usual(headers, URL, at, "mine", "20261116010000")
    if quick is None:
        return

    # A blank behind the header makes it untidy, and changes nothing else.
    told = asyncio.run(_asked({**headers, "link": header + " "}, at))

    assert told == Closest(quick[0], "timegate", (), quick[1])


async def _asked(headers: dict[str, str], at: Moment | None) -> object:
    entry = an_entry("memento", id="mine", timegate=f"{BASE}/", hosts=("archive.example",))
    fetch = FakeFetcher({f"{BASE}/{URL}": Canned(302, headers)})
    try:
        return await source_for(entry, fetch, lambda: NOW).closest(URL, at)
    except ArchiveError as error:
        return error


@given(st.one_of(links(), st.text(max_size=80)))
def test_a_tidy_header_reads_like_any_other(header: str) -> None:
    tidy = parse_tidy(header)

    assert not tidy or tidy == parse_any(header)
