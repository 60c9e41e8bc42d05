"""A CDX server as the index of a collection answers like a local index."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archives.errors import Misbehaved, Unreachable
from archives.moment import Moment
from archives.surt import surt
from archives.warc.captures import Capture
from archives.warc_index.cdx import CdxServerIndex
from archives.warc_index.collection import Collection
from archives.warc_index.model import IndexRow
from tests.archives.warc_index.folders import an_index
from tests.fakes import Canned, FakeFetcher

URL = "http://example.com/"
ENDPOINT = "http://archive.example/mine"
VARIANTS = (URL, "https://example.com/", "http://www.example.com/")

CAPTURES = st.lists(
    st.builds(
        lambda url, day, hour, status, number: Capture(
            surt(url),
            f"202001{day:02}{hour:02}0000",
            url,
            "text/html",
            status,
            "SHA",
            number,
            9,
        ),
        st.sampled_from(VARIANTS),
        st.integers(1, 28),
        st.integers(0, 3),
        st.sampled_from([200, 302, 404]),
        st.integers(0, 10**6),
    ),
    max_size=7,
    unique_by=lambda capture: capture.offset,
)
TIMES = st.sampled_from(["2019", "202001", "20200115", "2020011501", "20200115010000", "2021"])


def line(c: Capture) -> str:
    return f"{c.surt} {c.stamp} {c.url} {c.mime} {c.status} {c.digest} - - {c.length} {c.offset} some.warc.gz\n"  # noqa: E501


def served(captures: Iterable[Capture]) -> CdxServerIndex:
    ordered = sorted(captures, key=lambda c: (c.stamp, c.offset))
    return answering(Canned(body="".join(map(line, ordered)).encode()))


def answering(canned: Canned) -> CdxServerIndex:
    return CdxServerIndex("mine", ENDPOINT, "/srv/warcs/", FakeFetcher(lambda _: canned))


def places(rows: Iterable[IndexRow]) -> list[tuple[str, str, int]]:
    return [(row.stamp, row.url, row.offset) for row in rows]


@given(CAPTURES, TIMES)
@settings(max_examples=60)
async def test_a_cdx_server_finds_what_a_local_index_finds(
    captures: list[Capture], time: str
) -> None:
    server, at = served(captures), Moment(time)
    with TemporaryDirectory() as name:
        an_index(Path(name), captures)
        with Collection("mine", Path(name)) as local:
            expected = await local.nearest_with_neighbours(URL, at)
            newest = await local.nearest(URL, None)

    found = await server.nearest_with_neighbours(URL, at)
    last = await server.nearest(URL, None)

    assert [row.stamp for row in found[:1]] == [row.stamp for row in expected[:1]]
    assert [row.url for row in found[:1]] == [row.url for row in expected[:1]]
    assert {row.stamp for row in found} == {row.stamp for row in expected}
    assert (last and last.stamp) == (newest and newest.stamp)


async def test_files_are_below_the_root_of_the_collection() -> None:
    capture = Capture(surt(URL), "20200101000000", URL, "text/html", 200, "SHA", 5, 9)

    row = await served([capture]).at(URL, "20200101000000")

    assert row is not None
    assert (row.file, row.offset, row.length) == ("/srv/warcs/some.warc.gz", 5, 9)


async def test_rows_of_other_urls_are_left_out() -> None:
    other = Capture(surt(f"{URL}other"), "20200101000000", f"{URL}other", None, 200, "S", 5, 9)

    assert await served([other]).nearest(URL, None) is None


NO = b'{"message": "No Captures found for: http://example.com/"}'


async def test_the_404_of_pywb_means_absence() -> None:
    assert await answering(Canned(404, {}, NO)).nearest(URL, None) is None


@pytest.mark.parametrize(
    "canned",
    [
        Canned(404, {}, b"Collection mine does not exist"),
        Canned(404, {}, b""),
        Canned(500, {}, NO),
        Canned(302, {"location": "/elsewhere"}, b""),
        Canned(200, {}, b"<html>please log in</html>"),
        Canned(200, {}, b"x" * 100_000),
        Canned(body=b"com,example)/ 20209999000000 http://example.com/ - - - - - 1 2 a.warc"),
        Canned(body=b"com,example)/ 20200101000000 http://example.com/ - - - - - 1 -2 a.warc"),
    ],
)
async def test_any_other_answer_is_an_error_and_not_absence(canned: Canned) -> None:
    with pytest.raises(Misbehaved):
        await answering(canned).nearest(URL, None)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "http://evil.example/x"])
async def test_file_names_stay_inside_the_collection(name: str) -> None:
    capture = Capture(surt(URL), "20200101000000", URL, "text/html", 200, "SHA", 5, 9)
    body = line(capture).replace("some.warc.gz", name).encode()

    row = await answering(Canned(body=body)).nearest(URL, None)

    assert row is not None
    assert row.file == f"/srv/warcs/{name.rpartition('/')[2]}"


async def test_ranges_of_keys_are_refused() -> None:
    with pytest.raises(Unreachable, match="query its CDX server"):
        await anext(served([]).captures_between("a", "b"))
