"""THTTP (RFC 2169): ``/uri-res/{operation}?{identifier}``, the operations of RFC 2483.

    N2L, N2R     lead to the copy                N2Ls   lists the closest copy of each archive
    N2C          describes it                    N2Ns   lists names that mean the same
    I=I          says whether two are the same   L2Ns   lists the names of the copy found

``N``, ``I`` and ``L`` say what goes in, and any identifier may. No content is sent from here:
what it is and how it differs stands in ``Memento-Precision``, the copy behind ``Location``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import islice
from typing import Final
from urllib.parse import unquote

from archives.diagnostics import Malformed
from archives.evidence import WEB
from archives.model import Closest
from archives.registry import Registry
from timegate.citations import cited
from timegate.identifiers import parse
from timegate.identifiers.model import ParsedIdentifier
from timegate.resolution.model import Resolution
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
_BEGINNING: Final = re.compile(r"(?:urn|pwid|duri|tdb|pdi|https?+)(?::|%3A)", re.IGNORECASE)
_BLANK: Final = re.compile(r" |%20")
_MOST_BLANKS: Final = 100
_LISTS: Final = (_LIST, _PAGE)
_ANY: Final[tuple[str, ...]] = ()
_JSON: Final = ("application/json",)
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("L", "R", "RS"), _ANY),
    **dict.fromkeys(("C", "CS"), _JSON),
    **dict.fromkeys(("LS", "N", "NS"), _LISTS),
}
"""What each output can be written as; a redirect has no type that matters."""
# The output of N2L is a URL and not what is there: see other. N2R leads on to the resource.
_REDIRECTS: Final = {"L": 303, "R": 302, "RS": 302}
_DESCRIPTIONS: Final = ("C", "CS")
_NAMED: Final = ("urn:pwid:", "duri:", "tdb:", "pdi:")
_KNOWN: Final = "N2L, N2Ls, N2R, N2Rs, N2C, N2Cs, N2N, N2Ns, the same with I or L, and I=I"


class ThttpEndpoint:
    """Answers what comes behind ``/uri-res/``."""

    def __init__(self, answers: Answers, registry: Registry) -> None:
        self._answers = answers
        self._registry = registry

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer one operation; errors by H-3."""
        name, _, operand = request.rest.partition("?")
        name = unquote(name).upper()
        operation = _OPERATION.fullmatch(name)
        if operation is None and name != _SAME:
            detail = f"there is {_KNOWN}: write /uri-res/N2L?{{identifier}}"
            raise EarlyResponse(problem(404, "not-found", detail))
        if not operand:
            detail = f"write an identifier behind the question mark: /uri-res/{name}?urn:pwid:"
            raise EarlyResponse(problem(400, "bad-identifier", detail))
        if operation is None:
            return self._same(request, operand)
        return await self._answered(request, operation, operand)

    async def _answered(
        self, request: ClientRequest, operation: "re.Match[str]", operand: str
    ) -> Response:
        given, wanted, several = (part.upper() for part in operation.groups())
        text = identifier_in(operand)
        reading = self._read(text)
        if wanted == "N" and given != "L":
            return self._names(request, text, reading, several=bool(several))
        document = reading.identifier.document
        if document is not None:
            raise EarlyResponse(self._of_document(operation[0], document))
        if not several and _asks_for_many(reading):
            detail = f"it names no single document: ask with /uri-res/{operation[0]}s"
            raise EarlyResponse(problem(404, "not-found", detail))
        return await self._resolved(request, wanted + several, text, reading)

    async def _resolved(
        self, request: ClientRequest, wanted: str, text: str, reading: ParsedIdentifier
    ) -> Response:
        kind = _chosen(request.header("Accept"), *_KINDS[wanted])
        preferences, applied = request.preferences
        try:
            query = query_for(reading, self._registry)
        except NotNegotiable as error:
            raise EarlyResponse(problem(404, error.code, str(error))) from error
        resolution = await self._answers.resolve(query, preferences, request.context)
        if wanted in _REDIRECTS:
            answer = self._answers.redirect(resolution, applied, vary=VARY)
            found = answer.status == 302
            return replace(answer, status=_REDIRECTS[wanted]) if found else answer
        answer = self._answers.described(resolution, applied, vary=VARY)
        if wanted == "LS" and _is_clear_no(resolution, answer):
            # H-2: that there is none is a list as well.
            return _listed(replace(answer, status=200), kind, text, ())
        if answer.status != 200 or wanted in _DESCRIPTIONS:
            return answer
        return _listed(answer, kind, text, self._output(wanted, resolution))

    def _output(self, wanted: str, resolution: Resolution) -> Sequence[str]:
        if wanted == "LS":
            return _copies(resolution)
        names = [name for name in cited(resolution, self._registry).values() if name]
        return names if wanted == "NS" else names[:1]

    def _names(
        self, request: ClientRequest, text: str, reading: ParsedIdentifier, *, several: bool
    ) -> Response:
        kind = _chosen(request.header("Accept"), _LIST, _PAGE)
        names = _names_of(reading)
        if not names:
            detail = "it is no name and nothing else means the same: /uri-res/L2Ns finds a copy"
            raise EarlyResponse(problem(404, "not-found", detail, headers={"Vary": VARY}))
        fixed = {"Vary": VARY, "Cache-Control": "max-age=60"}
        return _listed(Response(200, fixed), kind, text, names if several else names[:1])

    def _same(self, request: ClientRequest, operand: str) -> Response:
        kind = _chosen(request.header("Accept"), "text/plain")
        one, other = (self._read(identifier_in(text)) for text in _pair(operand))
        told = b"TRUE\r\n" if one.identifier == other.identifier else b"FALSE\r\n"
        fixed = {"Content-Type": kind, "Vary": VARY, "Cache-Control": "max-age=60"}
        return Response(200, fixed, told)

    def _read(self, text: str) -> ParsedIdentifier:
        try:
            return self._parsed(text)
        except Malformed as complaint:
            if status_of_refusal(complaint) == 422:
                # H-3: it may exist, but there is no output for this operation.
                raise EarlyResponse(
                    problem(404, "not-negotiable", complaint.why)
                ) from complaint
            raise EarlyResponse(unreadable(complaint, text)) from complaint

    def _parsed(self, text: str) -> ParsedIdentifier:
        try:
            return parse(text, self._registry)
        except Malformed as complaint:
            # I-23: the # of a PDI travels as %23; inside of a unique-id it means itself.
            before, sign, fragment = text.rpartition("%23")
            if not sign or "pdi:" not in text[:8].lower():
                raise
            try:
                return parse(f"{before}#{fragment}", self._registry)
            except Malformed:
                raise complaint from None

    def _of_document(self, operation: str, duri: str) -> Response:
        """Point to the document that describes the thing of a ``tdb`` (D-8)."""
        address = f"{self._answers.base_url}/uri-res/{operation}?{header_safe(duri)}"
        return Response(303, {"Location": address, "Vary": VARY})


def _names_of(reading: ParsedIdentifier) -> list[str]:
    """Return every spelling that reads back as the very same, the canonical one first."""
    canonical = reading.identifier.canonical or ""
    if not canonical.startswith(_NAMED):
        return []
    older = _as_pwid_uri(reading) if canonical.startswith("urn:") else f"urn:{canonical}"
    return [canonical, *filter(lambda name: _reads_as(name, canonical), older.split())]


def _as_pwid_uri(reading: ParsedIdentifier) -> str:
    """Write a PWID as ``pwid:`` did before it was a URN; empty where that cannot say it."""
    one = reading.identifier
    if one.time is None or len(one.time.digits) != 14:
        return ""
    time = str(one.time).replace("T", "_").replace(":", ".")
    return f"pwid:{one.archive}:{time}:{one.precision}:{one.item}"


def _reads_as(name: str, canonical: str) -> bool:
    try:
        return parse(name).identifier.canonical == canonical
    except Malformed:
        return False


def _chosen(accept: str | None, *offers: str) -> str:
    """Return the offer that the client likes best, the first of equals (RFC 9110 12.5.1)."""
    if not offers or not (accept or "").strip():
        return offers[0] if offers else ""
    best = max(offers, key=lambda offer: weight(accept or "", offer))
    if not weight(accept or "", best):
        raise EarlyResponse(_not_acceptable(offers))
    return best


def _not_acceptable(offers: Sequence[str]) -> Response:
    """Say that only the media type is at fault (H-3)."""
    detail = f"there is {' and '.join(offers)}; change Accept"
    return problem(406, "not-acceptable", detail, headers={"Vary": VARY})


def _asks_for_many(reading: ParsedIdentifier) -> bool:
    return "wildcard" in {diagnostic.token for diagnostic in reading.diagnostics}


def _is_clear_no(resolution: Resolution, answer: Response) -> bool:
    """Whether everyone who was asked said that there is none; nobody asked is no answer."""
    return resolution.memento is None and bool(resolution.attempts) and answer.status == 404


def _copies(resolution: Resolution) -> list[str]:
    found = filter(None, (resolution.best, *resolution.alternatives))
    uris = (a.outcome.memento.uri for a in found if isinstance(a.outcome, Closest))
    return [*dict.fromkeys(uri for uri in uris if uri.startswith(WEB))]


def _pair(operand: str) -> tuple[str, str]:
    """Take two identifiers apart. A URL may hold %20: the second begins with a scheme."""
    blanks = [blank.span() for blank in islice(_BLANK.finditer(operand), _MOST_BLANKS)]
    if len(blanks) > 1:
        blanks = [(start, end) for start, end in blanks if _BEGINNING.match(operand, end)]
    if not blanks:
        detail = (
            "I=I compares two identifiers with %20 between them: /uri-res/I=I?{one}%20{two}"
        )
        raise EarlyResponse(problem(400, "bad-identifier", detail))
    start, end = blanks[0]
    return operand[:start], operand[end:]


def _listed(answer: Response, kind: str, text: str, uris: Iterable[str]) -> Response:
    """Write *uris* into *answer*: no line of an input or an archive can become two (L-7)."""
    safe = [header_safe(uri) for uri in uris]
    write = _page if kind == _PAGE else _lines
    extra = {"Content-Type": f"{kind}; charset=utf-8"}
    if kind == _PAGE:
        extra["Content-Security-Policy"] = "default-src 'self'"
    return replace(answer, headers={**answer.headers, **extra}, body=write(text, safe))


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
