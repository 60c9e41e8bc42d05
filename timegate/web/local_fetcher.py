"""Fetches from our own collections without a connection to ourselves.

A `Fetcher` like that of any archive, so that the proxy and ``verify=head`` need not know which
archives are ours: it calls what answers ``/collections/`` and hands on the answer.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from multidict import CIMultiDict

from archives.errors import Misbehaved
from archives.source import Request
from timegate.upstream.coding import BadCoding, ContentDecoder
from timegate.web.call import ClientRequest, EarlyResponse, Response, StreamingResponse
from timegate.web.dispatch import Handler

_MOST: Final = 1024**3
_DATED: Final = "memento-datetime"


@dataclass(frozen=True, slots=True)
class LocalReply:
    """A `Reply` out of our own files."""

    archive: str
    url: str
    status: int
    headers: Mapping[str, str]
    body: AsyncGenerator[bytes, None]

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body, content coding removed; see `Reply`."""
        try:
            decoder = ContentDecoder(self.headers.get("content-encoding", ""), _MOST)
            async for data in self.body:
                for piece in decoder.decode(data) if data else ():
                    yield piece
                    await asyncio.sleep(0)
            decoder.finish()
        except BadCoding as error:
            raise Misbehaved(self.archive, self.url, f"body {error}") from error


class LocalFetcher:
    """Answers requests for captures of the collection *archive*."""

    def __init__(self, archive: str, collections: Handler, base_url: str) -> None:
        self._archive = archive
        self._collections = collections
        self._all = f"{base_url.rstrip('/')}/collections/"

    @asynccontextmanager
    async def __call__(self, request: Request) -> AsyncGenerator[LocalReply]:
        """Hand out the reply; leaving the block lets go of the file."""
        answer = await self._answer(request, request.url)
        if answer.status == 302 and not _is_dated(answer):
            # Fourteen digits of a capture that has more; whoever asked compares the time.
            answer = await self._answer(request, answer.headers["Location"])
        if answer.status >= 500 and not _is_dated(answer):
            raise Misbehaved(self._archive, request.url, _why(answer))
        headers = {name.lower(): value for name, value in answer.headers.items()}
        if isinstance(answer, Response):
            headers["content-length"] = str(len(answer.body))
        async with aclosing(_body(answer, request.method)) as body:
            yield LocalReply(self._archive, request.url, answer.status, headers, body)

    async def _answer(self, request: Request, url: str) -> Response | StreamingResponse:
        if not url.startswith(f"{self._all}{self._archive}/"):
            raise Misbehaved(self._archive, url, "is not an address of this collection")
        rest = url.removeprefix(self._all)
        call = ClientRequest(request.method, rest, CIMultiDict(request.headers))
        answer = await self._called(call)
        if answer.status == 206 and "Content-Encoding" in answer.headers:
            # Part of what is coded cannot be decoded: all of it, as any server may do.
            await _body(answer, request.method).aclose()
            answer = await self._called(ClientRequest(request.method, rest, CIMultiDict[str]()))
        return answer

    async def _called(self, call: ClientRequest) -> Response | StreamingResponse:
        try:
            return await self._collections(call)
        except EarlyResponse as declined:
            return declined.answer


def _is_dated(answer: Response | StreamingResponse) -> bool:
    return any(name.lower() == _DATED for name in answer.headers)


def _body(answer: Response | StreamingResponse, method: str) -> AsyncGenerator[bytes, None]:
    """Return the body; that of a stream itself, whose closing lets go of the file."""
    if isinstance(answer, StreamingResponse):
        return answer.chunks
    return _single(b"" if method == "HEAD" else answer.body)


async def _single(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


def _why(answer: Response | StreamingResponse) -> str:
    if isinstance(answer, StreamingResponse):
        return f"answers {answer.status}"
    told = json.loads(answer.body)
    return f"{told['detail']} ({told.get('file', 'no file')} at {told.get('offset', 0)})"
