"""An archive without a socket: what it holds, what is wrong with it, what it saw."""

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypedDict

from timegate.misbehave.faults import Chance, Play, faults_named, named, played, wish
from timegate.misbehave.faults.fault import Fault, FaultContext
from timegate.misbehave.site import (
    EXAMPLE,
    Addresses,
    FakeCapture,
    FakeHoldings,
    FakeSite,
    Manner,
    http_date,
    read_question,
)
from timegate.misbehave.wire import Authority, Reply, WholeAnswer, WireRequest

Ending = Literal["client", "archive"]
KEPT: Final = 10_000


@dataclass(frozen=True, slots=True)
class ConnectionOpened:
    """A client connected."""

    connection: int
    at: float


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """A client asked."""

    connection: int
    at: float
    """Seconds of the monotonic clock."""
    request: WireRequest


@dataclass(frozen=True, slots=True)
class ConnectionClosed:
    """A connection ended, and who ended it."""

    connection: int
    at: float
    by: Ending


Entry = ConnectionOpened | RequestSeen | ConnectionClosed


class TrafficLog:
    """The last `KEPT` things that happened, oldest first, and how many there were in all."""

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=KEPT)
        self.opened_in_all = 0
        self.asked_in_all = 0
        self.closed_in_all = 0
        self._changed = asyncio.Event()

    @property
    def requests(self) -> list[WireRequest]:
        """The requests, in the order they came."""
        return [entry.request for entry in self.entries if isinstance(entry, RequestSeen)]

    @property
    def closings(self) -> list[ConnectionClosed]:
        """The ends of connections, in order."""
        return [entry for entry in self.entries if isinstance(entry, ConnectionClosed)]

    def opened(self) -> int:
        """Note a connection; return its number."""
        self.opened_in_all += 1
        self._note(ConnectionOpened(self.opened_in_all, time.monotonic()))
        return self.opened_in_all

    def asked(self, connection: int, request: WireRequest) -> None:
        """Note a request."""
        self.asked_in_all += 1
        self._note(RequestSeen(connection, time.monotonic(), request))

    def closed(self, connection: int, by: Ending) -> None:
        """Note the end of a connection."""
        self.closed_in_all += 1
        self._note(ConnectionClosed(connection, time.monotonic(), by))

    async def until_closed(self, connections: int = 1) -> None:
        """Wait until that many connections have ended, counted from the start."""
        while self.closed_in_all < connections:
            await self._changed.wait()

    async def until_asked(self, requests: int = 1) -> None:
        """Wait until that many requests have come, counted from the start."""
        while self.asked_in_all < requests:
            await self._changed.wait()

    def _note(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._changed.set()
        self._changed = asyncio.Event()


Told = Callable[[WireRequest, tuple[str, ...]], None]
_PLAIN: Final = ("Content-Type", "text/plain; charset=utf-8")


class Archive:
    """Right by default, and wrong as *fault* says: a name, or several as ``a+b``.

    A request may wish for another fault, see `timegate.misbehave.playing`.
    """

    def __init__(
        self,
        captures: Iterable[FakeCapture] = EXAMPLE,
        fault: str = "none",
        manner: Manner | None = None,
    ) -> None:
        """Hold *captures*. Raises ValueError for a fault that does not exist."""
        self.faults = faults_named(fault)
        self.manner = manner or Manner()
        self.holdings = FakeHoldings(captures)
        self.journal = TrafficLog()
        self.authority = Authority()
        self.chance: Chance | None = None
        """Draws what requests meet; without it they meet all faults."""
        self.tell: Told | None = None
        """Hears of each request, with the names of the faults it met.

        With somebody who listens, answers also say it themselves: `playing.HEADER`.
        """
        self.url = ""
        """What its addresses begin with, once it is being served."""

    @property
    def addresses(self) -> Addresses:
        """Where its TimeGate, TimeMaps and captures are."""
        return Addresses(self.url)

    def of_connections(self, is_so: Callable[[Fault], bool]) -> bool:
        """Whether one of its faults is so."""
        return any(map(is_so, self.faults))

    def server_tls(self) -> ssl.SSLContext | None:
        """Return TLS settings of a server, None without TLS. Raises MissingLibrary."""
        made = next((fault.tls for fault in self.faults if fault.tls is not None), None)
        return None if made is None else made(self.authority)

    def client_tls(self) -> ssl.SSLContext:
        """Return TLS settings of a client that trusts this archive's authority."""
        return self.authority.client()

    def reply(self, request: WireRequest) -> Reply:
        """Answer a request, rightly or wrongly."""
        try:
            play = wish(request) or self._usual(request)
        except ValueError as error:
            return WholeAnswer(400, (_PLAIN,), f"{error}\n".encode())
        site = FakeSite(self.holdings, Addresses(self.url + play.prefix), self.manner)
        asked = WireRequest(request.method, play.target, request.headers)
        exchange = FaultContext(site, asked, read_question(play.target))
        names = named(play.faults, exchange)
        if self.tell is not None:
            self.tell(request, names)
            exchange = FaultContext(site, asked, exchange.question, announced=", ".join(names))
        return played(play.faults, exchange)

    def _usual(self, request: WireRequest) -> Play:
        faults = self.faults if self.chance is None else self.chance.draw()
        return Play(faults, request.target)


UNKNOWN: Final = "http://unknown.example/"
"""A page that the archive does not hold."""


class Description(TypedDict):
    """Ready to be written as JSON."""

    url: str
    timegate: str
    timemap: dict[str, str]
    memento: str
    raw: str
    cdx: str
    unknown: str
    """The TimeGate of a page that is not held."""
    original: str
    mementos: list[dict[str, str]]
    faults: list[str]


def described(archive: Archive) -> Description:
    """Describe an archive that is being served."""
    at, held = archive.addresses, archive.holdings.everything()
    original, last = held[0].original, held[-1]
    return Description(
        url=archive.url,
        timegate=at.timegate(original),
        timemap={form: at.timemap(form, original) for form in ("link", "json", "cdxj")},
        memento=at.memento(last),
        raw=at.memento(last, "id_"),
        cdx=f"{archive.url}/cdx?url={original}",
        unknown=at.timegate(UNKNOWN),
        original=original,
        mementos=[
            {"datetime": http_date(each.at), "uri": at.memento(each)}
            for each in archive.holdings.of(original)
        ],
        faults=[fault.name for fault in archive.faults if fault.name != "none"],
    )


def written(description: Description) -> list[str]:
    """Write a description as lines for people."""
    held = description["mementos"]
    return [
        f"TimeGate  {description['timegate']}",
        *(f"TimeMap   {uri}" for uri in description["timemap"].values()),
        f"memento   {description['memento']}",
        f"raw       {description['raw']}",
        f"CDX       {description['cdx']}",
        f"unknown   {description['unknown']}",
        f"{len(held)} mementos of {description['original']}:",
        *(f"  {each['datetime']}" for each in held),
    ]
