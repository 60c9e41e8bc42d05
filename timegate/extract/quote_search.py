"""Looks for quotations in copies: the chosen one, and others if it lacks the quotation.

A copy lacks a quotation only if its whole text was read and says something else. Text that
scripts write, frames, cut texts and undecodable bytes leave the answer open.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from typing import Final

from archives.model import Memento
from archives.moment import second_of
from archives.regex_compat import compiled
from timegate.content.findings import (
    CopyText,
    LookedAt,
    LookLimits,
    QuoteFinding,
    UnreadCopy,
    finding,
)
from timegate.content.fragments import TextQuote
from timegate.resolution.context import Budget, RequestContext
from timegate.resolution.model import Preferences, Query, ReadsCopies, Resolution, Resolves
from timegate.responses.report import known_mementos
from timegate.verdict.members import uri_member

_ANOTHER_URL: Final = "the archive leads to a copy of another URL, which does not have it"
_LARGEST: Final = 2_000_000
"""Octets of one copy."""
_CUT: Final = 1_000_000
"""Characters; a text of so many was cut."""
_NEARLY_EMPTY: Final = 200
"""Characters. A page with less, and with scripts or frames, shows more than its text."""
_GARBLED: Final = 0.01
"""Share of characters that could not be decoded."""
_JSON_ESCAPE: Final = compiled(r'\\(?:u([0-9A-Fa-f]{4})|(["\\/nrt]))')
_BLANKS: Final = {"n": "\n", "r": "\r", "t": "\t"}
_MISSING: Final = "needs: pip install 'timegate-proxy[content]'"


class QuoteSearch:
    """Looks for quotations."""

    def __init__(self, resolver: Resolves, texts: ReadsCopies) -> None:
        self._resolver = resolver
        self._texts = texts

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Resolve *query*, and look for its quotation in the copy that is found."""
        wanted = preferences.quote or query.quote
        resolution = await self._resolver.resolve(
            replace(query, quote=None), replace(preferences, quote=None), context
        )
        resolution = replace(resolution, query=query, preferences=preferences)
        chosen = resolution.memento
        if wanted is None or chosen is None:
            return resolution
        if preferences.only_if_cached:
            found = finding(wanted, (), chosen, "only cached answers were requested")
        else:
            limits = LookLimits()
            if preferences.wait is not None:
                limits = replace(limits, seconds=preferences.wait)
            found = await self.look(wanted, candidates(resolution), context, limits)
        return replace(resolution, quote=_of_the_page(found, resolution))

    async def look(
        self,
        wanted: TextQuote,
        mementos: Sequence[Memento],
        context: RequestContext,
        limits: LookLimits,
        *,
        all_of_them: bool = False,
    ) -> QuoteFinding:
        """Look for *wanted* in *mementos*, the first of which was chosen.

        Unless *all_of_them* are to be read, looking ends with the first copy that has it.
        """
        budget = Budget(limits.requests, limits.octets, context.quota)
        copies: list[LookedAt] = []
        why = ""
        try:
            async with asyncio.timeout(limits.seconds):
                for memento in mementos[: limits.copies]:
                    copies.append(await self._looked_at(wanted, memento, context, budget))
                    if copies[-1].has_it and not all_of_them:
                        break
        except TimeoutError:
            why = f"there was no time left after {limits.seconds:g} s"
        return finding(wanted, tuple(copies), mementos[0], why)

    async def _looked_at(
        self, wanted: TextQuote, memento: Memento, context: RequestContext, budget: Budget
    ) -> LookedAt:
        copy = await self._texts.of(memento, context, budget, _LARGEST)
        if isinstance(copy, UnreadCopy):
            return LookedAt(memento, "not-looked", why=copy.why)
        return await asyncio.to_thread(looked_at, wanted, copy)


def _of_the_page(found: QuoteFinding, resolution: Resolution) -> QuoteFinding:
    """Return *found*; the page behind a redirect to another URL denies nothing."""
    chosen, best = resolution.memento, resolution.best
    if found.status != "absent" or chosen is None or best is None:
        return found
    if uri_member(resolution.query, best, chosen).value != "redirected":
        return found
    first = replace(found.copies[0], status="not-looked", why=_ANOTHER_URL)
    copies = (first, *found.copies[1:])
    return replace(found, status="not-looked", copies=copies, why=_ANOTHER_URL)


def candidates(resolution: Resolution) -> list[Memento]:
    """Return the copies to look at: the chosen one, then the others nearest to its query."""
    chosen = resolution.memento
    if chosen is None:
        return []
    moment = resolution.query.at or chosen.captured
    others = {memento.uri: memento for memento in known_mementos(resolution)}
    others.pop(chosen.uri, None)
    near = sorted(others.values(), key=lambda m: abs(moment.distance(second_of(m.stamp))))
    return [chosen, *near]


def looked_at(wanted: TextQuote, copy: CopyText) -> LookedAt:
    """Return whether *copy* has the quotation *wanted*."""
    try:
        from timegate.content.quotes import FoldedText, match_quote  # noqa: PLC0415 -- an extra
    except ImportError:
        return LookedAt(copy.memento, "not-looked", why=_MISSING)
    page = copy.page
    folded = FoldedText("\n".join(filter(None, (page.text, page.title, page.description))))
    match = match_quote(wanted, folded)
    if match.presence == "absent":
        doubt = _doubt(copy)
        source = FoldedText(_source(copy.octets)) if not doubt else None
        if source is not None and match_quote(wanted, source).presence == "found":
            doubt = "it is in the source of the page, but not in its text"
        if doubt:
            return LookedAt(copy.memento, "not-looked", why=doubt)
        return LookedAt(copy.memento, "absent")
    return LookedAt(
        copy.memento, match.presence, match.score, match.passage, match.edits, match.before
    )


def _doubt(copy: CopyText) -> str:
    """Return why the text of *copy* may not be all that its page shows; empty if it is."""
    page, text = copy.page, copy.page.text
    if len(text) >= _CUT:
        return "only the beginning of a very long text was read"
    if text.count("\ufffd") > _GARBLED * len(text):
        return "the text could not be decoded"
    if len(text) < _NEARLY_EMPTY and (page.frames or page.scripts):
        return "the page has nearly no text of its own: scripts or frames show it"
    if not text.strip():
        return "the page has no text"
    return ""


def _source(octets: bytes) -> str:
    """Return the source of a page with the escapes of HTML and JSON undone."""
    text = octets.decode("utf-8", errors="replace")
    return unescape(_JSON_ESCAPE.sub(_unescaped, text))


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return _BLANKS.get(found[2], found[2])
