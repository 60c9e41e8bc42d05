"""``/collections``: each local collection as an archive of its own.

A collection has its own TimeGate, TimeMaps, CDX server and replay, and the links in its
responses stay within it. ``/collections/{id}/{URL}`` is pywb's short form of its TimeGate.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

import msgspec

from archives.registry import Registry
from timegate.access.blocklist import Blocklist
from timegate.collections import (
    NoCache,
    OpenCollection,
)
from timegate.collections.cdx import CollectionCdx
from timegate.collections.replay import STAMPED, CollectionReplay
from timegate.endpoints import PathDescription
from timegate.endpoints.timegate import TimeGateEndpoint
from timegate.endpoints.timemap import TimeMapEndpoint
from timegate.resolution.coalescing import fixed
from timegate.resolution.model import Deadlines, Plan
from timegate.resolution.neighbours import Neighbours
from timegate.responses.model import ClientRequest, Response, StreamingResponse
from timegate.responses.problems import problem, read_on_site
from timegate.responses.timemap import TimeMapResponses
from timegate.timemaps import FORMATS, ArchiveLists

PATHS: Final = {
    "/collections": PathDescription("The local collections"),
    "/collections/{id}/{stamp}{view}/{url}": PathDescription(
        "A memento in a local collection", ("id", "stamp", "view", "url")
    ),
}
_JSON: Final = {"Content-Type": "application/json", "Cache-Control": "max-age=60"}
NO_SUCH_COLLECTION: Final = problem(
    404, "not-found", "there is no collection with this id; /collections lists all"
)
"""The same response for a hidden collection and for one that does not exist (R-27)."""


class Collections:
    """Answers requests for all collections."""

    def __init__(
        self,
        collections: Iterable[OpenCollection],
        registry: Registry,
        base_url: str,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._registry = registry
        self._sites = {
            one.collection.id: CollectionSite(one, registry, base_url, deadlines)
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
            return Response(200, _JSON, msgspec.json.encode(site.addresses()))
        return await site(request._replace(rest=rest))

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
    ) -> None:
        collection, source = opened.collection, opened.contained
        self._source = source
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
            )
        )
        self._cdx = CollectionCdx(collection, base_url)
        self._replay = CollectionReplay(collection, opened.replayer, answers, base_url)

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer the part of the path after the id of the collection."""
        rest = request.rest
        if STAMPED.match(rest):
            return await self._replay(request)
        if rest == "cdx" or rest.startswith("cdx?"):
            return await self._cdx(request)
        if rest.startswith("timemap/"):
            return await self._timemap(request.below("timemap/"))
        return await self._timegate(request.below("timegate/"))

    def addresses(self) -> dict[str, object]:
        """Return templates of all addresses."""
        entry, base = self._source.entry, self._base
        return {
            "id": entry.id,
            "name": entry.name,
            "timegate": f"{base}/timegate/{{url}}",
            "timemap": {name: f"{base}/timemap/{name}/{{url}}" for name in FORMATS},
            "cdx": f"{base}/cdx?url={{url}}",
            "replay": f"{base}/{{stamp}}/{{url}}",
            "raw": f"{base}/{{stamp}}id_/{{url}}",
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
