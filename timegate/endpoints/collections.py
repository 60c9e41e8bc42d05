"""``/collections``: each local collection as an archive by itself.

In each there is what there is at the root, and all links of its answers stay in it: TimeGate,
TimeMaps, CDX, and the captures themselves. ``/collections/{id}/{URL}`` is pywb's short form of
its TimeGate.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

import msgspec

from archives.registry import Registry
from timegate.access.blocklist import Blocklist
from timegate.collections.access import (
    NoCache,
    OpenCollection,
)
from timegate.collections.cdx import CollectionCdx
from timegate.collections.replay import STAMPED, CollectionReplay
from timegate.endpoints.timegate import TimeGateEndpoint
from timegate.endpoints.timemap import TimeMapEndpoint
from timegate.resolution.coalescing import fixed
from timegate.resolution.model import Deadlines, Plan
from timegate.resolution.neighbours import Neighbours
from timegate.responses.model import ClientRequest, Response, StreamingResponse
from timegate.responses.problems import problem, read_on_site
from timegate.responses.timemap import TimeMapResponses
from timegate.timemaps import FORMATS, ArchiveLists

_JSON: Final = {"Content-Type": "application/json", "Cache-Control": "max-age=60"}


class Collections:
    """Answers for all collections."""

    def __init__(
        self,
        holdings: Iterable[OpenCollection],
        registry: Registry,
        base_url: str,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._registry = registry
        self._sites = {
            holding.shelf.id: CollectionSite(holding, registry, base_url, deadlines)
            for holding in holdings
        }

    async def overview(self, request: ClientRequest) -> Response:
        """Tell which collections there are."""
        del request
        told = [site.surfaces() for site in self._sites.values()]
        return Response(200, _JSON, msgspec.json.encode({"collections": told}))

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer ``{id}`` and ``{id}/...``."""
        name, slash, rest = request.rest.partition("/")
        name = name if slash else name.partition("?")[0]
        site = self._sites.get(name)
        if site is None:
            return self._not_served(name)
        if not rest:
            return Response(200, _JSON, msgspec.json.encode(site.surfaces()))
        return await site(_inside(request, rest))

    def _not_served(self, name: str) -> Response:
        """Say the same whatever is asked of it: what a reading room holds is told there."""
        entry = self._registry.by_id(name)
        if entry is not None and entry.kind.is_local and entry.access == "onsite-only":
            return read_on_site(entry)
        return NO_SUCH_COLLECTION


NO_SUCH_COLLECTION: Final = problem(
    404, "not-found", "no such collection; /collections lists them"
)
"""Word for word the same of one that is not there and of one that is hidden (R-27)."""


class CollectionSite:
    """Everything that can be asked of one collection."""

    def __init__(
        self,
        holding: OpenCollection,
        registry: Registry,
        base_url: str,
        deadlines: Deadlines | None,
    ) -> None:
        shelf, source = holding.shelf, holding.source
        self._source = source
        self._base = base = f"{base_url.rstrip('/')}/collections/{shelf.id}"
        answers = holding.answers(registry, base)
        sources = fixed({shelf.id: source})
        only = Plan(((shelf.id,),))
        self._timegate = TimeGateEndpoint(answers, Neighbours(sources, NoCache(), frozenset()))
        self._timemap = TimeMapEndpoint(
            TimeMapResponses(
                ArchiveLists(sources, NoCache()),
                lambda _query, _preferences, _context: only,
                registry,
                base,
                deadlines,
            )
        )
        self._cdx = CollectionCdx(shelf, base_url)
        self._replay = CollectionReplay(shelf, holding.replayer, answers, base_url)

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer what stands behind the collection's name."""
        rest = request.rest
        if STAMPED.match(rest):
            return await self._replay(request)
        if rest == "cdx" or rest.startswith("cdx?"):
            return await self._cdx(request)
        if rest.startswith("timemap/"):
            return await self._timemap(_inside(request, rest.removeprefix("timemap/")))
        if rest.startswith("timegate/"):
            request = _inside(request, rest.removeprefix("timegate/"))
        return await self._timegate(request)

    def surfaces(self) -> dict[str, object]:
        """Return where everything is."""
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


def _inside(request: ClientRequest, rest: str) -> ClientRequest:
    return request._replace(rest=rest)


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
            return problem(404, "not-found", "this address is not served here")
        return await self._collections(request)


def _page(rest: str) -> str:
    """Return the URL that is asked for: behind a stamp, a TimeGate, a TimeMap, or ``url=``."""
    _, mark, query = rest.partition("cdx?")
    if mark:
        parameters = query.split("&")
        return next((unquote(p[4:]) for p in parameters if p.startswith("url=")), "")
    decoded = rest if "://" in rest else unquote(rest)
    places = [place for s in ("http://", "https://") if (place := decoded.find(s)) >= 0]
    return decoded[min(places) :] if places else decoded.rpartition("/")[2]
