"""``POST /resolve``: many identifiers in, a line of JSON out for each, once it is known."""

import asyncio
import json
from collections.abc import Iterator
from typing import Final

from aiohttp import web

from timegate.logs import Unforeseen
from timegate.policies import policy_from
from timegate.resolution import Policy
from timegate.web.call import Declined
from timegate.web.problems import internal, problem
from timegate.web.resolve import Resolve, row
from timegate.web.sending import body_of, response

MOST_BYTES: Final = 1024 * 1024
MOST_LINES: Final = 1000
_AT_ONCE: Final = 8
_BODY_DEADLINE: Final = 15.0


class Batch:
    """Answers batches."""

    def __init__(self, resolve: Resolve, body_deadline: float = _BODY_DEADLINE) -> None:
        self._resolve = resolve
        self._body_deadline = body_deadline
        self._log = Unforeseen("item-internal-error")

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Read all lines, then answer them a few at a time, in the order of the answers."""
        try:
            lines = list(_lines(await body_of(request, MOST_BYTES, self._body_deadline)))
            policy, _ = policy_from(
                dict(request.query),
                request.headers.get("Prefer"),
                request.headers.get("Cache-Control"),
            )
        except Declined as declined:
            return response(declined.answer)
        except ValueError as error:
            return response(problem(400, "bad-parameter", str(error)))
        streamed = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await streamed.prepare(request)
        await self._answer(lines, policy, streamed)
        await streamed.write_eof()
        return streamed

    async def _answer(
        self, lines: list[str], policy: Policy, streamed: web.StreamResponse
    ) -> None:
        waiting = iter(lines)
        sending = asyncio.Lock()

        async def work() -> None:
            for text in waiting:
                told = await self._line(text, policy)
                async with sending:
                    await streamed.write(told)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(_AT_ONCE, len(lines))):
                group.create_task(work())

    async def _line(self, text: str, policy: Policy) -> bytes:
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
        raise Declined(problem(413, "too-large", detail))
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
