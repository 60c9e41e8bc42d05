"""Request and response smuggling: no client gets the response for another."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Final

from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import Client
from tests.chaos.rig.misbehaving import PAGE, entry, misbehaving
from tests.chaos.rig.timegates import timegate
from tests.chaos.scenario import Rig, Scenario

_MARK: Final = "/timegate/http://smuggled.example/mark"
_INNER: Final = f"GET {_MARK} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
_CHUNKED: Final = b"0\r\n\r\n" + _INNER
_LENGTH: Final = str(len(_CHUNKED)).encode()

_FIELDS: Final = (
    b"Content-Length: " + _LENGTH + b"\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: chunked\r\nContent-Length: " + _LENGTH,
    b"Content-Length: " + _LENGTH + b"\r\nTransfer-Encoding: xchunked",
    b"Content-Length: " + _LENGTH + b"\r\nTransfer-Encoding : chunked",
    b"Content-Length: " + _LENGTH + b"\r\n Transfer-Encoding: chunked",
    b"Content-Length: " + _LENGTH + b"\r\nTransfer-Encoding:\x0bchunked",
    b"Content-Length: " + _LENGTH + b"\r\nTransfer-Encoding: chunked, identity",
    b"Content-Length: " + _LENGTH + b"\r\nTransfer-Encoding: identity, chunked",
    b"Content-Length: " + _LENGTH + b"\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x",
    b"Content-Length: " + _LENGTH + b"\r\nX: y\rTransfer-Encoding: chunked",
    b"Content-Length: " + _LENGTH + b"\r\nX: y\nTransfer-Encoding: chunked",
    b"Content-Length: " + _LENGTH + b"\r\nTransfer-Encoding\x00: chunked",
    b"Content-Length: 0\r\nContent-Length: " + _LENGTH,
    b"Content-Length: " + _LENGTH + b"\r\nContent-Length: 0",
    b"Content-Length: 0, " + _LENGTH,
    b"Content-Length: +0\r\nX: y",
    b"Content-Length: -0\r\nX: y",
    b"Content-Length: 0x0\r\nX: y",
    "Content-Length: \N{ARABIC-INDIC DIGIT ZERO}\r\nX: y".encode(),
    b"Content-Length : 0\r\nX: y",
    b"Content-Length: \x0b0",
)
_CHUNKS: Final = (
    b"0x0\r\n\r\n",
    b"+0\r\n\r\n",
    b"-0\r\n\r\n",
    b"0_0\r\n\r\n",
    "\N{ARABIC-INDIC DIGIT ZERO}\r\n\r\n".encode(),
    b"0\n\n",
    b"0;a=\n\r\n\r\n",
    b" 0\r\n\r\n",
    b"ffffffffffffffff0\r\n\r\n",
    b"1\r\nab\r\n0\r\n\r\n",
    b"0\r\nContent-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\n",
)


def vectors() -> Iterator[bytes]:
    """Yield requests in which the marked one is part of a body, or malformed."""
    for method in (b"POST /resolve", b"GET /healthz"):
        for fields in _FIELDS:
            yield method + b" HTTP/1.1\r\nHost: x\r\n" + fields + b"\r\n\r\n" + _CHUNKED
        for chunk in _CHUNKS:
            head = b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            yield method + head + chunk + _INNER
    yield b"GET /healthz HTTP/1.1\nHost: x\nContent-Length: 5\n\n" + _INNER
    yield b"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + _INNER
    yield b"GET /healthz\rHTTP/1.1\r\nHost: x\r\n\r\n" + _INNER
    yield b"get /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + _INNER
    yield b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n" + _INNER
    yield b"GET /healthz\r\n" + _INNER


async def smuggled_requests(rig: Rig) -> None:
    """SE-03: a request inside the body of another is not executed."""
    sent = list(vectors())
    with archives(2, rig.folder) as farm, timegate(rig.place("t"), farm.entries()) as server:
        replies = [await asyncio.to_thread(_exchange, server.port, octets) for octets in sent]
        healthy = await Client(server.port).ask("/healthz")
        targets = [target for number in range(2) for _, target in farm.requests_to(number)]
    marked = [target for target in targets if "smuggled.example" in target]
    broken = [
        octets for octets, answer in zip(sent, replies, strict=True) if b" 500 " in answer
    ]
    rig.promise(
        f"{len(sent)} requests that contain another: executed",
        f"{len(marked)}; {len(broken)} answered 500",
        "0; 0",
        met=not marked and not broken and healthy.status == 200,
    )


def _exchange(port: int, octets: bytes) -> bytes:
    """Send *octets*; return what is received until a second passes without data."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), 1.0) as connection:
        try:
            connection.sendall(octets)
            while piece := connection.recv(65536):
                answer += piece
        except OSError:
            return answer
    return answer


_FAULTS: Final = (
    *("two-lengths", "nul-in-header", "head-with-body", "continue-flood"),
    *("status-304", "status-204", "status-205", "status-206", "status-416"),
    *("truncated-length", "truncated-chunks"),
)


async def smuggled_answers(rig: Rig) -> None:
    """HU-14, HU-22: after a bad answer, the next one from that host is right."""
    right = f"/web/20100101120000/{PAGE}"
    wrong = []
    with misbehaving(rig.folder) as address:
        # One host for all: data left in a connection would be read as the next answer.
        config = "".join(entry(address, name) for name in ("none", *_FAULTS))
        with timegate(rig.place("t"), config) as server:
            for number, fault in enumerate(_FAULTS):
                bad = Client(server.port, headers={"Prefer": f"archives={fault}"})
                for endpoint in ("timegate", "timemap/link", "memento/proxy/20200202020202"):
                    await bad.ask(f"/{endpoint}/{PAGE}")
                date = f"Fri, 01 Jan 2010 12:00:{number:02} GMT"
                good = Client(server.port, date=date, headers={"Prefer": "archives=none"})
                answer = await good.ask(f"/timegate/{PAGE}")
                if not (answer.header("Location") or "").endswith(right):
                    wrong.append(fault)
    rig.promise(
        f"{len(_FAULTS)} faults that leave data in a connection: wrong next answers",
        f"{len(wrong)} {wrong or ''}",
        "0",
        met=not wrong,
    )


async def slow_bodies(rig: Rig) -> None:
    """SE-02, S16: requests whose head or body arrives a byte a second are ended."""
    with archives(1, rig.folder) as farm, timegate(rig.place("t"), farm.entries()) as server:
        head, body = await asyncio.gather(
            asyncio.to_thread(_trickled, server.port, b"GET /healthz HTTP/1.1\r\nHost: "),
            asyncio.to_thread(
                _trickled,
                server.port,
                b"POST /resolve HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n",
            ),
        )
    rig.promise(
        "a head at one byte a second ends after", f"{head:.1f} s", "11 s", met=head <= 11
    )
    rig.promise(
        "a body at one byte a second ends after", f"{body:.1f} s", "16 s", met=body <= 16.5
    )


def _trickled(port: int, beginning: bytes) -> float:
    """Send a byte a second until the server closes the connection; return the seconds."""
    with socket.create_connection(("127.0.0.1", port), 1.0) as connection:
        connection.sendall(beginning)
        for second in range(40):
            try:
                connection.sendall(b"a")
                if connection.recv(1) == b"" or second > 38:
                    return float(second)
            except TimeoutError:
                continue
            except OSError:
                return float(second)
            return float(second)
    return 40.0


SCENARIOS: Final = (
    Scenario("smuggled-requests", "SE-03, BI-11", smuggled_requests, 120),
    Scenario("smuggled-answers", "HU-14, HU-22", smuggled_answers, 90),
    Scenario("slow-bodies", "SE-02, S16", slow_bodies),
)
