"""HTTP/1.1 byte by byte: a client and a server that neither repair nor decode anything."""

import re
import socket
import ssl
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where to connect, and with which Host; *tls* if the client has to use it."""

    port: int
    tls: ssl.SSLContext | None = None
    name: str = "localhost"

    def connect(self) -> socket.socket:
        plain = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls is None:
            return plain
        return self.tls.wrap_socket(plain, server_hostname=self.name)


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """A response, read until the end of the connection."""

    status: int
    fields: tuple[tuple[str, str], ...]
    body: bytes
    whole: bool
    """Whether the body is complete according to its framing."""

    def get(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


def ask(
    place: Place, target: str, fields: Mapping[str, str] | None = None, body: bytes = b""
) -> RawAnswer:
    """Send one request with exactly this target."""
    method = "POST" if body else "GET"
    with place.connect() as talk:
        _send(talk, _request(method, target, {"Host": place.name, **(fields or {})}, body))
        return read_answer(_all(talk))


def _request(method: str, target: str, fields: Mapping[str, str], body: bytes) -> bytes:
    usual = {"Connection": "close"}
    if body:
        usual["Content-Length"] = str(len(body))
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in {**usual, **fields}.items()]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body


def _send(talk: socket.socket, octets: bytes) -> None:
    try:
        talk.sendall(octets)
    except OSError:
        # Who refuses a body early closes before all of it is sent; the answer is there.
        return


def _all(talk: socket.socket) -> bytes:
    received = bytearray()
    try:
        while octets := talk.recv(65536):
            received += octets
    except (ConnectionError, ssl.SSLEOFError):
        pass
    return bytes(received)


def read_answer(octets: bytes) -> RawAnswer:
    """Parse a response, and find out whether it is complete."""
    head, _, rest = octets.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = tuple(
        (name.lower(), value.strip()) for name, _, value in (s.partition(":") for s in lines)
    )
    known = dict(fields)
    status = int(first.split(" ")[1]) if " " in first else 0
    if known.get("transfer-encoding") == "chunked":
        body, whole = _unchunked(rest)
    else:
        body, whole = rest, len(rest) == int(known.get("content-length", -1))
    return RawAnswer(status, fields, body, whole)


def _unchunked(octets: bytes) -> tuple[bytes, bool]:
    body = bytearray()
    while True:
        size, mark, octets = octets.partition(b"\r\n")
        if not mark:
            return bytes(body), False
        length = int(size, 16)
        if length == 0:
            return bytes(body), True
        body += octets[:length]
        octets = octets[length + 2 :]


@dataclass
class RawServer:
    """Answers with the head that arrived; behind some targets, it misbehaves."""

    port: int
    go_on: threading.Event = field(default_factory=threading.Event)
    heads: list[bytes] = field(default_factory=list)

    def answer(self, talk: socket.socket) -> None:
        head = _head(talk)
        if not head:
            return
        self.heads.append(head)
        target = head.split(b" ")[1]
        match target.removeprefix(b"/timemap/"):
            case b"cut-chunks":
                talk.sendall(_CHUNKED + _chunk(b"first\n"))
            case b"cut-length":
                talk.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst\n")
            case b"reset-chunks":
                talk.sendall(_CHUNKED + _chunk(b"first\n"))
                # Lets the first piece be read before the reset overtakes it.
                self.go_on.wait(PATIENCE)
                talk.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            case b"long-link":
                link = b", ".join(
                    b'<http://a.example/%s>; rel="x"' % (b"y" * 8000) for _ in range(9)
                )
                talk.sendall(b"HTTP/1.1 200 OK\r\nLink: %s\r\nContent-Length: 0\r\n\r\n" % link)
            case b"events":
                talk.sendall(_CHUNKED + _chunk(b"data: first\n\n"))
                self.go_on.wait(PATIENCE)
                talk.sendall(_chunk(b"data: second\n\n") + b"0\r\n\r\n")
            case _:
                response = (
                    b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
                )
                talk.sendall(response % (len(head), head))


_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def _chunk(octets: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(octets), octets)


def _head(talk: socket.socket) -> bytes:
    received = bytearray()
    while b"\r\n\r\n" not in received:
        octets = talk.recv(65536)
        if not octets:
            return b""
        received += octets
    head, _, rest = bytes(received).partition(b"\r\n\r\n")
    stated = re.search(rb"(?i)\r\ncontent-length: ([0-9]+)", head)
    missing = int(stated[1]) - len(rest) if stated else 0
    while missing > 0:
        octets = talk.recv(65536)
        if not octets:
            return b""
        missing -= len(octets)
    return head


@contextmanager
def raw_server() -> Iterator[RawServer]:
    """Run a `RawServer` in threads until the block ends."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        server = RawServer(int(listener.getsockname()[1]))
        accepting = threading.Thread(target=_accept, args=(listener, server), daemon=True)
        accepting.start()
        try:
            yield server
        finally:
            server.go_on.set()
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join(PATIENCE)


def _accept(listener: socket.socket, server: RawServer) -> None:
    while True:
        try:
            talk, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_served, args=(talk, server), daemon=True).start()


def _served(talk: socket.socket, server: RawServer) -> None:
    with talk:
        talk.settimeout(PATIENCE)
        try:
            server.answer(talk)
        except OSError:
            # The other side has left, which is its right.
            return
