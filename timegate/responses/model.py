"""A request and an answer, as far as handlers need to know them."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple


class ClientRequest(NamedTuple):
    """One request. *rest* is the target behind the route, octet by octet, query included."""

    method: str
    rest: str
    headers: Mapping[str, str]
    """Names in any case, as the server's mapping takes them; the first of repeated fields."""
    repeated: frozenset[str] = frozenset()
    """Names, in lower case, of fields that came more than once."""

    def below(self, prefix: str) -> "ClientRequest":
        """Return the same request as it looks behind *prefix*."""
        rest = self.rest.removeprefix(prefix)
        return ClientRequest(self.method, rest, self.headers, self.repeated)

    def header(self, name: str) -> str | None:
        """Return the value of a header; None where it is missing."""
        return self.headers.get(name)


@dataclass(frozen=True, slots=True)
class Response:
    """What goes back."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    keep: float = 0.0
    """For how many seconds the same question may be answered with this again."""


@dataclass(frozen=True, slots=True)
class StreamingResponse:
    """An answer whose body is made while it is sent.

    If *chunks* raises, the connection is broken off, so that nobody takes the part for the
    whole (R21).
    """

    status: int
    headers: Mapping[str, str]
    chunks: AsyncGenerator[bytes, None]


class EarlyResponse(Exception):
    """A request that is answered before the archives are asked."""

    def __init__(self, answer: Response) -> None:
        super().__init__(answer.status)
        self.answer = answer


class ClosingBody(AsyncGenerator[bytes, None]):
    """Chunks, and what is to be ended after the last of them."""

    def __init__(self, chunks: AsyncGenerator[bytes, None], stack: AsyncExitStack) -> None:
        self._chunks = chunks
        self._stack = stack

    async def asend(self, value: None) -> bytes:
        """Return the next piece."""
        return await self._chunks.asend(value)

    async def athrow(
        self,
        kind: type[BaseException] | BaseException,
        error: BaseException | object = None,
        trace: TracebackType | None = None,
    ) -> bytes:
        """Raise in the body."""
        del error, trace
        return await self._chunks.athrow(kind() if isinstance(kind, type) else kind)

    async def aclose(self) -> None:
        """End it, and what it reads from."""
        await self._chunks.aclose()
        await self._stack.aclose()
