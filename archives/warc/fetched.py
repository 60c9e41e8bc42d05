"""Ranges through a `Fetcher`: for threads that read records while the loop asks for octets.

The fetcher follows no redirect and goes nowhere but where the collection is (R1). An address
may be signed, which makes it a secret: so no error tells it (R26).
"""

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable
from typing import Final

from archives.errors import ArchiveError
from archives.source import Fetcher, Request
from archives.warc.remote import Piece, checked, failure

_PATIENCE: Final = 60.0
"""Seconds for one range of at most a megabyte."""

Address = Callable[[str], Awaitable[str]]
"""Returns where a file of the collection can be had right now. Raises OSError."""


class FetchedRanges:
    """`Ranges` of the files of one collection. Make it in the loop that is to ask."""

    def __init__(self, fetch: Fetcher, address: Address) -> None:
        self._fetch = fetch
        self._address = address
        self._loop = asyncio.get_running_loop()
        self._under_way: set[concurrent.futures.Future[Piece]] = set()
        self._closed = False

    def close(self) -> None:
        """Call off what threads wait for, so that nobody has to wait for the threads."""
        self._closed = True
        for asking in tuple(self._under_way):
            asking.cancel()

    def get(self, name: str, start: int, end: int) -> Piece:
        """See `Ranges`; never to be called in the loop itself, which would wait for itself."""
        asking = asyncio.run_coroutine_threadsafe(self._get(name, start, end), self._loop)
        self._under_way.add(asking)
        if self._closed:
            asking.cancel()
        try:
            return asking.result(_PATIENCE)
        except ArchiveError as error:
            # Neither its words nor its cause: both have the address.
            raise failure(error.why) from None
        except (TimeoutError, concurrent.futures.CancelledError):
            asking.cancel()
            raise failure("the server does not answer in time") from None
        finally:
            self._under_way.discard(asking)

    async def _get(self, name: str, start: int, end: int) -> Piece:
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        request = Request("GET", await self._address(name), "memento", headers)
        async with self._fetch(request) as reply:
            octets = bytearray()
            if reply.status == 206:
                async for piece in reply.chunks():
                    octets += piece
                    if len(octets) > end - start:
                        break
            return checked(reply.status, reply.headers, bytes(octets), start, end)
