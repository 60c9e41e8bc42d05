"""The lock for checks: one process holds it, and a killed process loses it."""

import subprocess
import sys
from pathlib import Path

from timegate.conformance.history import CheckLock, secret_at


def test_one_process_holds_the_lock_at_a_time(tmp_path: Path) -> None:
    first, second = CheckLock(tmp_path / "running"), CheckLock(tmp_path / "running")

    assert first.acquire("a")
    assert not first.acquire("b")
    assert not second.acquire("b")
    assert second.holder() == first.holder() == "a"
    first.release()
    assert second.holder() is None
    assert second.acquire("b")
    assert first.holder() == "b"
    second.release()


def test_a_lock_that_was_never_acquired_has_no_holder(tmp_path: Path) -> None:
    lock = CheckLock(tmp_path / "running")
    lock.release()

    assert lock.holder() is None


def test_a_killed_process_releases_the_lock(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time\nfrom timegate.conformance.history import CheckLock\n"
        "lock = CheckLock(pathlib.Path(sys.argv[1]))\nprint(lock.acquire('a'), flush=True)\n"
        "time.sleep(60)\n"
    )
    path = tmp_path / "running"
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 -- ours
        assert process.stdout is not None
        process.stdout.readline()
        during = CheckLock(path).holder()
        process.kill()
        process.wait()

    assert during == "a"
    assert CheckLock(path).holder() is None


def test_a_secret_is_created_once_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "key"

    first = secret_at(path)

    assert len(first) == 32
    assert secret_at(path) == first
    assert path.stat().st_mode & 0o777 == 0o600
