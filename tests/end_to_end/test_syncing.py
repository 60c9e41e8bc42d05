"""Two stores that copy from each other, through kills and cuts, and pywb as a source."""

import json
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from urllib.request import urlopen

from tests.end_to_end.pywb import COLLECTION, GONE, MOVED, ONCE, UNCHANGED, running_pywb
from tests.end_to_end.server import Running
from tests.end_to_end.test_store import a_store, persist

SEED = 20


def index(store: Running) -> list[dict[str, object]]:
    with urlopen(f"{store.url}/collections/notes/index") as reply:  # noqa: S310 -- our server
        return [json.loads(line) for line in reply]


def sync_words(source: str, folder: Path, *more: str) -> list[str]:
    config = str(folder / "timegate.toml")
    words = ["sync", source, "--config", config, "--store", "notes", "--json", *more]
    return [sys.executable, "-m", "timegate", *words]


def sync(source: str, folder: Path, *more: str) -> dict[str, object]:
    ended = subprocess.run(  # noqa: S603 -- ourselves
        sync_words(source, folder, *more), check=False, capture_output=True, text=True
    )
    assert ended.stdout, ended.stderr
    found: dict[str, object] = json.loads(ended.stdout)
    return found


class _CuttingHandler(BaseRequestHandler):
    """Passes one connection on, and cuts every third after a part of the response."""

    server: "_CuttingServer"

    def handle(self) -> None:
        left = self.server.allowance()
        with socket.create_connection(self.server.target) as inner:
            sending = threading.Thread(target=self._send, args=(inner,), daemon=True)
            sending.start()
            # The server or its client may be killed at any moment.
            with suppress(OSError):
                while left > 0 and (octets := inner.recv(1 << 16)):
                    self.request.sendall(octets[:left])
                    left -= len(octets)
            for each in (self.request, inner):
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            sending.join()

    def _send(self, inner: socket.socket) -> None:
        with suppress(OSError):
            while octets := self.request.recv(1 << 16):
                inner.sendall(octets)


class _CuttingServer(ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, target: tuple[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), _CuttingHandler)
        self.target = target
        self._chance = random.Random(SEED)  # noqa: S311 -- a test
        self._connections = 0

    def allowance(self) -> int:
        """Return how many octets of the next connection are passed on."""
        self._connections += 1
        return 1 << 30 if self._connections % 3 else 200 + self._chance.randrange(2000)


@contextmanager
def cutting(target: str) -> Iterator[str]:
    """Yield an address that leads to *target*, with cuts."""
    host, _, port = target.removeprefix("http://").partition(":")
    with _CuttingServer((host, int(port))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def write(store: Running, name: str, number: int) -> None:
    for each in range(number):
        page = f"{store.url}/store/notes/http://example.org/{each % 7}"
        persist(
            page, f"{name} {each}", f"Timegate-Datetime: 2020-01-01T00:00:{each:02}.{name}Z"
        )


def test_two_stores_end_equal_through_kills_and_cuts(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    with a_store(folders[0]) as one, a_store(folders[1]) as two:
        write(one, "1", 20)
        write(two, "2", 20)
        with cutting(one.url) as bad:
            # Killed at some moment, then continued with cuts.
            words = sync_words(f"{bad}/collections/notes", folders[1])
            with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:  # noqa: S603 -- ourselves
                while len(index(two)) < 25 and process.poll() is None:
                    pass
                process.kill()
            for _ in range(2):
                sync(f"{bad}/collections/notes", folders[1])
        sync(f"{one.url}/collections/notes", folders[1])
        back = sync(f"{two.url}/collections/notes", folders[0])
        last = sync(f"{one.url}/collections/notes", folders[1])
        lists = index(one), index(two)

    assert lists[0] == lists[1]
    assert len(lists[0]) == 41
    assert (back["written"], last["written"]) == (20, 0)
    assert (back["failures"], last["failures"]) == ({}, {})


def test_mementos_of_pywb_are_copied_once_and_verified(tmp_path: Path) -> None:
    pages = [word for page in (ONCE, MOVED, GONE, UNCHANGED) for word in ("--url", page)]
    (tmp_path / COLLECTION).mkdir()
    with (
        a_store(tmp_path) as store,
        running_pywb("plain", tmp_path / COLLECTION) as pywb,
    ):
        first = sync(pywb.url, tmp_path, *pages)
        second = sync(pywb.url, tmp_path, *pages)
        held = index(store)

    assert first["failures"] == second["failures"] == {}
    assert first["written"] == len(held) - 1 > 4
    assert (first["unverified"], second["written"]) == (0, 0)
    statuses = {row.get("url"): row.get("status") for row in held}
    assert (statuses[MOVED], statuses[GONE]) == (301, 404)
