"""Forward proxy for Memento clients: ``GET http://example.org/ HTTP/1.1`` (RFC 9112 3.2.2).

Such a request is a question to a TimeGate and nothing else. The live web is not fetched: who
sends no Accept-Datetime is led to the newest copy, as RFC 7089 has it for TimeGates (M-14).
"""

from typing import Final

from timegate.web.call import ClientRequest, Response, StreamingResponse
from timegate.web.dispatch import Handler
from timegate.web.problems import problem

_SCHEMES: Final = ("http://", "https://")


def forwarded(timegate: Handler, *, enabled: bool) -> dict[str, Handler]:
    """Return who answers requests with absolute URLs, by how these begin."""
    return {scheme: _Forward(timegate if enabled else None, scheme) for scheme in _SCHEMES}


class _Forward:
    """Answers for the URLs of one scheme."""

    def __init__(self, timegate: Handler | None, scheme: str) -> None:
        self._timegate = timegate
        self._scheme = scheme

    async def __call__(self, call: ClientRequest) -> Response | StreamingResponse:
        """Answer as a TimeGate, or say that this is no proxy."""
        if self._timegate is None:
            detail = "this server is no proxy; ask for /timegate/ with the URL behind it"
            return problem(400, "bad-identifier", detail)
        whole = ClientRequest(
            call.method, self._scheme + call.rest, call.headers, call.repeated
        )
        return await self._timegate(whole)
