"""One question and what came back, kept as it was: the evidence that every finding shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from archives.source import Request

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
