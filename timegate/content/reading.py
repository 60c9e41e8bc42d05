"""Reads the text of archived pages in a process of its own, with bounds on time and memory.

One process reads page after page. A page that takes more than `_CPU_SECONDS` of its CPU, or
that crashes it, costs this one page: the next one gets a new process. Frames in both directions
are four octets of length and MessagePack.
"""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from types import TracebackType
from typing import BinaryIO, Final, Self

import msgspec

from timegate.content.main_text import MOST_OCTETS, NotRead, PageText, extract, has_extractor

_CPU_SECONDS: Final = 5.0
"""For one page. 500 kB of usual HTML take 0.1 s, and 2 MB take 2 s."""
_WALL_SECONDS: Final = 30.0
"""For one page, also on a machine with more work than processors."""
_MEMORY: Final = 1 << 30
_PAGES: Final = 1000
"""After so many pages a new process is started: what parsers leak is bounded as well."""
_MOST_ANSWER: Final = 16_000_000
_LENGTH: Final = 4


class _Page(msgspec.Struct, array_like=True):
    octets: bytes
    content_type: str


class _Answer(msgspec.Struct, array_like=True):
    text: PageText | None = None
    failure: NotRead | None = None


class TextReader:
    """Reads texts of pages, one after the other. An asynchronous context manager.

    The process is started for the first page.
    """

    def __init__(self) -> None:
        self._process: Process | None = None
        self._pages = 0
        self._free = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stop()

    async def read(self, octets: bytes, content_type: str) -> PageText | NotRead:
        """Return what the page says. A page that cannot be read is a `NotRead`."""
        if len(octets) > MOST_OCTETS:
            return NotRead("too-large", f"more than {MOST_OCTETS} octets")
        if not has_extractor():
            return NotRead("no-extractor", "needs: pip install 'timegate-proxy[content]'")
        async with self._free:
            try:
                answer = await self._exchanged(_Page(octets, content_type))
            except BaseException:
                # Cancelled in the middle: what the process writes would be the next answer.
                await self._stop()
                raise
            if answer is None:
                await self._stop()
                return NotRead(
                    "too-long", "the page takes too long to read, or too much memory"
                )
            return answer

    async def _exchanged(self, page: _Page) -> PageText | NotRead | None:
        """Return the answer of the process; None if it ended or gave none in time."""
        process = await self._running()
        if (
            process.stdin is None or process.stdout is None
        ):  # pragma: no cover -- both are pipes
            return None
        with suppress(TimeoutError, OSError, asyncio.IncompleteReadError, msgspec.MsgspecError):
            async with asyncio.timeout(_WALL_SECONDS):
                frame = msgspec.msgpack.encode(page)
                process.stdin.write(len(frame).to_bytes(_LENGTH) + frame)
                await process.stdin.drain()
                length = int.from_bytes(await process.stdout.readexactly(_LENGTH))
                if length > _MOST_ANSWER:
                    return None
                octets = await process.stdout.readexactly(length)
            answer = msgspec.msgpack.decode(octets, type=_Answer)
            return answer.text or answer.failure
        return None

    async def _running(self) -> Process:
        if self._process is not None and self._pages >= _PAGES:
            await self._stop()
        if self._process is None:
            self._pages = 0
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "timegate.content.reading",
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
            )
        self._pages += 1
        return self._process

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            # `process.kill` would reap a process that has just ended, before its watcher can.
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        await process.wait()


def _frame(stream: BinaryIO) -> bytes | None:
    """Return the next frame; None at the end."""
    head = stream.read(_LENGTH)
    return stream.read(int.from_bytes(head)) if len(head) == _LENGTH else None


def answered(frame: bytes) -> bytes:
    """Return the answer to a frame with a page."""
    page = msgspec.msgpack.decode(frame, type=_Page)
    found = extract(page.octets, page.content_type)
    answer = _Answer(found) if isinstance(found, PageText) else _Answer(None, found)
    return msgspec.msgpack.encode(answer)


def main() -> None:
    """Answer pages from standard input until it ends."""
    import resource  # noqa: PLC0415 -- not on every system

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this.
    source, output = sys.stdin.buffer, sys.stdout.buffer
    while (frame := _frame(source)) is not None:
        # SIGVTALRM ends the process, also inside of a parser.
        signal.setitimer(signal.ITIMER_VIRTUAL, _CPU_SECONDS)
        answer = answered(frame)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        output.write(len(answer).to_bytes(_LENGTH) + answer)
        output.flush()


if __name__ == "__main__":
    main()
