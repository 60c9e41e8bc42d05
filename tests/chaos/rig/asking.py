"""The clients of a scenario: raw HTTP/1.1 over asyncio."""

import asyncio
import math
import ssl
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Final

DATE: Final = "Fri, 22 Jan 2010 11:20:29 GMT"
_LONGEST: Final = 1 << 20
# One client may have only 32 connections.
_ADDRESSES: Final = cycle(range(1, 255))


@dataclass(frozen=True, slots=True)
class Answer:
    """A response as the client saw it; *status* 0 for an incomplete one."""

    target: str
    status: int
    began: float
    seconds: float
    head: str = ""
    body: bytes = b""
    trouble: str = ""

    def header(self, name: str) -> str | None:
        for line in self.head.split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name.lower():
                return value.strip()
        return None


@dataclass(frozen=True, slots=True)
class Client:
    """A client of one server."""

    port: int
    date: str | None = DATE
    headers: Mapping[str, str] | None = None
    patience: float = 30.0
    address: str | None = None
    """Its own address, in 127.0.0.0/8; None for another one each time."""
    tls: ssl.SSLContext | None = None

    def request(self, target: str, *, last: bool) -> bytes:
        lines = [f"GET {target} HTTP/1.1", "Host: localhost"]
        if self.date is not None:
            lines.append(f"Accept-Datetime: {self.date}")
        lines += [f"{name}: {value}" for name, value in (self.headers or {}).items()]
        if last:
            lines.append("Connection: close")
        return "\r\n".join([*lines, "", ""]).encode()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(
            "127.0.0.1",
            self.port,
            limit=_LONGEST,
            local_addr=(self.address or f"127.0.9.{next(_ADDRESSES)}", 0),
            ssl=self.tls,
            server_hostname="localhost" if self.tls else None,
        )

    async def ask(self, target: str) -> Answer:
        """Send one request over a new connection."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.patience):
                reader, writer = await self.connect()
                try:
                    writer.write(self.request(target, last=True))
                    return await read_answer(reader, target, began)
                finally:
                    writer.transport.abort()
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            spent = time.monotonic() - began
            return Answer(target, 0, began, spent, trouble=f"{type(error).__name__} {error}")

    async def at_once(self, targets: Iterable[str], connections: int) -> list[Answer]:
        """Send the requests over *connections*, each the next one after an answer."""
        waiting = iter(targets)
        answers: list[Answer] = []

        async def work() -> None:
            for target in waiting:
                answers.append(await self.ask(target))  # noqa: PERF401 -- shared by tasks

        async with asyncio.TaskGroup() as group:
            for _ in range(connections):
                group.create_task(work())
        return answers

    async def at_rate(
        self, targets: Sequence[str], each_second: float, most: int = 4000
    ) -> list[Answer]:
        """Send requests at a steady rate, independent of the answers (an open loop)."""
        answers: list[Answer] = []
        places = asyncio.Semaphore(most)
        began = time.monotonic()

        async def send(target: str) -> None:
            async with places:
                answers.append(await self.ask(target))

        async with asyncio.TaskGroup() as group:
            for number, target in enumerate(targets):
                await asyncio.sleep(began + number / each_second - time.monotonic())
                group.create_task(send(target))
        return answers


async def read_answer(reader: asyncio.StreamReader, target: str, began: float) -> Answer:
    """Read one answer; raises IncompleteReadError if it is truncated."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    answer = Answer(target, int(head.split(" ", 2)[1]), began, 0.0, head)
    body = await _body(reader, answer)
    return Answer(target, answer.status, began, time.monotonic() - began, head, body)


async def _body(reader: asyncio.StreamReader, answer: Answer) -> bytes:
    length = answer.header("Content-Length")
    if length is not None:
        return await reader.readexactly(int(length))
    if answer.header("Transfer-Encoding") != "chunked":
        return b""
    body = bytearray()
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return bytes(body)


def percentile(answers: Iterable[Answer], share: float) -> float:
    """Return the seconds within which that share of requests was answered."""
    spans = sorted(answer.seconds for answer in answers)
    return spans[max(math.ceil(len(spans) * share) - 1, 0)] if spans else math.nan


def statuses(answers: Iterable[Answer]) -> str:
    """Return a text with the number of answers by status."""
    counts = Counter(answer.status or answer.trouble.split(" ")[0] for answer in answers)
    return ", ".join(f"{count:,} x {status}" for status, count in counts.most_common())


def timegates(label: str, count: int, start: int = 0) -> list[str]:
    return [
        f"/timegate/http://www.example.org/{label}/{n}" for n in range(start, start + count)
    ]


def original(target: str) -> str:
    return target.removeprefix("/timegate/")
