"""A folder that disappears while it is served, and comes back (FA-16).

Meanwhile its captures are unreachable, never absent; other collections are not affected; and
no restart is needed.
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
def open_at() -> Iterator["CollectionOpener"]:
    with ExitStack() as stack:
        yield CollectionOpener(stack)


class CollectionOpener:
    """Opens collections, and closes them at the end of the test."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(self, folder: Path, index: Path | None = None) -> Collection:
        return self._stack.enter_context(Collection("mine", folder, index))


def move_away(folder: Path) -> None:
    folder.rename(folder.with_name("away"))


def move_back(folder: Path, name: str = "away") -> None:
    folder.with_name(name).rename(folder)


def create_empty(folder: Path) -> None:
    folder.mkdir()


async def newest(collection: Collection) -> IndexRow:
    row = await collection.nearest(URL, None)
    assert row is not None
    return row


async def test_a_missing_folder_is_unreachable_until_it_is_back(
    folder: Path, open_at: CollectionOpener
) -> None:
    collection = open_at(folder)
    before = await newest(collection)

    move_away(folder)
    with pytest.raises(Unreachable):
        await collection.nearest(URL, None)
    with pytest.raises(Unreachable):
        await collection.nearest("http://nothing.example/", None)
    move_back(folder)

    assert await newest(collection) == before


async def test_other_collections_are_not_affected(
    folder: Path, tmp_path: Path, open_at: CollectionOpener
) -> None:
    put(tmp_path / "other", "b.warc.gz", warcs.gzipped(warcs.response(URL)))
    index_collection(tmp_path / "other")
    gone, other = open_at(folder), open_at(tmp_path / "other")

    move_away(folder)
    with pytest.raises(Unreachable):
        await gone.nearest(URL, None)

    assert (await newest(other)).name == "b.warc.gz"


async def test_an_empty_mount_point_is_unreachable(
    folder: Path, open_at: CollectionOpener
) -> None:
    collection = open_at(folder)
    await newest(collection)

    move_away(folder)
    create_empty(folder)

    with pytest.raises(Unreachable):
        await collection.nearest(URL, None)


async def test_a_replaced_folder_is_used_at_once(
    folder: Path, tmp_path: Path, open_at: CollectionOpener
) -> None:
    collection = open_at(folder)
    await newest(collection)
    a_warc(tmp_path / "new", "c.warc.gz", (URL, "20210101000000"))
    index_collection(tmp_path / "new")

    move_away(folder)
    move_back(folder, "new")

    assert (await newest(collection)).stamp == "20210101000000"


async def test_records_of_missing_files_are_errors_until_they_are_back(
    folder: Path, tmp_path: Path, open_at: CollectionOpener
) -> None:
    index_collection(folder, tmp_path / "index.sqlite")
    collection = open_at(folder, tmp_path / "index.sqlite")

    with ThreadPoolExecutor(1) as threads:
        replayer = Replayer("mine", collection, threads)
        move_away(folder)
        with pytest.raises(UnreadableRecord, match="No such file"):
            await replayer.open(await newest(collection))
        move_back(folder)

        assert (await replayer.open(await newest(collection))).whole == warcs.PAGE


def test_an_empty_folder_does_not_empty_the_index(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"
    index_collection(folder, index)

    move_away(folder)
    create_empty(folder)
    with pytest.raises(OSError, match="is it mounted"):
        index_collection(folder, index)

    assert stamps_of(folder, index) == [STAMP]


def test_read_all_empties_the_index_of_an_emptied_folder(folder: Path) -> None:
    (folder / "a.warc.gz").unlink()

    summary = index_collection(folder, read_all=True)

    assert summary.gone == 1
    assert stamps_of(folder) == []
