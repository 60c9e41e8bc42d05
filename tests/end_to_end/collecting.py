"""Our collections, served by a process of their own: ``python -m tests.end_to_end.collecting``.

Indexes a folder of WARCs and serves it as the collection ``mine``.
"""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Final

from archives.adapters.warc import WarcArchive
from archives.collection.building import index_collection
from archives.collection.collection import Collection
from archives.registry import Registry
from tests.end_to_end.server import Running
from tests.fakes import an_entry
from timegate.shelf import Alone
from timegate.web.answers import Answers
from timegate.web.batch import Batch
from timegate.web.collections import Collections, Holding
from timegate.web.resolve import Resolve
from timegate.web.server import Dispatch, bound, serving

ID: Final = "mine"


@contextmanager
def running_collection(folder: Path) -> Iterator[Running]:
    """Index and serve the WARCs in *folder*; yields the address of the collection."""
    command = [sys.executable, "-m", "tests.end_to_end.collecting", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 -- ourselves
        assert process.stdout is not None
        try:
            yield Running(next(process.stdout).strip(), process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


async def serve(folder: Path) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    with bound("127.0.0.1", 0) as place, ThreadPoolExecutor(4) as threads:
        base = f"http://127.0.0.1:{place.getsockname()[1]}"
        ours = f"{base}/collections/{ID}"
        raw = f"{ours}/{{time14}}id_/{{uri}}"
        entry = an_entry("warc", id=ID, replay=f"{ours}/{{time14}}/{{uri}}", raw=raw)
        registry = Registry([entry])
        async with Collection(ID, folder) as collection:
            source = WarcArchive(entry, collection)
            holding = Holding.of(collection, source, threads)
            collections = Collections([holding], registry, base)
            resolve = Resolve(Answers(Alone(source), registry, base), registry)
            dispatch = Dispatch(
                {"/collections": collections.overview},
                {"/collections/": collections},
                resolve,
                Batch(resolve),
            )
            async with serving(dispatch, place):
                print(ours, flush=True)  # noqa: T201 -- for who started us
                await stop.wait()


def main(folder: Path) -> None:
    index_collection(folder)
    try:
        factory = import_module("uvloop").new_event_loop
    except ImportError:
        factory = None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
