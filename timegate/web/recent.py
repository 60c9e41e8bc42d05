"""Answers given a moment ago, ready to be given again: the fastest cache there is.

It holds only what a handler marked with `Response.keep`, for that many seconds.
"""

import time
from collections.abc import Callable
from typing import Final

from cachetools import LRUCache

from timegate.web.call import Response

Asked = tuple[str | None, ...]
_MOST_BYTES: Final = 16 * 1024 * 1024
_OVERHEAD: Final = 1024


class ResponseCache:
    """A bounded number of answers by what was asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: LRUCache[Asked, tuple[float, Response]] = LRUCache(_MOST_BYTES, _size)

    def get(self, asked: Asked) -> Response | None:
        """Return the answer if it may still be given."""
        kept = self._answers.get(asked)
        if kept is None:
            return None
        until, answer = kept
        if self._clock() < until:
            return answer
        del self._answers[asked]
        return None

    def put(self, asked: Asked, answer: Response) -> None:
        """Keep *answer* for as long as it says, unless the client wants no cache."""
        if answer.keep > 0 and not asked[-1]:
            self._answers[asked] = (self._clock() + answer.keep, answer)


def _size(kept: tuple[float, Response]) -> int:
    headers = kept[1].headers
    return _OVERHEAD + len(kept[1].body) + sum(len(n) + len(v) for n, v in headers.items())
