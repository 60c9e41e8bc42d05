"""Local collections, as far as the client may see them (R27)."""

import json
from dataclasses import replace

from timegate.restricted import hidden
from timegate.web.call import Answer, Call, Stream
from timegate.web.problems import problem
from timegate.web.server import Handler


class Shown:
    """Answers for the collections that are not hidden; the others are not there."""

    def __init__(self, overview: Handler, collections: Handler) -> None:
        self._overview = overview
        self._collections = collections

    async def overview(self, call: Call) -> Answer | Stream:
        """Tell which there are."""
        answer = await self._overview(call)
        unseen = hidden()
        if not unseen or isinstance(answer, Stream):
            return answer
        told = json.loads(answer.body)["collections"]
        seen = [one for one in told if one["id"] not in unseen]
        return replace(answer, body=json.dumps({"collections": seen}).encode())

    async def __call__(self, call: Call) -> Answer | Stream:
        """Answer ``{id}`` and ``{id}/...``."""
        name = call.rest.partition("/")[0].partition("?")[0]
        if name in hidden():
            return problem(404, "not-found", "no such collection; /collections lists them")
        return await self._collections(call)
