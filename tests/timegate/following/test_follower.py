import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from archives.errors import Unreachable
from tests.timegate.following.pages import PAGE, ListedArchive, SourcesByName, capture
from timegate.following import Change
from timegate.following.change_file import ChangeFile
from timegate.following.follower import Follower
from timegate.resolution.coalescing import Containment


class OwnPages:
    """A collection whose version is the number of its captures."""

    def __init__(self, archive: ListedArchive) -> None:
        self._archive = archive

    async def version_of(self, url: str) -> str:
        assert url == PAGE
        return str(len(self._archive.captures))


class Now:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@asynccontextmanager
async def following(
    path: Path, archive: ListedArchive, now: Now, *, own: bool = False
) -> AsyncIterator[Follower]:
    pages = {archive.name: OwnPages(archive)} if own else {}
    with ChangeFile(path) as file:
        async with Follower(
            file, SourcesByName(archive), Containment(), pages, 600.0, now
        ) as follower:
            await follower.follow(PAGE)
            yield follower


async def queried(follower: Follower) -> list[Change]:
    tasks = await follower.start_queries(PAGE, ["a"])
    return [change for changes in await asyncio.gather(*tasks) for change in changes]


async def test_our_own_collections_are_read_only_if_their_version_changed(
    tmp_path: Path,
) -> None:
    archive = ListedArchive(captures=[capture("20200101000000")])
    async with following(tmp_path / "c", archive, Now(), own=True) as follower:
        assert await follower.check_own(PAGE, ["a", "other"]) == []
        assert await follower.check_own(PAGE, ["a"]) == []
        archive.captures.append(capture("20210101000000"))
        news = follower.news
        (change,) = await follower.check_own(PAGE, ["a"])

    assert change.memento.stamp == "20210101000000"
    assert archive.asked == 2
    assert news.is_set()


async def test_an_archive_is_queried_once_in_an_interval_over_restarts(tmp_path: Path) -> None:
    archive, now = ListedArchive(captures=[capture("20200101000000")]), Now()
    async with following(tmp_path / "c", archive, now) as follower:
        await queried(follower)
        await queried(follower)
    archive.captures.append(capture("20210101000000"))
    async with following(tmp_path / "c", archive, now) as follower:
        now.seconds += 599
        early = await queried(follower)
        now.seconds += 2
        (change,) = await queried(follower)

    assert early == []
    assert archive.asked == 2
    assert change.memento.stamp == "20210101000000"


async def test_what_was_new_while_the_server_was_down_is_noticed_once(tmp_path: Path) -> None:
    archive, now = ListedArchive(captures=[capture("20200101000000")]), Now()
    async with following(tmp_path / "c", archive, now, own=True) as follower:
        await follower.check_own(PAGE, ["a"])
    archive.captures.append(capture("20210101000000"))
    async with following(tmp_path / "c", archive, now, own=True) as follower:
        first = await follower.check_own(PAGE, ["a"])
        second = await follower.check_own(PAGE, ["a"])

    assert (len(first), second) == (1, [])


async def test_an_archive_that_fails_keeps_what_is_known(tmp_path: Path) -> None:
    archive, now = ListedArchive(captures=[capture("20200101000000")]), Now()
    async with following(tmp_path / "c", archive, now) as follower:
        await queried(follower)
        now.seconds += 601
        archive.error = Unreachable("a", PAGE, "it is down")
        archive.captures.append(capture("20210101000000"))
        assert await queried(follower) == []
        (state,) = follower.file.archives_of(PAGE)
        now.seconds += 601
        archive.error = None
        (change,) = await queried(follower)
        (better,) = follower.file.archives_of(PAGE)

    assert (state.trouble, state.known, state.checked) == ("it is down", 1, 1000.0)
    assert (better.trouble, better.known) == ("", 2)
    assert change.memento.stamp == "20210101000000"


async def test_an_unforeseen_error_of_an_archive_is_its_trouble(tmp_path: Path) -> None:
    archive = ListedArchive()
    archive.captures = None  # type: ignore[assignment]
    async with following(tmp_path / "c", archive, Now()) as follower:
        assert await queried(follower) == []
        (state,) = follower.file.archives_of(PAGE)

    assert state.trouble
