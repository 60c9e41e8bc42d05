"""Answers: resolves queries and writes the responses, as redirect, report or problem.

Pure, except for the resolver that `resolve` calls.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import msgspec

from archives.errors import ArchiveError
from archives.model import ArchiveEntry, Memento
from archives.moment import Moment
from archives.registry import Registry
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Attempt, Preferences, Query, Resolution, Resolves
from timegate.resolution.settled import Steady
from timegate.responses.model import Response
from timegate.responses.problems import nothing_found, precision_unmet, problem
from timegate.responses.referral import named_archive
from timegate.responses.report import links, member_json, referred, report, summary
from timegate.verdict import (
    Verdict,
    around_time,
    asked_at,
    basis_of,
    header,
    in_words,
    location,
    quoted_location,
    satisfies,
    written,
)
from timegate.verdict import verdict as verdict_on

_KEEP: Final = 60.0
"""Seconds for which the same request may get the same response."""
_CACHE_CONTROL: Final = "max-age=60"
VARY_PAGE: Final = "accept, prefer"
"""The ``Vary`` of pages for people."""
_FOUND: Final = 302
_PRECISION: Final = "Memento-Precision"
_encoded: Final = msgspec.json.Encoder().encode


class SettledRedirect:
    """A redirect of a TimeGate for any time in a range: only the member ``time`` differs.

    It takes a tenth of the time of a resolution from the cache.
    """

    __slots__ = (
        *("_basis", "_body", "_bounds", "_entry", "_memento", "_precision", "_response"),
        "keep",
    )

    def __init__(
        self,
        response: Response,
        verdict: Verdict,
        steady: Steady,
        memento: Memento,
        entry: ArchiveEntry | None,
    ) -> None:
        self.keep = min(response.keep, steady.seconds)
        self._response = response
        self._bounds = steady.times.bounds
        self._memento = memento
        self._basis = basis_of(memento)
        self._entry = entry
        self._precision = around_time(verdict)
        # Only members have an unescaped quotation mark before their names.
        time = b'"time":' + _encoded(member_json(verdict.time))
        before, _, behind = response.body.partition(time)
        self._body = before + b'"time":', behind

    @property
    def size(self) -> int:
        """Octets that it takes."""
        fields = sum(len(name) + len(text) for name, text in self._response.headers.items())
        return 2 * (fields + len(self._response.body))

    def at(self, time: Moment) -> Response | None:
        """Return the redirect for the *time* requested; None if it is not in the range."""
        after, before = self._bounds
        if not after < time.digits < before or not time.fits_http_date:
            return None
        member = asked_at(time, self._memento, self._entry, self._basis)
        around, body = self._precision, self._body
        precision = f"{around[0]}{written('time', member)}{around[1]}"
        headers = {**self._response.headers, _PRECISION: precision}
        return Response(_FOUND, headers, body[0] + _encoded(member_json(member)) + body[1])


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

    async def of_others(
        self, resolution: Resolution, failure: ArchiveError, context: RequestContext
    ) -> Resolution:
        """Return the answer without the archive whose memento could not be read.

        The verdict counts that archive as failed.
        """
        preferences, query = resolution.preferences, resolution.query
        without = replace(preferences, exclude=preferences.exclude | {failure.archive})
        others = await self._resolver.resolve(query, without, context)
        failed = Attempt(failure.archive, failure, 0.0, query.original)
        return replace(others, preferences=preferences, attempts=(*others.attempts, failed))

    def redirect(
        self, resolution: Resolution, applied: Sequence[str] = (), *, vary: str
    ) -> Response:
        """Return a redirect to the memento with its verdict (M-10), or the problem."""
        verdict = verdict_on(resolution, self._registry)
        return self._redirect(resolution, verdict, applied, vary)

    def negotiated(
        self, resolution: Resolution, applied: Sequence[str] = (), *, vary: str
    ) -> Response:
        """Return the redirect for an ``Accept-Datetime``, which may hold for other times."""
        verdict = verdict_on(resolution, self._registry)
        response = self._redirect(resolution, verdict, applied, vary)
        steady, memento = resolution.settled, resolution.memento
        if steady is not None and memento is not None and response.keep:
            entry = self._registry.by_id(memento.archive)
            response.mark_settled(SettledRedirect(response, verdict, steady, memento, entry))
        return response

    def _redirect(
        self, resolution: Resolution, verdict: Verdict, applied: Sequence[str], vary: str
    ) -> Response:
        unmet = self._unmet(resolution, verdict, applied, vary)
        target = quoted_location(resolution, self._registry)
        if unmet is not None or target is None:
            return unmet or self._not_found(resolution, verdict, vary)
        headers = self.headers(resolution, verdict, applied, vary)
        headers["Location"] = target
        body = _encoded(summary(resolution, verdict, self._registry))
        return Response(_FOUND, headers, body, self._lifetime(resolution))

    def described(
        self, resolution: Resolution, applied: Sequence[str] = (), *, vary: str
    ) -> Response:
        """Return the report (200), or the problem."""
        verdict = verdict_on(resolution, self._registry)
        unmet = self._unmet(resolution, verdict, applied, vary)
        if unmet is not None or location(resolution, self._registry) is None:
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
        return _KEEP if _may_be_kept(resolution) and not archives & self._changing else 0.0

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
            _PRECISION: header(verdict),
            "Content-Type": "application/json",
            "Cache-Control": _CACHE_CONTROL if self._lifetime(resolution) else "no-cache",
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
            _PRECISION: header(verdict),
        }


def _may_be_kept(resolution: Resolution) -> bool:
    """Whether the response may be sent again; the state of an original is never kept."""
    return resolution.live is None and _is_complete(resolution)


def _is_complete(resolution: Resolution) -> bool:
    """Whether every archive has answered, for the page, its parts and its quotation."""
    parts, quote = resolution.parts, resolution.quote
    settled = (parts is None or parts.is_settled) and (quote is None or quote.is_settled)
    return resolution.complete and settled


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
