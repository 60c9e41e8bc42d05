"""A folder that goes away while it is served, and comes back (FA-16).

Its captures are unknown meanwhile, never absent; what is served beside it does not notice; and
nobody has to restart anything.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from archives.errors import Unreachable
from archives.warc.replay import Replayer, UnreadableRecord
from archives.warc_index.building import index_collection
from archives.warc_index.collection import Collection
from archives.warc_index.model import IndexRow
from tests import warcs
from tests.archives.warc_index.folders import a_warc, put, stamps_of

URL = "http://example.com/"
STAMP = "20200220202020"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "mine"
    put(path, "a.warc.gz", warcs.gzipped(warcs.response(URL)))
    index_collection(path)
    return path


@pytest.fixture
def open_at() -> Iterator["Opened"]:
    with ExitStack() as stack:
        yield Opened(stack)


class Opened:
    """Opens collections, and ends them with the test."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(self, folder: Path, index: Path | None = None) -> Collection:
        return self._stack.enter_context(Collection("mine", folder, index))


def away(folder: Path) -> None:
    folder.rename(folder.with_name("away"))


def back(folder: Path, name: str = "away") -> None:
    folder.with_name(name).rename(folder)


def make(folder: Path) -> None:
    folder.mkdir()


async def found(collection: Collection) -> IndexRow:
    row = await collection.nearest(URL, None)
    assert row is not None
    return row


async def test_a_folder_that_is_gone_is_unknown_until_it_is_back(
    folder: Path, open_at: Opened
) -> None:
    collection = open_at(folder)
    before = await found(collection)

    away(folder)
    with pytest.raises(Unreachable):
        await collection.nearest(URL, None)
    with pytest.raises(Unreachable):
        await collection.nearest("http://nothing.example/", None)
    back(folder)

    assert await found(collection) == before


async def test_what_is_served_beside_it_does_not_notice(
    folder: Path, tmp_path: Path, open_at: Opened
) -> None:
    put(tmp_path / "other", "b.warc.gz", warcs.gzipped(warcs.response(URL)))
    index_collection(tmp_path / "other")
    gone, other = open_at(folder), open_at(tmp_path / "other")

    away(folder)
    with pytest.raises(Unreachable):
        await gone.nearest(URL, None)

    assert (await found(other)).name == "b.warc.gz"


async def test_an_empty_folder_where_a_volume_was_mounted_is_unknown(
    folder: Path, open_at: Opened
) -> None:
    collection = open_at(folder)
    await found(collection)

    away(folder)
    make(folder)

    with pytest.raises(Unreachable):
        await collection.nearest(URL, None)


async def test_another_folder_in_its_place_is_asked_from_then_on(
    folder: Path, tmp_path: Path, open_at: Opened
) -> None:
    collection = open_at(folder)
    await found(collection)
    a_warc(tmp_path / "new", "c.warc.gz", (URL, "20210101000000"))
    index_collection(tmp_path / "new")

    away(folder)
    back(folder, "new")

    assert (await found(collection)).stamp == "20210101000000"


async def test_records_whose_files_are_gone_are_errors_until_these_are_back(
    folder: Path, tmp_path: Path, open_at: Opened
) -> None:
    index_collection(folder, tmp_path / "index.sqlite")
    collection = open_at(folder, tmp_path / "index.sqlite")

    with ThreadPoolExecutor(1) as threads:
        replayer = Replayer("mine", collection, threads)
        away(folder)
        with pytest.raises(UnreadableRecord, match="No such file"):
            await replayer.open(await found(collection))
        back(folder)

        assert (await replayer.open(await found(collection))).whole == warcs.PAGE


def test_an_empty_folder_makes_no_index_empty(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"
    index_collection(folder, index)

    away(folder)
    make(folder)
    with pytest.raises(OSError, match="is it mounted"):
        index_collection(folder, index)

    assert stamps_of(folder, index) == [STAMP]


def test_what_was_emptied_on_purpose_can_be_said_to_be(folder: Path) -> None:
    (folder / "a.warc.gz").unlink()

    summary = index_collection(folder, read_all=True)

    assert summary.gone == 1
    assert stamps_of(folder) == []
