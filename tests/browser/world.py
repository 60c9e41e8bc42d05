"""Local archives and a server over them, for tests in a browser."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.end_to_end.server import running_timegate
from timegate.misbehave.server import misbehaving_archive
from timegate.misbehave.site import EXAMPLE, FakeCapture, captures_of

PAGE = "http://example.org/"
MARKS = 8
"""Captures of `PAGE` in all archives together."""
NEWS = "http://news.example/"
NEWS_MARKS = 4_200


def _crawled(number: int, first_year: int, pace: int) -> tuple[FakeCapture, ...]:
    """Return captures of `NEWS`: increasingly dense, and unevenly spread over days."""
    begin, hours = datetime(first_year, 3, 1, tzinfo=UTC), pace * number
    places = [
        _DAYS_OF_NOTE[n % 4] + n % 89 / 5000
        if n % 3 == 0
        else (n * 7919 % number / number) ** 0.6
        for n in range(number)
    ]
    return tuple(
        FakeCapture(NEWS, begin + timedelta(hours=int(hours * place), seconds=n))
        for n, place in enumerate(places)
    )


_DAYS_OF_NOTE = (0.31, 0.52, 0.71, 0.93)
_HELD = {
    "first": ("The First Archive", "none", (*EXAMPLE, *_crawled(3000, 1998, 80))),
    "second": (
        "National Library",
        "none",
        (*captures_of(PAGE, "20160122112029", "20180301101010"), *_crawled(1000, 2006, 150)),
    ),
    "third": (
        "University Collection",
        "none",
        (*captures_of(PAGE, "20050613120000"), *_crawled(200, 2003, 400)),
    ),
    "silent": ("The Silent Archive", "close-at-once", ()),
}


@contextmanager
def local_archives() -> Iterator[dict[str, str]]:
    """Run the archives in a thread of their own, because Playwright blocks this one."""
    began, addresses = threading.Event(), dict[str, str]()
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            for name, (_, fault, held) in _HELD.items():
                archive = await stack.enter_async_context(
                    misbehaving_archive(held, fault=fault)
                )
                addresses[name] = archive.url
            began.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert began.wait(30)
        yield addresses
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(30)
        loop.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve ``timegate`` over the archives; yields its address."""
    with local_archives() as archives:
        config = folder / "archives.toml"
        config.write_text(
            "[archives]\nuse = []\n"
            + "".join(
                f'[[archive]]\nid = "{name}"\nname = "{_HELD[name][0]}"\nkind = "memento"\n'
                f'pwid = ["{name}.example"]\n'
                f'timegate = "{url}/timegate/"\ntimemap = "{url}/timemap/link/"\n'
                for name, url in archives.items()
            )
        )
        with running_timegate(folder, {}, "--config", str(config)) as running:
            yield running.url


@contextmanager
def demo() -> Iterator[str]:
    """Serve the demo; yields its address."""
    command = [sys.executable, "-m", "timegate", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 -- ourselves
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if "listening at" in line)
            yield line.removeprefix("listening at ").rstrip("/\n")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
