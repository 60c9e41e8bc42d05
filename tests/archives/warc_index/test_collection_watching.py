"""Updating an index when files change, with simulated time."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from archives.warc_index.collection import Collection, IndexUpdater, index_in_subprocess
from archives.warc_index.database import exclusive_lock
from archives.warc_index.model import LocalFiles
from tests.archives.warc_index.folders import a_warc, put

PAGE = "http://example.com/"


class StoryEnds(Exception):
    """All events of the story have happened."""


class Story:
    """Replaces the clock and the indexing process: each pause runs the next event."""

    def __init__(self, folder: Path, *events: Callable[[], object]) -> None:
        self.indexed: list[list[str]] = []
        self.messages: list[str] = []
        self._folder = folder
        self._events = list(events)
        self.answer = (0, "")

    async def indexer(self, place: LocalFiles) -> tuple[int, str]:
        self.indexed.append(sorted(path.name for path in place.root.glob("*.warc.gz")))
        return self.answer

    async def pause(self, _seconds: float) -> None:
        if not self._events:
            raise StoryEnds
        self._events.pop(0)()

    async def play(self) -> None:
        updater = IndexUpdater(
            LocalFiles.of(self._folder),
            self.messages.append,
            indexer=self.indexer,
            pause=self.pause,
        )
        with suppress(StoryEnds):
            await updater.run()


def nothing() -> None:
    """Do nothing during a pause."""


def write(folder: Path, name: str, octets: bytes) -> Callable[[], object]:
    return lambda: put(folder, name, octets, mtime=len(octets))


async def test_it_indexes_at_the_start_and_then_only_after_changes(tmp_path: Path) -> None:
    put(tmp_path, "a.warc.gz", b"")
    story = Story(tmp_path, nothing, nothing, nothing)

    await story.play()

    assert story.indexed == [["a.warc.gz"]]


async def test_a_new_file_is_indexed_once_it_stops_changing(tmp_path: Path) -> None:
    story = Story(
        tmp_path,
        write(tmp_path, "a.warc.gz", b"1"),
        write(tmp_path, "a.warc.gz", b"12"),
        write(tmp_path, "a.warc.gz", b"123"),
        nothing,
        nothing,
        nothing,
    )

    await story.play()

    assert story.indexed == [[], ["a.warc.gz"]]


async def test_a_removed_file_is_a_change(tmp_path: Path) -> None:
    path = put(tmp_path, "a.warc.gz", b"")
    put(tmp_path, "b.warc.gz", b"")
    story = Story(tmp_path, path.unlink, nothing, nothing)

    await story.play()

    assert story.indexed == [["a.warc.gz", "b.warc.gz"], ["b.warc.gz"]]


async def test_a_folder_that_is_suddenly_empty_is_not_indexed(tmp_path: Path) -> None:
    path = put(tmp_path, "a.warc.gz", b"")
    story = Story(tmp_path, path.unlink, nothing, nothing, nothing)

    await story.play()

    assert story.indexed == [["a.warc.gz"]]
    assert any("is it mounted?" in messages for messages in story.messages)


async def test_a_folder_that_cannot_be_listed_is_not_indexed(tmp_path: Path) -> None:
    folder = tmp_path / "warcs"
    put(folder, "a.warc.gz", b"")
    away = tmp_path / "away"
    story = Story(folder, lambda: folder.rename(away), nothing, lambda: away.rename(folder))

    await story.play()

    assert story.indexed == [["a.warc.gz"]]
    assert story.messages == [f"{folder} cannot be listed: No such file or directory"]


async def test_a_repeated_message_is_logged_once(tmp_path: Path) -> None:
    story = Story(
        tmp_path, write(tmp_path, "a.warc.gz", b"1"), nothing, nothing, nothing, nothing
    )
    story.answer = (1, "a.warc.gz@0: no WARC")

    await story.play()

    assert story.messages == ["a.warc.gz@0: no WARC"]
    assert len(story.indexed) == 2


async def test_a_killed_indexer_is_started_again(tmp_path: Path) -> None:
    story = Story(tmp_path, nothing, nothing, nothing)
    story.answer = (-9, "")

    await story.play()

    assert len(story.indexed) > 1


async def test_only_one_of_several_updaters_indexes(tmp_path: Path) -> None:
    index = LocalFiles.of(tmp_path).index
    index.parent.mkdir()
    other = exclusive_lock(index, "keeper")
    other.__enter__()
    story = Story(tmp_path, nothing, nothing, lambda: other.__exit__(None, None, None))

    await story.play()

    assert len(story.indexed) == 1


async def test_an_unwritable_index_is_logged_and_tried_again(tmp_path: Path) -> None:
    place = LocalFiles.of(tmp_path, put(tmp_path, "file", b"") / "index.sqlite")
    messages: list[str] = []
    updater = IndexUpdater(place, messages.append, pause=Story(tmp_path, nothing).pause)

    with suppress(StoryEnds):
        await updater.run()

    assert len(messages) == 1
    assert "set index to another place" in messages[0]


async def test_the_subprocess_indexes_the_folder(tmp_path: Path) -> None:
    a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000"))
    put(tmp_path, "b.warc.gz", b"rubbish")

    code, messages = await index_in_subprocess(LocalFiles.of(tmp_path))

    assert code == 1
    assert messages.startswith("b.warc.gz@0: ")
    async with Collection("own", tmp_path) as collection:
        assert await collection.nearest(PAGE, None) is not None


async def test_cancelling_ends_the_subprocess(tmp_path: Path) -> None:
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
