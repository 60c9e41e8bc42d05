"""``POST /resolve``: many identifiers in, a line of JSON out for each, once it is known."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from itertools import islice
from typing import Final

from aiohttp import web

from timegate.logs import Unforeseen
from timegate.policies import preferences_from
from timegate.resolution import Preferences
from timegate.web.call import EarlyResponse, StreamingResponse
from timegate.web.problems import internal, problem
from timegate.web.resolve import Resolve, row
from timegate.web.sending import GRACE, ClientDeadline, body_of, response, streamed

MOST_BYTES: Final = 1024 * 1024
MOST_LINES: Final = 1000
_AT_ONCE: Final = 8
_BODY_DEADLINE: Final = 15.0
_HEADERS: Final = {"Content-Type": "application/x-ndjson"}


class BatchResolve:
    """Answers batches."""

    def __init__(
        self,
        resolve: Resolve,
        body_deadline: float = _BODY_DEADLINE,
        grace: float = GRACE,
    ) -> None:
        """*grace*: seconds for which the client may read nothing of the answer."""
        self._resolve = resolve
        self._body_deadline = body_deadline
        self._grace = grace
        self._log = Unforeseen("item-internal-error")

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Read all lines, then answer them a few at a time, in the order of the answers."""
        try:
            lines = list(_lines(await body_of(request, MOST_BYTES, self._body_deadline)))
            policy, _ = preferences_from(
                dict(request.query),
                request.headers.get("Prefer"),
                request.headers.get("Cache-Control"),
            )
        except EarlyResponse as declined:
            return response(declined.answer)
        except ValueError as error:
            return response(problem(400, "bad-parameter", str(error)))
        return await self._sent(request, lines, policy)

    async def _sent(
        self, request: web.BaseRequest, lines: list[str], policy: Preferences
    ) -> web.StreamResponse:
        under_way: set[asyncio.Task[bytes]] = set()
        rows = StreamingResponse(200, _HEADERS, self._rows(lines, policy, under_way))
        try:
            return await streamed(request, rows, ClientDeadline(self._grace, most=self._grace))
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _rows(
        self, lines: list[str], policy: Preferences, under_way: set["asyncio.Task[bytes]"]
    ) -> AsyncGenerator[bytes, None]:
        """Yield the answers as they come; no more lines are begun while nobody reads."""
        loop, waiting = asyncio.get_running_loop(), iter(lines)
        while True:
            for text in islice(waiting, _AT_ONCE - len(under_way)):
                under_way.add(loop.create_task(self._line(text, policy)))
            if not under_way:
                return
            done, _ = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            under_way.difference_update(done)
            for task in done:
                yield task.result()

    async def _line(self, text: str, policy: Preferences) -> bytes:
        """Answer one line; an unforeseen exception costs this row and no other."""
        try:
            return await self._resolve.line(text, policy)
        except Exception as error:  # noqa: BLE001 -- the boundary around each item
            self._log("POST /resolve", error)
            return row(text, internal(error))


def _lines(body: bytes) -> Iterator[str]:
    """Yield the identifiers: plain lines, JSON strings, or objects with ``identifier``."""
    text = body.decode(errors="surrogateescape")
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        detail = f"at most {MOST_LINES} identifiers at once; send the rest in another request"
        raise EarlyResponse(problem(413, "too-large", detail))
    for line in lines:
        yield _identifier(line)


def _identifier(line: str) -> str:
    if line[0] not in '"{':
        return line.strip()
    try:
        value = json.loads(line)
    except ValueError:
        return line
    if isinstance(value, dict):
        value = value.get("identifier", line)
    return value if isinstance(value, str) else line
