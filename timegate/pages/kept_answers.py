"""``/answers/{token}/{identifier}``: the answer that a page shows, as JSON.

Another search could find something else: archives answer at other times, or not at all. So the
report is kept when the page is made. After that, the identifier is resolved again.
"""

import time
from collections.abc import Callable
from hashlib import blake2b
from typing import Final, NamedTuple

from cachetools import LRUCache

from timegate.responses.model import ClientRequest, Response
from timegate.verdict import header_safe

_MOST_BYTES: Final = 8 * 1024 * 1024
_OVERHEAD: Final = 2_000
_SECONDS: Final = 3600.0


class _KeptAnswer(NamedTuple):
    until: float
    response: Response
    hidden: frozenset[str]
    """The restricted archives that the client of the page may not see."""


class KeptAnswers:
    """Keeps the reports of the last pages, in bounded memory."""

    def __init__(self, base_url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._base_url = base_url.rstrip("/")
        self._clock = clock
        self._kept: LRUCache[str, _KeptAnswer] = LRUCache(
            _MOST_BYTES, lambda kept: _OVERHEAD + len(kept.response.body)
        )

    def keep(self, response: Response, hidden: frozenset[str]) -> str:
        """Keep *response* for an hour, and return its token."""
        seen = " ".join(sorted(hidden)).encode()
        token = blake2b(response.body, digest_size=12, key=blake2b(seen).digest()).hexdigest()
        if len(response.body) < _MOST_BYTES // 4:
            until = self._clock() + _SECONDS
            self._kept[token] = _KeptAnswer(until, response, hidden)
        return token

    async def __call__(self, request: ClientRequest) -> Response:
        """Return the report; redirect to a new one if it is no longer kept."""
        token, _, rest = request.rest.partition("/")
        kept = self._kept.get(token)
        if kept and self._clock() < kept.until and kept.hidden == request.context.hidden:
            return kept.response
        return Response(302, {"Location": f"{self._base_url}/resolve/{header_safe(rest)}"})
