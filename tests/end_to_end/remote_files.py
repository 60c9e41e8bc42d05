"""Files behind real servers on loopback: one with ranges and faults, and a moto with S3."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Final, Literal
from urllib.error import URLError
from urllib.parse import unquote
from urllib.request import ProxyHandler, Request, build_opener

import obstore
from obstore.store import S3Store

Fault = Literal[
    "", "ignores", "truncates", "changes", "redirects", "elsewhere", "lies", "stalls"
]
ENVIRONMENT: Final = Path(__file__).parents[2] / ".venv-moto"
BUCKET: Final = "warcs"
SECRET: Final = "not-to-be-printed"  # noqa: S105 -- moto takes any
PATIENCE: Final = 60.0
_RANGE: Final = re.compile(r"bytes=([0-9]+)-([0-9]+)")


class FileServer(ThreadingHTTPServer):
    """Serves *folder* below ``/files/``, with *fault*."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.fault: Fault = ""
        self.away = ""
        self.asked: list[str] = []
        self.reached = Event()
        self.released = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/files/"


class _Handler(BaseHTTPRequestHandler):
    server: FileServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = self.server
        server.asked.append(self.path)
        if server.fault == "stalls":
            server.reached.set()
            server.released.wait(PATIENCE)
        if server.fault == "redirects":
            return self._send(302, b"", Location=server.away + self.path)
        file = server.folder / unquote(self.path).removeprefix("/files/")
        if not file.is_file():
            return self._send(404, b"no such file")
        return self._ranged(file.read_bytes())

    def _ranged(self, octets: bytes) -> None:
        found = _RANGE.fullmatch(self.headers.get("Range", ""))
        fault = self.server.fault
        if found is None or fault == "ignores":
            return self._send(200, octets)
        start, end = int(found[1]), min(int(found[2]) + 1, len(octets))
        if start >= len(octets):
            return self._send(416, b"")
        etag = f'"{len(self.server.asked)}"' if fault == "changes" else '"1"'
        content_range = f"bytes {start + (fault == 'elsewhere')}-{end - 1}/{len(octets)}"
        sent = octets[start + 1 : end] + b"x" if fault == "lies" else octets[start:end]
        return self._send(206, sent, Content_Range=content_range, ETag=etag)

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        cut = self.server.fault == "truncates"
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = cut

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def file_server(folder: Path) -> Iterator[FileServer]:
    with FileServer(folder) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()


class Store:
    """A bucket in a running moto; signed requests, because moto refuses to delete unsigned."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        made = Request(f"{endpoint}/{BUCKET}", method="PUT")  # noqa: S310
        build_opener(ProxyHandler({})).open(made, timeout=30).close()
        self._store = S3Store(
            BUCKET,
            endpoint=endpoint,
            region="us-east-1",
            access_key_id="testing",
            secret_access_key=SECRET,
            client_options={"allow_http": True},
        )

    def put(self, key: str, octets: bytes) -> None:
        obstore.put(self._store, key, octets)

    def delete(self, key: str) -> None:
        obstore.delete(self._store, key)


@contextmanager
def running_moto() -> Iterator[Store]:
    """Start moto from an environment of its own: it pins libraries that ours has newer."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(ENVIRONMENT / "bin" / "moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as process:  # noqa: S603 -- our own words
        try:
            yield Store(_answering(f"http://127.0.0.1:{port}", process))
        finally:
            process.terminate()


def _answering(url: str, process: "subprocess.Popen[bytes]") -> str:
    opener, give_up = build_opener(ProxyHandler({})), time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < give_up:
        try:
            opener.open(f"{url}/moto-api/", timeout=5).close()
        except (URLError, OSError):
            time.sleep(0.05)
        else:
            return url
    raise RuntimeError("moto does not answer")


@contextmanager
def credentials(endpoint: str) -> Iterator[None]:
    """Set the credentials in the environment, as an operator does."""
    environment = {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
    }
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
