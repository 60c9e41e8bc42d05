"""Requests to the misbehaving archive, over a socket or without one."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from aiohttp import ClientSession, ClientTimeout
from multidict import CIMultiDictProxy
from yarl import URL

from timegate.misbehave import (
    Archive,
    ArchiveOptions,
)
from timegate.misbehave.wire import WholeAnswer, WireRequest

PAGE: Final = "http://example.org/"
NEAR_THE_PAIR: Final = "Wed, 01 Jul 2015 00:00:30 GMT"
PAIR_LATER: Final = "Tue, 30 Jun 2015 23:59:59 GMT"
PATIENCE: Final = 20.0
SMALL: Final = ArchiveOptions(
    interval=0.001, patience=10.0, bulk=200_000, bomb=5_000_000, delay=0.0
)
TIMEGATE: Final = f"/timegate/{PAGE}"
TIMEMAP: Final = f"/timemap/link/{PAGE}"
REPLAY: Final = f"/web/20130615083000/{PAGE}"
CDX: Final = "/cdx/search/cdx?url=example.org/&output=json"


@dataclass(frozen=True, slots=True)
class Seen:
    status: int
    headers: CIMultiDictProxy[str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def mementos(self) -> list[str]:
        """The addresses of mementos in a link-format body, in order."""
        return re.findall(r'<([^>]*)>[^<]*rel="[a-z ]*memento"', self.text)


async def ask(
    archive: Archive, path: str, method: str = "GET", headers: Mapping[str, str] | None = None
) -> Seen:
    async with (
        ClientSession(auto_decompress=False, timeout=ClientTimeout(PATIENCE)) as session,
        session.request(
            method,
            URL(archive.url + path, encoded=True),
            headers=headers,
            allow_redirects=False,
        ) as reply,
    ):
        return Seen(reply.status, reply.headers, await reply.read())


async def ask_raw(archive: Archive, path: str, method: str = "GET", at_most: int = -1) -> bytes:
    """Return the bytes on the wire, all of them or *at_most* that many."""
    async with asyncio.timeout(PATIENCE):
        host, port = archive.url.rpartition("/")[2].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        close = "Connection: close\r\n"
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n".encode())
        try:
            return await (reader.read() if at_most < 0 else reader.readexactly(at_most))
        finally:
            writer.close()
            await writer.wait_closed()


def at(when: str) -> dict[str, str]:
    return {"Accept-Datetime": when}


def pure(fault: str, path: str, method: str = "GET", **headers: str) -> WholeAnswer:
    """Return the answer with a fault, without a socket."""
    archive = Archive(fault=fault, options=SMALL)
    archive.url = "http://127.0.0.1:1"
    fields = tuple((name.replace("_", "-").lower(), v) for name, v in headers.items())
    answer = archive.reply(WireRequest(method, path, fields))
    assert isinstance(answer, WholeAnswer)
    return answer


def relations(answer: WholeAnswer) -> dict[str, tuple[str, str]]:
    """Return target and date of each memento link in the Link header, by relation."""
    found = re.findall(
        r'<([^>]*)>; rel="([a-z ]*memento)"; datetime="([^"]*)"', answer.value("Link") or ""
    )
    return {rel: (target, date) for target, rel, date in found}


def location(answer: WholeAnswer) -> str:
    assert answer.status == 302
    return answer.value("Location") or ""


CORRECT_TIMEMAP: Final = pure("none", TIMEMAP).body.decode()
