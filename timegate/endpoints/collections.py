"""``/collections``: each local collection as an archive of its own.

A collection has its own TimeGate, TimeMaps, CDX server and replay, and the links in its
responses stay within it. ``/collections/{id}/{URL}`` is pywb's short form of its TimeGate.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qsl, quote, unquote

import msgspec

from archives.errors import ArchiveError
from archives.registry import Registry
from archives.warc_index.collection import Collection
from timegate.access.blocklist import Blocklist
from timegate.collections import (
    NoCache,
    OpenCollection,
)
from timegate.collections.cdx import CollectionCdx
from timegate.collections.replay import STAMPED, CollectionReplay
from timegate.endpoints import (
    ANY_CONTENT,
    CDX_PARAMETERS,
    HTML_CONTENT,
    MEMENTO,
    OF_COLLECTION,
    PYWB_CDX,
    REDIRECT,
    STATIC,
    TIMEMAP_HEADERS,
    TIMEMAPS,
    UNCHANGED,
    VERDICT,
    AnswerDescription,
    PathDescription,
    answered,
)
from timegate.endpoints.collection_extents import CollectionExtents, CollectionPages
from timegate.endpoints.collection_index import CollectionIndex
from timegate.endpoints.timegate import TimeGateEndpoint
from timegate.endpoints.timemap import TimeMapEndpoint, timemap_target
from timegate.pages.rendering import Pages
from timegate.resolution.coalescing import fixed
from timegate.resolution.model import Deadlines, Plan
from timegate.resolution.neighbours import Neighbours
from timegate.responses.model import (
    ClientRequest,
    Response,
    StreamingResponse,
    identifier_in,
)
from timegate.responses.problems import problem, read_on_site
from timegate.responses.replay_addresses import PAGE, ReplayPlace
from timegate.responses.timemap import VARY as TIMEMAP_VARY
from timegate.responses.timemap import TimeMapResponses, listed_query
from timegate.responses.validators import etag, is_unchanged, last_modified
from timegate.timemaps import FORMATS, ArchiveLists

# All captures are on one page, and of one archive.
_CDX_PARAMETERS: Final = tuple(
    key for key in CDX_PARAMETERS if key not in {"cdx-page", "archives", "exclude", "wait"}
)
_TO_CAPTURE: Final = {
    "302": AnswerDescription("To the capture that is closest", {}, ("Location", *VERDICT))
}
_CAPTURE: Final = {
    **answered("The archived response; other archived statuses too", ANY_CONTENT, *MEMENTO),
    "206": AnswerDescription("The requested range of it", ANY_CONTENT, MEMENTO),
    **UNCHANGED,
    **_TO_CAPTURE,
}
PATHS: Final = {
    "/collections": PathDescription(
        "The local collections",
        answered(
            "The collections", {"application/json": "Collections", **HTML_CONTENT}, "Vary"
        ),
        problems=STATIC,
    ),
    "/collections/{id}": PathDescription(
        "One local collection: its addresses",
        answered(
            "The addresses", {"application/json": "CollectionAddresses", **HTML_CONTENT}, "Vary"
        ),
        ("id",),
        problems=OF_COLLECTION,
    ),
    "/collections/{id}/timegate/{url}": PathDescription(
        "The TimeGate of a local collection",
        REDIRECT,
        ("id", "url", "Accept-Datetime", "Accept-Datetime-Precise"),
        problems=OF_COLLECTION,
    ),
    "/collections/{id}/timemap/{format}/{url}": PathDescription(
        "The TimeMap of a local collection",
        {
            **answered("All captures, oldest first", TIMEMAPS, *TIMEMAP_HEADERS),
            **UNCHANGED,
        },
        ("id", "format", "url", "If-None-Match"),
        problems=OF_COLLECTION,
    ),
    "/collections/{id}/cdx": PathDescription(
        "The CDX server of a local collection, as that of pywb",
        answered(
            "The captures, with the places of their records",
            PYWB_CDX,
        ),
        ("id", "cdx-url", *_CDX_PARAMETERS, "cdx-pywb-output"),
        problems=OF_COLLECTION,
    ),
    "/collections/{id}/{stamp}/{url}": PathDescription(
        "A capture in a local collection, without scripts",
        _CAPTURE,
        ("id", "stamp", "url", "Range", "If-None-Match"),
        problems=(*OF_COLLECTION, "416"),
    ),
    "/collections/{id}/{stamp}id_/{url}": PathDescription(
        "A capture in a local collection, as it was harvested",
        _CAPTURE,
        ("id", "stamp", "url", "Range", "If-None-Match"),
        problems=(*OF_COLLECTION, "416"),
    ),
}
_VALIDATED: Final = {"Cache-Control": "no-cache", "Vary": TIMEMAP_VARY}
_JSON: Final = {"Content-Type": "application/json", "Cache-Control": "max-age=60"}
NO_SUCH_COLLECTION: Final = problem(
    404, "not-found", "there is no collection with this id; /collections lists all"
)
"""The same response for a hidden collection and for one that does not exist (R-27)."""


class Collections:
    """Answers requests for all collections."""

    def __init__(  # noqa: PLR0913 -- what the addresses and pages depend on
        self,
        collections: Iterable[OpenCollection],
        registry: Registry,
        base_url: str,
        deadlines: Deadlines | None = None,
        shown: CollectionPages | None = None,
        *,
        pages_url: str | None = None,
    ) -> None:
        """*pages_url* is where whole pages are shown; None if they are not."""
        self._registry = registry
        self._base_url = base_url.rstrip("/")
        self._pages_url = pages_url
        self._sites = {
            one.collection.id: CollectionSite(one, registry, base_url, deadlines, shown)
            for one in collections
        }

    async def overview(self, request: ClientRequest) -> Response:
        """List the collections."""
        del request
        collections = [site.addresses() for site in self._sites.values()]
        return Response(200, _JSON, msgspec.json.encode({"collections": collections}))

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer ``{id}`` and ``{id}/...``."""
        name, slash, rest = request.rest.partition("/")
        name = name if slash else name.partition("?")[0]
        site = self._sites.get(name)
        if site is None:
            return self._not_served(name)
        if not rest:
            url = dict(parse_qsl(request.rest.partition("?")[2], max_num_fields=9)).get("url")
            if url:
                return self._captures_of(url, name)
            return Response(200, _JSON, msgspec.json.encode(site.addresses()))
        page = self._whole_page(request, name, rest)
        return await site(request.at(rest)) if page is None else page

    def _whole_page(self, request: ClientRequest, name: str, rest: str) -> Response | None:
        """Lead a person who opens a capture to the whole page; None for all others.

        With ``mp_`` the page is shown without its frame: browsers pass no text directive on to
        the document in a frame.
        """
        opened = request.header("Sec-Fetch-Dest") == "document"
        capture = STAMPED.match(rest) if opened else None
        if capture is None or self._pages_url is None or capture[2] not in (None, PAGE):
            return None
        # No capture of another archive may be shown in its place.
        place = ReplayPlace(capture[1], identifier_in(rest[capture.end() :]), archive=name)
        origin = self._pages_url.rstrip("/")
        if capture[2] == PAGE:
            place = replace(place, near=capture[1], use=PAGE)
            origin = self._base_url
        location = origin + place.path("view")
        headers = {"Location": location, "Cache-Control": "no-cache", "Vary": "sec-fetch-dest"}
        return Response(302, headers)

    def _captures_of(self, url: str, name: str) -> Response:
        """Redirect from the form of the page to the list of captures, for people."""
        page = url.strip() if "://" in url else f"http://{url.strip()}"
        path = f"/timemap/html/{quote(page, safe='')}?archive={quote(name, safe='')}"
        return Response(303, {"Location": f"{self._base_url}{path}"})

    def _not_served(self, name: str) -> Response:
        """Return the same problem for all addresses of a collection that is read on site."""
        entry = self._registry.by_id(name)
        if entry is not None and entry.kind.is_local and entry.access == "onsite-only":
            return read_on_site(entry)
        return NO_SUCH_COLLECTION


class CollectionSite:
    """All addresses of one collection."""

    def __init__(
        self,
        opened: OpenCollection,
        registry: Registry,
        base_url: str,
        deadlines: Deadlines | None,
        shown: CollectionPages | None = None,
    ) -> None:
        collection, source = opened.collection, opened.contained
        self._source = source
        self._collection = collection
        self._registry = registry
        self._base = base = f"{base_url.rstrip('/')}/collections/{collection.id}"
        answers = opened.answers(registry, base)
        sources = fixed({collection.id: source})
        plan = Plan(((collection.id,),))
        self._timegate = TimeGateEndpoint(answers, Neighbours(sources, NoCache(), frozenset()))
        self._timemap = TimeMapEndpoint(
            TimeMapResponses(
                ArchiveLists(sources, NoCache()),
                lambda _query, _preferences, _context: plan,
                registry,
                base,
                deadlines,
                changing=frozenset({collection.id}),
            )
        )
        self._cdx = CollectionCdx(collection, base_url)
        self._replay = CollectionReplay(collection, opened.replayer, answers, base_url)
        shown = shown or CollectionPages(Pages(base_url), Blocklist())
        self._extents = CollectionExtents(opened, registry, answers, base_url, shown)
        self._index = CollectionIndex(collection, shown.blocklist)

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer the part of the path after the id of the collection."""
        rest = request.rest
        if STAMPED.match(rest):
            return await self._replay(request)
        if rest == "cdx" or rest.startswith("cdx?"):
            return await self._cdx(request)
        if rest.startswith("timemap/"):
            return await self._listed(request.below("timemap/"))
        if self._index.owns(rest):
            return await self._index(request)
        if self._extents.owns(rest):
            return await self._extents(request)
        return await self._timegate(request.below("timegate/"))

    async def _listed(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer with the TimeMap and its ETag, or with 304 if the client has it already.

        The version is read before the list: if a capture is added in between, the client gets
        it with the older ETag, and once more at its next request.
        """
        validators = await self._validators(request)
        if validators and is_unchanged(request, validators):
            return Response(304, {**validators, **_VALIDATED})
        response = await self._timemap.listed(request)
        if not validators or response.status != 200:
            return response
        return replace(response, headers={**response.headers, **validators, **_VALIDATED})

    async def _validators(self, request: ClientRequest) -> Mapping[str, str]:
        """Return the ETag and the ``Last-Modified`` of a TimeMap; empty if it has none.

        The whole index has one time of its last change; the ETag is of the page alone.
        """
        form, text = timemap_target(request)
        if not isinstance(self._collection, Collection):
            return {}
        url = listed_query(text, self._registry).original
        changed = self._collection.changed_at()
        try:
            version = await self._collection.version_of(url)
        except ArchiveError:
            return {}  # the list says what is wrong
        parts = (form, url, version, request.header("Accept"), request.header("Prefer"))
        return {"ETag": etag(*parts), **last_modified(changed)}

    def addresses(self) -> dict[str, object]:
        """Return templates of all addresses."""
        entry, base = self._source.entry, self._base
        return {
            "id": entry.id,
            "name": entry.name,
            "timegate": f"{base}/timegate/{{url}}",
            "timemap": {name: f"{base}/timemap/{name}/{{url}}" for name in FORMATS},
            "cdx": f"{base}/cdx?url={{url}}",
            "index": f"{base}/index",
            "replay": f"{base}/{{stamp}}/{{url}}",
            "raw": f"{base}/{{stamp}}id_/{{url}}",
            "pwid": f"{base}/pwid?time={{time}}&coverage={{coverage}}&item={{url}}",
        }


class VisibleCollections:
    """Answers for the collections that the client may see, without blocked addresses."""

    def __init__(self, collections: Collections, blocklist: Blocklist | None = None) -> None:
        self._collections = collections
        self._blocklist = blocklist or Blocklist()

    async def overview(self, request: ClientRequest) -> Response:
        """List the collections."""
        response = await self._collections.overview(request)
        hidden = request.context.hidden
        if not hidden:
            return response
        collections = json.loads(response.body)["collections"]
        visible = [entry for entry in collections if entry["id"] not in hidden]
        return replace(response, body=json.dumps({"collections": visible}).encode())

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer ``{id}`` and ``{id}/...``."""
        if not request.rest:
            return await self.overview(request)
        name, _, rest = request.rest.partition("/")
        if name.partition("?")[0] in request.context.hidden:
            return NO_SUCH_COLLECTION
        if self._blocklist and self._blocklist.holds(_page(rest)):
            if request.context.blocked is not None:
                request.context.blocked.append(rest)
            return problem(404, "not-found", "the operator of this server has blocked this URL")
        return await self._collections(request)


def _page(rest: str) -> str:
    """Return the requested URL: after a stamp, ``timegate/``, ``timemap/...`` or ``url=``."""
    _, mark, query = rest.partition("cdx?")
    if mark:
        parameters = query.split("&")
        return next((unquote(p[4:]) for p in parameters if p.startswith("url=")), "")
    decoded = rest if "://" in rest else unquote(rest)
    starts = [start for s in ("http://", "https://") if (start := decoded.find(s)) >= 0]
    return decoded[min(starts) :] if starts else decoded.rpartition("/")[2]
