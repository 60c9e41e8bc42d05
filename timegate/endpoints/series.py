"""PDIs of configured series: ``/pdi://...`` and the request target ``pdi://...`` itself.

GET answers with the document, HEAD with its metadata; with ``*`` the answer is a list. The
series of another resolver are redirected to it, or it is asked.
"""

import json
from collections.abc import Awaitable, Mapping, Sequence
from datetime import date
from typing import Final, TypeVar
from urllib.parse import parse_qs, quote, urlencode

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.endpoints import (
    ANY_CONTENT,
    CREATED,
    MEMENTO,
    MINTABLE,
    QUERIED,
    UNCHANGED,
    WRITTEN,
    AnswerDescription,
    Content,
    PathDescription,
    WriteDescription,
    answered,
)
from timegate.identifiers import parse
from timegate.identifiers.model import ParsedIdentifier
from timegate.identifiers.pdi import Pdi
from timegate.pages.rendering import wants_page
from timegate.responses.archived_headers import (
    Unsatisfiable,
    content_headers,
    has_etag,
    page_headers,
    requested_range,
)
from timegate.responses.model import ClientRequest, EarlyResponse, Handler, Response, weight
from timegate.responses.problems import problem, unreadable
from timegate.responses.report import LONGEST_LINKS
from timegate.series import Delegation, Representation, SeriesDocument
from timegate.series.catalogue import Listing, Page, document_name
from timegate.series.description import Json, described, of_representation, of_series
from timegate.series.opening import AllSeries, OpenSeries
from timegate.series.resolution import (
    CatalogueFailed,
    NotThere,
    Resolved,
    chosen,
    found_document,
    reading,
    resolve,
)
from timegate.series.resolvers import Resolvers
from timegate.verdict import Member, header_safe, written

T = TypeVar("T")
_ENCODED_SLASHES: Final = compiled(r"(?://[^/?#]{1,255}/[^/?#%]{0,9})?(?:%2[Ff])")
_DOCUMENT: Final = {
    **answered("The document, or the list", ANY_CONTENT, "Memento-Precision", *MEMENTO),
    "206": AnswerDescription("The requested range of it", ANY_CONTENT, MEMENTO),
    **UNCHANGED,
    "300": AnswerDescription("Several documents have this name", ANY_CONTENT),
    "302": AnswerDescription("To where the document is", {}, ("Location",)),
    "303": AnswerDescription("To a description of it", {}, ("Location",)),
}
_WRITES: Final[Mapping[str, tuple[str, Content]]] = {
    "put": ("Mints a document, or adds a version or a format", MINTABLE),
    "post": ("Adds an assertion about a document", {"application/json": "Assertion"}),
}


def _described(*parameters: str) -> PathDescription:
    return PathDescription(
        "A document of a series, or with * a list; PUT and POST mint, add versions and assert",
        _DOCUMENT,
        (*parameters, "Accept-Datetime", "Range", "If-None-Match"),
        problems=(*QUERIED, "406", "410", "416"),
        writes={
            method: WriteDescription(text, body, CREATED, parameters, WRITTEN)
            for method, (text, body) in _WRITES.items()
        },
    )


PATHS: Final = {
    "/pdi://{series}/{document}": _described("series", "document"),
    "/urn:pdi:{name}": _described("pdi-name"),
}
LIST_TYPE: Final = "text/uri-list"
_JSON: Final = "application/json"
_PAGE: Final = "text/html"
_PER_PAGE: Final = 500
_MOST_PER_PAGE: Final = 5000
_VARY: Final = "accept"
_FOREVER: Final = "public, max-age=31536000, immutable"
_CITES: Final = "related http://purl.org/spar/cito/cites"


def pdi_target(prefix: str, rest: str) -> str:
    """Return the PDI in a target.

    Proxies make one slash of the two after the scheme, and clients that fill in a template
    encode slashes: of all of a URN, or after the series.
    """
    if rest.startswith("/") and not rest.startswith("//"):
        rest = "/" + rest
    if _ENCODED_SLASHES.match(rest):
        rest = rest.replace("%2F", "/").replace("%2f", "/")
    return prefix.lstrip("/") + rest


class SeriesEndpoint:
    """Answers GET and HEAD requests for PDIs of all configured series."""

    def __init__(
        self,
        series: AllSeries,
        registry: Registry,
        otherwise: Handler,
        base_url: str,
        resolvers: Resolvers,
    ) -> None:
        """*otherwise* answers for identifiers of no series of ours, without parameters."""
        self.series = series
        self._registry = registry
        self._otherwise = otherwise
        self.base = base_url.rstrip("/")
        self._resolvers = resolvers

    def at(self, prefix: str) -> Handler:
        """Return the handler of the addresses that begin with *prefix*."""

        async def handler(request: ClientRequest) -> Response:
            whole = request._replace(rest=pdi_target(prefix, request.rest))
            answer = await self.answer(whole)
            if answer is not None:
                return answer
            other = await self._otherwise(whole)
            if not isinstance(other, Response):
                raise TypeError("identifiers are answered without streaming")
            return other

        return handler

    async def answer(self, request: ClientRequest) -> Response | None:
        """Answer for the whole target; None if it is no PDI of a series of ours."""
        text, _, query = request.rest.partition("?")
        site = self.site_of(text)
        if site is not None:
            return await self._overview(request, site, query)
        pdi = self.read(text)
        if pdi is None:
            return None
        return await self.pdi(request, pdi, query)

    def site_of(self, text: str) -> OpenSeries | None:
        """Return the series of ``pdi://series/``; None if *text* is something else."""
        name = series_in(text)
        return None if name is None else self.series.by_name.get(name)

    def read(self, text: str) -> ParsedIdentifier | None:
        """Read the PDI *text*; None if its series is not ours, or it cannot be read."""
        try:
            found = parse(text, self._registry)
        except Malformed as complaint:
            named = text.lower().removeprefix("urn:").removeprefix("pdi://").partition("/")[0]
            if self.series.get(named) is not None:
                raise EarlyResponse(unreadable(complaint, text)) from complaint
            return None
        return found if self.owns(found) else None

    def owns(self, found: ParsedIdentifier) -> bool:
        """Whether it is a PDI of a series that is configured."""
        pdi = found.identifier
        return isinstance(pdi, Pdi) and self.series.get(pdi.series) is not None

    async def pdi(
        self, request: ClientRequest, found: ParsedIdentifier, query: str = ""
    ) -> Response:
        """Answer for a PDI of ours. Raises EarlyResponse."""
        pdi, site = self._ours(found)
        delegation = self.delegation(site, pdi)
        if delegation is not None:
            operation = "N2C" if request.method == "HEAD" else "N2R"
            return await self.delegated(delegation, operation, pdi)
        if pdi.is_query:
            return await self.listed(request, site, pdi, query)
        wanted = parse_qs(query).get("as", [""])[0]
        if wanted == "json":
            return await self.description(found)
        if wanted == "html":
            return Response(303, {"Location": self._page_of(pdi)})
        return await self.content(request, found)

    def _ours(self, found: ParsedIdentifier) -> tuple[Pdi, OpenSeries]:
        pdi = found.identifier
        site = self.series.get(pdi.series) if isinstance(pdi, Pdi) else None
        if not isinstance(pdi, Pdi) or site is None:
            raise EarlyResponse(problem(404, "not-found", "this series is not served here"))
        return pdi, site

    def delegation(self, site: OpenSeries, pdi: Pdi) -> Delegation | None:
        """Return which resolver answers instead. Raises EarlyResponse if none is known."""
        day = None if "*" in pdi.date else date(*map(int, pdi.date))
        settings = site.settings
        other = settings.delegation(pdi.series, day)
        if other is not None:
            return other
        if pdi.series != settings.name:
            raise EarlyResponse(problem(404, "not-found", "this series is not served here"))
        if day is not None and not settings.interval.contains(day):
            detail = f"this server answers for {settings.name} only on other days"
            raise EarlyResponse(problem(404, "not-found", detail))
        return None

    async def delegated(self, delegation: Delegation, operation: str, pdi: Pdi) -> Response:
        """Redirect to another resolver, or ask it (I-23)."""
        address = thttp_address(delegation, operation, pdi)
        if delegation.how == "redirect":
            return Response(302, {"Location": address})
        try:
            answer = await self._resolvers.ask(delegation, address)
        except ArchiveError as error:
            detail = f"the resolver of {pdi.series} {error.why}"
            return problem(502, "upstream-incomplete", detail)
        if answer.status >= 500:
            detail = f"the resolver of {pdi.series} answers {answer.status}"
            return problem(502, "upstream-incomplete", detail)
        passed = {name.title(): value for name, value in answer.headers.items()}
        stated = (("content-type", answer.headers.get("content-type", "")),)
        safe = page_headers(content_headers(answer.status, stated))
        headers = {**passed, **safe, "Cache-Control": "no-cache"}
        return Response(answer.status, headers, answer.body)

    async def content(self, request: ClientRequest, found: ParsedIdentifier) -> Response:
        """Answer with the bytes that a PDI names, or the way to them."""
        pdi, site = self._ours(found)
        answer = await self.read_series(
            resolve(self.series, site, pdi, request.header("Accept"))
        )
        headers = self._headers(answer, found)
        if answer.representation.is_bound:
            return await self._bound(request, answer, headers)
        if has_etag(request, headers["ETag"]):
            return Response(304, headers)
        return _ranged(request, headers, answer.body)

    async def read_series(self, reading_it: Awaitable[T]) -> T:
        """Await what reads the series. Raises EarlyResponse."""
        try:
            return await reading_it
        except NotThere as error:
            raise EarlyResponse(self.missing(error)) from error
        except CatalogueFailed as error:
            after = {"Retry-After": "60"}
            failed = problem(503, "store-failed", str(error), headers=after)
            raise EarlyResponse(failed) from error

    def choose(self, document: SeriesDocument, pdi: Pdi, accept: str | None) -> Representation:
        """Return the representation that *pdi* names. Raises EarlyResponse."""
        try:
            return chosen(document, pdi, accept).representation
        except NotThere as error:
            raise EarlyResponse(self.missing(error)) from error

    def missing(self, error: NotThere) -> Response:
        """Return the problem for a PDI that names nothing; it says what there is."""
        members: Json = {}
        headers = {"Cache-Control": "no-cache"}
        document = error.document
        if document is not None:
            members["versions"] = document.versions
            members["formats"] = document.formats
            members["available"] = [each.pdi for each in document.representations]
        if error.size is not None:
            members["size"] = error.size
        return problem(error.status, error.kind, str(error), headers=headers, **members)

    async def description(self, found: ParsedIdentifier) -> Response:
        """Describe a document, with all assertions about it (N2C)."""
        pdi, site = self._ours(found)
        document = await self.read_series(found_document(site, pdi))
        name = document_name(pdi)
        assertions = await self.read_series(reading(site.catalogue.assertions, name))
        body = described(document, assertions, self.base)
        return _json(body, {"Cache-Control": "no-cache", "Content-Location": str(name)})

    async def listed(
        self, request: ClientRequest, site: OpenSeries, pdi: Pdi, query: str
    ) -> Response:
        """Answer with what was minted, in order, in pages."""
        listing = Listing(
            pdi.series,
            pdi.date,
            pdi.canonical_id,
            pdi.format,
            None if pdi.version in (None, "*") else int(pdi.version or 0),
        )
        return await self.list_of(request, site, listing, pdi.canonical, query)

    async def list_of(
        self,
        request: ClientRequest,
        site: OpenSeries,
        listing: Listing,
        text: str,
        query: str,
    ) -> Response:
        """Answer with a list; *text* is the PDI that asks for it."""
        parameters = {name: values[0] for name, values in parse_qs(query).items()}
        listing, most = _limited(listing, parameters)
        form = _list_form(parameters.get("as"), request.header("Accept"))
        if form == _PAGE:
            return Response(303, {"Location": self._page_of_list(site, listing)})
        after = parameters.get("after")
        page = await self.read_series(reading(site.catalogue.listed, listing, most, after))
        headers = {"Cache-Control": "no-cache", "Vary": _VARY}
        if page.after is not None:
            following = urlencode({**parameters, "after": page.after})
            address = f"{self.base}/{header_safe(text)}?{following}"
            headers["Link"] = f'<{address}>; rel="next"'
        if form == _JSON:
            return _json(self._as_json(page, text, headers.get("Link")), headers)
        lines = [f"# {text}", *(each.pdi for each in page.representations)]
        body = "".join(f"{line}\r\n" for line in lines).encode()
        return Response(200, {**headers, "Content-Type": f"{LIST_TYPE}; charset=utf-8"}, body)

    def _as_json(self, page: Page, text: str, link: str | None) -> Json:
        return {
            "query": text,
            "documents": [of_representation(each, self.base) for each in page.representations],
            "after": page.after,
            "next": None if link is None else link.partition(">")[0].removeprefix("<"),
        }

    async def _overview(self, request: ClientRequest, site: OpenSeries, query: str) -> Response:
        """Answer for ``pdi://series/``: what the series is."""
        del query
        if wants_page(request.header("Accept")):
            location = f"{self.base}/series/{site.settings.name}"
            return Response(303, {"Location": location, "Vary": _VARY})
        return await self.overview(site)

    async def overview(self, site: OpenSeries) -> Response:
        """Describe a series."""
        everything = Listing(site.settings.name, ("*", "*", "*"))
        counts = await self.read_series(reading(site.catalogue.counts, everything, 4))
        headers = {"Cache-Control": "no-cache", "Vary": _VARY}
        return _json(of_series(site.settings, counts), headers)

    async def _bound(
        self, request: ClientRequest, answer: Resolved, headers: dict[str, str]
    ) -> Response:
        """Redirect to the URI to which a PDI is bound; an identifier is resolved."""
        uri = answer.representation.uri or ""
        kept = ("Content-Location", "Memento-Precision", "Link", "Vary", "Cache-Control")
        own = {name: headers[name] for name in kept if name in headers}
        if uri.lower().startswith(("http://", "https://")):
            leads = await self._verdict_of_link(request, uri)
            return Response(302, {**own, **leads, "Location": header_safe(uri)})
        if uri.lower().startswith(("pdi:", "urn:pdi:")):
            # Not followed here: bindings may form a circle.
            return Response(302, {**own, "Location": self.address(uri)})
        other = await self._otherwise(request._replace(rest=uri, method="GET"))
        if not isinstance(other, Response) or other.status >= 400:
            return Response(302, {**own, "Location": f"{self.base}/{header_safe(uri)}"})
        verdict = _joined(own["Memento-Precision"], other.headers.get("Memento-Precision"))
        return Response(
            other.status,
            {**other.headers, **own, "Memento-Precision": verdict},
            other.body,
        )

    async def _verdict_of_link(self, request: ClientRequest, uri: str) -> dict[str, str]:
        """Return the verdict of a link into an archive; nothing for another URL."""
        try:
            found = parse(uri, self._registry)
        except Malformed:
            return {}
        if found.identifier.time is None:
            return {}
        headers = {"Accept": "*/*"}
        other = await self._otherwise(request._replace(rest=uri, method="GET", headers=headers))
        verdict = other.headers.get("Memento-Precision")
        return {} if verdict is None else {"Memento-Precision": _joined("", verdict)}

    def _headers(self, answer: Resolved, found: ParsedIdentifier) -> dict[str, str]:
        representation = answer.representation
        members = [*answer.members, ("syntax", _syntax(found))]
        verdict = ", ".join(written(name, member) for name, member in members)
        digest = (representation.digest or "").removeprefix("sha256:")
        caching = _FOREVER if answer.is_qualified and digest else "no-cache"
        headers = page_headers(content_headers(200, (("content-type", answer.media_type),)))
        return {
            **headers,
            "Content-Location": header_safe(answer.pdi),
            "Memento-Precision": verdict,
            "ETag": f'"sha256-{digest}{_suffix_tag(answer)}"',
            "Link": self._links(answer),
            "Accept-Ranges": "bytes",
            "Cache-Control": "no-cache" if representation.is_bound else caching,
            **({"Vary": _VARY} if answer.negotiated else {}),
        }

    def _links(self, answer: Resolved) -> str:
        document, here = answer.document, answer.representation
        highest = document.highest
        links = [
            f'<{header_safe(here.pdi)}>; rel="cite-as"',
            f'<{self._page_of_document(document)}>; rel="describedby"; type="{_PAGE}"',
        ]
        if answer.citation is not None:
            links += self._cited(answer)
        for rel, version in (
            ("latest-version", highest),
            ("predecessor-version", here.version - 1),
            ("successor-version", here.version + 1),
        ):
            other = document.find(version, here.format)
            if other is not None and other.version != here.version:
                links.append(f'<{self.address(other.pdi)}>; rel="{rel}"')
        for other in document.representations:
            if other.version == here.version and other.format != here.format:
                kind = other.media_type.partition(";")[0]
                links.append(f'<{self.address(other.pdi)}>; rel="alternate"; type="{kind}"')
        return _bounded(links)

    def _cited(self, answer: Resolved) -> list[str]:
        _, _, cited = answer.pdi.partition("=")
        whole = cited.partition("#")[0].partition("@")[0]
        names = dict.fromkeys((whole, cited))
        return [f'<{header_safe(name)}>; rel="{_CITES}"' for name in names]

    def address(self, pdi: str) -> str:
        """Return the address of a PDI at this server; a ``#`` travels as ``%23``."""
        return f"{self.base}/{header_safe(pdi).replace('#', '%23')}"

    def _page_of(self, pdi: Pdi) -> str:
        return f"{self.base}/series/{header_safe(pdi.document_name.removeprefix('pdi://'))}"

    def _page_of_document(self, document: SeriesDocument) -> str:
        return f"{self.base}/series/{header_safe(str(document.name).removeprefix('pdi://'))}"

    def _page_of_list(self, site: OpenSeries, listing: Listing) -> str:
        parts = [part for part in listing.date if part != "*"]
        return "/".join([f"{self.base}/series/{site.settings.name}", *parts])


def series_in(text: str) -> str | None:
    """Return the name in ``pdi://series/``, with or without ``urn:``; None if it is none."""
    lower = text.lower().removeprefix("urn:")
    name, slash, rest = lower.removeprefix("pdi://").partition("/")
    is_series = lower.startswith("pdi://") and name and not rest
    return name if is_series and (slash or "." in name) else None


def thttp_address(delegation: Delegation, operation: str, pdi: Pdi | str) -> str:
    """Return the address of a THTTP operation; a ``#`` travels as ``%23`` (I-23)."""
    name = header_safe(str(pdi)).replace("#", "%23")
    return f"{delegation.resolver}/uri-res/{operation}?urn:{name}"


def _ranged(request: ClientRequest, headers: dict[str, str], body: bytes) -> Response:
    """Return *body*, or the range of it that is requested."""
    try:
        part = requested_range(request, len(body), headers["ETag"])
    except Unsatisfiable:
        size = {"Content-Range": f"bytes */{len(body)}"}
        return problem(416, "bad-request", "the range is outside the document", headers=size)
    if part is None:
        return Response(200, headers, body)
    headers["Content-Range"] = part.of(len(body))
    return Response(206, headers, body[part.start : part.end])


def _limited(listing: Listing, parameters: Mapping[str, str]) -> tuple[Listing, int]:
    """Return the list within the days and the number of the parameters."""
    since, until = (_day(parameters.get(name), name) for name in ("from", "until"))
    text = parameters.get("limit", str(_PER_PAGE))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= _MOST_PER_PAGE):
        detail = f"limit is a number from 1 to {_MOST_PER_PAGE}"
        raise EarlyResponse(problem(400, "bad-parameter", detail, parameter="limit"))
    return listing._replace(since=since, until=until), int(text)


def _day(text: str | None, name: str) -> str | None:
    if text is None:
        return None
    parts = text.split("-")
    widths = [len(part) for part in parts]
    if widths not in ([4], [4, 2], [4, 2, 2]) or not "".join(parts).isdecimal():
        detail = f"{name} is a day, a month or a year: 1997-09-01"
        raise EarlyResponse(problem(400, "bad-parameter", detail, parameter=name))
    return "/".join(parts)


def _list_form(wanted: str | None, accept: str | None) -> str:
    forms = {"json": _JSON, "uri-list": LIST_TYPE, "html": _PAGE}
    if wanted is not None:
        if wanted not in forms:
            detail = f"as is {' or '.join(forms)}"
            raise EarlyResponse(problem(400, "bad-parameter", detail, parameter="as"))
        return forms[wanted]
    if not (accept or "").strip():
        return LIST_TYPE
    offers = (LIST_TYPE, _JSON, _PAGE)
    best = max(offers, key=lambda offer: weight(accept or "", offer))
    if wants_page(accept):
        return _PAGE
    if not weight(accept or "", best):
        detail = f"Accept must allow {' or '.join(offers)}"
        raise EarlyResponse(problem(406, "not-acceptable", detail))
    return best


def _syntax(found: ParsedIdentifier) -> Member:
    tokens = " ".join(dict.fromkeys(each.token for each in found.diagnostics))
    return Member("strict" if found.conforming else "repaired", {"diag": tokens})


def _suffix_tag(answer: Resolved) -> str:
    """Return what distinguishes the ETag of a part from that of the whole."""
    name = answer.pdi.partition("#")[2] if answer.citation is None else ""
    return f"-{quote(name, safe='=,()-')}" if name else ""


def _joined(own: str, other: str | None) -> str:
    """Return the verdict of what a binding leads to, with what is known of the PDI itself."""
    taken = {part.partition("=")[0].strip() for part in (other or "").split(", ")}
    kept = [part for part in own.split(", ") if part.partition("=")[0] not in taken]
    return ", ".join(filter(None, [other or "", *kept]))


def _bounded(links: Sequence[str]) -> str:
    joined, size = [], 0
    for link in links:
        size += len(link) + 2
        if size > LONGEST_LINKS:
            break
        joined.append(link)
    return ", ".join(joined)


def _json(body: Json, headers: Mapping[str, str]) -> Response:
    return Response(200, {**headers, "Content-Type": _JSON}, json.dumps(body).encode())
