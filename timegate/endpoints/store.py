"""``/store/{id}/{URI-R}``: writing revisions, reading the current one, and negotiating.

PUT and POST write a revision, and answer with the headers of its memento. GET is the current
revision; with ``Accept-Datetime`` it is a TimeGate. A target without scheme is a page of our
own: the address is then original, TimeGate and store in one (RFC 7089, pattern 1.1).
"""

import hashlib
import hmac
import re
import time
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol

import msgspec

from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError
from archives.formats.httpdate import http_date, read_instant, stamp_from_http_date
from archives.model import ArchiveEntry
from archives.moment import Moment
from archives.uri import check_text
from archives.warc_index.model import IndexRow, nanoseconds
from timegate.access.blocklist import Blocklist
from timegate.citations import citation
from timegate.collections import address
from timegate.endpoints import (
    ANY_CONTENT,
    MEMENTO,
    QUERIED,
    REVISED,
    STORE,
    STORED,
    UNCHANGED,
    WRITE_HEADERS,
    WRITTEN,
    AnswerDescription,
    PathDescription,
    WriteDescription,
    answered,
)
from timegate.endpoints.timegate import PRECISE
from timegate.identifiers.duri import Duri
from timegate.identifiers.url import read_url
from timegate.resolution.context import RequestContext
from timegate.responses.archived_headers import is_media_type
from timegate.responses.model import (
    ClientRequest,
    EarlyResponse,
    Handler,
    Response,
    StreamingResponse,
    identifier_in,
)
from timegate.responses.problems import problem, unreadable
from timegate.responses.report import LONGEST_LINKS
from timegate.store import (
    InstantTaken,
    KeepRequest,
    KeptCapture,
    Preconditions,
    Revision,
    RevisionWriter,
    StoreBusy,
    StoreError,
    StoreFull,
    Superseded,
)
from timegate.text.header_values import etag_of, is_clean
from timegate.verdict import header_safe

_KEPT: Final = (*STORED, "ETag", "Link")
PATHS: Final = {
    "/store/{id}": PathDescription(
        "POST with a reference copies its best memento into the store",
        {},
        ("id",),
        writes={
            "post": WriteDescription(
                "Copies the best memento of a reference into the store",
                {"application/json": "KeepRequest"},
                {
                    "201": AnswerDescription(
                        "The memento is in the store",
                        {"application/json": "Verdict"},
                        ("Location", *_KEPT),
                    ),
                    "200": AnswerDescription(
                        "The store held it already", {"application/json": "Verdict"}, _KEPT
                    ),
                },
                ("id",),
                WRITTEN,
            )
        },
    ),
    "/store/{id}/{url}": PathDescription(
        "The current revision of a page in a store, or its TimeGate; PUT and POST write one",
        {
            **answered("The current revision", ANY_CONTENT, "Content-Location", *MEMENTO),
            "206": AnswerDescription("The requested range of it", ANY_CONTENT, MEMENTO),
            **UNCHANGED,
            "302": AnswerDescription(
                "To the memento, with Accept-Datetime", {}, ("Location", "Link", "Vary")
            ),
        },
        ("id", "url", "Accept-Datetime", PRECISE, "Range", "If-None-Match"),
        problems=(*QUERIED, "403", "416"),
        writes={
            method: WriteDescription(
                "Writes a revision of the page",
                ANY_CONTENT,
                REVISED,
                ("id", "url", *WRITE_HEADERS),
                (*WRITTEN, "411"),
            )
            for method in ("put", "post")
        },
    ),
}
_BEARER: Final = "bearer "
_WEB: Final = ("http://", "https://")
_LINK_FORMAT: Final = "application/link-format"
_VARY: Final = "accept-datetime, accept-datetime-precise"
_OTHER_SCHEME: Final = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*+://", re.IGNORECASE)
_BODY_DEADLINE: Final = 60.0
_UNREADABLE: Final = 2
_ABSENT: Final = 3
_LARGEST_JSON: Final = 64 * 1024
"""Octets of a reference that is to be kept."""
_UNTYPED: Final = "application/octet-stream"
_LANGUAGE: Final = "Content-Language"
_SHA256: Final = re.compile(r"(?:^|,)\s*+sha-256=:([A-Za-z0-9+/=]{44}):", re.IGNORECASE)


KeepCapture = Callable[[KeepRequest, RequestContext], Awaitable[KeptCapture]]
"""Copies what a reference means into a store. Raises StoreError."""


class CurrentRevisions(Protocol):
    """Finds revisions of a page. Raises ArchiveError."""

    async def newest_spelled(self, url: str) -> IndexRow | None: ...

    async def at(self, url: str, stamp: str) -> IndexRow | None: ...


class _KeepDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of ``POST /store/{id}``."""

    url: str
    live: bool = False
    parts: bool = False


class WriteQuota:
    """Counts the writes of each token: a bucket that fills over a minute."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._buckets: dict[bytes, tuple[float, float]] = {}

    def retry_after(self, token: bytes) -> float:
        """Take one write of *token*; return the seconds to wait if there is none left."""
        now = self._clock()
        left, since = self._buckets.get(token, (self._most, now))
        left = min(self._most, left + (now - since) * self._most / 60)
        wait = 0.0 if left >= 1 else (1 - left) * 60 / self._most
        self._buckets[token] = (left - 1 if not wait else left, now)
        return wait


class StoreSite:
    """One store, for the endpoint."""

    def __init__(
        self,
        writer: RevisionWriter,
        collection: CurrentRevisions,
        entry: ArchiveEntry,
        clock: Callable[[], float] = time.monotonic,
        keep: KeepCapture | None = None,
    ) -> None:
        """*keep* copies references into the store, where the operator allows that."""
        self.keep = keep
        self.writer = writer
        self.settings = writer.settings
        self.collection = collection
        self.entry = entry
        self.quota = WriteQuota(writer.settings.writes_per_minute, clock)

    def token_of(self, request: ClientRequest) -> bytes | None:
        """Return the digest of the token if it may write; compared in constant time."""
        stated = request.header("Authorization") or ""
        if stated[: len(_BEARER)].lower() != _BEARER:
            return None
        text = stated[len(_BEARER) :].strip()
        token = hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
        known = [hmac.compare_digest(token, allowed) for allowed in self.settings.tokens]
        return token if any(known) else None


class StoreEndpoint:
    """Answers requests for all stores."""

    body_deadline = _BODY_DEADLINE

    def __init__(  # noqa: PLR0913 -- the parts of the server that it joins
        self,
        stores: Mapping[str, StoreSite],
        collections: Handler,
        base_url: str,
        *,
        replay_url: str | None = None,
        blocklist: Blocklist | None = None,
        observe: Callable[[str, int, float], None] = lambda _route, _status, _seconds: None,
        now: Callable[[], int] = time.time_ns,
    ) -> None:
        """Read from *collections*, which answers ``{id}/...``; *now* is in nanoseconds."""
        self._stores = stores
        self._collections = collections
        self._base = base_url.rstrip("/")
        self._replay_base = (replay_url or base_url).rstrip("/")
        self._redirects = replay_url is not None
        self._blocklist = blocklist or Blocklist()
        self._observe = observe
        self._now = now

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer with the current revision, or as a TimeGate."""
        site, url = self._found(request)
        if self._blocklist and self._blocklist.holds(url):
            return await self._collections(_within(request, site, f"timegate/{url}"))
        own = _is_own(url, self._address(site, ""))
        if any(request.header(name) is not None for name in ("Accept-Datetime", PRECISE)):
            response = await self._collections(_within(request, site, f"timegate/{url}"))
            return _as_timegate(response, self._address(site, url)) if own else response
        try:
            row = await site.collection.newest_spelled(url)
        except ArchiveError as error:
            return problem(502, "upstream-incomplete", error.why)
        if row is None:
            detail = "this store has no revision of the page"
            return problem(404, "not-found", detail, headers={"Cache-Control": "no-cache"})
        return await self._current(request, site, row, own=own)

    def largest_body(self, request: ClientRequest) -> int:
        """Check all that the head of a write says; return the octets of its largest body."""
        try:
            return self._admitted(request)
        except EarlyResponse as early:
            self._observe(STORE, early.response.status, 0.0)
            raise

    async def write(self, request: ClientRequest, body: bytes) -> Response:
        """Write the revision; 201 once it is on disk."""
        began = time.perf_counter()
        try:
            if self._is_for_store(request):
                response = await self._kept(request, body)
            else:
                response = await self._written(request, body)
        except EarlyResponse as early:
            response = early.response
        self._observe(STORE, response.status, time.perf_counter() - began)
        return response

    def options(self, request: ClientRequest) -> str | None:
        """Return the methods of the store itself; None for a page in it."""
        return None if "/" in request.rest.rstrip("/") else "OPTIONS, POST"

    def _admitted(self, request: ClientRequest) -> int:
        if self._is_for_store(request):
            return self._admitted_to_keep(request)
        site, url = self._found(request)
        token = _checked_token(site, request)
        self._check_url(url)
        self._checked_time(request)
        _check_content(request)
        _check_length(request)
        _check_quota(site, token)
        return site.settings.largest_revision

    def _is_for_store(self, request: ClientRequest) -> bool:
        """Whether a POST is for the store itself, and not for a page in it."""
        return request.method == "POST" and request.rest.rstrip("/") in self._stores

    def _admitted_to_keep(self, request: ClientRequest) -> int:
        site = self._stores[request.rest.rstrip("/")]
        token = _checked_token(site, request)
        if site.keep is None:
            detail = 'the operator does not allow keeping references: keep = "archives"'
            raise EarlyResponse(problem(403, "not-writable", detail))
        kind = (request.header("Content-Type") or "").partition(";")[0].strip().lower()
        if kind != "application/json":
            detail = 'send a reference as application/json: {"url": "http://..."}'
            raise EarlyResponse(problem(415, "bad-request", detail))
        _check_quota(site, token)
        return _LARGEST_JSON

    def _check_url(self, url: str) -> None:
        if self._blocklist and self._blocklist.holds(url):
            detail = "the operator of this server has blocked this URL"
            raise EarlyResponse(problem(403, "not-writable", detail))

    async def _kept(self, request: ClientRequest, body: bytes) -> Response:
        """Copy what a reference means into the store; 201 once it is on disk."""
        site = self._stores[request.rest.rstrip("/")]
        wanted = _wanted(site, body)
        self._check_url(wanted.url)
        assert site.keep is not None  # noqa: S101 -- it was admitted
        try:
            kept = await site.keep(
                KeepRequest(wanted.url, wanted.live, wanted.parts), request.context
            )
            if kept.stamp is None:
                return _not_kept(kept)
            row = await site.collection.at(kept.url, kept.stamp)
        except StoreError as error:
            return self._refused(site, error)
        except ArchiveError as error:
            return problem(502, "upstream-incomplete", error.why)
        headers = {
            **self._memento_headers(site, kept.stamp, kept.url),
            "Location": self._memento(site, kept.stamp, kept.url),
            **_digest_headers(row),
            "Cache-Control": "no-store",
            "Content-Type": "application/json",
        }
        report = msgspec.json.encode(kept.report)
        return Response(201 if kept.is_new else 200, headers, report)

    async def _written(self, request: ClientRequest, body: bytes) -> Response:
        site, url = self._found(request)
        digest = hashlib.sha256(body).digest()
        _check_digest(request, digest)
        language = request.header(_LANGUAGE)
        revision = Revision(
            url,
            body,
            request.header("Content-Type") or _UNTYPED,
            digest,
            () if language is None else ((_LANGUAGE, language),),
            self._checked_time(request),
            Preconditions(request.header("If-Match"), request.header("If-None-Match")),
        )
        try:
            written = await site.writer.write(revision)
        except StoreError as error:
            return self._refused(site, error)
        uri = self._memento(site, written.stamp, url)
        headers = {
            **self._memento_headers(site, written.stamp, url),
            "Location": uri,
            "ETag": f'"sha256-{digest.hex()}"',
            "Repr-Digest": f"sha-256=:{b64encode(digest).decode()}:",
            "Cache-Control": "no-store",
        }
        return Response(201 if written.is_new else 200, headers)

    async def _current(
        self, request: ClientRequest, site: StoreSite, row: IndexRow, *, own: bool
    ) -> Response | StreamingResponse:
        uri = self._memento(site, row.stamp, row.url)
        headers = {
            **self._memento_headers(site, row.stamp, row.url),
            "Content-Location": uri,
            **_digest_headers(row),
            "Vary": _VARY,
            "Cache-Control": "no-cache",
        }
        if own:
            # The original itself, whose state is not fixed (RFC 7089 2.1.1).
            del headers["Memento-Datetime"]
        if self._redirects:
            return Response(302, {**headers, "Location": uri})
        replay = _within(request, site, f"{row.stamp}id_/{header_safe(row.url)}")
        response = await self._collections(replay)
        if response.status >= 500:
            return response
        kept = {n: v for n, v in response.headers.items() if n != "Memento-Datetime"}
        if isinstance(response, Response):
            return replace(response, headers={**kept, **headers}, keep=0.0)
        return replace(response, headers={**kept, **headers})

    def _refused(self, site: StoreSite, error: StoreError) -> Response:
        detail = str(error)
        match error:
            case InstantTaken():
                uri = self._memento(site, error.row.stamp, error.row.url)
                return problem(409, "instant-taken", detail, memento=uri)
            case Superseded():
                tag = None if error.current is None else etag_of(error.current.digest)
                headers = {} if tag is None else {"ETag": tag}
                return problem(412, "precondition-failed", detail, headers=headers)
            case StoreFull():
                return problem(507, "store-full", detail)
            case StoreBusy():
                return problem(503, "too-busy", detail, headers={"Retry-After": "5"})
            case _:
                return problem(503, "store-failed", detail, headers={"Retry-After": "60"})

    def _found(self, request: ClientRequest) -> tuple[StoreSite, str]:
        """Return the store and the URL of the page. Raises EarlyResponse."""
        name, _, rest = request.rest.partition("/")
        site = self._stores.get(name)
        if site is None:
            raise EarlyResponse(problem(404, "not-found", "there is no store with this id"))
        text = identifier_in(rest)
        if not text:
            detail = (
                f"write {STORE}{name}/ and the URL of a page; "
                f"/collections/{name} describes the store"
            )
            raise EarlyResponse(problem(404, "not-found", detail))
        if _OTHER_SCHEME.match(text):
            detail = "a store holds http and https URLs, and names of its own without a scheme"
            raise EarlyResponse(problem(422, "not-negotiable", detail))
        if not text.lower().startswith(_WEB):
            text = self._address(site, text)
        try:
            check_text(text)
            reading = read_url(text, Diagnosis())
        except Malformed as complaint:
            raise EarlyResponse(unreadable(complaint, text)) from complaint
        if reading.fragment is not None:
            detail = "a revision is of a page, so its URL has no fragment"
            raise EarlyResponse(problem(400, "bad-identifier", detail))
        return site, reading.identifier.item or text

    def _checked_time(self, request: ClientRequest) -> str | None:
        """Return the time that the writer asserts, as digits. Raises EarlyResponse."""
        try:
            stamp = asserted_time(request)
        except Malformed as complaint:
            raise EarlyResponse(problem(400, "bad-parameter", complaint.why)) from complaint
        if stamp is not None and nanoseconds(stamp) > self._now():
            detail = "the time of a revision cannot be in the future"
            raise EarlyResponse(problem(400, "bad-parameter", detail))
        return stamp

    def _address(self, site: StoreSite, url: str) -> str:
        """Return the address of a page in a store, which is *url* itself for our own pages."""
        prefix = f"{self._base}{STORE}{site.settings.id}/"
        return url if url.startswith(prefix) else prefix + url

    def _memento(self, site: StoreSite, stamp: str, url: str) -> str:
        return address(self._replay_base, site.settings.id, stamp, url)

    def _memento_headers(self, site: StoreSite, stamp: str, url: str) -> dict[str, str]:
        return {
            "Memento-Datetime": http_date(stamp),
            "Timegate-Datetime": str(Moment(stamp)),
            "Link": self._links(site, stamp, url),
        }

    def _links(self, site: StoreSite, stamp: str, url: str) -> str:
        original, uri = header_safe(url), self._memento(site, stamp, url)
        base = f"{self._replay_base}/collections/{site.settings.id}"
        links = (
            f'<{original}>; rel="original"',
            f'<{header_safe(self._address(site, url))}>; rel="timegate"',
            f'<{base}/timemap/link/{original}>; rel="timemap"; type="{_LINK_FORMAT}"',
            f'<{uri}>; rel="memento"; datetime="{http_date(stamp)}"',
            *(f'<{header_safe(name)}>; rel="cite-as"' for name in _names(site, stamp, url)),
        )
        joined = ", ".join(links)
        return joined if len(joined) <= LONGEST_LINKS else links[0]


def _names(site: StoreSite, stamp: str, url: str) -> list[str]:
    """Return the duri and the PWID of a revision."""
    names = [Duri(Moment(stamp), url).canonical]
    # Not every URL can be the item of a PWID.
    with suppress(Malformed):
        names += [citation(url, Moment(stamp), p).pwid.canonical for p in site.entry.pwid[:1]]
    return names


def asserted_time(request: ClientRequest) -> str | None:
    """Return the digits that the writer asserts; None for now. Raises Malformed."""
    if request.repeated & {"timegate-datetime", "memento-datetime"}:
        raise Malformed("bad-time-syntax", "the time of a revision is stated twice", 0)
    fine, coarse = request.header("Timegate-Datetime"), request.header("Memento-Datetime")
    second = None if coarse is None else stamp_from_http_date(coarse.strip())
    if fine is None:
        return second
    stated = read_instant(fine)
    if stated is None:
        why = "Timegate-Datetime must be like 2026-11-17T20:35:00.123456789Z"
        raise Malformed("bad-time-syntax", why, 0)
    stamp = stated.digits
    if stamp[12:14] == "60":
        raise Malformed("bad-time-syntax", "a revision cannot be in a leap second", 0)
    if second is not None and stamp[:14] != second:
        why = "Timegate-Datetime and Memento-Datetime state different seconds"
        raise Malformed("bad-time-syntax", why, 0)
    return stamp


def _check_content(request: ClientRequest) -> None:
    """Refuse content that cannot be stored as it is. Raises EarlyResponse."""
    media_type = request.header("Content-Type")
    if media_type is not None and not is_media_type(media_type):
        raise EarlyResponse(problem(400, "bad-request", "Content-Type is not a media type"))
    language = request.header(_LANGUAGE)
    if language is not None and not is_clean(language):
        raise EarlyResponse(problem(400, "bad-request", "Content-Language is not valid"))
    if request.header("Content-Range") is not None:
        detail = "a revision is written whole, without Content-Range"
        raise EarlyResponse(problem(400, "bad-request", detail))
    coding = (request.header("Content-Encoding") or "identity").strip().lower()
    if coding != "identity":
        detail = "send the body without content coding"
        accepted = {"Accept-Encoding": "identity"}
        raise EarlyResponse(problem(415, "bad-request", detail, headers=accepted))


def _check_length(request: ClientRequest) -> None:
    """Refuse a write without a body: a revision cannot be taken back. Raises EarlyResponse."""
    if request.header("Content-Length") is None and request.header("Transfer-Encoding") is None:
        detail = "send the revision as the body; Content-Length: 0 writes an empty one"
        raise EarlyResponse(problem(411, "bad-request", detail))


def _check_digest(request: ClientRequest, digest: bytes) -> None:
    """Compare the body with the digests that the writer states (RFC 9530)."""
    for name in ("Repr-Digest", "Content-Digest"):
        stated = _SHA256.search(request.header(name) or "")
        try:
            expected = digest if stated is None else b64decode(stated[1], validate=True)
        except BadBase64:
            expected = b""
        if expected != digest:
            detail = f"the body does not have the sha-256 in {name}"
            raise EarlyResponse(problem(400, "digest-mismatch", detail))


def _checked_token(site: StoreSite, request: ClientRequest) -> bytes:
    """Return the digest of the token. Raises EarlyResponse."""
    if not site.settings.tokens:
        detail = "no token is configured for this store, so nothing can be written"
        raise EarlyResponse(problem(403, "not-writable", detail))
    token = site.token_of(request)
    if token is None:
        detail = "send a token of this store: Authorization: Bearer TOKEN"
        challenge = {"WWW-Authenticate": f'Bearer realm="{site.settings.id}"'}
        raise EarlyResponse(problem(401, "token-required", detail, headers=challenge))
    return token


def _wanted(site: StoreSite, body: bytes) -> _KeepDocument:
    """Read the reference that is to be kept. Raises EarlyResponse."""
    try:
        wanted = msgspec.json.decode(body, type=_KeepDocument)
        check_text(wanted.url)
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, "")) from complaint
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        detail = f"the body is not as it should be: {error}"
        raise EarlyResponse(problem(400, "bad-request", detail)) from error
    if wanted.live and site.settings.keep != "live":
        detail = 'the operator does not allow fetching originals: keep = "live"'
        raise EarlyResponse(problem(403, "not-writable", detail))
    return wanted


def _check_quota(site: StoreSite, token: bytes) -> None:
    wait = site.quota.retry_after(token)
    if wait:
        detail = f"a token may write {site.settings.writes_per_minute} revisions a minute"
        after = {"Retry-After": str(int(wait) + 1)}
        raise EarlyResponse(problem(429, "too-busy", detail, headers=after))


def _not_kept(kept: KeptCapture) -> Response:
    """Return the problem of a reference of which the store has no copy."""
    if kept.code == _UNREADABLE:
        return problem(400, "bad-identifier", kept.why)
    if kept.code == _ABSENT:
        return problem(404, "no-memento", kept.why, report=dict(kept.report))
    return problem(502, "upstream-incomplete", kept.why, report=dict(kept.report))


def _digest_headers(row: IndexRow | None) -> dict[str, str]:
    """Return ETag and digest of a capture, if the index has its SHA-256."""
    kind, _, text = ("" if row is None else row.digest or "").partition(":")
    if kind != "sha256":
        return {}
    digest = bytes.fromhex(text)
    return {
        "ETag": f'"sha256-{text}"',
        "Repr-Digest": f"sha-256=:{b64encode(digest).decode()}:",
    }


def _is_own(url: str, prefix: str) -> bool:
    return url.startswith(prefix)


def _within(request: ClientRequest, site: StoreSite, rest: str) -> ClientRequest:
    """Return the request for an address of the collection."""
    return request._replace(rest=f"{site.settings.id}/{rest}")


def _as_timegate(
    response: Response | StreamingResponse, uri: str
) -> Response | StreamingResponse:
    """Return the response of a TimeGate that is the original as well."""
    links = f'{response.headers.get("Link", "")}, <{header_safe(uri)}>; rel="timegate"'
    return replace(response, headers={**response.headers, "Link": links.lstrip(", ")})
