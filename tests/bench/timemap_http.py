"""The same merge over HTTP: our server and MemGator, one after the other.

The archives are one process with ten lists in memory, so that they take little time. CPU and
peak memory are those that the kernel reports for the whole process at its end.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import Process
from pathlib import Path
from typing import NamedTuple

from archives.formats.httpdate import http_date
from tests.bench.timemap import ARCHIVES, LENGTHS, ORIGINAL, stamps

MARK = b"/web/"
CONFIG = 'contact = "mailto:bench@example.org"\n[archives]\nuse = []\n'


class Cost(NamedTuple):
    """The cost of one TimeMap."""

    cpu: float
    first_byte: float
    seconds: float
    peak: float
    mementos: int


def compare(memgator: Path) -> None:
    """Print the cost of both servers for link-format and JSON."""
    head = ("over HTTP", "CPU s", "first byte s", "all s", "peak MB", "mementos")
    print("\n{:<36}{:>8}{:>14}{:>9}{:>10}{:>12}".format(*head))
    with tempfile.TemporaryDirectory() as folder:
        for form in ("link", "json"):
            for length in LENGTHS:
                with archives(length, Path(folder)) as listed:
                    ours = cost(serve(listed, Path(folder)), form, "ours")
                    theirs = cost(their_server(memgator, listed), form, "MemGator")
                print_cost(f"{form}, {ARCHIVES} x {length:,}, ours", ours)
                print_cost(f"{form}, {ARCHIVES} x {length:,}, MemGator", theirs)
                parts = (ours.cpu / theirs.cpu, ours.peak / theirs.peak)
                print("{:<36}{:.2f} of its CPU, {:.2f} of its memory".format("", *parts))


def print_cost(name: str, found: Cost) -> None:
    print(
        f"{name:<36}{found.cpu:>8.2f}{found.first_byte:>14.3f}{found.seconds:>9.2f}"
        f"{found.peak:>10.0f}{found.mementos:>12,}"
    )


def body(port: int, archive: int, length: int) -> bytes:
    # At the archive's own server: captures at other servers are dropped.
    base = f"http://127.0.0.1:{port}/{archive}{MARK.decode()}"
    links = (
        f'<{base}{stamp}/{ORIGINAL}>; rel="memento"; datetime="{http_date(stamp)}"'
        for stamp in stamps(archive, length)
    )
    return ",\n".join([f'<{ORIGINAL}>; rel="original"', *links]).encode() + b"\n"


@contextmanager
def archives(length: int, folder: Path) -> Iterator[Path]:
    """Serve the lists; yield MemGator's file of archives."""
    port = free_port()
    server = Process(target=serve_lists, args=(port, length), daemon=True)
    server.start()
    wait_for(port)
    entries = [
        {
            "id": f"archive-{n}",
            "name": f"archive {n}",
            "timemap": f"http://127.0.0.1:{port}/{n}/timemap/link/",
            "timegate": f"http://127.0.0.1:{port}/{n}/timegate/",
        }
        for n in range(ARCHIVES)
    ]
    file = folder / "archives.json"
    file.write_text(json.dumps(entries))
    try:
        yield file
    finally:
        server.terminate()
        server.join()


def serve_lists(port: int, length: int) -> None:
    bodies = [body(port, archive, length) for archive in range(ARCHIVES)]

    class Archive(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            content = bodies[int(self.path.split("/")[1])]
            self.send_response(200)
            self.send_header("Content-Type", "application/link-format")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        """With 5, the sixth concurrent connection waits a second for a retransmission."""

        def handle_error(self, request: object, client_address: object) -> None:
            del request, client_address

    Server(("127.0.0.1", port), Archive).serve_forever()


def serve(listed: Path, folder: Path) -> Sequence[str]:
    config = folder / "timegate.toml"
    config.write_text(CONFIG)
    options = ("--config", str(config), "--archives", str(listed))
    return (sys.executable, "-m", "timegate", "serve", *options, "--port", "{port}")


def their_server(memgator: Path, listed: Path) -> Sequence[str]:
    return (str(memgator), "--arcs", str(listed), "--port", "{port}", "server")


def cost(command: Sequence[str], form: str, name: str) -> Cost:
    """Run a server, request one TimeMap, and end the server."""
    port = free_port()
    words = [word.replace("{port}", str(port)) for word in command]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        first_byte, seconds, count = fetched(port, f"/timemap/{form}/{ORIGINAL}")
    except TimeoutError:
        sys.exit(f"{name} did not start: {' '.join(words)}")
    finally:
        process.send_signal(signal.SIGTERM)
        # Not Popen.wait: only this returns the resource usage of the process.
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    # JSON has the first and the last memento twice.
    count -= 2 if form == "json" else 0
    if count <= 0:
        sys.exit(f"{name} sent no mementos")
    cpu = used.ru_utime + used.ru_stime
    return Cost(cpu, first_byte, seconds, used.ru_maxrss / 1024, count)


def fetched(port: int, target: str) -> tuple[float, float, int]:
    """Return seconds to the first octet and to the last, and the number of captures.

    Nothing is stored: the peak memory of a child starts at that of its parent.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    began = time.perf_counter()
    connection.request("GET", target)
    response = connection.getresponse()
    rest = response.read(1)
    first_byte = time.perf_counter() - began
    count = 0
    while chunk := response.read(1 << 20):
        chunk = rest + chunk
        count += chunk.count(MARK)
        rest = chunk[1 - len(MARK) :]
    connection.close()
    return first_byte, time.perf_counter() - began, count


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"no server at port {port}")
