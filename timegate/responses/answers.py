"""From a resolution to an answer: a redirect to the copy, a report, a page, or a problem.

Pure but for the resolver that `resolve` calls.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from archives.registry import Registry
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences, Query, Resolution, Resolves
from timegate.responses.model import Response
from timegate.responses.problems import nothing_found, precision_unmet, problem
from timegate.responses.report import links, report, summary
from timegate.verdict import Verdict, header, in_words, location, satisfies, verdict

# The same question again within a minute: the answer as it was, without asking anybody.
_KEEP: Final = 60.0
_EXPOSED: Final = "max-age=60"
VARY_PAGE: Final = "accept, prefer"
"""What the pages for people depend on."""


class Answers:
    """Resolves queries and writes the responses."""

    def __init__(
        self,
        resolver: Resolves,
        registry: Registry,
        base_url: str,
        *,
        changing: frozenset[str] = frozenset(),
    ) -> None:
        """*changing* are local collections, which may hold more a second later."""
        self._changing = changing
        self._resolver = resolver
        self._registry = registry
        self.base_url = base_url

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Resolve *query*."""
        return await self._resolver.resolve(query, preferences, context)

    def redirect(
        self, resolution: Resolution, applied: Sequence[str] = (), *, vary: str
    ) -> Response:
        """Redirect to the copy with its verdict (M-10); a problem where there is none."""
        judged = verdict(resolution, self._registry)
        unmet = self._unmet(resolution, judged, applied, vary)
        if unmet is not None or resolution.memento is None:
            return unmet or self._none(resolution, judged, vary)
        headers = self.headers(resolution, judged, applied, vary)
        headers["Location"] = location(resolution, self._registry) or resolution.memento.uri
        body = msgspec.json.encode(summary(resolution, judged, self._registry))
        return Response(302, headers, body, self._kept(resolution))

    def described(
        self, resolution: Resolution, applied: Sequence[str] = (), *, vary: str
    ) -> Response:
        """Return the report (200), or the problem."""
        judged = verdict(resolution, self._registry)
        unmet = self._unmet(resolution, judged, applied, vary)
        if unmet is not None or resolution.memento is None:
            return unmet or self._none(resolution, judged, vary)
        headers = self.headers(resolution, judged, applied, vary)
        body = msgspec.json.encode(self.report(resolution, judged))
        return Response(200, headers, body, self._kept(resolution))

    def report(self, resolution: Resolution, judged: Verdict) -> dict[str, object]:
        """Return everything there is to say, for JSON."""
        return dict(report(resolution, judged, self._registry, self.base_url))

    def links(self, query: Query) -> str:
        """Return the links of an answer for which nobody was asked."""
        return links(Resolution(query, Preferences(), None, (), ()), self.base_url)

    def _kept(self, resolution: Resolution) -> float:
        """Return for how long the same question may get the same answer."""
        asked = {attempt.archive for attempt in resolution.attempts}
        return _KEEP if resolution.complete and not asked & self._changing else 0.0

    def headers(
        self, resolution: Resolution, judged: Verdict, applied: Sequence[str], vary: str
    ) -> dict[str, str]:
        """Return the header fields of a response that leads to a memento."""
        headers = {
            "Vary": vary,
            "Link": links(resolution, self.base_url, self._registry),
            "Memento-Precision": header(judged),
            "Content-Type": "application/json",
            "Cache-Control": _EXPOSED if resolution.complete else "no-cache",
        }
        if applied:
            headers["Preference-Applied"] = ", ".join(applied)
        if resolution.stale and resolution.best is not None:
            # RFC 9211 2: who serves it says so; RFC 9111 5.1: how old it is.
            headers["Cache-Status"] = "timegate; hit; detail=stale"
            headers["Age"] = str(int(resolution.best.age or 0))
        return headers

    def _none(self, resolution: Resolution, judged: Verdict, vary: str) -> Response:
        query = resolution.query
        named = None
        headers = self._plain(resolution, judged, vary)
        if query.archive_id is not None:
            named = self._registry.by_pwid(query.archive_id)
            if named is None and resolution.preferences.precision in ("exact", "archive"):
                detail = f"no archive here answers to {query.archive_id}; with less precision, "
                detail += "others are asked"
                return problem(404, "unknown-archive", detail, headers=headers)
        return nothing_found(resolution, named, headers)

    def _unmet(
        self, resolution: Resolution, judged: Verdict, applied: Sequence[str], vary: str
    ) -> Response | None:
        if resolution.memento is None or satisfies(resolution, judged):
            return None
        told = self.report(resolution, judged)
        found = [told["memento"], *_listed(told["alternatives"])]
        headers = self._plain(resolution, judged, vary)
        if applied:
            headers["Preference-Applied"] = ", ".join(applied)
        return precision_unmet(resolution, in_words(judged), found, headers)

    def _plain(self, resolution: Resolution, judged: Verdict, vary: str) -> dict[str, str]:
        return {
            "Vary": vary,
            "Link": links(resolution, self.base_url),
            "Memento-Precision": header(judged),
        }


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
