"""Keeping an index up to date while a server runs: look at the folder, let a child read it.

Looking costs a stat for each file and opens nothing. Files that are still being written are
left alone until they have been the same for a while. Of several servers over one collection,
one keeps it; when that ends, however it ends, the kernel gives the lock to the next that asks.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Final

from archives.collection.database import IndexInUse, alone
from archives.collection.folder import FolderContents, files_in
from archives.collection.place import LocalFiles

PAUSE: Final = 5.0
"""Seconds between two looks."""
_MOST_TOLD: Final = 8 * 1024
_GRACE: Final = 5.0

Pause = Callable[[float], Awaitable[None]]
Child = Callable[[LocalFiles], Awaitable[tuple[int, str]]]
"""Indexes a collection; returns the exit code, and what was complained about."""


async def index_apart(place: LocalFiles) -> tuple[int, str]:
    """Index in a process of its own, which ends with us."""
    command = ("-m", "archives.collection", str(place.path), str(place.index))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, told = await process.communicate()
    except asyncio.CancelledError:
        process.terminate()
        await asyncio.wait_for(process.wait(), _GRACE)
        raise
    return process.returncode or 0, told[:_MOST_TOLD].decode(errors="replace").strip()


class IndexUpdater:
    """Keeps the index of one collection. `run` it until it is cancelled."""

    def __init__(
        self,
        place: LocalFiles,
        tell: Callable[[str], None],
        *,
        child: Child = index_apart,
        pause: Pause = asyncio.sleep,
        every: float = PAUSE,
    ) -> None:
        """*tell* takes what the operator should know."""
        self._place = place
        self._tell = tell
        self._child = child
        self._pause = pause
        self._every = every
        self._told = ""
        self._before: FolderContents | None = None
        self._indexed: FolderContents | None = None

    async def run(self) -> None:
        """Look, wait, look again."""
        with ExitStack() as held:
            while not self._is_keeper(held):
                await self._pause(self._every)
            await self._index(await self._look())
            while True:
                await self._pause(self._every)
                await self._keep()

    def _is_keeper(self, held: ExitStack) -> bool:
        try:
            self._place.index.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(alone(self._place.index, "keeper"))
        except IndexInUse:
            return False
        except OSError as error:
            self._say(
                f"{self._place.index} cannot be written ({error.strerror}): "
                "set index to another place, or leave the indexing to timegate index"
            )
            return False
        return True

    async def _keep(self) -> None:
        """Index if something is new, and was the same when we looked before."""
        look = await self._look()
        steady = look == self._before
        self._before = look
        if look is not None and steady and look != self._indexed:
            await self._index(look)

    async def _look(self) -> FolderContents | None:
        """Return what is there; None where it cannot be listed: then nothing is concluded."""
        try:
            look = await asyncio.to_thread(files_in, self._place, lambda *_: None)
        except OSError as error:
            self._say(f"{self._place.path} cannot be listed: {error.strerror}")
            return None
        if not look.files and self._indexed is not None and self._indexed.files:
            # An index made of it would say that there never was anything.
            self._say(f"{self._place.path} is empty, and was not: is it mounted?")
            return None
        return look

    async def _index(self, look: FolderContents | None) -> None:
        if look is None:
            return
        code, told = await self._child(self._place)
        if told:
            self._say(told)
        # Whatever came of it: to try the same again would bring the same.
        if code >= 0:
            self._indexed = look

    def _say(self, what: str) -> None:
        """Tell it once, not every few seconds."""
        if what != self._told:
            self._told = what
            self._tell(what)
