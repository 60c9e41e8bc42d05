"""The turn to check: one has it, whoever dies gives it back."""

import subprocess
import sys
from pathlib import Path

from timegate.conformance.history import Turn, secret_at


def test_one_has_the_turn_at_a_time(tmp_path: Path) -> None:
    first, second = Turn(tmp_path / "running"), Turn(tmp_path / "running")

    assert first.take("a")
    assert not first.take("b")
    assert not second.take("b")
    assert second.holder() == first.holder() == "a"
    first.give_back()
    assert second.holder() is None
    assert second.take("b")
    assert first.holder() == "b"
    second.give_back()


def test_nobody_has_what_was_never_taken(tmp_path: Path) -> None:
    turn = Turn(tmp_path / "running")
    turn.give_back()

    assert turn.holder() is None


def test_who_is_killed_has_it_no_more(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys, time\nfrom timegate.conformance.history import Turn\n"
        "turn = Turn(pathlib.Path(sys.argv[1]))\nprint(turn.take('a'), flush=True)\n"
        "time.sleep(60)\n"
    )
    path = tmp_path / "running"
    command = [sys.executable, "-c", program, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 -- ours
        assert process.stdout is not None
        process.stdout.readline()
        during = Turn(path).holder()
        process.kill()
        process.wait()

    assert during == "a"
    assert Turn(path).holder() is None


def test_a_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "key"

    first = secret_at(path)

    assert len(first) == 32
    assert secret_at(path) == first
    assert path.stat().st_mode & 0o777 == 0o600
