"""Validators of lists: ``ETag`` and ``Last-Modified``, and 304 (RFC 9110 13).

``Last-Modified`` has seconds only. It is stated once it is two seconds old, when nothing of
that second can follow, and ``If-Modified-Since`` must repeat it exactly: a clock that was set
back never hides a change.
"""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final

from archives.formats.httpdate import http_date
from timegate.responses.archived_headers import has_etag
from timegate.responses.model import ClientRequest, Response, StreamingResponse

_SETTLED: Final = 2.0
"""Seconds after which nothing of the same second can follow."""
_KEPT: Final = ("ETag", "Last-Modified", "Age", "Cache-Control", "Vary", "Memento-Sources")
"""Fields of a 200 that its 304 has too (RFC 9110 15.4.5)."""


def etag(*parts: object) -> str:
    """Return the ETag of what *parts* determine."""
    return f'"{blake2b(repr(parts).encode(), digest_size=12).hexdigest()}"'


def last_modified(
    changed: float | None, clock: Callable[[], float] = time.time
) -> Mapping[str, str]:
    """Return the field for a list that has not changed since the Unix time *changed*."""
    if changed is None or clock() - changed < _SETTLED:
        return {}
    when = datetime.fromtimestamp(changed, UTC)
    return {"Last-Modified": http_date(f"{when:%Y%m%d%H%M%S}")}


def is_unchanged(request: ClientRequest, headers: Mapping[str, str]) -> bool:
    """Whether the client has the response with these *headers* already."""
    if request.header("If-None-Match") is not None:
        return has_etag(request, headers.get("ETag"))
    since = request.header("If-Modified-Since")
    return since is not None and since.strip() == headers.get("Last-Modified")


async def unless_known(
    request: ClientRequest, response: Response | StreamingResponse
) -> Response | StreamingResponse:
    """Return *response*, or 304 if the client has it already."""
    if response.status != 200 or not is_unchanged(request, response.headers):
        return response
    if isinstance(response, StreamingResponse):
        await response.chunks.aclose()
    kept = {name: response.headers[name] for name in _KEPT if name in response.headers}
    return Response(304, kept)
