"""Several processes that read files, each one file at a time; one that dies costs its file.

With a single worker everything is read in this process, which saves starting and copying.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Final, NamedTuple

import msgspec

from archives.collection.planning import IndexJob
from archives.collection.scanning import CaptureBatch, ScanTask, batches_in

_GRACE: Final = 5.0
_MESSAGE: Final = msgspec.msgpack.Decoder(list[object] | str | None)
_BATCH: Final = msgspec.msgpack.Decoder(CaptureBatch)
_encode: Final = msgspec.msgpack.Encoder().encode


class Failed(NamedTuple):
    """A file was not read to its end."""

    why: str


News = tuple[IndexJob, CaptureBatch | Failed | None]
"""What came of a job: some of it, a failure, or None at its end."""


def read_files(jobs: Sequence[IndexJob], root: str, workers: int) -> Iterator[News]:
    """Read every file; what comes of several at once is mixed."""
    if workers <= 1 or len(jobs) <= 1:
        return _read_here(jobs, root)
    return _read_apart(list(reversed(jobs)), root, min(workers, len(jobs)))


def _read_here(jobs: Sequence[IndexJob], root: str) -> Iterator[News]:
    for job in jobs:
        try:
            for batch in batches_in(_task(job, root)):
                yield job, batch
        except OSError as error:
            yield job, Failed(f"cannot be read: {error.strerror}")
        else:
            yield job, None


def _read_apart(waiting: list[IndexJob], root: str, count: int) -> Iterator[News]:
    with _crew() as crew:
        while waiting or crew:
            while waiting and len(crew) < count:
                worker = _Worker()
                crew[worker.connection] = worker
                worker.begin(waiting.pop(), root)
            for ready in wait(list(crew)):
                worker = crew[ready]  # type: ignore[index]
                job, news = worker.news()
                yield job, news
                if isinstance(news, CaptureBatch):
                    continue
                if waiting and not worker.is_dead:
                    worker.begin(waiting.pop(), root)
                else:
                    del crew[worker.connection]
                    worker.end()


class _Worker:
    """One process and the job it is at."""

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 -- ourselves
                [sys.executable, "-m", "archives.collection.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
        self.is_dead = False
        self._job: IndexJob | None = None

    def begin(self, job: IndexJob, root: str) -> None:
        self._job = job
        try:
            self.connection.send_bytes(_encode(_task(job, root)))
        except (BrokenPipeError, ConnectionResetError):
            return  # it died, which `news` tells next

    def news(self) -> News:
        assert self._job is not None  # noqa: S101 -- only who has a job is waited for
        try:
            message = self.connection.recv_bytes()
        except (EOFError, OSError):
            self.is_dead = True
            code = self._process.wait()
            return self._job, Failed(f"the process that read it ended with {code}")
        return self._job, _understood(message)

    def end(self) -> None:
        """End it; it has no reason to resist."""
        self.connection.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def _crew() -> Iterator[dict["Connection[bytes, bytes]", _Worker]]:
    crew: dict[Connection[bytes, bytes], _Worker] = {}
    try:
        yield crew
    finally:
        for worker in crew.values():
            worker.end()


def _understood(message: bytes) -> CaptureBatch | Failed | None:
    match _MESSAGE.decode(message):
        case None:
            return None
        case str(why):
            return Failed(why)
        case _:
            return _BATCH.decode(message)


def _task(job: IndexJob, root: str) -> ScanTask:
    return ScanTask(os.path.join(root, job.file.path), job.file.kind, job.start)  # noqa: PTH118
