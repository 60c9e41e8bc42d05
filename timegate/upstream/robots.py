"""robots.txt (RFC 9309): which pages of a host a program may fetch, and how fast.

Where the file cannot be read because the server fails, nothing may be fetched (2.3.1.4); where
there is none, everything may (2.3.1.3).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from cachetools import TTLCache
from protego import Protego

from archives.errors import ArchiveError, Misbehaved, Refused
from archives.formats.linkformat import resolved
from archives.source import Fetcher, Request
from timegate.upstream.egress import Endpoint, host_field, target
from timegate.upstream.open_web import ORIGINAL

PRODUCT: Final = "timegate"
"""The name in robots.txt; also the first word of our User-Agent."""
_MOST_OCTETS: Final = 500 * 1024
"""RFC 9309 2.5: at least 500 kiB are read."""
_MOST_REDIRECTS: Final = 5
_MOST_HOSTS: Final = 256
_LIFETIME: Final = 86_400.0
"""Seconds; RFC 9309 2.4: not longer than a day."""
_LONGEST_DELAY: Final = 30.0
_REDIRECTS: Final = (301, 302, 303, 307, 308)


class RobotsFile(NamedTuple):
    """The rules of one host."""

    rules: Protego | None
    """None if nothing may be fetched."""
    why: str = ""

    def refusal(self, url: str) -> str | None:
        """Return why *url* must not be fetched; None if it may."""
        if self.rules is None:
            return self.why
        if self.rules.can_fetch(url, PRODUCT):
            return None
        return "robots.txt does not allow it"

    @property
    def delay(self) -> float:
        """Seconds between two requests that the host asks for."""
        stated = None if self.rules is None else self.rules.crawl_delay(PRODUCT)
        return min(max(stated or 0.0, 0.0), _LONGEST_DELAY)


class Robots:
    """Reads robots.txt of each host once a day, and keeps to it."""

    def __init__(
        self,
        fetch: Fetcher,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._pause = pause
        self._files: TTLCache[Endpoint, RobotsFile] = TTLCache(_MOST_HOSTS, _LIFETIME, clock)
        self._next: TTLCache[Endpoint, float] = TTLCache(_MOST_HOSTS, _LIFETIME, clock)
        self._reading = asyncio.Lock()

    async def admit(self, url: str) -> None:
        """Return when *url* may be fetched. Raises Misbehaved if it may not."""
        parts = target(url)
        if parts is None:
            raise Misbehaved(ORIGINAL, url, "is no http(s) URL")
        endpoint = parts.endpoint
        async with self._reading:
            file = self._files.get(endpoint)
            if file is None:
                file = self._files[endpoint] = await self._read(endpoint)
        why = file.refusal(url)
        if why is not None:
            raise Misbehaved(ORIGINAL, url, f"is not fetched: {why}")
        if file.delay:
            now = self._clock()
            begin = max(now, self._next.get(endpoint, now))
            self._next[endpoint] = begin + file.delay
            await self._pause(begin - now)

    async def _read(self, endpoint: Endpoint) -> RobotsFile:
        url = f"{endpoint.scheme}://{host_field(endpoint)}/robots.txt"
        try:
            status, octets = await self._followed(url)
        except Refused as error:
            if error.status == 403:
                return RobotsFile(Protego.parse(""))
            return RobotsFile(None, f"robots.txt: {error.why}")
        except ArchiveError as error:
            return RobotsFile(None, f"robots.txt cannot be read: {error.why}")
        if status >= 500:
            return RobotsFile(None, f"robots.txt answers {status}")
        text = octets.decode("utf-8", "replace") if status == 200 else ""
        return RobotsFile(await asyncio.to_thread(Protego.parse, text))

    async def _followed(self, url: str) -> tuple[int, bytes]:
        for _ in range(_MOST_REDIRECTS + 1):
            async with self._fetch(Request("GET", url, "index")) as reply:
                if reply.status not in _REDIRECTS:
                    octets = b""
                    async for piece in reply.chunks():
                        octets += piece[: _MOST_OCTETS - len(octets)]
                        if len(octets) >= _MOST_OCTETS:
                            break
                    return reply.status, octets
                location = reply.headers.get("location", "").strip()
            following = resolved(location, url)
            if following is None:
                return 404, b""
            url = following
        # More redirects than five count as a file that is not there.
        return 404, b""
