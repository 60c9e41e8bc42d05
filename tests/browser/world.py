"""Local archives and our own server over them, for a browser to look at."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from tests.end_to_end.server import running_timegate
from tests.hostile.captures import EXAMPLE, captures_of
from tests.hostile.server import hostile_archive

PAGE = "http://example.org/"
MARKS = 8
"""Captures of `PAGE` in all archives together."""
_HELD = {
    "first": ("none", EXAMPLE),
    "second": ("none", captures_of(PAGE, "20160122112029", "20180301101010")),
    "third": ("none", captures_of(PAGE, "20050613120000")),
    "silent": ("close-at-once", ()),
}


@contextmanager
def local_archives() -> Iterator[dict[str, str]]:
    """Run the archives in a thread of their own, as Playwright blocks ours."""
    began, addresses = threading.Event(), dict[str, str]()
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            for name, (fault, held) in _HELD.items():
                archive = await stack.enter_async_context(hostile_archive(held, fault=fault))
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
                f'[[archive]]\nid = "{name}"\nkind = "memento"\npwid = ["{name}.example"]\n'
                f'timegate = "{url}/timegate/"\ntimemap = "{url}/timemap/link/"\n'
                for name, url in archives.items()
            )
        )
        with running_timegate(folder, {}, "--config", str(config)) as running:
            yield running.url
