"""Worker processes that read files."""

import os
import signal
from pathlib import Path

import pytest

from archives.warc_index.files import CaptureBatch, ScanFailure, read_files
from archives.warc_index.model import FileInfo
from archives.warc_index.writing import IndexJob
from tests.archives.warc_index.folders import a_warc

PAGE = "http://example.com/"


def job(path: Path) -> IndexJob:
    return IndexJob(FileInfo(path.name, "warc", path.stat().st_size, 0))


@pytest.mark.parametrize("workers", [1, 3])
def test_every_file_is_read_to_its_end(tmp_path: Path, workers: int) -> None:
    jobs = [job(a_warc(tmp_path, f"{n}.warc.gz", (PAGE, "20200101000000"))) for n in range(7)]

    news = list(read_files(jobs, str(tmp_path), workers))

    ended = [done.file.path for done, what in news if what is None]
    captures = [what.captures for _, what in news if isinstance(what, CaptureBatch)]
    assert sorted(ended) == [f"{n}.warc.gz" for n in range(7)]
    assert sum(map(len, captures)) == 7


@pytest.mark.parametrize("workers", [1, 2])
def test_an_unreadable_file_is_a_failure(tmp_path: Path, workers: int) -> None:
    jobs = [job(a_warc(tmp_path, f"{n}.warc.gz", (PAGE, "20200101000000"))) for n in range(3)]
    (tmp_path / "1.warc.gz").unlink()

    news = list(read_files(jobs, str(tmp_path), workers))

    failed = [(done.file.path, what) for done, what in news if isinstance(what, ScanFailure)]
    assert failed == [("1.warc.gz", ScanFailure("cannot be read: No such file or directory"))]
    assert sum(what is None for _, what in news) == 2


CHILDREN = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")


@pytest.mark.skipif(not CHILDREN.exists(), reason="needs a list of child processes in /proc")
def test_only_the_file_of_a_dead_worker_fails(tmp_path: Path) -> None:
    before = set(CHILDREN.read_text().split())
    for name in ("0.warc.gz", "2.warc.gz", "3.warc.gz"):
        a_warc(tmp_path, name, (PAGE, "20200101000000"))
    # A named pipe keeps its reader waiting until it is killed.
    os.mkfifo(tmp_path / "1.warc.gz")
    jobs = [IndexJob(FileInfo(f"{n}.warc.gz", "warc", 1, 0)) for n in range(4)]

    ended: list[str] = []
    failed: list[tuple[str, str]] = []
    for done, what in read_files(jobs, str(tmp_path), 2):
        if isinstance(what, ScanFailure):
            failed.append((done.file.path, what.why))
        elif what is None:
            ended.append(done.file.path)
            if len(ended) == 2:
                for pid in set(CHILDREN.read_text().split()) - before:
                    os.kill(int(pid), signal.SIGKILL)

    assert len(ended) in (2, 3)
    assert ("1.warc.gz", "the process that read it ended with -9") in failed
    assert len(ended) + len(failed) == 4
