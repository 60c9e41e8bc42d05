"""Reads the list of a page in one archive, if it has changed since it was last read.

Most archives state a version of their TimeMaps (``ETag``, ``Last-Modified``), with which an
unchanged list costs one request without a body. Only a list that is one document has a version.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Final, NamedTuple, Protocol

from msgspec import structs

from archives.errors import Misbehaved, Resting
from archives.listing import has_second_list
from archives.model import Memento
from archives.source import Fetcher, Reply, Request, Source
from timegate.following import ListVersion
from timegate.resolution.coalescing import Containment
from timegate.resolution.context import Budget, RequestContext

MOST_LISTED: Final = 200_000
"""Captures of one list; it is held in memory."""
_MOST_REQUESTS: Final = 60
_MOST_OCTETS: Final = 64 << 20
_LONGEST: Final = 200
"""Characters of a validator."""


class SourceThrough(Protocol):
    """Returns the source of an archive, whose requests pass another layer."""

    def __call__(
        self,
        archive: str,
        context: RequestContext,
        through: Callable[[Fetcher], Fetcher] | None = None,
        /,
    ) -> Source: ...


class ListUnchanged(Resting):
    """The archive states that its list has not changed. No other way is tried after it."""


class ReadList(NamedTuple):
    """A list that was read to its end."""

    captures: Sequence[Memento]
    """Oldest first."""
    version: ListVersion | None


async def read_list(
    sources: SourceThrough,
    archive: str,
    page: str,
    known: ListVersion | None,
    containment: Containment,
) -> ReadList | None:
    """Return the list of *page*; None if it is still the version *known*.

    Raises ArchiveError if it is not complete.
    """
    context = RequestContext(budget=Budget(_MOST_REQUESTS, _MOST_OCTETS))
    conditions: list[_Conditional] = []

    def through(fetch: Fetcher) -> Fetcher:
        conditions.append(_Conditional(fetch, archive, known))
        return conditions[-1]

    source = sources(archive, context, through)
    detailed = has_second_list(source.entry)
    captures: list[Memento] = []
    try:
        with containment.around(archive, page):
            async with aclosing(source.mementos(page, detailed=detailed)) as batches:
                async for batch in batches:
                    captures += batch
                    if len(captures) > MOST_LISTED:
                        why = f"lists more than {MOST_LISTED:,} captures, too many to follow"
                        raise Misbehaved(archive, page, why)
    except ListUnchanged:
        containment.worked(archive)
        return None
    containment.worked(archive)
    version = conditions[0].version if len(conditions) == 1 else None
    return ReadList(captures, version)


class _Conditional:
    """A fetcher that requests a known list only if it has changed."""

    def __init__(self, fetch: Fetcher, archive: str, known: ListVersion | None) -> None:
        self._fetch = fetch
        self._archive = archive
        self._known = known
        self._versions: list[ListVersion | None] = []
        """One for each request."""

    @property
    def version(self) -> ListVersion | None:
        """The version of the list, if it is one document; None if it states none."""
        return self._versions[0] if len(self._versions) == 1 else None

    def __call__(self, request: Request) -> AbstractAsyncContextManager[Reply]:
        return self._sent(request)

    @asynccontextmanager
    async def _sent(self, request: Request) -> AsyncGenerator[Reply]:
        fields = _conditions(request, self._known)
        if fields:
            request = structs.replace(request, headers={**request.headers, **fields})
        async with self._fetch(request) as reply:
            if not fields or reply.status != 304:
                self._versions.append(_version(request, reply))
                yield reply
                return
        raise ListUnchanged(self._archive, request.url, "the list has not changed", 0.0)


def _conditions(request: Request, known: ListVersion | None) -> dict[str, str]:
    if known is None or request.method != "GET" or request.url != known.url:
        return {}
    fields = {"if-none-match": known.etag, "if-modified-since": known.modified}
    return {name: value for name, value in fields.items() if value}


def _version(request: Request, reply: Reply) -> ListVersion | None:
    etag, modified = (_clean(reply.headers.get(n, "")) for n in ("etag", "last-modified"))
    if reply.status != 200 or not (etag or modified):
        return None
    return ListVersion(request.url, etag, modified)


def _clean(value: str) -> str:
    """Return a validator that can be sent back; empty if it cannot."""
    is_clean = len(value) <= _LONGEST and value.isascii() and value.isprintable()
    return value if is_clean else ""
