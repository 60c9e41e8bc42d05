"""What a local collection delivers beside single captures: ``/collections/{id}/...``.

``pwid?time=&coverage=&item=`` is the resolver that the PWID drafts propose for each archive.
``pages?`` lists the pages of a site, ``members/`` and ``lists/`` the references of a list,
``snapshot/`` is the image of a page, and ``recording/`` a record as WARC.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

import msgspec
from msgspec import structs

from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError
from archives.model import ArchiveEntry, Closest
from archives.moment import Moment
from archives.registry import Registry
from archives.warc.captures import REVISIT
from archives.warc_index.model import IndexRow
from timegate.access.blocklist import Blocklist
from timegate.collections import CONTAINMENT, OpenCollection, address
from timegate.collections.extents import (
    LISTED,
    LONGEST_LIST,
    HeldExtents,
    ListedExtent,
    has_stored_record,
    list_file,
    listed_pages,
    query_address,
    snapshot_of,
)
from timegate.collections.replay import STAMPED
from timegate.endpoints import (
    ANY_CONTENT,
    HTML_CONTENT,
    MEMENTO,
    OF_COLLECTION,
    VERDICT,
    AnswerDescription,
    Content,
    PathDescription,
    answered,
)
from timegate.endpoints.pwid_resolver import PwidMembers, pwid_members
from timegate.identifiers import parse
from timegate.identifiers.model import ParsedIdentifier
from timegate.identifiers.url import read_url
from timegate.pages.rendering import HEADERS, Pages, wants_page
from timegate.resolution.model import Preferences, Resolution
from timegate.resolution.query import NotNegotiable, query_for
from timegate.responses.answer_view import spoken
from timegate.responses.answers import Answers
from timegate.responses.archived_headers import SANDBOX
from timegate.responses.model import (
    ClientRequest,
    EarlyResponse,
    Handler,
    Response,
    StreamingResponse,
    UnknownParameter,
    identifier_in,
    parameters_in,
)
from timegate.responses.problems import not_negotiable, problem, unreadable
from timegate.verdict import header_safe

_LISTED: Final[Content] = {"application/linkset+json": "Linkset", **HTML_CONTENT}
PATHS: Final = {
    "/collections/{id}/pwid": PathDescription(
        "A PWID of a local collection, by its members",
        {
            "302": AnswerDescription(
                "To what the collection holds; the verdict is in Memento-Precision",
                {"application/json": "Verdict"},
                ("Location", *VERDICT),
            ),
            "200": AnswerDescription(
                "The report, with as=json",
                {"application/json": "Verdict", **HTML_CONTENT},
                VERDICT,
            ),
        },
        ("id", "time", "coverage", "item"),
        problems=OF_COLLECTION,
    ),
    "/collections/{id}/pages": PathDescription(
        "The pages of a site in a local collection, as of a time",
        answered("The pages", _LISTED, "Vary", "Cache-Control"),
        ("id", "time", "extent", "item"),
        problems=OF_COLLECTION,
    ),
    "/collections/{id}/members/{stamp}/{url}": PathDescription(
        "The references in an archived list",
        answered("The references", _LISTED, "Vary", "Cache-Control"),
        ("id", "stamp", "url"),
        problems=OF_COLLECTION,
    ),
    "/collections/{id}/lists/{name}": PathDescription(
        "A list of the collection, or the references in it",
        {
            **answered("The references", _LISTED, "Vary", "Cache-Control"),
            "302": AnswerDescription("To the archived list", {}, ("Location",)),
        },
        ("id", "name"),
        problems=OF_COLLECTION,
    ),
    "/collections/{id}/snapshot/{stamp}/{url}": PathDescription(
        "The archived image of a page",
        {
            **answered("The image", ANY_CONTENT, *MEMENTO),
            "302": AnswerDescription("To the image", {}, ("Location",)),
        },
        ("id", "stamp", "url"),
        problems=OF_COLLECTION,
    ),
    "/collections/{id}/recording/{stamp}/{url}": PathDescription(
        "The record of a capture, as WARC",
        answered("The record", {"application/warc": "Bytes"}, "Content-Disposition"),
        ("id", "stamp", "url"),
        problems=OF_COLLECTION,
    ),
}
_LINKSET: Final = {"Content-Type": "application/linkset+json", "Cache-Control": "no-cache"}
_PREFIXES: Final = ("pwid?", "pages?", "members/", "lists/", "snapshot/", "recording/")
_MOST_PAGES: Final = 1000
_PIECE: Final = 1 << 16
_VARY: Final = "accept, prefer"


class CollectionPages(NamedTuple):
    """What the lists of all collections need."""

    pages: Pages
    blocklist: Blocklist


class CollectionExtents:
    """Answers for the extents of one collection."""

    def __init__(
        self,
        opened: OpenCollection,
        registry: Registry,
        answers: Answers,
        base_url: str,
        shown: CollectionPages,
    ) -> None:
        self._opened = opened
        self._id = opened.collection.id
        self._registry = registry
        self._answers = answers
        self._base_url = base_url
        self._shown = shown
        self._held = HeldExtents((opened,), registry, base_url)

    @property
    def _entry(self) -> ArchiveEntry:
        return self._opened.source.entry

    @staticmethod
    def owns(rest: str) -> bool:
        """Whether *rest* is an address of an extent, and not of a capture."""
        return rest.startswith(_PREFIXES)

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Answer the part of the path after the id of the collection."""
        page = request.rest.replace("?", "/", 1).partition("/")[0]
        below = request._replace(rest=request.rest[len(page) + 1 :])
        handlers: Mapping[str, Handler] = {
            "pwid": self._pwid,
            "pages": self._pages,
            "lists": self._list,
            "members": self._members,
            "snapshot": self._snapshot,
            "recording": self._recording,
        }
        try:
            with CONTAINMENT.around(self._id, request.rest):
                return await _answered(handlers[page], below)
        except ArchiveError as error:
            return problem(502, "upstream-incomplete", error.why)

    async def _pwid(self, request: ClientRequest) -> Response:
        """Resolve a PWID within the collection."""
        members = _members_in(request.rest)
        own = self._entry.pwid
        reading = self._read(members.as_address(own[0] if own else f"~{self._id}"))
        resolution = await self._held.find(reading, request.context)
        if resolution is None:
            try:
                query = query_for(reading, self._registry)
            except NotNegotiable as error:
                raise EarlyResponse(not_negotiable(error)) from error
            query = replace(query, archive=self._id)
            resolution = await self._answers.resolve(query, Preferences(), request.context)
            resolution = await self._read_again(resolution)
        as_json = parameters_in("&".join(members.parameters)).get("as") == "json"
        write = self._answers.described if as_json else self._answers.redirect
        response = write(resolution, vary=_VARY)
        memento = resolution.memento
        link = None if memento is None else self._held.link(resolution.query, memento)
        if link is None:
            return response
        links = f"{response.headers['Link']}, {link}"
        return replace(response, headers={**response.headers, "Link": links})

    async def _read_again(self, resolution: Resolution) -> Resolution:
        """Return *resolution* as held, after the head of the record was read."""
        best, memento = resolution.best, resolution.memento
        if best is None or memento is None or not isinstance(best.outcome, Closest):
            return resolution
        row = await self._opened.collection.at(memento.original, memento.stamp)
        if row is None:
            return resolution
        await (await self._opened.replayer.open(row, body=False)).close()
        held = structs.replace(best, outcome=structs.replace(best.outcome, evidence="held"))
        return replace(resolution, best=held, attempts=(held,))

    def _read(self, text: str) -> ParsedIdentifier:
        try:
            return parse(text, self._registry)
        except Malformed as complaint:
            raise EarlyResponse(unreadable(complaint, text)) from complaint

    async def _pages(self, request: ClientRequest) -> Response:
        """List the pages of a site as of a time."""
        members = _members_in(request.rest)
        own = self._entry.pwid
        reading = self._read(members.as_address(own[0] if own else f"~{self._id}"))
        identifier = reading.identifier
        url, at, extent = identifier.item or "", identifier.time, identifier.precision or ""
        if extent not in LISTED or at is None or not url.startswith(("http:", "https:")):
            detail = f"coverage must be {' or '.join(LISTED)}, and item a URL"
            return problem(400, "bad-parameter", detail, parameter="coverage")
        collection = self._opened.collection
        listed = await listed_pages(
            collection,
            ListedExtent(url, at, extent),
            members.named.get("after", ""),
            _MOST_PAGES,
        )
        entry = await collection.nearest(url, at)
        rows = [row for row in listed.pages if not self._shown.blocklist.holds(row.url)]
        if not rows and entry is None and listed.after is None:
            return problem(404, "no-memento", f"the collection holds no page of this {extent}")
        following = None
        if listed.after is not None:
            following = query_address(
                self._base_url,
                self._id,
                "pages",
                coverage=extent,
                time=str(at),
                after=listed.after,
                item=url,
            )
        if wants_page(request.header("Accept")):
            return self._as_page(f"Pages of a {extent}", url, at, entry, rows, following)
        return self._as_linkset(url, entry, rows, following)

    def _as_linkset(
        self,
        url: str,
        entry: IndexRow | None,
        rows: Sequence[IndexRow],
        following: str | None,
    ) -> Response:
        anchor = header_safe(url) if entry is None else self._address(entry)
        context: dict[str, object] = {
            "anchor": anchor,
            "original": [{"href": header_safe(url)}],
            "item": [
                {"href": self._address(row), "datetime": [str(Moment(row.stamp))]}
                for row in rows
            ],
        }
        if following is not None:
            context["next"] = [{"href": following}]
        body = msgspec.json.encode({"linkset": [context]})
        return Response(200, {**_LINKSET, "Vary": "accept"}, body)

    def _as_page(  # noqa: PLR0913, PLR0917 -- what is on the page
        self,
        title: str,
        url: str,
        at: Moment | None,
        entry: IndexRow | None,
        rows: Iterable[IndexRow],
        following: str | None,
    ) -> Response:
        page = self._shown.pages.render(
            "held_pages",
            heading=title,
            url=url,
            at=None if at is None else spoken(at),
            entry=None if entry is None else self._address(entry),
            captured=None if entry is None else spoken(Moment(entry.stamp)),
            collection=self._entry.name,
            rows=[(row.url, self._address(row), spoken(Moment(row.stamp))) for row in rows],
            following=following,
        )
        headers = {**HEADERS, "Vary": "accept", "Cache-Control": "no-cache"}
        return Response(200, headers, page.encode())

    def _address(self, row: IndexRow) -> str:
        return address(self._base_url, self._id, row.stamp, row.url)

    async def _list(self, request: ClientRequest) -> Response:
        """Send a list of the folder ``lists``, or the references in it."""
        name, _, query = request.rest.partition("?")
        file = list_file(self._entry, name)
        if file is None:
            return problem(404, "not-found", "the collection has no list with this id")
        octets = await asyncio.to_thread(_beginning, file)
        if parameters_in(query).get("as") == "linkset" or _accepts_linkset(request):
            anchor = f"{self._base_url.rstrip('/')}/collections/{self._id}/lists/{name}"
            return self._references(anchor, octets)
        headers = {"Content-Type": "text/plain; charset=utf-8", **SANDBOX, "Vary": "accept"}
        return Response(200, headers, octets)

    async def _members(self, request: ClientRequest) -> Response:
        """List the references in an archived list."""
        row = await self._row(request.rest)
        archived = await self._opened.replayer.open(row)
        octets = b""
        async for piece in archived.chunks():
            octets += piece[: LONGEST_LIST - len(octets)]
            if len(octets) >= LONGEST_LIST:
                break
        await archived.close()
        return self._references(self._address(row), octets)

    def _references(self, anchor: str, octets: bytes) -> Response:
        from timegate.references.formats import extract  # noqa: PLC0415 -- slow to import

        found = extract(octets.decode(errors="replace"), self._registry, datetime.now(UTC))
        if len(octets) >= LONGEST_LIST or not found:
            why = "larger than 4 MB" if found else "no list of references"
            return problem(422, "bad-list", f"it is {why}")
        items = [{"href": header_safe(each.dated)} for each in found]
        body = msgspec.json.encode({"linkset": [{"anchor": anchor, "item": items}]})
        return Response(200, {**_LINKSET, "Vary": "accept"}, body)

    async def _snapshot(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the image of a page."""
        stamp, url = _stamped(request.rest)
        row = await snapshot_of(self._opened.collection, url, Moment(stamp))
        if row is None:
            return problem(404, "no-memento", "the collection has no image of this page")
        archived = await self._opened.replayer.open(row)
        headers = {"Content-Type": row.mime or "application/octet-stream", **SANDBOX}
        return StreamingResponse(200, headers, archived.chunks())

    async def _recording(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send the stored record of a capture, with the record that a revisit refers to."""
        row = await self._row(request.rest)
        rows = [row]
        if row.mime == REVISIT:
            first = await self._opened.collection.original_of(row.url, row.digest, None)
            rows += [first] if first is not None else []
        stored = [each for each in rows if has_stored_record(each)]
        if len(stored) < len(rows):
            return problem(404, "no-memento", "the record is not in a file of this machine")
        suffix = ".warc.gz" if row.name.endswith(".gz") else ".warc"
        headers = {
            "Content-Type": "application/warc",
            "Content-Length": str(sum(each.length for each in stored)),
            "Content-Disposition": f'attachment; filename="{row.stamp}{suffix}"',
            **SANDBOX,
        }
        return StreamingResponse(200, headers, _octets(stored))

    async def _row(self, rest: str) -> IndexRow:
        stamp, url = _stamped(rest)
        row = await self._opened.collection.at(url, stamp)
        if row is None:
            detail = "the collection holds no capture of this URL at this time"
            raise EarlyResponse(problem(404, "no-memento", detail))
        return row


async def _answered(handler: Handler, request: ClientRequest) -> Response | StreamingResponse:
    """Answer; a problem with the request is no fault of the collection."""
    try:
        return await handler(request)
    except EarlyResponse as early:
        return early.response


def _members_in(query: str) -> PwidMembers:
    try:
        members = pwid_members(query)
    except UnknownParameter as error:
        detail = f"{error}; if it belongs to the URL, percent-encode the item"
        response = problem(400, "bad-parameter", detail, parameter=error.name)
        raise EarlyResponse(response) from error
    if members is None or "time" not in members.named:
        detail = "write time=2016-01-22T11:20:29Z&coverage=page&item=http://www.dr.dk"
        raise EarlyResponse(problem(400, "bad-parameter", detail))
    return members


def _stamped(rest: str) -> tuple[str, str]:
    """Return the stamp and the URL of ``{stamp}/{URL}``."""
    found = STAMPED.match(rest)
    if found is None:
        detail = "write {stamp}/{URL}, the stamp with 4 to 23 digits"
        raise EarlyResponse(problem(400, "bad-parameter", detail))
    text = identifier_in(rest[found.end() :])
    try:
        Moment(found[1])
        return found[1], read_url(text, Diagnosis()).identifier.item or text
    except Malformed as complaint:
        raise EarlyResponse(unreadable(complaint, rest)) from complaint


def _accepts_linkset(request: ClientRequest) -> bool:
    return "application/linkset+json" in (request.header("Accept") or "")


def _beginning(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(LONGEST_LIST)


async def _octets(rows: Sequence[IndexRow]) -> AsyncGenerator[bytes, None]:
    """Yield the stored octets of records."""
    for row in rows:
        with await asyncio.to_thread(Path(row.file).open, "rb") as file:
            for size in _pieces(file, row):
                yield await asyncio.to_thread(file.read, size)


def _pieces(file: BinaryIO, row: IndexRow) -> Iterator[int]:
    file.seek(row.offset)
    whole, rest = divmod(row.length, _PIECE)
    yield from [_PIECE] * whole
    if rest:
        yield rest
