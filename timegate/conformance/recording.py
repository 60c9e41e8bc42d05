"""Exchanges in a folder: written as they happen, read back to judge again without a network.

``run.json`` says what was checked and when; ``{archive}.jsonl`` has one exchange a line. Each
line is written in one piece and flushed, so that a run that is killed has lost nothing but
what was not yet asked. A line that was cut off is left out when it is read.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, cast
from urllib.parse import quote

import msgspec

from archives.source import Purpose, Request
from timegate.conformance.session import ExchangeTrouble, Key, RecordedExchange, key_of
from timegate.conformance.subject import Subject

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
