"""Asks one archive each thing once, and remembers.

A check that wants to know what another has asked already gets the same answer. An archive that
did not answer several times in a row is left alone: the rest is then unknown, not failed.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from archives.errors import ArchiveError, Misbehaved, Refused, Resting, Unreachable
from archives.source import Fetcher, Reply, Request

Kind = Literal["unreachable", "refused", "resting", "misbehaved", "not-asked"]


@dataclass(frozen=True, slots=True)
class ExchangeTrouble:
    """Why there is no answer, or only a part of one."""

    kind: Kind
    why: str


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """One request and its whole answer, the body within bounds."""

    request: Request
    status: int | None = None
    """None if no answer arrived."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""
    trouble: ExchangeTrouble | None = None
    seconds: float = 0.0
    """From the request to the head of the answer."""

    @property
    def url(self) -> str:
        """What was asked."""
        return self.request.url


Key = tuple[str, str, tuple[tuple[str, str], ...], int]


def key_of(request: Request, turn: int) -> Key:
    """Return what makes a question the same as another; *turn* tells repetitions apart."""
    return request.method, request.url, tuple(sorted(request.headers.items())), turn


MOST_OCTETS: Final = 8 * 1024**2
"""Of a list: some 60 000 mementos. What is longer is cut, which the checks are told."""
GIVEN_UP_AFTER: Final = 3
"""Silences in a row."""
_KINDS: Final[tuple[tuple[type[ArchiveError], Kind], ...]] = (
    (Unreachable, "unreachable"),
    (Refused, "refused"),
    (Resting, "resting"),
    (Misbehaved, "misbehaved"),
)


class Recorder(Protocol):
    """Keeps an exchange at once, so that nothing is lost whatever happens next."""

    def __call__(self, exchange: RecordedExchange, turn: int) -> None: ...


class Stopwatch(Protocol):
    """Tells when the last request left, politeness behind it."""

    @property
    def sent(self) -> float: ...


class Session:
    """The exchanges with one archive."""

    def __init__(
        self,
        fetch: Fetcher | None,
        known: Mapping[Key, RecordedExchange] | None = None,
        record: Recorder | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """*fetch* None: nothing is asked, only what is *known* can be told."""
        self._fetch = fetch
        self._known = dict(known or {})
        self._record = record
        self._clock = clock
        self._silences = 0
        self.stopwatch: Stopwatch | None = None
        self.asked: dict[Key, RecordedExchange] = {}
        """What this run has asked for, in order."""

    async def get(self, request: Request, turn: int = 0) -> RecordedExchange:
        """Return the exchange for *request*; another *turn* is the same question once more."""
        key = key_of(request, turn)
        if key not in self.asked:
            self.asked[key] = self._known.get(key) or await self._ask(request, turn)
        return self.asked[key]

    async def _ask(self, request: Request, turn: int) -> RecordedExchange:
        if self._fetch is None:
            return RecordedExchange(
                request, trouble=ExchangeTrouble("not-asked", "not in the recording")
            )
        if self._silences >= GIVEN_UP_AFTER:
            why = f"not asked: {self._silences} times in a row it did not answer"
            return RecordedExchange(request, trouble=ExchangeTrouble("not-asked", why))
        exchange = await self._sent(self._fetch, request)
        self._silences = self._silences + 1 if _is_silence(exchange) else 0
        if self._record is not None:
            self._record(exchange, turn)
        return exchange

    async def _sent(self, fetch: Fetcher, request: Request) -> RecordedExchange:
        began = self._clock()
        try:
            async with fetch(request) as reply:
                seconds = self._since(began)
                body, trouble = await _body_of(reply, request)
                headers = dict(reply.headers)
                return RecordedExchange(request, reply.status, headers, body, trouble, seconds)
        except ArchiveError as error:
            status = error.status if isinstance(error, Refused) else None
            trouble = ExchangeTrouble(_kind_of(error), error.why)
            return RecordedExchange(request, status, {}, b"", trouble, self._since(began))

    def _since(self, began: float) -> float:
        """Return the seconds since the request left; waiting out of politeness is ours."""
        sent = began if self.stopwatch is None else max(began, self.stopwatch.sent)
        return self._clock() - sent


def _is_silence(exchange: RecordedExchange) -> bool:
    trouble = exchange.trouble
    return exchange.status is None and trouble is not None and trouble.kind == "unreachable"


def _kind_of(error: ArchiveError) -> Kind:
    return next(kind for known, kind in _KINDS if isinstance(error, known))


async def _body_of(reply: Reply, request: Request) -> tuple[bytes, ExchangeTrouble | None]:
    """Read a list up to the limit; the bytes of mementos and errors would prove nothing."""
    if request.purpose == "memento" or request.method == "HEAD" or reply.status != 200:
        return b"", None
    body = bytearray()
    try:
        async for piece in reply.chunks():
            body += piece
            if len(body) > MOST_OCTETS:
                why = f"longer than {MOST_OCTETS:,} octets, which is as far as we read"
                return bytes(body[:MOST_OCTETS]), ExchangeTrouble("not-asked", why)
    except ArchiveError as error:
        return bytes(body), ExchangeTrouble(_kind_of(error), error.why)
    return bytes(body), None
