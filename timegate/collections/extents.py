"""Extents of references that a local collection can deliver: more, or other, than one page.

A ``site`` or ``subsite`` is listed from the index (V-3). A ``collection`` is a list of PWIDs,
archived or in the folder ``lists`` (V-4). A ``snapshot`` is an image that the crawler took of
the page (V-5). A ``recording`` is the record itself, as WARC (V-6).
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple, TypeGuard
from urllib.parse import quote, urlsplit

from archives.listing.ranges import key_range
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.registry import Registry
from archives.warc_index.model import IndexRow, is_page, is_remote_path, nearest_row
from timegate.collections import CONTAINMENT, CollectionAccess, OpenCollection, address
from timegate.identifiers.model import ParsedIdentifier
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.query import NotNegotiable, query_for
from timegate.verdict import header_safe

LISTED: Final = ("site", "subsite")
SNAPSHOTS: Final = ("urn:view:", "urn:fullPage:", "screenshot:", "urn:thumbnail:", "thumbnail:")
"""What crawlers write before the URL of a page of which a record is an image."""
_HTML: Final = frozenset(("text/html", "application/xhtml+xml"))
_MOST_ROWS: Final = 100_000
"""Rows of the index that are read for one list of pages."""
_FORMS: Final = ("", ".xml", ".txt", ".csv", ".json", ".jsonl")
LONGEST_LIST: Final = 4 * 1024**2


class ListedPages(NamedTuple):
    """Pages of a site, each by its capture nearest to a time."""

    pages: Sequence[IndexRow]
    after: str | None
    """Where the list goes on; None if it is complete."""


class ListedExtent(NamedTuple):
    """The pages that are meant: of a site, or of the folder of a page."""

    url: str
    at: Moment
    extent: str
    """``site`` or ``subsite``."""


async def listed_pages(
    collection: CollectionAccess, wanted: ListedExtent, after: str, most: int
) -> ListedPages:
    """Return at most *most* pages, from the key *after* on. Raises ArchiveError."""
    url, at, extent = wanted
    folder = urlsplit(url).path.rpartition("/")[0] + "/"
    start = url if extent == "site" else url.partition("?")[0].rpartition("/")[0] + "/"
    lower, upper = key_range(start, "host" if extent == "site" else "prefix")
    found: list[IndexRow] = []
    read = 0
    async for rows in _by_key(collection, max(lower, after), upper):
        key = rows[0].surt
        if len(found) >= most or read > _MOST_ROWS:
            return ListedPages(found, key)
        read += len(rows)
        pages = [row for row in rows if is_page(row) and row.mime in _HTML]
        if extent != "site":
            pages = [row for row in pages if urlsplit(row.url).path.startswith(folder)]
        nearest = nearest_row(pages, url, at)
        if nearest is not None:
            found.append(nearest)
    return ListedPages(found, None)


async def _by_key(
    collection: CollectionAccess, lower: str, upper: str
) -> AsyncIterator[list[IndexRow]]:
    """Yield the captures from *lower* to before *upper*, those of one key together."""
    together: list[IndexRow] = []
    async with aclosing(collection.captures_between(lower, upper)) as batches:
        async for rows in batches:
            for row in rows:
                if together and together[0].surt != row.surt:
                    yield together
                    together = []
                together.append(row)
    if together:
        yield together


async def snapshot_of(
    collection: CollectionAccess, url: str, at: Moment | None
) -> IndexRow | None:
    """Return the image of the page that is nearest to *at*; None if there is none.

    A URL that is itself an image is its own snapshot. Raises ArchiveError.
    """
    for prefix in (*SNAPSHOTS, ""):
        row = await collection.nearest(f"{prefix}{url}", at)
        if row is not None and _is_image(row):
            return row
    return None


def _is_image(row: IndexRow) -> bool:
    return is_page(row) and (row.mime or "").startswith("image/")


def has_stored_record(row: IndexRow | None) -> TypeGuard[IndexRow]:
    """Whether the record of *row* can be delivered as it is stored."""
    return row is not None and row.length > 0 and not is_remote_path(row.file)


def list_file(entry: ArchiveEntry, name: str) -> Path | None:
    """Return the list called *name* in the folder ``lists`` of a collection; None if none.

    Ids are equal in upper and lower case (P-31).
    """
    root = Path(str(entry.path))
    if is_remote_path(str(root)) or not (root / "lists").is_dir():
        return None
    wanted = {f"{name}{form}".lower() for form in _FORMS}
    for file in sorted((root / "lists").iterdir()):
        if file.name.lower() in wanted and file.is_file() and not file.is_symlink():
            return file
    return None


def query_address(base_url: str, collection: str, page: str, **members: str) -> str:
    """Return an address of *collection* with a query, in which ``item`` is the last."""
    base = f"{base_url.rstrip('/')}/collections/{collection}/{page}"
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in members.items())
    return f"{base}?{query}"


class HeldExtents:
    """Resolves references to extents that one of our collections delivers."""

    def __init__(
        self, collections: Iterable[OpenCollection], registry: Registry, base_url: str
    ) -> None:
        self._opened: Mapping[str, OpenCollection] = {
            one.collection.id: one for one in collections
        }
        self._registry = registry
        self._base_url = base_url

    async def find(
        self, reading: ParsedIdentifier, context: RequestContext
    ) -> Resolution | None:
        """Return what the named collection delivers; None if it is to be resolved as a page.

        Raises ArchiveError if the collection cannot tell.
        """
        entry, item = self._named(reading, context), reading.identifier.item
        if entry is None or item is None:
            return None
        at, extent = reading.identifier.time, reading.identifier.precision or ""
        query: Query | None
        if item.startswith("~"):
            memento = self._list(entry, item[1:])
            query = _query_of_id(reading, entry, item)
            got = "collection"
        else:
            with CONTAINMENT.around(entry.id, item):
                memento = await self._capture(entry.id, item, at, extent)
            query = _query(reading, self._registry)
            got = "part" if extent == "collection" else extent
        if memento is None or query is None:
            return None
        attempt = Attempt(entry.id, Closest(memento, "cdx", evidence="held"), 0.0, item)
        return Resolution(query, Preferences(), attempt, (), (attempt,), extent=got)

    def link(self, query: Query, memento: Memento) -> str | None:
        """Return the link to the list of what the extent of *query* contains; None if none."""
        if memento.archive not in self._opened or query.precision not in (
            *LISTED,
            "collection",
        ):
            return None
        if query.precision == "collection":
            target = self._path(memento, "members", query.original)
        else:
            target = query_address(
                self._base_url,
                memento.archive,
                "pages",
                coverage=query.precision,
                time=str(query.at or memento.captured),
                item=memento.original,
            )
        return f'<{target}>; rel="section"; type="application/linkset+json"'

    def _named(self, reading: ParsedIdentifier, context: RequestContext) -> ArchiveEntry | None:
        archive = reading.identifier.archive
        if archive is None or not reading.kind.names_archive:
            return None
        entry = self._registry.by_pwid(archive)
        is_ours = entry is not None and entry.id in self._opened
        return entry if is_ours and entry and entry.id not in context.hidden else None

    def _list(self, entry: ArchiveEntry, name: str) -> Memento | None:
        file = list_file(entry, name)
        if file is None:
            return None
        changed = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        uri = f"{self._base_url.rstrip('/')}/collections/{entry.id}/lists/{quote(name)}"
        return Memento(f"{changed:%Y%m%d%H%M%S}", uri, f"~{name}", entry.id)

    async def _capture(
        self, name: str, url: str, at: Moment | None, extent: str
    ) -> Memento | None:
        collection = self._opened[name].collection
        if extent == "snapshot":
            row = await snapshot_of(collection, url, at)
        elif extent in ("recording", "collection"):
            row = await collection.nearest(url, at)
        else:
            return None
        if row is None or (extent == "recording" and not has_stored_record(row)):
            return None
        # The index only promises it; the head of the record is read.
        await (await self._opened[name].replayer.open(row, body=False)).close()
        found = Memento(row.stamp, "", url, name, row.status, row.mime, row.digest)
        if extent == "collection":
            return found._replace(uri=address(self._base_url, name, row.stamp, row.url, "id_"))
        return found._replace(uri=self._path(found, extent, url))

    def _path(self, memento: Memento, page: str, item: str) -> str:
        base = f"{self._base_url.rstrip('/')}/collections/{memento.archive}"
        if item.startswith("~"):
            return f"{base}/lists/{item[1:]}?as=linkset"
        return f"{base}/{page}/{memento.stamp}/{header_safe(item)}"


def _query(reading: ParsedIdentifier, registry: Registry) -> Query | None:
    try:
        return query_for(reading, registry)
    except NotNegotiable:
        return None


def _query_of_id(reading: ParsedIdentifier, entry: ArchiveEntry, item: str) -> Query:
    identifier = reading.identifier
    return Query(
        item,
        identifier.time,
        entry.id,
        identifier.archive,
        identifier.precision,
        identifier.canonical,
    )
