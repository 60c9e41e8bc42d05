"""Local collections as archives: the contract of every `Source`, and their own rules."""

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from archives.adapters.warc import WarcArchive
from archives.errors import Unreachable
from archives.model import Memento
from archives.moment import Moment
from archives.source import Source
from archives.warc_index.collection import Collection
from tests.archives.warc_index.folders import a_capture, an_index
from tests.fakes import an_entry

PAGE = "http://example.org/"
REPLAY = "http://here.example/collections/test/{time14}/{uri}"


def archive(collection: Collection) -> Source:
    return WarcArchive(an_entry("warc", replay=REPLAY), collection)


async def closest(folder: Path, at: str | None, page: str = PAGE) -> Memento | None:
    async with Collection("test", folder) as collection:
        found = await archive(collection).closest(page, None if at is None else Moment(at))
    assert found is None or (found.via, found.doubts) == ("cdx", ())
    return None if found is None else found.memento


async def mementos(folder: Path, page: str = PAGE) -> list[list[Memento]]:
    async with Collection("test", folder) as collection:
        return [list(batch) async for batch in archive(collection).mementos(page)]


async def test_the_address_of_a_memento_has_all_digits_of_its_stamp(tmp_path: Path) -> None:
    an_index(tmp_path, [a_capture(PAGE, "20130615083000123")])

    found = await closest(tmp_path, "2013")

    uri = f"http://here.example/collections/test/20130615083000123/{PAGE}"
    assert found == Memento(
        "20130615083000123", uri, PAGE, "test", 200, "text/html", "SHA", length=100
    )


async def test_a_memento_has_the_captured_variant_of_the_url(tmp_path: Path) -> None:
    an_index(tmp_path, [a_capture("https://www.example.org/", "20130615083000")])

    found = await closest(tmp_path, "2013")

    assert found is not None
    assert found.original == "https://www.example.org/"


async def test_braces_in_a_url_are_not_template_fields(tmp_path: Path) -> None:
    page = f"{PAGE}{{time14}}/{{uri}}"
    an_index(tmp_path, [a_capture(page, "20130615083000")])

    found = await closest(tmp_path, "2013", page)

    assert found is not None
    assert found.uri.endswith(f"/20130615083000/{page}")


async def test_a_revisit_has_no_media_type(tmp_path: Path) -> None:
    an_index(tmp_path, [a_capture(PAGE, "20130615083000", mime="warc/revisit")])

    found = await closest(tmp_path, None)

    assert found is not None
    assert found.mime is None


async def test_all_captures_are_listed_oldest_first_in_batches_that_are_not_empty(
    tmp_path: Path,
) -> None:
    start = datetime(2000, 1, 1, tzinfo=UTC)
    stamps = [f"{start + timedelta(hours=hours):%Y%m%d%H%M%S}" for hours in range(2000)]
    an_index(tmp_path, [a_capture(PAGE, stamp) for stamp in stamps])

    batches = await mementos(tmp_path)

    assert all(batches)
    assert [memento.stamp for batch in batches for memento in batch] == stamps


async def test_an_unknown_page_is_absent(tmp_path: Path) -> None:
    an_index(tmp_path, [a_capture(PAGE, "20130615083000")])

    assert await closest(tmp_path, "2013", f"{PAGE}unknown") is None
    assert await mementos(tmp_path, f"{PAGE}unknown") == []


async def test_a_collection_without_index_is_unreachable(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="not indexed yet"):
        await closest(tmp_path, "2013")


def test_an_entry_without_replay_template_is_rejected(tmp_path: Path) -> None:
    with (
        Collection("test", tmp_path) as collection,
        pytest.raises(ValueError, match="replay template"),
    ):
        WarcArchive(an_entry("warc"), collection)


seconds = some.integers(0, 20 * 365 * 86400).map(
    lambda seconds: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
)
moments = some.builds(
    lambda at, digits: Moment(f"{at:%Y%m%d%H%M%S}"[:digits]),
    seconds,
    some.sampled_from([4, 6, 8, 10, 12, 14]),
)


@settings(max_examples=60)
@given(times=some.sets(seconds, min_size=1, max_size=12), at=moments)
def test_a_collection_selects_as_specified(times: set[datetime], at: Moment) -> None:
    with tempfile.TemporaryDirectory() as folder:
        an_index(Path(folder), [a_capture(PAGE, f"{time:%Y%m%d%H%M%S}") for time in times])

        found = asyncio.run(closest(Path(folder), at.digits))

    best = min(
        times, key=lambda time: (abs(at.distance(time)), abs(time - at.negotiated), time)
    )
    assert found is not None
    assert found.stamp == f"{best:%Y%m%d%H%M%S}"


@pytest.mark.parametrize(
    ("at", "around"),
    [
        ("2013", {"first": "2013", "next": "2014", "last": "2016"}),
        ("2014", {"first": "2013", "prev": "2013", "next": "2016", "last": "2016"}),
        ("2016", {"first": "2013", "prev": "2014", "last": "2016"}),
    ],
)
async def test_the_neighbours_of_a_capture_are_returned_with_it(
    tmp_path: Path, at: str, around: dict[str, str]
) -> None:
    years = ("2013", "2014", "2016")
    an_index(tmp_path, [a_capture(PAGE, f"{y}0101000000", n) for n, y in enumerate(years)])

    async with Collection("test", tmp_path) as collection:
        found = await archive(collection).closest(PAGE, Moment(at))

    assert found is not None
    assert {name: memento.stamp[:4] for name, memento in found.neighbours.items()} == around
