"""The archive without a socket: its holdings, its faults, and the log of its traffic."""

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypedDict

from timegate.misbehave.answers import PLAIN
from timegate.misbehave.faults import (
    Chance,
    FaultChoice,
    faults_named,
    names_applying,
    reply_with,
    requested_faults,
)
from timegate.misbehave.faults.fault import Fault, FaultContext
from timegate.misbehave.site import (
    EXAMPLE,
    PAGES,
    Addresses,
    ArchiveOptions,
    FakeCapture,
    FakeHoldings,
    FakeSite,
    http_date,
    read_question,
)
from timegate.misbehave.wire import Authority, Reply, WholeAnswer, WireRequest

Ending = Literal["client", "archive"]
ENTRIES_KEPT: Final = 10_000


@dataclass(frozen=True, slots=True)
class ConnectionOpened:
    """A client opened a connection."""

    connection: int
    at: float


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """A client sent a request."""

    connection: int
    at: float
    """Seconds of the monotonic clock."""
    request: WireRequest


@dataclass(frozen=True, slots=True)
class ConnectionClosed:
    """A connection was closed, by the client or by the archive."""

    connection: int
    at: float
    by: Ending


Entry = ConnectionOpened | RequestSeen | ConnectionClosed


class TrafficLog:
    """The last `ENTRIES_KEPT` events, oldest first, and total counts."""

    def __init__(self) -> None:
        self.entries: deque[Entry] = deque(maxlen=ENTRIES_KEPT)
        self.opened_count = 0
        self.request_count = 0
        self.closed_count = 0
        self._changed = asyncio.Event()

    @property
    def requests(self) -> list[WireRequest]:
        """The requests, in the order of arrival."""
        return [entry.request for entry in self.entries if isinstance(entry, RequestSeen)]

    @property
    def closings(self) -> list[ConnectionClosed]:
        """The closed connections, in order."""
        return [entry for entry in self.entries if isinstance(entry, ConnectionClosed)]

    def record_opened(self) -> int:
        """Record a new connection; return its number."""
        self.opened_count += 1
        self._note(ConnectionOpened(self.opened_count, time.monotonic()))
        return self.opened_count

    def record_request(self, connection: int, request: WireRequest) -> None:
        """Record a request."""
        self.request_count += 1
        self._note(RequestSeen(connection, time.monotonic(), request))

    def record_closed(self, connection: int, by: Ending) -> None:
        """Record the end of a connection."""
        self.closed_count += 1
        self._note(ConnectionClosed(connection, time.monotonic(), by))

    async def until_closed(self, connections: int = 1) -> None:
        """Wait until *connections* have been closed since the start."""
        while self.closed_count < connections:
            await self._changed.wait()

    async def until_requested(self, requests: int = 1) -> None:
        """Wait until *requests* have arrived since the start."""
        while self.request_count < requests:
            await self._changed.wait()

    def _note(self, entry: Entry) -> None:
        self.entries.append(entry)
        self._changed.set()
        self._changed = asyncio.Event()


RequestObserver = Callable[[WireRequest, tuple[str, ...]], None]


class Archive:
    """Correct by default, with *fault* wrong: the name of a fault, or several as ``a+b``.

    A request can select other faults itself, see `timegate.misbehave.faults.requested_faults`.
    """

    def __init__(
        self,
        captures: Iterable[FakeCapture] = EXAMPLE,
        fault: str = "none",
        options: ArchiveOptions | None = None,
    ) -> None:
        """Hold *captures*. Raises ValueError for an unknown fault."""
        self.faults = faults_named(fault)
        self.options = options or ArchiveOptions()
        self.holdings = FakeHoldings(captures)
        self.journal = TrafficLog()
        self.authority = Authority()
        self.chance: Chance | None = None
        """Draws a fault for each request; without it every request meets all faults."""
        self.on_request: RequestObserver | None = None
        """Called for each request with the names of the faults it met.

        If it is set, answers also name their faults in a header, `FAULT_HEADER`.
        """
        self.url = ""
        """The beginning of its addresses, once it is being served."""

    @property
    def addresses(self) -> Addresses:
        """The addresses of its TimeGate, TimeMaps and captures."""
        return Addresses(self.url)

    def has_fault(self, matches: Callable[[Fault], bool]) -> bool:
        """Whether one of its faults matches."""
        return any(map(matches, self.faults))

    def server_tls(self) -> ssl.SSLContext | None:
        """Return the TLS context of the server; None without TLS. Raises MissingLibrary."""
        contexts = [fault.tls for fault in self.faults if fault.tls is not None]
        return contexts[0](self.authority) if contexts else None

    def client_tls(self) -> ssl.SSLContext:
        """Return the TLS context of a client that trusts this archive's authority."""
        return self.authority.client()

    def reply(self, request: WireRequest) -> Reply:
        """Answer a request, with the faults that it meets."""
        try:
            choice = requested_faults(request) or self._default_choice(request)
        except ValueError as error:
            return WholeAnswer(400, (PLAIN,), f"{error}\n".encode())
        shared = self.options.timegate == "200-bare"
        at = Addresses(self.url + choice.prefix, self.options.own, shared)
        site = FakeSite(self._holdings_at(at), at, self.options)
        plain = WireRequest(request.method, choice.target, request.headers)
        exchange = FaultContext(site, plain, read_question(choice.target, at))
        names = names_applying(choice.faults, exchange)
        if self.on_request is not None:
            self.on_request(request, names)
            exchange = replace(exchange, announced=", ".join(names))
        return reply_with(choice.faults, exchange)

    def _holdings_at(self, at: Addresses) -> FakeHoldings:
        """Return what is held, and the same captures of the original on this server."""
        held = self.holdings.everything()
        copies = (
            replace(each, original=f"{at.base}{PAGES}")
            for each in held
            if each.original == held[0].original
        )
        return FakeHoldings([*held, *copies])

    def _default_choice(self, request: WireRequest) -> FaultChoice:
        faults = self.faults if self.chance is None else self.chance.draw()
        return FaultChoice(faults, request.target)


UNKNOWN_PAGE: Final = "http://unknown.example/"
"""A page that the archive does not hold."""


class Description(TypedDict):
    """The addresses and faults of an archive, ready to be written as JSON."""

    url: str
    timegate: str
    timemap: dict[str, str]
    memento: str
    raw: str
    cdx: str
    unknown: str
    """The TimeGate for a page that is not held."""
    original: str
    mementos: list[dict[str, str]]
    faults: list[str]


def describe(archive: Archive) -> Description:
    """Return the description of an archive that is being served."""
    at, held = archive.addresses, archive.holdings.everything()
    original, last = held[0].original, held[-1]
    return Description(
        url=archive.url,
        timegate=at.timegate(original),
        timemap={form: at.timemap(form, original) for form in ("link", "json", "cdxj")},
        memento=at.memento(last),
        raw=at.memento(last, "id_"),
        cdx=f"{archive.url}/cdx?url={original}",
        unknown=at.timegate(UNKNOWN_PAGE),
        original=original,
        mementos=[
            {"datetime": http_date(each.at), "uri": at.memento(each)}
            for each in archive.holdings.of(original)
        ],
        faults=[fault.name for fault in archive.faults if fault.name != "none"],
    )


def description_lines(description: Description) -> list[str]:
    """Return a description as lines of text."""
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
