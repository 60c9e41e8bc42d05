"""THTTP (RFC 2169): ``/uri-res/{operation}?{identifier}``, the operations of RFC 2483.

    N2L, N2R   redirect to the memento        N2Ls   lists the closest memento of each archive
    N2C        describes the memento          N2Ns   lists equivalent names of an identifier
    I=I        compares two identifiers       L2Ns   lists names of the memento found

The first letter, ``N``, ``I`` or ``L``, is the kind of input; any identifier is accepted for
each. Mementos are never sent, only redirected to; the verdict is in ``Memento-Precision``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import islice
from typing import Final, Protocol
from urllib.parse import unquote

from archives.diagnostics import Malformed
from archives.model import Closest
from archives.registry import Registry
from archives.uri import WEB
from timegate.citations import cited
from timegate.endpoints import (
    HTML_CONTENT,
    QUERIED,
    REDIRECT,
    TEXT_CONTENT,
    VERDICT,
    PathDescription,
    answered,
)
from timegate.identifiers import parse
from timegate.identifiers.model import ParsedIdentifier
from timegate.resolution.exhaustive import ExhaustiveResolver
from timegate.resolution.model import Resolution, Router
from timegate.resolution.query import NotNegotiable, query_for
from timegate.responses.answers import Answers
from timegate.responses.model import (
    ClientRequest,
    EarlyResponse,
    Response,
    identifier_in,
    weight,
)
from timegate.responses.problems import problem, status_of_refusal, unreadable
from timegate.verdict import header_safe

VARY: Final = "accept, prefer"
_LIST: Final = "text/uri-list"
_PAGE: Final = "text/html"
_OPERATION: Final = re.compile(r"([NIL])2(?:([LRCN])(S?))", re.IGNORECASE)
_SAME: Final = "I=I"
_SCHEME: Final = re.compile(r"(?:urn|pwid|duri|tdb|pdi|https?+)(?::|%3A)", re.IGNORECASE)
_SPACE: Final = re.compile(r" |%20")
_MOST_SPACES: Final = 100
_PATIENCE: Final = 5.0
"""Seconds for the list of all archives."""
_LISTS: Final = (_LIST, _PAGE)
_ANY: Final[tuple[str, ...]] = ()
_JSON: Final = ("application/json",)
_MEDIA_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("L", "R", "RS"), _ANY),
    **dict.fromkeys(("C", "CS"), _JSON),
    **dict.fromkeys(("LS", "N", "NS"), _LISTS),
}
"""The media types of each output; that of a redirect does not matter."""
# The output of N2L is a URL, not the resource: see other. N2R redirects to the resource.
_REDIRECTS: Final = {"L": 303, "R": 302, "RS": 302}
_DESCRIPTIONS: Final = ("C", "CS")
_NAMED: Final = ("urn:pwid:", "duri:", "tdb:", "pdi:")
OPERATIONS: Final = ("N2L", "N2Ls", "N2R", "N2Rs", "N2C", "N2Cs", "N2N", "N2Ns", "L2Ns", _SAME)
_KNOWN: Final = "N2L, N2Ls, N2R, N2Rs, N2C, N2Cs, N2N, N2Ns, the same with I or L, and I=I"
PATHS: Final = {
    "/uri-res/{operation}": PathDescription(
        "THTTP (RFC 2169); the identifier is the whole query",
        {
            **REDIRECT,
            "303": REDIRECT["302"],
            **answered(
                "A list, a description, or whether two identifiers are the same",
                {
                    "text/uri-list": "Text",
                    **HTML_CONTENT,
                    **TEXT_CONTENT,
                    "application/json": "Report",
                },
                *VERDICT,
            ),
        },
        ("operation",),
        "Write /uri-res/N2L?{identifier}: OpenAPI has no such parameter. Without it: 400.",
        problems=(*QUERIED, "406"),
    ),
}


class SeriesThttp(Protocol):
    """Answers operations on PDIs of our own series."""

    def owns(self, found: ParsedIdentifier) -> bool: ...

    async def answer(
        self, request: ClientRequest, wanted: str, found: ParsedIdentifier
    ) -> Response | None:
        """Answer the operation; None for the names of an identifier, which all kinds have."""
        ...


class ThttpEndpoint:
    """Answers the operations below ``/uri-res/``."""

    def __init__(
        self, answers: Answers, registry: Registry, route: Router, patience: float = _PATIENCE
    ) -> None:
        self._answers = answers
        self._registry = registry
        self._exhaustive = ExhaustiveResolver(answers, route, patience)
        self.series: SeriesThttp | None = None
        """Answers for PDIs of our own series; set if any is configured."""

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer one operation. Errors have the statuses of RFC 2169 (H-3)."""
        name, _, operand = request.rest.partition("?")
        name = unquote(name).upper()
        operation = _OPERATION.fullmatch(name)
        if operation is None and name != _SAME:
            detail = f"the operations are {_KNOWN}; write /uri-res/N2L?{{identifier}}"
            raise EarlyResponse(problem(404, "not-found", detail))
        if not operand:
            detail = f"the identifier is missing; write /uri-res/{name}?{{identifier}}"
            raise EarlyResponse(problem(400, "bad-identifier", detail))
        if operation is None:
            return self._same(request, operand)
        return await self._answered(request, operation, operand)

    async def _answered(
        self, request: ClientRequest, operation: "re.Match[str]", operand: str
    ) -> Response:
        source, wanted, several = (part.upper() for part in operation.groups())
        text = identifier_in(operand)
        reading = self._read(text)
        if self.series is not None and self.series.owns(reading):
            own = await self.series.answer(request, wanted + several, reading)
            if own is not None:
                return own
        if wanted == "N" and source != "L":
            return self._names(request, text, reading, several=bool(several))
        document = reading.identifier.document
        if document is not None:
            raise EarlyResponse(self._to_document(operation[0], document))
        if not several and _names_several(reading):
            detail = f"it names more than one document; use /uri-res/{operation[0]}s"
            raise EarlyResponse(problem(404, "not-found", detail))
        return await self._resolved(request, wanted + several, text, reading)

    async def _resolved(
        self, request: ClientRequest, wanted: str, text: str, reading: ParsedIdentifier
    ) -> Response:
        media_type = _chosen(request.header("Accept"), *_MEDIA_TYPES[wanted])
        preferences, applied = request.preferences
        try:
            query = query_for(reading, self._registry)
        except NotNegotiable as error:
            raise EarlyResponse(problem(404, error.code, str(error))) from error
        # A list of mementos is one of all archives, not of those until the first exact one.
        resolver = self._exhaustive if wanted == "LS" else self._answers
        resolution = await resolver.resolve(query, preferences, request.context)
        if wanted in _REDIRECTS:
            response = self._answers.redirect(resolution, applied, vary=VARY)
            found = response.status == 302
            return replace(response, status=_REDIRECTS[wanted]) if found else response
        response = self._answers.described(resolution, applied, vary=VARY)
        if wanted == "LS" and _is_absent(resolution, response):
            # An empty list (H-2).
            return _listed(replace(response, status=200), media_type, text, ())
        if response.status != 200 or wanted in _DESCRIPTIONS:
            return response
        return _listed(response, media_type, text, self._output(wanted, resolution))

    def _output(self, wanted: str, resolution: Resolution) -> Sequence[str]:
        if wanted == "LS":
            return _mementos(resolution)
        names = [name for name in cited(resolution, self._registry).values() if name]
        return names if wanted == "NS" else names[:1]

    def _names(
        self, request: ClientRequest, text: str, reading: ParsedIdentifier, *, several: bool
    ) -> Response:
        media_type = _chosen(request.header("Accept"), _LIST, _PAGE)
        names = _names_of(reading)
        if not names:
            detail = "a URL has no other names; /uri-res/L2Ns lists the names of its memento"
            raise EarlyResponse(problem(404, "not-found", detail, headers={"Vary": VARY}))
        headers = {"Vary": VARY, "Cache-Control": "max-age=60"}
        return _listed(
            Response(200, headers), media_type, text, names if several else names[:1]
        )

    def _same(self, request: ClientRequest, operand: str) -> Response:
        media_type = _chosen(request.header("Accept"), "text/plain")
        one, other = (self._read(identifier_in(text)) for text in _pair(operand))
        body = b"TRUE\r\n" if one.identifier == other.identifier else b"FALSE\r\n"
        headers = {"Content-Type": media_type, "Vary": VARY, "Cache-Control": "max-age=60"}
        return Response(200, headers, body)

    def _read(self, text: str) -> ParsedIdentifier:
        try:
            return parse(text, self._registry)
        except Malformed as complaint:
            if status_of_refusal(complaint) == 422:
                # It may exist, but the operation has no output for it (H-3).
                raise EarlyResponse(
                    problem(404, "not-negotiable", complaint.why)
                ) from complaint
            raise EarlyResponse(unreadable(complaint, text)) from complaint

    def _to_document(self, operation: str, duri: str) -> Response:
        """Redirect to the document that describes the thing of a ``tdb`` (D-8)."""
        address = f"{self._answers.base_url}/uri-res/{operation}?{header_safe(duri)}"
        return Response(303, {"Location": address, "Vary": VARY})


def _names_of(reading: ParsedIdentifier) -> list[str]:
    """Return all spellings that are read as the same identifier, the canonical one first."""
    canonical = reading.identifier.canonical or ""
    if not canonical.startswith(_NAMED):
        return []
    older = _as_pwid_uri(reading) if canonical.startswith("urn:") else f"urn:{canonical}"
    return [canonical, *filter(lambda name: _reads_as(name, canonical), older.split())]


def _as_pwid_uri(reading: ParsedIdentifier) -> str:
    """Return a PWID as a ``pwid:`` URI; empty if that cannot express it."""
    pwid = reading.identifier
    if pwid.time is None or len(pwid.time.digits) != 14:
        return ""
    time = str(pwid.time).replace("T", "_").replace(":", ".")
    return f"pwid:{pwid.archive}:{time}:{pwid.precision}:{pwid.item}"


def _reads_as(name: str, canonical: str) -> bool:
    try:
        return parse(name).identifier.canonical == canonical
    except Malformed:
        return False


def _chosen(accept: str | None, *offers: str) -> str:
    """Return the offer with the largest weight, the first of equals (RFC 9110 12.5.1)."""
    if not offers or not (accept or "").strip():
        return offers[0] if offers else ""
    best = max(offers, key=lambda offer: weight(accept or "", offer))
    if not weight(accept or "", best):
        raise EarlyResponse(_not_acceptable(offers))
    return best


def _not_acceptable(offers: Sequence[str]) -> Response:
    """Return the problem for an Accept that none of *offers* matches (H-3)."""
    detail = f"Accept must allow {' or '.join(offers)}"
    return problem(406, "not-acceptable", detail, headers={"Vary": VARY})


def _names_several(reading: ParsedIdentifier) -> bool:
    return "wildcard" in {diagnostic.token for diagnostic in reading.diagnostics}


def _is_absent(resolution: Resolution, response: Response) -> bool:
    """Whether archives were queried, and all answered that they hold no memento."""
    return resolution.memento is None and bool(resolution.attempts) and response.status == 404


def _mementos(resolution: Resolution) -> list[str]:
    found = filter(None, (resolution.best, *resolution.alternatives))
    uris = (a.outcome.memento.uri for a in found if isinstance(a.outcome, Closest))
    return [*dict.fromkeys(uri for uri in uris if uri.startswith(WEB))]


def _pair(operand: str) -> tuple[str, str]:
    """Split two identifiers at a space. A URL may contain %20: the second has a scheme."""
    spaces = [space.span() for space in islice(_SPACE.finditer(operand), _MOST_SPACES)]
    if len(spaces) > 1:
        spaces = [(start, end) for start, end in spaces if _SCHEME.match(operand, end)]
    if not spaces:
        detail = "I=I compares two identifiers; write /uri-res/I=I?{first}%20{second}"
        raise EarlyResponse(problem(400, "bad-identifier", detail))
    start, end = spaces[0]
    return operand[:start], operand[end:]


def _listed(response: Response, media_type: str, text: str, uris: Iterable[str]) -> Response:
    """Return *response* with a list of *uris*, in which line breaks are encoded (L-7)."""
    safe = [header_safe(uri) for uri in uris]
    write = _page if media_type == _PAGE else _lines
    headers = {**response.headers, "Content-Type": f"{media_type}; charset=utf-8"}
    if media_type == _PAGE:
        headers["Content-Security-Policy"] = "default-src 'self'"
    return replace(response, headers=headers, body=write(text, safe))


def _lines(text: str, uris: Sequence[str]) -> bytes:
    return "".join(f"{line}\r\n" for line in (f"# {header_safe(text)}", *uris)).encode()


def _page(text: str, uris: Sequence[str]) -> bytes:
    items = "".join(f"<li>{_item(uri)}</li>" for uri in uris)
    shown = escape(header_safe(text))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f"<title>{shown}</title><h1>{shown}</h1><ul>{items}</ul></html>"
    ).encode()


def _item(uri: str) -> str:
    shown = escape(uri)
    return f'<a rel="noreferrer" href="{shown}">{shown}</a>' if uri.startswith(WEB) else shown
