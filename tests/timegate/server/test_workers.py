"""The workers' parent: what it does when workers die, and with a faulty configuration."""

import signal
from pathlib import Path

import pytest

from archives.model import ArchiveEntry
from tests.clock import Clock
from tests.scenario import entry
from timegate.server.workers import SharedRateLimits, Worker, Workers, ending, ready_file


class FakeProcess:
    """A worker that dies when it is told to."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.code: int | None = None
        self.signals: list[int] = []

    def poll(self) -> int | None:
        return self.code

    def wait(self, timeout: float | None = None) -> int:
        del timeout
        return self.code or 0

    def send_signal(self, sig: int, /) -> None:
        self.signals.append(sig)

    def terminate(self) -> None:
        self.code = 0

    def kill(self) -> None:
        self.code = -9


class House:
    """Two workers that listen at once, and a clock."""

    def __init__(self, folder: Path, *, listening: bool = True) -> None:
        self.folder = folder
        self.listening = listening
        self.clock = Clock()
        self.started: list[FakeProcess] = []
        self.no_memory = False
        self.workers = Workers(2, [], folder, start=self._start, clock=self.clock)
        self.workers.start()
        if listening:
            self.workers.wait_until_listening()

    def _start(self) -> FakeProcess:
        if self.no_memory:
            raise OSError(12, "Cannot allocate memory")
        process = FakeProcess(1000 + len(self.started))
        if self.listening:
            ready_file(self.folder, process.pid).touch()
        self.started.append(process)
        return process

    def after(self, seconds: float) -> int | None:
        self.clock.advance(seconds)
        return self.workers.look()


def test_a_worker_that_dies_young_is_started_again_after_growing_pauses(tmp_path: Path) -> None:
    house = House(tmp_path)
    pauses = []
    for _ in range(12):
        house.started[-1].code = 1
        started, waited = len(house.started), 0.0
        while len(house.started) == started:
            assert house.after(0.25) is None
            waited += 0.25
        pauses.append(waited)

    assert pauses[:4] == [0.75, 1.25, 2.25, 4.25]
    assert pauses[-1] == 30.25


def test_the_parent_does_not_give_up_while_others_live(tmp_path: Path) -> None:
    house = House(tmp_path)
    outcomes = []
    for _ in range(50):
        house.started[-1].code = 1
        outcomes.append(house.after(60))

    assert outcomes == [None] * 50
    assert house.started[0].code is None


def test_the_parent_goes_on_even_if_all_workers_that_listened_die_at_once(
    tmp_path: Path,
) -> None:
    house = House(tmp_path)
    for process in house.started:
        process.code = -9

    assert house.after(0.1) is None
    house.after(5)
    assert [process.code for process in house.started] == [-9, -9, None, None]


def test_a_worker_that_lived_long_is_started_again_at_once(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.clock.advance(3600)
    house.started[0].code = -11
    house.after(0)

    assert len(house.started) == 3


def test_if_no_worker_has_ever_listened_the_start_has_failed(tmp_path: Path) -> None:
    house = House(tmp_path, listening=False)
    house.started[0].code = 2
    first = house.after(0.1)
    house.started[1].code = 2
    second = house.after(0.1)

    assert (first, second) == (None, 2)


def test_a_worker_that_cannot_be_started_is_tried_again(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.no_memory = True
    house.started[0].code = -9
    outcomes = [house.after(10) for _ in range(3)]
    house.no_memory = False
    outcomes.append(house.after(60))

    assert outcomes == [None] * 4
    assert len(house.started) == 3


def test_a_reload_reaches_each_worker_once_it_listens(tmp_path: Path) -> None:
    house = House(tmp_path, listening=False)
    ready_file(tmp_path, 1000).touch()
    house.workers.order(signal.SIGHUP)
    house.workers.obey()
    house.after(0.1)
    early = [list(process.signals) for process in house.started]
    ready_file(tmp_path, 1001).touch()
    house.after(0.1)

    assert early == [[signal.SIGHUP], []]
    assert [process.signals for process in house.started] == [[signal.SIGHUP]] * 2


def test_the_log_says_why_a_worker_died(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    house = House(tmp_path)
    house.started[0].code = -signal.SIGKILL
    house.after(3)

    (record,) = [r for r in caplog.records if r.getMessage() == "worker-died"]
    fields = record.__dict__["timegate_fields"]
    assert fields["why"] == "killed by SIGKILL (out of memory?)"
    assert (fields["pid"], fields["lived"], fields["restart_in"]) == (1000, 3.0, 0.5)


def test_the_exit_code_of_a_process_is_described() -> None:
    assert ending(1) == "exit code 1"
    assert ending(-11) == "killed by SIGSEGV"
    assert ending(-200) == "killed by signal 200"


def test_pauses_are_bounded_however_often_a_worker_dies() -> None:
    worker = Worker(None, 0.0)

    assert [worker.died(1.0) for _ in range(5000)][-1] == 30.0


def test_a_faulty_configuration_leaves_the_file_of_rate_limits_as_it_is(
    tmp_path: Path,
) -> None:
    def broken() -> list[ArchiveEntry]:
        raise RecursionError("maximum recursion depth exceeded")

    path = tmp_path / "rate_limits"
    renew = SharedRateLimits(path, [entry("a")], broken)
    before = path.read_bytes()

    renew()

    assert path.read_bytes() == before
