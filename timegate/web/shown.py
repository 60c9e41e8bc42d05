"""Local collections, as far as the client may see them (R27), without what is denied."""

import json
from dataclasses import replace
from urllib.parse import unquote

from timegate.denial import Blocklist, note
from timegate.restricted import hidden
from timegate.web.call import ClientRequest, Response, StreamingResponse
from timegate.web.collections import NO_SUCH_COLLECTION, Collections
from timegate.web.problems import problem


class VisibleCollections:
    """Answers for the collections that are not hidden; the others are not there."""

    def __init__(self, collections: Collections, denials: Blocklist | None = None) -> None:
        self._collections = collections
        self._denials = denials or Blocklist()

    async def overview(self, call: ClientRequest) -> Response:
        """Tell which there are."""
        answer = await self._collections.overview(call)
        unseen = hidden()
        if not unseen:
            return answer
        told = json.loads(answer.body)["collections"]
        seen = [one for one in told if one["id"] not in unseen]
        return replace(answer, body=json.dumps({"collections": seen}).encode())

    async def __call__(self, call: ClientRequest) -> Response | StreamingResponse:
        """Answer ``{id}`` and ``{id}/...``."""
        if not call.rest:
            return await self.overview(call)
        name, _, rest = call.rest.partition("/")
        if name.partition("?")[0] in hidden():
            return NO_SUCH_COLLECTION
        if self._denials and self._denials.hold(_page(rest)):
            note(rest)
            return problem(404, "not-found", "this server does not lead there")
        return await self._collections(call)


def _page(rest: str) -> str:
    """Return the URL that is asked for: behind a stamp, a TimeGate, a TimeMap, or ``url=``."""
    _, mark, query = rest.partition("cdx?")
    if mark:
        parameters = query.split("&")
        return next((unquote(p[4:]) for p in parameters if p.startswith("url=")), "")
    decoded = rest if "://" in rest else unquote(rest)
    places = [place for s in ("http://", "https://") if (place := decoded.find(s)) >= 0]
    return decoded[min(places) :] if places else decoded.rpartition("/")[2]
