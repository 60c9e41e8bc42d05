"""Asks one archive each thing once, and remembers.

A check that wants to know what another has asked already gets the same answer. An archive that
did not answer several times in a row is left alone: the rest is then unknown, not failed.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Protocol, cast
from urllib.parse import quote

import msgspec

from archives.errors import ArchiveError, Misbehaved, Refused, Resting, Unreachable
from archives.source import Fetcher, Purpose, Reply, Request
from timegate.conformance.subject import Subject

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


FORMAT: Final = 1
_RUN: Final = "run.json"


class BadRecording(ValueError):
    """A folder that is no recording; says which file and why."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What was checked, and when."""

    now: str
    subjects: tuple[Subject, ...]
    format: int = FORMAT


class _Line(msgspec.Struct, omit_defaults=True):
    """One exchange as it is written."""

    method: str
    url: str
    purpose: Purpose
    sent: dict[str, str]
    turn: int = 0
    status: int | None = None
    headers: dict[str, str] = {}
    body: bytes = b""
    trouble: ExchangeTrouble | None = None
    seconds: float = 0.0


def write_run(folder: Path, run: RecordedRun) -> None:
    """Begin a recording in *folder*, which is made where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _RUN).write_bytes(msgspec.json.format(msgspec.json.encode(run)))


def read_run(folder: Path) -> RecordedRun:
    """Return what was checked. Raises BadRecording."""
    try:
        run = msgspec.json.decode((folder / _RUN).read_bytes(), type=RecordedRun)
    except (OSError, msgspec.MsgspecError) as error:
        raise BadRecording(f"{folder / _RUN}: {error}") from error
    if run.format != FORMAT:
        raise BadRecording(f"{folder / _RUN}: written by another version ({run.format})")
    return run


def begun(folder: Path, run: RecordedRun) -> RecordedRun:
    """Begin a recording, or go on with one of the same archives, as of when that began.

    Raises BadRecording.
    """
    if not (folder / _RUN).exists():
        write_run(folder, run)
        return run
    earlier = read_run(folder)
    if earlier.subjects != run.subjects:
        raise BadRecording(f"{folder} is a recording of something else")
    return earlier


class Tape(AbstractContextManager["Tape"]):
    """Writes the exchanges with one archive."""

    def __init__(self, folder: Path, archive: str) -> None:
        path = _path(folder, archive)
        self._file = path.open("ab")
        # A line that a kill cut in two must not swallow the first new one.
        if self._file.tell():
            self._file.write(b"\n")

    def __call__(self, exchange: RecordedExchange, turn: int) -> None:
        """Write one exchange, whole and at once."""
        self._file.write(msgspec.json.encode(_line(exchange, turn)) + b"\n")
        self._file.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


def read_tape(folder: Path, archive: str, *, failed: bool) -> dict[Key, RecordedExchange]:
    """Return what was recorded of *archive*; *failed*: also what did not answer.

    The last one counts where a question was recorded twice.
    """
    path = _path(folder, archive)
    if not path.exists():
        return {}
    exchanges = dict(_exchanges(path.read_bytes().splitlines()))
    if failed:
        return exchanges
    return {key: exchange for key, exchange in exchanges.items() if exchange.trouble is None}


def _exchanges(lines: Sequence[bytes]) -> Iterator[tuple[Key, RecordedExchange]]:
    for line in lines:
        try:
            read = msgspec.json.decode(line, type=_Line)
        except msgspec.MsgspecError:
            continue  # Cut off by whatever ended that run.
        method = cast('Literal["GET", "HEAD"]', read.method)
        request = Request(method, read.url, read.purpose, read.sent)
        headers: Mapping[str, str] = read.headers
        yield (
            key_of(request, read.turn),
            RecordedExchange(
                request, read.status, headers, read.body, read.trouble, read.seconds
            ),
        )


def _line(exchange: RecordedExchange, turn: int) -> _Line:
    request = exchange.request
    # Header fields that are no UTF-8 came as lone surrogates, which JSON cannot hold.
    headers = {name: _storable(value) for name, value in exchange.headers.items()}
    return _Line(
        request.method,
        _storable(request.url),
        request.purpose,
        dict(request.headers),
        turn,
        exchange.status,
        headers,
        exchange.body,
        exchange.trouble,
        round(exchange.seconds, 6),
    )


def _storable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _path(folder: Path, archive: str) -> Path:
    return folder / f"{quote(archive, safe='')}.jsonl"
