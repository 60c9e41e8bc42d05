"""``/collections/{id}/index``: all captures of a local collection, from which others copy it.

One JSON object a line, with all digits of the time and the digest, in the order of the index.
The last line says that the list ends, or where it goes on: a part is never taken for the whole.
"""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final
from urllib.parse import parse_qsl

from archives.diagnostics import Malformed
from archives.errors import ArchiveError
from archives.surt import surt
from archives.uri import check_text
from archives.warc_index.collection import Collection
from archives.warc_index.model import IndexRow, Key, is_asserted
from timegate.access.blocklist import Blocklist
from timegate.endpoints import (
    LINES_CONTENT,
    OF_COLLECTION,
    PathDescription,
    answered,
)
from timegate.responses.model import ClientRequest, EarlyResponse, Response, StreamingResponse
from timegate.responses.problems import problem, unreadable
from timegate.responses.validators import last_modified, unless_known

PATHS: Final = {
    "/collections/{id}/index": PathDescription(
        "All captures of a local collection, as lines of JSON",
        answered("The captures; the last line has end", LINES_CONTENT, "Last-Modified"),
        ("id", "index-url", "after"),
        problems=OF_COLLECTION,
    ),
}
NDJSON: Final = "application/x-ndjson"
MOST_ROWS: Final = 100_000
"""Captures in one response; the next one goes on after them."""
_FIRST: Final = ""
_LAST: Final = "\U0010ffff"
_LONGEST_CURSOR: Final = 20_000


class CollectionIndex:
    """Lists the captures of one collection."""

    def __init__(self, collection: object, blocklist: Blocklist) -> None:
        """List *collection* if its index is a local file; blocked pages are left out."""
        self._collection = collection
        self._blocklist = blocklist

    @staticmethod
    def owns(rest: str) -> bool:
        """Whether *rest* is the address of the index."""
        return rest == "index" or rest.startswith("index?")

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the list."""
        collection = self._collection
        if not isinstance(collection, Collection):
            detail = "the index of this collection is on another server"
            return problem(404, "not-found", detail)
        url, after = _parameters(request)
        headers = {
            "Content-Type": NDJSON,
            "Cache-Control": "no-cache",
            **last_modified(collection.changed_at()),
        }
        rows = self._rows(collection, url, after)
        try:
            # An index that cannot be read is a problem, and no empty list.
            first = await anext(rows)
        except ArchiveError as error:
            return problem(502, "upstream-incomplete", error.why)
        response = StreamingResponse(200, headers, _begun(first, rows))
        return await unless_known(request, response)

    async def _rows(
        self, collection: Collection, url: str | None, after: Key | None
    ) -> AsyncGenerator[bytes, None]:
        lower, upper = (_FIRST, _LAST) if url is None else (surt(url), surt(url) + "\0")
        count, last = 0, after
        async with aclosing(collection.captures_between(lower, upper, after)) as batches:
            async for rows in batches:
                shown = [row for row in rows if not self._blocklist.holds(row.url)]
                yield b"".join(map(_line, shown))
                count, last = count + len(rows), rows[-1].key
                if count >= MOST_ROWS:
                    break
        more = {"next": _cursor(last)} if count >= MOST_ROWS and last is not None else {}
        yield json.dumps({"end": True, **more}).encode() + b"\n"


async def _begun(
    first: bytes, rows: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(rows):
        yield first
        async for part in rows:
            yield part


def _line(row: IndexRow) -> bytes:
    members = {
        "url": row.url,
        "stamp": row.stamp,
        "digest": row.digest,
        "status": row.status,
        "asserted": is_asserted(row.name),
    }
    return json.dumps(members).encode() + b"\n"


def _parameters(request: ClientRequest) -> tuple[str | None, Key | None]:
    """Return the page, and the key after which the list goes on. Raises EarlyResponse."""
    values = dict(parse_qsl(request.rest.partition("?")[2], max_num_fields=9))
    unknown = values.keys() - {"url", "after"}
    if unknown:
        detail = f"the parameters of an index are url and after, not {min(unknown)}"
        raise EarlyResponse(problem(400, "bad-parameter", detail))
    url = values.get("url")
    try:
        if url is not None:
            check_text(url)
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, url or "")) from complaint
    return url, _key(values["after"]) if "after" in values else None


def _cursor(key: Key) -> str:
    return urlsafe_b64encode(json.dumps(key).encode()).decode()


def _key(text: str) -> Key:
    """Read what `_cursor` wrote. Raises EarlyResponse."""
    try:
        surt_key, stamp, part, offset = json.loads(urlsafe_b64decode(text[:_LONGEST_CURSOR]))
        if isinstance(surt_key, str) and re.fullmatch(r"[0-9]{14,23}", stamp):
            return surt_key, str(stamp), int(part), int(offset)
    except (BadBase64, ValueError, TypeError, OverflowError):
        pass
    detail = "after must be what the last line of the list before it says"
    raise EarlyResponse(problem(400, "bad-parameter", detail))
