"""What the archive saw: every connection, every request, every end, in order."""

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal

from timegate.misbehave.wire import WireRequest

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
