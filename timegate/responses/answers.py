"""Answers: resolves queries and writes the responses, as redirect, report or problem.

Pure, except for the resolver that `resolve` calls.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from archives.registry import Registry
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences, Query, Resolution, Resolves
from timegate.responses.model import Response
from timegate.responses.problems import nothing_found, precision_unmet, problem
from timegate.responses.referral import named_archive
from timegate.responses.report import links, referred, report, summary
from timegate.verdict import Verdict, header, in_words, location, satisfies
from timegate.verdict import verdict as verdict_on

_KEEP: Final = 60.0
"""Seconds for which the same request may get the same response."""
_CACHE_CONTROL: Final = "max-age=60"
VARY_PAGE: Final = "accept, prefer"
"""The ``Vary`` of pages for people."""


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
        """Responses from the archives in *changing* are not kept, not even for a minute."""
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
        """Return a redirect to the memento with its verdict (M-10), or the problem."""
        verdict = verdict_on(resolution, self._registry)
        unmet = self._unmet(resolution, verdict, applied, vary)
        if unmet is not None or resolution.memento is None:
            return unmet or self._not_found(resolution, verdict, vary)
        headers = self.headers(resolution, verdict, applied, vary)
        headers["Location"] = location(resolution, self._registry) or resolution.memento.uri
        body = msgspec.json.encode(summary(resolution, verdict, self._registry))
        return Response(302, headers, body, self._lifetime(resolution))

    def described(
        self, resolution: Resolution, applied: Sequence[str] = (), *, vary: str
    ) -> Response:
        """Return the report (200), or the problem."""
        verdict = verdict_on(resolution, self._registry)
        unmet = self._unmet(resolution, verdict, applied, vary)
        if unmet is not None or resolution.memento is None:
            return unmet or self._not_found(resolution, verdict, vary)
        headers = self.headers(resolution, verdict, applied, vary)
        body = msgspec.json.encode(self.report(resolution, verdict))
        return Response(200, headers, body, self._lifetime(resolution))

    def report(self, resolution: Resolution, verdict: Verdict) -> dict[str, object]:
        """Return the whole report, for JSON."""
        return dict(report(resolution, verdict, self._registry, self.base_url))

    def links(self, query: Query) -> str:
        """Return the links of a response for which no archive was queried."""
        return links(Resolution(query, Preferences(), None, (), ()), self.base_url)

    def _lifetime(self, resolution: Resolution) -> float:
        """Return the seconds for which the same request may get the same response."""
        archives = {attempt.archive for attempt in resolution.attempts}
        return _KEEP if resolution.complete and not archives & self._changing else 0.0

    def headers(
        self, resolution: Resolution, verdict: Verdict, applied: Sequence[str], vary: str
    ) -> dict[str, str]:
        """Return the header fields of a response with a memento."""
        headers = {
            "Vary": vary,
            "Link": links(
                resolution,
                self.base_url,
                self._registry,
                referred(resolution, self._registry),
            ),
            "Memento-Precision": header(verdict),
            "Content-Type": "application/json",
            "Cache-Control": _CACHE_CONTROL if resolution.complete else "no-cache",
        }
        if applied:
            headers["Preference-Applied"] = ", ".join(applied)
        if resolution.stale and resolution.best is not None:
            # RFC 9211 2: that the answer is from a cache, and stale; RFC 9111 5.1: its age.
            headers["Cache-Status"] = "timegate; hit; detail=stale"
            headers["Age"] = str(int(resolution.best.age or 0))
        return headers

    def _not_found(self, resolution: Resolution, verdict: Verdict, vary: str) -> Response:
        query = resolution.query
        headers = self._problem_headers(resolution, verdict, vary)
        if query.archive_id is not None:
            named = named_archive(resolution, self._registry)
            if named is None and resolution.preferences.precision in ("exact", "archive"):
                detail = f"the archive {query.archive_id} is not registered; with less "
                detail += "precision, other archives are queried"
                return problem(404, "unknown-archive", detail, headers=headers)
        return nothing_found(resolution, self._registry, headers)

    def _unmet(
        self, resolution: Resolution, verdict: Verdict, applied: Sequence[str], vary: str
    ) -> Response | None:
        """Return the problem for a memento that is less precise than requested, else None."""
        if resolution.memento is None or satisfies(resolution, verdict):
            return None
        document = self.report(resolution, verdict)
        found = [document["memento"], *_listed(document["alternatives"])]
        headers = self._problem_headers(resolution, verdict, vary)
        if applied:
            headers["Preference-Applied"] = ", ".join(applied)
        return precision_unmet(resolution, in_words(verdict), found, headers, self._registry)

    def _problem_headers(
        self, resolution: Resolution, verdict: Verdict, vary: str
    ) -> dict[str, str]:
        return {
            "Vary": vary,
            "Link": links(
                resolution,
                self.base_url,
                unchecked=referred(resolution, self._registry),
            ),
            "Memento-Precision": header(verdict),
        }


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
