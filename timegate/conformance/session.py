"""The exchanges with one archive: each request is sent once, and can be recorded and replayed.

Checks that need the same response share it. After several requests in a row without a response
no more are sent to an archive: what is missing is then unknown, not failed.

A recording is a folder: ``run.json`` says what was checked and when, ``{archive}.jsonl`` has
one exchange a line. Each line is written at once and flushed, so a killed run loses nothing
that was received; a line that was cut off is ignored when the file is read.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, Protocol, cast
from urllib.parse import quote

import msgspec

from archives.errors import ArchiveError, Misbehaved, Refused, Resting, Unreachable
from archives.source import Fetcher, Purpose, Reply, Request
from timegate.conformance.subject import Subject

Wanted = Literal["lists", "digest", "text"]
"""Bodies that are read: those of lists; also the digest of a memento; also a page's text."""
Kind = Literal["unreachable", "refused", "resting", "misbehaved", "not-asked"]


@dataclass(frozen=True, slots=True)
class ExchangeTrouble:
    """Why there is no response, or only a part of one."""

    kind: Kind
    why: str


@dataclass(frozen=True, slots=True)
class RecordedExchange:
    """One request and its response, with a body of limited length."""

    request: Request
    status: int | None = None
    """None if no response arrived."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""
    trouble: ExchangeTrouble | None = None
    seconds: float = 0.0
    """From sending the request to receiving the header of the response."""
    digest: str = ""
    """SHA-256 of the first `MOST_COMPARED` octets of a memento that is compared with itself."""

    @property
    def url(self) -> str:
        """The address that was requested."""
        return self.request.url

    @property
    def was_sent(self) -> bool:
        """Whether a request was sent: not after a 429, and not if a recording lacks it."""
        return self.trouble is None or self.trouble.kind not in ("not-asked", "resting")


Key = tuple[str, str, tuple[tuple[str, str], ...], int]


def key_of(request: Request, repeat: int) -> Key:
    """Return the identity of a request; *repeat* distinguishes intended repetitions."""
    return request.method, request.url, tuple(sorted(request.headers.items())), repeat


MOST_OCTETS: Final = 8 * 1024**2
"""Length of a list that is read, some 60 000 mementos; the rest is cut off as a trouble."""
MOST_COMPARED: Final = 1024**2
"""Octets of a memento that are read where two responses are compared."""
MOST_SEARCHED: Final = 64 * 1024
"""Octets of an original that are searched for link elements."""
GIVEN_UP_AFTER: Final = 3
"""Requests in a row without a response."""
_KINDS: Final[tuple[tuple[type[ArchiveError], Kind], ...]] = (
    (Unreachable, "unreachable"),
    (Refused, "refused"),
    (Resting, "resting"),
    (Misbehaved, "misbehaved"),
)


class Recorder(Protocol):
    """Stores each exchange immediately, so that none is lost if the run is killed."""

    def __call__(self, exchange: RecordedExchange, repeat: int) -> None: ...


class Stopwatch(Protocol):
    """Knows when the last request was sent, after waiting for the rate limit."""

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
        """Without *fetch* nothing is sent: only *known* exchanges are returned."""
        self._fetch = fetch
        self._known = dict(known or {})
        self._record = record
        self._clock = clock
        self._unanswered_in_a_row = 0
        self.stopwatch: Stopwatch | None = None
        self.exchanges: dict[Key, RecordedExchange] = {}
        """The exchanges of this run, in order."""

    @property
    def request_count(self) -> int:
        """How many requests were sent, also for an earlier part of this run."""
        exchanges = {**self._known, **self.exchanges}
        return sum(exchange.was_sent for exchange in exchanges.values())

    async def get(
        self, request: Request, repeat: int = 0, *, wanted: Wanted = "lists"
    ) -> RecordedExchange:
        """Return the exchange for *request*; a new *repeat* number sends it once more.

        *wanted* says which bodies are read, if it is sent for the first time.
        """
        key = key_of(request, repeat)
        if key not in self.exchanges:
            known = self._known.get(key)
            self.exchanges[key] = known or await self._ask(request, repeat, wanted)
        return self.exchanges[key]

    async def _ask(self, request: Request, repeat: int, wanted: Wanted) -> RecordedExchange:
        if self._fetch is None:
            return RecordedExchange(
                request, trouble=ExchangeTrouble("not-asked", "not in the recording")
            )
        if self._unanswered_in_a_row >= GIVEN_UP_AFTER:
            why = f"not requested: no response {self._unanswered_in_a_row} times in a row"
            return RecordedExchange(request, trouble=ExchangeTrouble("not-asked", why))
        exchange = await self._sent(self._fetch, request, wanted)
        self._unanswered_in_a_row = (
            self._unanswered_in_a_row + 1 if _is_unanswered(exchange) else 0
        )
        if self._record is not None:
            self._record(exchange, repeat)
        return exchange

    async def _sent(self, fetch: Fetcher, request: Request, wanted: Wanted) -> RecordedExchange:
        began = self._clock()
        try:
            async with fetch(request) as reply:
                seconds = self._since(began)
                body, trouble = await _body_of(reply, request, wanted)
                headers = dict(reply.headers)
                digest = hashlib.sha256(body).hexdigest() if wanted == "digest" else ""
                kept = b"" if wanted == "digest" else body
                return RecordedExchange(
                    request, reply.status, headers, kept, trouble, seconds, digest
                )
        except ArchiveError as error:
            status, headers = None, {}
            if isinstance(error, Refused):
                status, headers = error.status, dict(error.headers)
            trouble = ExchangeTrouble(_kind_of(error), error.why)
            return RecordedExchange(request, status, headers, b"", trouble, self._since(began))

    def _since(self, began: float) -> float:
        """Return the seconds since the request was sent; waiting for the rate limit is ours."""
        sent = began if self.stopwatch is None else max(began, self.stopwatch.sent)
        return self._clock() - sent


def _is_unanswered(exchange: RecordedExchange) -> bool:
    trouble = exchange.trouble
    return exchange.status is None and trouble is not None and trouble.kind == "unreachable"


def _kind_of(error: ArchiveError) -> Kind:
    return next(kind for known, kind in _KINDS if isinstance(error, known))


async def _body_of(
    reply: Reply, request: Request, wanted: Wanted
) -> tuple[bytes, ExchangeTrouble | None]:
    """Read a list up to its limit, and the beginning of what is compared or searched."""
    is_list = request.purpose != "memento" and reply.status == 200
    if request.method == "HEAD" or not (is_list or wanted != "lists"):
        return b"", None
    most = MOST_OCTETS if is_list else _MOST[wanted]
    body = bytearray()
    try:
        async for piece in reply.chunks():
            body += piece
            if len(body) > most and not is_list:
                return bytes(body[:most]), None
            if len(body) > MOST_OCTETS:
                why = f"longer than {MOST_OCTETS:,} octets, the most that is read"
                return bytes(body[:MOST_OCTETS]), ExchangeTrouble("not-asked", why)
    except ArchiveError as error:
        return bytes(body), ExchangeTrouble(_kind_of(error), error.why)
    return bytes(body), None


_MOST: Final[dict[Wanted, int]] = {
    "lists": 0,
    "digest": MOST_COMPARED,
    "text": MOST_SEARCHED,
}
FORMAT: Final = 1
_RUN: Final = "run.json"


class BadRecording(ValueError):
    """The folder is not a recording; names the file and the reason."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The subjects of a recorded run, and when it began."""

    now: str
    subjects: tuple[Subject, ...]
    format: int = FORMAT


class _Line(msgspec.Struct, omit_defaults=True):
    """One exchange as it is stored."""

    method: str
    url: str
    purpose: Purpose
    sent: dict[str, str]
    repeat: int = msgspec.field(default=0, name="turn")
    status: int | None = None
    headers: dict[str, str] = {}
    body: bytes = b""
    trouble: ExchangeTrouble | None = None
    seconds: float = 0.0
    digest: str = ""


def write_run(folder: Path, run: RecordedRun) -> None:
    """Start a recording in *folder*, which is created if necessary."""
    # Recorded exchanges hold addresses and headers: a new folder is for its owner alone.
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / _RUN).write_bytes(msgspec.json.format(msgspec.json.encode(run)))


def read_run(folder: Path) -> RecordedRun:
    """Return what was checked and when. Raises BadRecording."""
    try:
        run = msgspec.json.decode((folder / _RUN).read_bytes(), type=RecordedRun)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadRecording(f"{folder / _RUN}: {error}") from error
    if run.format != FORMAT:
        raise BadRecording(f"{folder / _RUN}: written by another version ({run.format})")
    return run


def open_recording(folder: Path, run: RecordedRun) -> RecordedRun:
    """Start a recording, or resume one of the same subjects and return that one.

    Raises BadRecording.
    """
    if not (folder / _RUN).exists():
        write_run(folder, run)
        return run
    earlier = read_run(folder)
    if [*map(_undetected, earlier.subjects)] != [*map(_undetected, run.subjects)]:
        raise BadRecording(f"{folder} is a recording of something else")
    return earlier


def _undetected(subject: Subject) -> Subject:
    """Return *subject* without the reason for its role, which may be worded otherwise."""
    return replace(subject, detected="")


class RecordingWriter(AbstractContextManager["RecordingWriter"]):
    """Appends the exchanges with one archive to its file."""

    def __init__(self, folder: Path, archive: str) -> None:
        path = _path(folder, archive)
        self._file = path.open("ab")
        # The last line may have been cut off: it must not join the first new one.
        if self._file.tell():
            self._file.write(b"\n")

    def __call__(self, exchange: RecordedExchange, repeat: int) -> None:
        """Write one exchange and flush."""
        self._file.write(msgspec.json.encode(_line(exchange, repeat)) + b"\n")
        self._file.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


def read_recording(folder: Path, archive: str, *, failed: bool) -> dict[Key, RecordedExchange]:
    """Return the exchanges recorded for *archive*; *failed*: also those without a response.

    Of repeated recordings of one request the last counts.
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
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue  # Cut off when that run was killed.
        method = cast('Literal["GET", "HEAD"]', read.method)
        request = Request(method, read.url, read.purpose, read.sent)
        headers: Mapping[str, str] = read.headers
        yield (
            key_of(request, read.repeat),
            RecordedExchange(
                request,
                read.status,
                headers,
                read.body,
                read.trouble,
                read.seconds,
                read.digest,
            ),
        )


def _line(exchange: RecordedExchange, repeat: int) -> _Line:
    request = exchange.request
    # Header bytes that are not UTF-8 are lone surrogates here, which JSON cannot hold.
    headers = {name: _storable(value) for name, value in exchange.headers.items()}
    return _Line(
        request.method,
        _storable(request.url),
        request.purpose,
        dict(request.headers),
        repeat,
        exchange.status,
        headers,
        exchange.body,
        exchange.trouble,
        round(exchange.seconds, 6),
        exchange.digest,
    )


def _storable(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _path(folder: Path, archive: str) -> Path:
    return folder / f"{quote(archive, safe='')}.jsonl"
