"""Requests and responses as handlers see them, without the HTTP server."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote

from timegate.resolution.context import UNLIMITED, RequestContext
from timegate.resolution.model import Preferences
from timegate.resolution.preferences import NO_PREFERENCES, preferences_from

NO_NEGOTIATION: Final = '<http://mementoweb.org/terms/donotnegotiate>; rel="type"'
"""The ``Link`` of a resource that is not a memento and has none."""


class ClientRequest(NamedTuple):
    """One request. *rest* is the raw target behind the route, query included."""

    method: str
    rest: str
    headers: Mapping[str, str]
    """Names in any case; the first of repeated fields."""
    repeated: frozenset[str] = frozenset()
    """Names, in lower case, of fields that occur more than once."""
    context: RequestContext = UNLIMITED
    """The limits and rights of the client."""

    def below(self, prefix: str) -> "ClientRequest":
        """Return the same request with *prefix* removed from its target."""
        return self._replace(rest=self.rest.removeprefix(prefix))

    @property
    def preferences(self) -> tuple[Preferences, tuple[str, ...]]:
        """What the header fields ask for, and the preferences that are applied."""
        prefer, caching = self.headers.get("Prefer"), self.headers.get("Cache-Control")
        if prefer is None and caching is None:
            return NO_PREFERENCES, ()
        return preferences_from({}, prefer, caching)

    def header(self, name: str) -> str | None:
        """Return the value of a header; None if it is missing."""
        return self.headers.get(name)


@dataclass(frozen=True, slots=True)
class Response:
    """A response with its whole body."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    keep: float = 0.0
    """Seconds for which the same request may get this response again."""


@dataclass(frozen=True, slots=True)
class StreamingResponse:
    """A response whose body is made while it is sent.

    If *chunks* raises, the connection is aborted, so that a part is never taken for the whole
    (R-21).
    """

    status: int
    headers: Mapping[str, str]
    chunks: AsyncGenerator[bytes, None]
    most_idle: float | None = None
    """Seconds without progress after which sending ends; None for the usual rule."""
    in_progress: bool = False
    """Whether the request counts as in progress until the body is sent: a batch is worked on
    while it is read."""


class EarlyResponse(Exception):
    """Ends a handler early with a response."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response


Handler = Callable[[ClientRequest], Awaitable[Response | StreamingResponse]]


class PostHandler(Protocol):
    """Answers POST requests; the server reads the body within these limits."""

    @property
    def largest_body(self) -> int:
        """Octets."""
        ...

    @property
    def body_deadline(self) -> float:
        """Seconds until the body has to be there."""
        ...

    async def __call__(
        self, request: ClientRequest, body: bytes
    ) -> Response | StreamingResponse: ...


class ClosingBody(AsyncGenerator[bytes, None]):
    """Streaming body that closes its source even if it is never iterated (HEAD)."""

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
        try:
            await self._chunks.aclose()
        finally:
            await self._stack.aclose()


PARAMETERS: Final = frozenset(
    {"as", "archives", "exclude", "precision", "tolerance", "direction", "wait", "verify"}
)
_ENCODED_COLON: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+%3[Aa]")


def identifier_in(rest: str) -> str:
    """Return the identifier in *rest*, decoded once if it was encoded as a whole."""
    if _ENCODED_COLON.match(rest):
        return unquote(rest, errors="surrogateescape")
    return rest


def without_parameters(rest: str) -> tuple[str, Mapping[str, str]]:
    """Return the identifier and our parameters behind it."""
    before, mark, behind = rest.rpartition("?")
    if not mark or "=" not in behind:
        return rest, {}
    pairs = (
        parse_qsl(behind, keep_blank_values=True, max_num_fields=20)
        if behind.count("&") < 20
        else []
    )
    if not pairs or not all(name in PARAMETERS for name, _ in pairs):
        return rest, {}
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    # Lists may be written either way; of what is no list, two are one too many.
    return before, {name: ",".join(given) for name, given in values.items()}


_LONGEST: Final = 2000
_WEIGHT: Final = re.compile(r"[01](?:\.[0-9]{0,3})?")


def weights(accept: str) -> dict[str, float]:
    """Return the weight of every media range that *accept* names; what is no weight is 0."""
    found: dict[str, float] = {}
    for member in accept[:_LONGEST].lower().split(","):
        media, *parameters = (part.strip() for part in member.split(";"))
        stated = (p.removeprefix("q=") for p in parameters if p.startswith("q="))
        text = next(stated, "1")
        found[media] = float(text) if _WEIGHT.fullmatch(text) else 0.0
    return found


def weight(accept: str, offer: str) -> float:
    """Return how much *accept* likes *offer*; the most specific range decides."""
    named = weights(accept)
    ranges = (offer, f"{offer.partition('/')[0]}/*", "*/*")
    return next((named[media] for media in ranges if media in named), 0.0)
