"""Waiting for archives that ask for it: one 429 must not cost the rest of a list.

So long for each archive in all, not for each copy: one that stays away holds up a long list no
longer than a short one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from archives.errors import ArchiveError, Refused, Resting

_LONGEST: Final = 300.0
"""Seconds, as for lists that are resolved."""
_UNSTATED: Final = 10.0
_SHORTEST: Final = 1.0
_LATER: Final = (429, 503)
"""What may be better later; 403 will not."""


class ArchiveWaits:
    """Who has been waited for, and for how long."""

    def __init__(
        self,
        longest: float = _LONGEST,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._longest = longest
        self._pause = pause
        self._spent: dict[str, float] = {}
        self._until: dict[str, float] = {}

    async def waited(self, error: ArchiveError) -> bool:
        """Wait as *error* asks; return False at once where that is in vain, or too long."""
        seconds = _asked(error)
        if seconds is None or not self._afforded(error.archive, seconds):
            return False
        await self._pause(seconds)
        return True

    def _afforded(self, archive: str, seconds: float) -> bool:
        """Whether there is time left for it; several who wait together wait once."""
        now = asyncio.get_running_loop().time()
        until = max(self._until.get(archive, now), now)
        spent = self._spent.get(archive, 0.0) + max(now + seconds - until, 0.0)
        if spent > self._longest:
            return False
        self._spent[archive] = spent
        self._until[archive] = max(until, now + seconds)
        return True


def _asked(error: ArchiveError) -> float | None:
    if isinstance(error, Resting):
        return max(error.retry_after, _SHORTEST)
    if isinstance(error, Refused) and error.status in _LATER:
        stated = error.retry_after
        return _UNSTATED if stated is None else max(stated, _SHORTEST)
    return None
