"""``/archives`` and ``/archives/{id}`` for people; programs get their JSON."""

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote

from archives.registry import Registry
from timegate.web.call import ClientRequest, Response
from timegate.web.operations import NO_NEGOTIATION, Operations
from timegate.web.site.archive_view import State, archive_view
from timegate.web.site.canary_view import canary_view
from timegate.web.site.checks import ArchiveChecks
from timegate.web.site.pages import HEADERS, Pages, wants_page


class ArchivePages:
    """Writes the pages of archives."""

    def __init__(
        self,
        registry: Registry,
        state: Callable[[str], State],
        operations: Operations,
        pages: Pages,
        checks: ArchiveChecks | None = None,
    ) -> None:
        """Take *checks*, or None to say nothing of conformance."""
        self._registry = registry
        self._state = state
        self._operations = operations
        self._pages = pages
        self._checks = checks

    async def all(self, call: ClientRequest) -> Response:
        """List every archive, those that are asked first."""
        if not wants_page(call.header("Accept")):
            return await self._operations.archives(call)
        entries = sorted(self._registry.entries, key=lambda entry: entry.name.lower())
        rows = [archive_view(entry, self._state(entry.id)) for entry in entries]
        asked = [row for row in rows if row.used]
        others = [row for row in rows if not row.used]
        return self._page("archives", asked=asked, others=others)

    async def one(self, call: ClientRequest) -> Response:
        """Describe one archive."""
        entry = self._registry.by_id(unquote(call.rest.partition("?")[0]))
        if entry is None or not wants_page(call.header("Accept")):
            return await self._operations.archive(call)
        state = self._state(entry.id)
        view, canary = archive_view(entry, state), canary_view(state)
        checks = None if self._checks is None else await self._checks.view(entry)
        answer = self._page("archive", archive=view, entry=entry, checks=checks, canary=canary)
        if self._checks is None or checks is None or checks.token is None:
            return answer
        # The page holds a token: other sites may not read it, unlike all else that we answer.
        own = {
            "Access-Control-Allow-Origin": self._checks.origin,
            "Cache-Control": "no-store",
            # With no-referrer, browsers post forms with ``Origin: null`` (Fetch 3.2).
            "Referrer-Policy": "same-origin",
        }
        return replace(answer, headers={**answer.headers, **own})

    def _page(self, name: str, **values: object) -> Response:
        headers = {**HEADERS, "Cache-Control": "no-cache", "Vary": "accept"}
        body = self._pages.written(name, **values)
        return Response(200, {**headers, "Link": NO_NEGOTIATION}, body.encode())
