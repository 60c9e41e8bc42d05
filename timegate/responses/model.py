"""Requests and responses, independent of the HTTP server, and reading of request targets."""

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import TracebackType
from typing import Final, NamedTuple, Protocol
from urllib.parse import parse_qsl, quote, unquote, unquote_plus

from archives.moment import Moment
from timegate.resolution.context import UNLIMITED, RequestContext
from timegate.resolution.model import Preferences
from timegate.resolution.preferences import (
    ALSO,
    NO_PREFERENCES,
    PARAMETERS,
    preferences_from,
)

NO_NEGOTIATION: Final = '<http://mementoweb.org/terms/donotnegotiate>; rel="type"'
"""The ``Link`` of a resource that is not a memento and has none (RFC 7089 4.5.8)."""


class ClientRequest(NamedTuple):
    """One request. *rest* is the raw target after the route, query included."""

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
        return self.at(self.rest.removeprefix(prefix))

    def at(self, rest: str) -> "ClientRequest":
        """Return the same request with *rest* as its target."""
        return ClientRequest(self.method, rest, self.headers, self.repeated, self.context)

    @property
    def preferences(self) -> tuple[Preferences, tuple[str, ...]]:
        """The preferences in the header fields, and those of ``Prefer`` that are applied."""
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
    settled: "SettledResponse | None" = field(
        default=None, init=False, compare=False, repr=False
    )
    """Makes the response to the same request for another time; None if that is not known.

    It is not an argument, so that `replace` does not copy it."""

    def mark_settled(self, settled: "SettledResponse") -> None:
        """Set `settled`, where the response is made."""
        object.__setattr__(self, "settled", settled)


class SettledResponse(Protocol):
    """The responses to a request that hold for a range of times."""

    @property
    def keep(self) -> float:
        """Seconds for which they hold."""
        ...

    @property
    def size(self) -> int:
        """Octets that they take."""
        ...

    def at(self, time: Moment) -> Response | None:
        """Return the response for the *time* requested; None if it is not in the range."""
        ...


@dataclass(frozen=True, slots=True)
class StreamingResponse:
    """A response whose body is produced while it is sent.

    If *chunks* raises, the connection is aborted, so that a part is never taken for the whole
    (R-21).
    """

    status: int
    headers: Mapping[str, str]
    chunks: AsyncGenerator[bytes, None]

    @property
    def is_event_stream(self) -> bool:
        """Whether the body consists of server-sent events, with pauses of any length."""
        return self.headers.get("Content-Type") == "text/event-stream"


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
        """Seconds within which the body has to arrive."""
        ...

    async def __call__(
        self, request: ClientRequest, body: bytes
    ) -> Response | StreamingResponse: ...


class WriteHandler(Protocol):
    """Answers PUT and POST requests below a prefix."""

    @property
    def body_deadline(self) -> float:
        """Seconds within which the body has to arrive."""
        ...

    def largest_body(self, request: ClientRequest) -> int:
        """Return how many octets the body may have, before any of it is read.

        Raises EarlyResponse if the request is refused.
        """
        ...

    async def write(self, request: ClientRequest, body: bytes) -> Response:
        """Answer the request, whose *rest* is the target after the prefix."""
        ...

    def options(self, request: ClientRequest) -> Response | str | None:
        """Answer an OPTIONS request; None for the usual answer."""
        ...


class ClosingBody(AsyncGenerator[bytes, None]):
    """Streaming body that closes its source even if it is never iterated (HEAD)."""

    def __init__(self, chunks: AsyncGenerator[bytes, None], stack: AsyncExitStack) -> None:
        self._chunks = chunks
        self._stack = stack

    async def asend(self, value: None) -> bytes:
        """Return the next chunk."""
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
        """Close the body and its source."""
        try:
            await self._chunks.aclose()
        finally:
            await self._stack.aclose()


FORMAT_PARAMETER: Final = "as"
OWN_PARAMETERS: Final = frozenset({FORMAT_PARAMETER, *(p.name for p in PARAMETERS)})
"""Query parameters that are not part of the identifier."""
# Parameters of EDGI's client of the Wayback Machine. They are refused and not translated:
# target_window also limits redirects, and exact=false means neither day nor any.
_OF_OTHER_CLIENTS: Final = {
    "exact": "precision=exact",
    "target_window": "tolerance with a unit, such as tolerance=86400s",
}
_ENCODED_COLON: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+%3[Aa]")


class UnknownParameter(ValueError):
    """A parameter that is not ours, where ours are read; the message says what to write."""

    def __init__(self, name: str) -> None:
        known = near_parameter(name)
        hint = "" if known is None else f"; write {known}"
        super().__init__(f"{name!r} is not a parameter{hint}")
        self.name = name


def near_parameter(name: str) -> str | None:
    """Return the parameter that *name* probably stands for; None if there is none."""
    other = _OF_OTHER_CLIENTS.get(name.lower())
    # Longer names are not compared: no parameter is nearly as long.
    similar = get_close_matches(name.lower(), OWN_PARAMETERS, 1, 0.75) if len(name) < 40 else ()
    return other or next(iter(similar), None)


def identifier_in(rest: str) -> str:
    """Return the identifier in *rest*, decoded once if all of it is percent-encoded."""
    if _ENCODED_COLON.match(rest):
        return unquote(rest, errors="surrogateescape")
    return rest


def without_parameters(rest: str) -> tuple[str, Mapping[str, str]]:
    """Return the identifier, and our parameters, which follow its last question mark.

    If none of them is ours, all belong to the identifier. If only some are, one is misspelled
    or belongs to the identifier: that is not guessed. Raises UnknownParameter.
    """
    identifier, _, query = rest.rpartition("?")
    if "=" not in query:
        return rest, {}
    names = {name for name, _ in parse_qsl(query, keep_blank_values=True)}
    if names.isdisjoint(OWN_PARAMETERS) and not names <= _OF_OTHER_CLIENTS.keys():
        return rest, {}
    return identifier, parameters_in(query)


def parameters_in(query: str) -> Mapping[str, str]:
    """Return our parameters in *query*. Raises UnknownParameter for all others.

    A repeated parameter is a list; for a parameter that takes no list it is a bad value.
    """
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in OWN_PARAMETERS:
            raise UnknownParameter(name)
        values.setdefault(name, []).append(value)
    return {name: (" " if name == ALSO else ",").join(texts) for name, texts in values.items()}


def without_also(rest: str) -> tuple[str, Mapping[str, str]]:
    """Return the URL of a TimeGate request, and the equivalent URLs after it.

    All else after the question mark belongs to the URL, and so does ``also`` without a URL.
    """
    url, _, query = rest.rpartition("?")
    pairs = parse_qsl(query, keep_blank_values=True) if f"{ALSO}=" in query else []
    is_ours = pairs and all(
        name == ALSO and text.startswith(("http://", "https://")) for name, text in pairs
    )
    return (url, {ALSO: " ".join(text for _, text in pairs)}) if is_ours else (rest, {})


def encoded_path(rest: str, name: str) -> str:
    """Return the path for *rest* if its parameter *name* belongs to the URL (G-4).

    The identifier is encoded, with that parameter and others that are not ours.
    """
    identifier, _, query = rest.rpartition("?")
    ours = OWN_PARAMETERS - {name}
    pairs = [(_is_one_of(ours, pair), pair) for pair in query.split("&")]
    whole = f"{identifier_in(identifier)}?{'&'.join(pair for own, pair in pairs if not own)}"
    parameters = "&".join(pair for own, pair in pairs if own)
    return "?".join(filter(None, (resolve_path(whole), parameters)))


def _is_one_of(names: frozenset[str], pair: str) -> bool:
    name, equals, _ = pair.partition("=")
    return bool(equals) and unquote_plus(name) in names


def resolve_path(identifier: str) -> str:
    """Return the path of *identifier*, encoded if its query could be taken for parameters."""
    if "?" not in identifier:
        return f"/resolve/{identifier}"
    return f"/resolve/{quote(identifier, safe='', errors='surrogateescape')}"


_LONGEST_ACCEPT: Final = 2000
_WEIGHT: Final = re.compile(r"[01](?:\.[0-9]{0,3})?")


def weights(accept: str) -> dict[str, float]:
    """Return the weight of every media range in *accept*; an invalid weight is 0."""
    found: dict[str, float] = {}
    for member in accept[:_LONGEST_ACCEPT].lower().split(","):
        media, *parameters = (part.strip() for part in member.split(";"))
        stated = (p.removeprefix("q=") for p in parameters if p.startswith("q="))
        text = next(stated, "1")
        found[media] = float(text) if _WEIGHT.fullmatch(text) else 0.0
    return found


def weight(accept: str, offer: str) -> float:
    """Return the weight of the media type *offer*; the most specific range counts."""
    stated = weights(accept)
    ranges = (offer, f"{offer.partition('/')[0]}/*", "*/*")
    return next((stated[media] for media in ranges if media in stated), 0.0)
