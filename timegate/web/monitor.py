"""``/monitor``: what archives answer, as it happens, as server-sent events.

Events name the archive, the outcome and how long it took; never a URL, never a client.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Final

from archives.errors import ArchiveError
from archives.model import Closest
from timegate.resolution import Attempt
from timegate.web.call import ClientRequest, Response, StreamingResponse
from timegate.web.problems import problem

_MOST_WATCHERS: Final = 16
_BACKLOG: Final = 100
_HEARTBEAT: Final = 15.0
_HEADERS: Final = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}


class Monitor:
    """Tells every watcher what is observed; who is slow misses some of it."""

    def __init__(self, heartbeat: float = _HEARTBEAT) -> None:
        self._heartbeat = heartbeat
        self._watchers: set[asyncio.Queue[bytes]] = set()

    def observe(self, attempt: Attempt) -> None:
        """Tell the watchers, if there are any."""
        if not self._watchers:
            return
        event = _event(attempt)
        for queue in self._watchers:
            if not queue.full():
                queue.put_nowait(event)

    async def __call__(self, _: ClientRequest) -> Response | StreamingResponse:
        """Send events until the client leaves."""
        if len(self._watchers) >= _MOST_WATCHERS:
            detail = f"{_MOST_WATCHERS} watch already; try again later"
            return problem(503, "too-busy", detail, headers={"Retry-After": "60"})
        return StreamingResponse(200, _HEADERS, self._events())

    async def _events(self) -> AsyncGenerator[bytes, None]:
        queue: asyncio.Queue[bytes] = asyncio.Queue(_BACKLOG)
        self._watchers.add(queue)
        try:
            yield b": watching\n\n"
            while True:
                try:
                    async with asyncio.timeout(self._heartbeat):
                        event = await queue.get()
                except TimeoutError:
                    event = b": nothing happens\n\n"
                yield event
        finally:
            self._watchers.discard(queue)


def _event(attempt: Attempt) -> bytes:
    told: dict[str, object] = {
        "archive": attempt.archive,
        "outcome": "absent",
        "milliseconds": round(attempt.seconds * 1000),
    }
    if isinstance(attempt.outcome, Closest):
        told["outcome"] = "found"
    elif isinstance(attempt.outcome, ArchiveError):
        told |= {"outcome": "unknown", "kind": type(attempt.outcome).__name__.lower()}
    return f"event: archive\ndata: {json.dumps(told)}\n\n".encode()
