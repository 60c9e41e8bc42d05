"""A keeper that looks at a folder and has it indexed, in time that is turned by hand."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from archives.warc_index.collection import Collection, IndexUpdater, index_in_subprocess
from archives.warc_index.database import exclusive_lock
from archives.warc_index.model import LocalFiles
from tests.archives.warc_index.folders import a_warc, put

PAGE = "http://example.com/"


class Over(Exception):
    """The story is told."""


class Story:
    """Stands for time and for the child: each pause is the next event of the story."""

    def __init__(self, folder: Path, *events: Callable[[], object]) -> None:
        self.indexed: list[list[str]] = []
        self.told: list[str] = []
        self._folder = folder
        self._events = list(events)
        self.answer = (0, "")

    async def child(self, place: LocalFiles) -> tuple[int, str]:
        self.indexed.append(sorted(path.name for path in place.root.glob("*.warc.gz")))
        return self.answer

    async def pause(self, _seconds: float) -> None:
        if not self._events:
            raise Over
        self._events.pop(0)()

    async def tell(self) -> None:
        keeper = IndexUpdater(
            LocalFiles.of(self._folder), self.told.append, child=self.child, pause=self.pause
        )
        with suppress(Over):
            await keeper.run()


def nothing() -> None:
    """Let time pass."""


def writes(folder: Path, name: str, octets: bytes) -> Callable[[], object]:
    return lambda: put(folder, name, octets, mtime=len(octets))


async def test_it_indexes_at_the_start_and_then_not_without_reason(tmp_path: Path) -> None:
    put(tmp_path, "a.warc.gz", b"")
    story = Story(tmp_path, nothing, nothing, nothing)

    await story.tell()

    assert story.indexed == [["a.warc.gz"]]


async def test_a_new_file_is_indexed_once_it_has_stayed_the_same(tmp_path: Path) -> None:
    story = Story(
        tmp_path,
        writes(tmp_path, "a.warc.gz", b"1"),
        writes(tmp_path, "a.warc.gz", b"12"),
        writes(tmp_path, "a.warc.gz", b"123"),
        nothing,
        nothing,
        nothing,
    )

    await story.tell()

    assert story.indexed == [[], ["a.warc.gz"]]


async def test_a_file_that_is_gone_is_a_reason_too(tmp_path: Path) -> None:
    path = put(tmp_path, "a.warc.gz", b"")
    put(tmp_path, "b.warc.gz", b"")
    story = Story(tmp_path, path.unlink, nothing, nothing)

    await story.tell()

    assert story.indexed == [["a.warc.gz", "b.warc.gz"], ["b.warc.gz"]]


async def test_a_folder_that_is_empty_all_at_once_is_not_believed(tmp_path: Path) -> None:
    path = put(tmp_path, "a.warc.gz", b"")
    story = Story(tmp_path, path.unlink, nothing, nothing, nothing)

    await story.tell()

    assert story.indexed == [["a.warc.gz"]]
    assert any("is it mounted?" in told for told in story.told)


async def test_a_folder_that_cannot_be_listed_concludes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "warcs"
    put(folder, "a.warc.gz", b"")
    away = tmp_path / "away"
    story = Story(folder, lambda: folder.rename(away), nothing, lambda: away.rename(folder))

    await story.tell()

    assert story.indexed == [["a.warc.gz"]]
    assert story.told == [f"{folder} cannot be listed: No such file or directory"]


async def test_complaints_are_told_once(tmp_path: Path) -> None:
    story = Story(
        tmp_path, writes(tmp_path, "a.warc.gz", b"1"), nothing, nothing, nothing, nothing
    )
    story.answer = (1, "a.warc.gz@0: no WARC")

    await story.tell()

    assert story.told == ["a.warc.gz@0: no WARC"]
    assert len(story.indexed) == 2


async def test_a_child_that_was_killed_is_started_again(tmp_path: Path) -> None:
    story = Story(tmp_path, nothing, nothing, nothing)
    story.answer = (-9, "")

    await story.tell()

    assert len(story.indexed) > 1


async def test_of_several_keepers_one_keeps_until_it_ends(tmp_path: Path) -> None:
    index = LocalFiles.of(tmp_path).index
    index.parent.mkdir()
    other = exclusive_lock(index, "keeper")
    other.__enter__()
    story = Story(tmp_path, nothing, nothing, lambda: other.__exit__(None, None, None))

    await story.tell()

    assert len(story.indexed) == 1


async def test_a_place_that_cannot_be_written_is_told_and_tried_again(tmp_path: Path) -> None:
    place = LocalFiles.of(tmp_path, put(tmp_path, "file", b"") / "index.sqlite")
    told: list[str] = []
    keeper = IndexUpdater(place, told.append, pause=Story(tmp_path, nothing).pause)

    with suppress(Over):
        await keeper.run()

    assert len(told) == 1
    assert "set index to another place" in told[0]


async def test_the_child_indexes_for_real(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    put(tmp_path, "b.warc.gz", b"rubbish")

    code, told = await index_in_subprocess(LocalFiles.of(tmp_path))

    assert code == 1
    assert told.startswith("b.warc.gz@0: ")
    async with Collection("own", tmp_path) as collection:
        assert await collection.nearest(PAGE, None) is not None


async def test_a_child_that_is_no_longer_wanted_is_ended(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def index() -> None:
        started.set()
        await index_in_subprocess(LocalFiles.of(tmp_path))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(index())
        await started.wait()
        await asyncio.sleep(0.05)
        task.cancel()

    assert task.cancelled()
