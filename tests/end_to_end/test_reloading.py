"""Signals to real processes under load: SIGHUP, SIGUSR2 and SIGTERM fail no request."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.end_to_end.server import Running, serving

RELOADS = 20
AT = {"Accept-Datetime": "Fri, 22 Jan 2016 11:20:29 GMT"}


@pytest.fixture(scope="module")
def archives() -> Iterator[int]:
    """Two archives in a process of their own; the port."""
    command = [sys.executable, "-m", "tests.bench.archives", "2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 -- ours
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def asked(port: int) -> list[int]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/stats")
    counts: list[int] = json.loads(connection.getresponse().read())
    connection.close()
    return counts


def configured(path: Path, port: int, *numbers: int, more: str = "") -> Path:
    """Write a configuration with some of the archives, atomically as an editor does."""
    text = "[archives]\nuse = []\n" + more
    for number in numbers:
        base = f"http://127.0.0.1:{port}/a{number}"
        text += (
            f'[[archive]]\nid = "a{number}"\nkind = "memento"\n'
            f'timegate = "{base}/timegate/"\ntimemap = "{base}/timemap/link/"\n'
        )
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)
    return path


class Load:
    """Clients that request a new page each time, and record failures."""

    def __init__(self, url: str) -> None:
        self.answers = 0
        self.failures: list[str] = []
        self._port = urlsplit(url).port or 80
        self._ended = threading.Event()

    def ask(self, connection: http.client.HTTPConnection, target: str) -> int:
        connection.request("GET", target, headers=AT)
        reply = connection.getresponse()
        reply.read()
        return reply.status

    def run(self, name: int) -> None:
        number = 0
        while not self._ended.is_set():
            number += 1
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
            try:
                status = self.ask(connection, f"/timegate/http://x.org/{name}/{number}")
                if status != 302:
                    self.failures.append(f"{status}")
            except OSError as error:
                self.failures.append(repr(error))
            connection.close()
            self.answers += 1

    @contextmanager
    def running(self, clients: int = 4) -> Iterator[None]:
        threads = [threading.Thread(target=self.run, args=(n,)) for n in range(clients)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()


def get(url: str, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    connection.request("GET", path)
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, body


def until(true: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 120
    while not true():
        assert time.monotonic() < give_up
        time.sleep(0.02)


def archives_of(running: Running) -> list[str]:
    archives: list[str] = json.loads(get(running.url, "/about")[1])["archives"]
    return archives


def readiness(running: Running) -> dict[str, object]:
    report: dict[str, object] = json.loads(get(running.url, "/readyz")[1])
    return report


def test_twenty_reloads_under_load_fail_no_request(archives: int, tmp_path: Path) -> None:
    """FA-17: an archive is added and removed; once removed, it is not queried."""
    config = configured(tmp_path / "timegate.toml", archives, 0, 1)
    with serving("--config", str(config)) as running:
        load = Load(running.url)
        with load.running():
            for reload in range(RELOADS):
                numbers = (0,) if reload % 2 == 0 else (0, 1)
                configured(config, archives, *numbers)
                os.kill(running.pid, signal.SIGHUP)
                names = [f"a{number}" for number in numbers]
                until(lambda names=names: archives_of(running) == names)  # type: ignore[misc]
            configured(config, archives, 0)
            os.kill(running.pid, signal.SIGHUP)
            until(lambda: archives_of(running) == ["a0"])
            time.sleep(1.0)
            before = asked(archives)
            time.sleep(1.0)
            after = asked(archives)

    assert load.failures == []
    assert load.answers > RELOADS
    assert after[0] > before[0]
    assert after[1] == before[1]


def test_a_bad_configuration_changes_nothing_and_is_reported(
    archives: int, tmp_path: Path
) -> None:
    config = configured(tmp_path / "timegate.toml", archives, 0)
    with serving("--config", str(config)) as running:
        config.write_text("[listen]\nprot = 1\n")
        os.kill(running.pid, signal.SIGHUP)
        until(lambda: readiness(running)["configuration"] != "ok")
        report = readiness(running)
        still = archives_of(running)
        configured(config, archives, 0, 1)
        os.kill(running.pid, signal.SIGHUP)
        until(lambda: readiness(running)["configuration"] == "ok")
        then = archives_of(running)

    assert report["ready"] is True
    assert report["configuration"] == "not taken over, see the log"
    assert still == ["a0"]
    assert then == ["a0", "a1"]


def test_workers_apply_a_change_and_are_replaced_one_by_one(
    archives: int, tmp_path: Path
) -> None:
    config = configured(tmp_path / "timegate.toml", archives, 0)
    with serving("--config", str(config), "--workers", "2") as running:
        load = Load(running.url)
        with load.running(2):
            configured(config, archives, 0, 1)
            os.kill(running.pid, signal.SIGHUP)
            until(lambda: all(archives_of(running) == ["a0", "a1"] for _ in range(20)))
            workers = children(running.pid)
            os.kill(running.pid, signal.SIGUSR2)
            until(lambda: len(workers & children(running.pid)) == 0)
            # Requests in progress at a dead worker are no longer counted.
            until(lambda: showing(running.pid) == children(running.pid))

    # The kernel drops connections that a closing listener has not accepted: a client sees a
    # reset before it has sent anything, and may ask again.
    resets = [failure for failure in load.failures if "Reset" in failure]
    assert load.failures == resets
    # At most one for each of two clients, at each of two workers.
    assert len(resets) <= 4


def children(pid: int) -> set[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {int(child) for child in listed}


def showing(pid: int) -> set[int]:
    """Return the workers of *pid* whose gauges are shown in /metrics."""
    found = set()
    for child in children(pid):
        environment = Path(f"/proc/{child}/environ").read_text().split("\0")
        name = "PROMETHEUS_MULTIPROC_DIR="
        folder = next(one for one in environment if one.startswith(name)).removeprefix(name)
        found |= {int(file.stem.rpartition("_")[2]) for file in Path(folder).glob("gauge_*")}
    return found


@contextmanager
def slow_archive() -> Iterator[int]:
    """An archive that takes a second and a half; the port."""
    options = ["1", "--median", "1.5", "--sigma", "0.1"]
    command = [sys.executable, "-m", "tests.bench.archives", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 -- ours
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def test_requests_in_progress_finish_before_a_stop(tmp_path: Path) -> None:
    """FA-18: two hundred requests are in progress at SIGTERM, and each is answered."""
    statuses: list[int | str] = []
    exempt = '[limits]\nexempt = ["127.0.0.1"]\n'
    with slow_archive() as port:
        config = configured(tmp_path / "timegate.toml", port, 0, more=exempt)
        with serving("--config", str(config)) as running:

            def one(number: int) -> None:
                try:
                    statuses.append(
                        get(running.url, f"/timegate/http://x.org/{number % 40}")[0]
                    )
                except OSError as error:
                    statuses.append(repr(error))

            threads = [threading.Thread(target=one, args=(n,)) for n in range(200)]
            for thread in threads:
                thread.start()
            until(lambda: b"timegate_in_flight 200.0" in get(running.url, "/metrics")[1])
        # That was the end of the server: it was sent SIGTERM, and is gone.
        for thread in threads:
            thread.join()

    assert statuses == [302] * 200
