"""Fakes for the interfaces of `archives/source.py`, which record their calls."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

from archives.errors import ArchiveError, Misbehaved, Refused
from archives.kinds import KINDS
from archives.model import ArchiveEntry, Limits, Rate
from archives.source import Request

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
_RATE = Rate(requests=1000, seconds=1, burst=1000)
UNLIMITED = Limits(memento=_RATE, index=_RATE, at_once=8, source="test")


def clock() -> datetime:
    """Return a time that never changes."""
    return NOW


def an_entry(kind: str, **fields: object) -> ArchiveEntry:
    """Return an entry of which only *fields* matter."""
    known: dict[str, object] = {
        "id": "test",
        "name": "Test",
        "kind": KINDS[kind],
        "use": True,
        "because": "",
        "access": "open",
        "limits": UNLIMITED,
    }
    return ArchiveEntry(**(known | fields))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Canned:
    """A canned response; the body in the pieces in which it arrives."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Sequence[bytes] = b""
    breaks: ArchiveError | None = None
    """What is raised at the end of the body, instead of an end."""


@dataclass(frozen=True, slots=True)
class FakeReply:
    """A `Reply` whose body is in memory."""

    url: str
    status: int
    headers: Mapping[str, str]
    pieces: Sequence[bytes]
    breaks: ArchiveError | None

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece
        if self.breaks is not None:
            raise self.breaks


Answers = Mapping[str, Canned | ArchiveError] | Callable[[Request], Canned | ArchiveError]


class FakeFetcher:
    """A `Fetcher` with canned answers by ``METHOD url``, or by URL alone for both methods.

    As the real one does, it gives HEAD no body, follows nothing, and raises Refused for 403,
    429 and 503 without Memento-Datetime, and Misbehaved for hosts other than *hosts*. What it
    has no answer for is not found.
    """

    def __init__(self, answers: Answers, hosts: Sequence[str] = ("archive.example",)) -> None:
        self._answers = answers
        self._hosts = hosts
        self.journal: list[Request] = []

    @property
    def lines(self) -> list[str]:
        """The requests so far, as ``METHOD url``."""
        return [f"{request.method} {request.url}" for request in self.journal]

    @asynccontextmanager
    async def __call__(self, request: Request) -> AsyncGenerator[FakeReply]:
        if _host(request.url) not in self._hosts:
            raise Misbehaved("test", request.url, "the registry does not name its host")
        self.journal.append(request)
        answer = self._answer(request)
        if isinstance(answer, ArchiveError):
            raise answer
        headers = {name.lower(): value for name, value in answer.headers.items()}
        if answer.status in (403, 429, 503) and "memento-datetime" not in headers:
            raise Refused("test", request.url, answer.status, None)
        pieces = [answer.body] if isinstance(answer.body, bytes) else answer.body
        body = () if request.method == "HEAD" else pieces
        yield FakeReply(request.url, answer.status, headers, body, answer.breaks)

    def _answer(self, request: Request) -> Canned | ArchiveError:
        if callable(self._answers):
            return self._answers(request)
        by_method = self._answers.get(f"{request.method} {request.url}")
        return by_method or self._answers.get(request.url) or Canned(404)


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
