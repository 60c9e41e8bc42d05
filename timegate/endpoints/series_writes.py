"""Writing to a series: ``PUT pdi://series/`` and ``POST /series/{name}`` mint a document.

``PUT`` of a known PDI adds a version or a format, ``POST`` adds an assertion. Nothing is ever
removed or changed (3.8.2 of the draft).
"""

import hashlib
import hmac
import json
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qs, parse_qsl

from timegate.endpoints import (
    ANY_CONTENT,
    CREATED,
    HTML_CONTENT,
    MINTABLE,
    WRITTEN,
    PathDescription,
    WriteDescription,
    answered,
)
from timegate.endpoints.series import SeriesEndpoint, pdi_target, series_in
from timegate.endpoints.store import WriteQuota
from timegate.identifiers.pdi import Pdi
from timegate.responses.model import ClientRequest, EarlyResponse, Response
from timegate.responses.problems import problem
from timegate.series import (
    MOST_VALUE,
    Assertion,
    AssertRequest,
    Minted,
    Minter,
    MintRequest,
    NameTaken,
    PutRequest,
    UnknownDocument,
    VersionMoved,
)
from timegate.series.catalogue import document_name
from timegate.series.description import of_assertion, of_representation
from timegate.series.opening import OpenSeries
from timegate.series.requests import BadStatement, content_of, unique_id_of
from timegate.store import StoreBusy, StoreError, StoreFull
from timegate.verdict import header_safe

PATHS: Final = {
    "/series/{series}": PathDescription(
        "A series by year, month and day; POST mints a document",
        answered("The documents", {**ANY_CONTENT, **HTML_CONTENT}, "Vary"),
        ("series",),
        problems=("404", "406"),
        writes={
            "post": WriteDescription(
                "Mints a document", MINTABLE, CREATED, ("series",), WRITTEN
            )
        },
    ),
}
_BEARER: Final = "bearer "
_BODY_DEADLINE: Final = 60.0
_JSON: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"
_LONGEST_KEY: Final = 200
_PARAMETERS: Final = frozenset({"format", "id", "bind", "digest"})


class _Target(NamedTuple):
    """What a write is about."""

    site: OpenSeries
    pdi: Pdi | None
    """None to mint a document."""
    parameters: Mapping[str, str]


class SeriesWrites:
    """Answers PUT, POST and OPTIONS requests for series."""

    body_deadline = _BODY_DEADLINE

    def __init__(
        self,
        endpoint: SeriesEndpoint,
        prefix: str,
        observe: Callable[[str, int, float], None] = lambda _route, _status, _seconds: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """*prefix* is the beginning of the addresses, before *rest* of a request."""
        self._endpoint = endpoint
        self._prefix = prefix
        self._observe = observe
        self._quotas = {
            name: WriteQuota(site.per_minute, clock)
            for name, site in endpoint.series.by_name.items()
        }

    def options(self, request: ClientRequest) -> Response | str | None:
        """Answer a probe whether a series is served here (3.8.1); None for the usual answer.

        The result may be the methods of the address.
        """
        text, _, _ = self._text(request).partition("?")
        name = series_in(text)
        known = name is not None and self._endpoint.series.get(name) is not None
        if not known:
            found = self._endpoint.read(text) if name is None else None
            known = found is not None
        if not known:
            return problem(404, "not-found", "this series is not served here")
        return "GET, HEAD, OPTIONS, POST" if self._prefix == "/series/" else None

    def largest_body(self, request: ClientRequest) -> int:
        """Check all that the head of a write says; return the octets of its largest body."""
        try:
            return self._admitted(request)
        except EarlyResponse as early:
            self._observe(self._prefix, early.response.status, 0.0)
            raise

    async def write(self, request: ClientRequest, body: bytes) -> Response:
        """Answer the write; 201 once it is on disk."""
        began = time.perf_counter()
        try:
            response = await self._written(request, body)
        except EarlyResponse as early:
            response = early.response
        self._observe(self._prefix, response.status, time.perf_counter() - began)
        return response

    def _admitted(self, request: ClientRequest) -> int:
        target = self._target(request)
        site = target.site
        minter = self._minter(site, request)
        if minter is None:
            detail = "send a token of this series: Authorization: Bearer TOKEN"
            challenge = {"WWW-Authenticate": f'Bearer realm="{site.settings.name}"'}
            raise EarlyResponse(problem(401, "token-required", detail, headers=challenge))
        if request.header("Content-Range") is not None:
            detail = "a document is written whole, without Content-Range"
            raise EarlyResponse(problem(400, "bad-request", detail))
        coding = (request.header("Content-Encoding") or "identity").strip().lower()
        if coding != "identity":
            detail = "send the body without content coding"
            raise EarlyResponse(problem(415, "bad-request", detail))
        wait = self._quotas[site.settings.name].retry_after(minter.digest)
        if wait:
            detail = f"a token may write {site.per_minute} times a minute"
            after = {"Retry-After": str(int(wait) + 1)}
            raise EarlyResponse(problem(429, "too-busy", detail, headers=after))
        return site.largest

    async def _written(self, request: ClientRequest, body: bytes) -> Response:
        target = self._target(request)
        minter = self._minter(target.site, request)
        name = "" if minter is None else minter.name
        try:
            if target.pdi is not None and request.method == "POST":
                return await self._asserted(request, target, name, body)
            return await self._put(request, target, name, body)
        except BadStatement as error:
            detail = str(error)
            return problem(400, "bad-parameter", detail, parameter=error.name)
        except StoreError as error:
            return _refused(error)

    async def _put(
        self, request: ClientRequest, target: _Target, minter: str, body: bytes
    ) -> Response:
        pdi, parameters = target.pdi, dict(target.parameters)
        if pdi is not None and pdi.format is not None:
            parameters["format"] = pdi.format
        content = content_of(parameters, request.header("Content-Type"), body)
        _check_digest(request, content.digest)
        wanted: MintRequest | PutRequest
        if pdi is None:
            given = parameters.get("id")
            unique_id = None if given is None else unique_id_of(given, content.format)
            series = target.site.settings.name
            wanted = MintRequest(series, content, minter, unique_id)
        else:
            version = None if pdi.version is None else int(pdi.version)
            etag = _condition(request.header("If-Match"))
            wanted = PutRequest(document_name(pdi), version, content, minter, etag)
        result = await _record(target.site, wanted, len(body))
        if not isinstance(result, Minted):
            raise TypeError("minting results in a representation")
        return self._minted(result)

    def _minted(self, minted: Minted) -> Response:
        found = minted.representation
        headers = {
            "Content-Type": _JSON,
            "Content-Location": header_safe(found.pdi),
            "Location": f"{self._endpoint.base}/{header_safe(found.pdi)}",
            "Cache-Control": "no-store",
        }
        if found.digest is not None:
            hexadecimal = found.digest.removeprefix("sha256:")
            headers["ETag"] = f'"sha256-{hexadecimal}"'
            digest = b64encode(bytes.fromhex(hexadecimal)).decode()
            headers["Repr-Digest"] = f"sha-256=:{digest}:"
        body = of_representation(found, self._endpoint.base)
        return Response(201 if minted.is_new else 200, headers, json.dumps(body).encode())

    async def _asserted(
        self, request: ClientRequest, target: _Target, who: str, body: bytes
    ) -> Response:
        pdi = target.pdi
        key, value = _assertion(request.header("Content-Type") or "", body)
        if pdi is None:
            raise BadStatement("pdi", "an assertion is about a PDI")
        wanted = AssertRequest(document_name(pdi), pdi.canonical, key, value, who)
        result = await _record(target.site, wanted, len(body))
        if not isinstance(result, Assertion):
            raise TypeError("asserting results in an assertion")
        headers = {"Content-Type": _JSON, "Cache-Control": "no-store"}
        return Response(201, headers, json.dumps(of_assertion(result)).encode())

    def _target(self, request: ClientRequest) -> _Target:
        """Return what a write is about. Raises EarlyResponse (405, 404) as in 3.8.2."""
        text, _, query = self._text(request).partition("?")
        values = parse_qs(query, keep_blank_values=True)
        parameters = {name: found[0] for name, found in values.items()}
        unknown = sorted(parameters.keys() - _PARAMETERS)
        if unknown:
            detail = f"{unknown[0]!r} is not a parameter; they are {', '.join(_PARAMETERS)}"
            raise EarlyResponse(problem(400, "bad-parameter", detail, parameter=unknown[0]))
        name = series_in(text)
        if name is not None:
            site = self._endpoint.series.by_name.get(name)
            if site is None:
                raise EarlyResponse(_not_allowed("this server mints no PDI of this series"))
            _check_writable(site)
            return _Target(site, None, parameters)
        found = self._endpoint.read(text)
        pdi = None if found is None else found.identifier
        if not isinstance(pdi, Pdi):
            raise EarlyResponse(problem(404, "not-found", "this series is not served here"))
        return self._of_document(request, pdi, parameters)

    def _of_document(
        self, request: ClientRequest, pdi: Pdi, parameters: Mapping[str, str]
    ) -> _Target:
        site = self._endpoint.series.get(pdi.series)
        if site is None:
            raise EarlyResponse(problem(404, "not-found", "this series is not served here"))
        if pdi.is_query:
            raise EarlyResponse(_not_allowed("a query with * cannot be written"))
        if request.method == "PUT" and pdi.suffix:
            raise EarlyResponse(_not_allowed("a part of a document cannot be written"))
        if self._endpoint.delegation(site, pdi) is not None:
            raise EarlyResponse(_not_allowed("another resolver answers for this PDI"))
        _check_writable(site)
        return _Target(site, pdi, parameters)

    def _text(self, request: ClientRequest) -> str:
        """Return the PDI or ``pdi://series/`` of a request, with its query."""
        if self._prefix == "/series/":
            name, mark, query = request.rest.partition("?")
            return f"pdi://{name.strip('/')}/{mark}{query}"
        return pdi_target(self._prefix, request.rest)

    def _minter(self, site: OpenSeries, request: ClientRequest) -> Minter | None:
        """Return the holder of the token; compared in constant time."""
        stated = request.header("Authorization") or ""
        if stated[: len(_BEARER)].lower() != _BEARER:
            return None
        text = stated[len(_BEARER) :].strip()
        token = hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
        known = [m for m in site.settings.minters if hmac.compare_digest(token, m.digest)]
        return known[0] if known else None


def _check_writable(site: OpenSeries) -> None:
    if not site.settings.minters:
        raise EarlyResponse(_not_allowed("no token is configured for this series"))
    if not site.settings.is_mintable:
        detail = "a series without a country at its end mints no new PDIs"
        raise EarlyResponse(_not_allowed(detail))


def _not_allowed(detail: str) -> Response:
    return problem(405, "method", detail, headers={"Allow": "GET, HEAD, OPTIONS"})


async def _record(site: OpenSeries, request: object, octets: int) -> object:
    if site.writer is None:
        raise StoreBusy("this process does not write the store")
    return await site.writer.record(request, octets)


def _refused(error: StoreError) -> Response:
    detail = str(error)
    match error:
        case UnknownDocument():
            return problem(404, "not-found", detail, headers={"Cache-Control": "no-store"})
        case NameTaken():
            return problem(409, "name-taken", detail)
        case VersionMoved():
            return problem(412, "precondition-failed", detail)
        case StoreFull():
            return problem(507, "store-full", detail)
        case StoreBusy():
            return problem(503, "too-busy", detail, headers={"Retry-After": "5"})
        case _:
            return problem(503, "store-failed", detail, headers={"Retry-After": "60"})


def _assertion(content_type: str, body: bytes) -> tuple[str, str]:
    """Return the key and the value in the body, JSON or a form. Raises BadStatement."""
    base = content_type.partition(";")[0].strip().lower()
    values: object
    try:
        text = body.decode()
        values = json.loads(text) if base == _JSON else dict(parse_qsl(text))
    except (ValueError, RecursionError) as error:
        raise BadStatement("body", 'send {"key": "...", "value": "..."}') from error
    key = values.get("key") if isinstance(values, dict) else None
    value = values.get("value") if isinstance(values, dict) else None
    if not (isinstance(key, str) and isinstance(value, str) and key.strip()):
        raise BadStatement("body", 'send {"key": "...", "value": "..."}, two texts')
    if len(key) > _LONGEST_KEY or len(value.encode(errors="replace")) > MOST_VALUE:
        raise BadStatement("body", f"a key has {_LONGEST_KEY} characters, a value {MOST_VALUE}")
    return key, value


def _check_digest(request: ClientRequest, digest: str | None) -> None:
    """Compare the body with the digest that the writer states (RFC 9530)."""
    if digest is None:
        return
    expected = b64encode(bytes.fromhex(digest.removeprefix("sha256:"))).decode()
    for name in ("Repr-Digest", "Content-Digest"):
        stated = request.header(name)
        if stated is not None and "sha-256=:" in stated and f":{expected}:" not in stated:
            detail = f"the body does not have the sha-256 in {name}"
            raise EarlyResponse(problem(400, "digest-mismatch", detail))


def _condition(stated: str | None) -> str | None:
    """Return the digest that ``If-Match`` names; None for any."""
    if stated is None or stated.strip() == "*":
        return None
    return stated.strip().strip('"').replace("sha256-", "sha256:")
