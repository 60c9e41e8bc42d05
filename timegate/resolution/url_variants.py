"""URL variants: other spellings of a URL under which an archive may hold the same page (S-7).

Most archives treat them as one URL; some look up the exact string only. Few of those are asked
for variants: otherwise every page that no archive holds would cost each of them four requests.

Equivalent URLs are other URLs of the same page, as the client states them (``also=``).
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from msgspec import structs

from archives.uri import host_of
from timegate.resolution.context import RequestContext
from timegate.resolution.model import (
    Attempt,
    Preferences,
    Query,
    Resolution,
    Resolves,
    Rule,
    UnaskedVariant,
)
from timegate.resolution.ranking import best_per_archive

MOST_ASKED: Final = 2
"""Questions for variants in one resolution, over all archives (S-7)."""


class UrlVariant(NamedTuple):
    """Another spelling of the URL of a query."""

    rule: Rule
    url: str


def variants(query: Query) -> Iterator[UrlVariant]:
    """Yield the variants of the URL in *query*, the likeliest first."""
    if query.literal is not None:
        yield UrlVariant("percent", query.literal)
    yield from (UrlVariant("percent", url) for url in query.decoded)
    scheme, _, rest = query.original.partition("://")
    yield UrlVariant("scheme", f"{'https' if scheme == 'http' else 'http'}://{rest}")
    yield from _www(query.original, scheme, rest)
    yield from _slash(query.original, rest)


def _www(original: str, scheme: str, rest: str) -> Iterator[UrlVariant]:
    if rest.startswith("www."):
        yield UrlVariant("www", f"{scheme}://{rest[4:]}")
    elif host_of(original).count(".") == 1:
        yield UrlVariant("www", f"{scheme}://www.{rest}")


def _slash(original: str, rest: str) -> Iterator[UrlVariant]:
    if "?" in rest:
        return
    if "/" not in rest:
        yield UrlVariant("slash", original + "/")
    elif original.endswith("/"):
        yield UrlVariant("slash", original[:-1])
    elif "." not in rest.rpartition("/")[2]:
        yield UrlVariant("slash", original + "/")


class VariantQuestions:
    """The questions for URL variants in one search: which archive is asked for which variant.

    A cached answer counts as a question, so a repeated query does not cause more of them.
    """

    def __init__(self, query: Query, folding: frozenset[str]) -> None:
        """*folding*: archives that hold all variants of a URL under one key."""
        self._named = query.archive
        self._folding = folding
        self._variants = (*variants(query),)
        self._asked: set[tuple[str, str]] = set()

    def left(self, archives: Iterable[str]) -> list[tuple[str, UrlVariant]]:
        """Return the questions that *archives*, the most promising first, were not asked yet.

        The archive that the reference names comes first, with all variants (S-7); then the
        likeliest variant at all other archives.
        """
        order = [*archives]
        of_named = [
            (a, variant) for a in order if a == self._named for variant in self._variants
        ]
        of_others = [
            (a, variant) for variant in self._variants for a in order if a != self._named
        ]
        return [question for question in (*of_named, *of_others) if self._is_open(*question)]

    def take(self, archives: Iterable[str]) -> list[tuple[str, UrlVariant]]:
        """Return the questions to ask now; they count as asked."""
        allowed = max(MOST_ASKED - len(self._asked), 0)
        taken = self.left(archives)[:allowed]
        self.note((archive, variant.url) for archive, variant in taken)
        return taken

    def note(self, questions: Iterable[tuple[str, str]]) -> None:
        """Count *questions*, each an archive and a URL, as asked."""
        self._asked.update(questions)

    def unasked(self, archives: Sequence[str]) -> tuple[UnaskedVariant, ...]:
        """Return the variants for which some of *archives* were not asked."""
        left: dict[UrlVariant, list[str]] = {variant: [] for variant in self._variants}
        for archive, variant in self.left(archives):
            left[variant].append(archive)
        return tuple(
            UnaskedVariant(*variant, tuple(names)) for variant, names in left.items() if names
        )

    def _is_open(self, archive: str, variant: UrlVariant) -> bool:
        # An encoded and a literal percent sign have different keys in every index (P-21).
        folded = archive in self._folding and variant.rule != "percent"
        return not folded and (archive, variant.url) not in self._asked


class EquivalentUrls:
    """Resolves a query, and with its equivalent URLs in turn while nothing is acceptable."""

    def __init__(self, resolver: Resolves, accepts: Callable[[Resolution], bool]) -> None:
        """Take *accepts*, which returns whether a result meets the preferences."""
        self._resolver = resolver
        self._accepts = accepts

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        """Return the first acceptable result; otherwise the first with a memento."""
        # An equivalent URL is never an exact match.
        also = () if preferences.precision == "exact" else preferences.also
        urls = [url for url in also if url != query.original]
        waits = _Waits(preferences.wait)
        results: list[Resolution] = []
        for number, url in enumerate((query.original, *urls)):
            wait = waits.share(1 + len(urls) - number)
            one = replace(preferences, also=(), wait=wait)
            asked = query if not number else replace(query, original=url, literal=None)
            found = await self._resolver.resolve(asked, one, context)
            results.append(_as_asked(found, query, preferences, "also" if number else None))
            if self._accepts(results[-1]):
                return _joined(results[-1], results)
        return _joined(next((r for r in results if r.memento), results[0]), results)


class _Waits:
    """Divides the time that the client waits among the URLs that are left."""

    def __init__(self, wait: float | None) -> None:
        self._clock = asyncio.get_running_loop().time
        self._until = None if wait is None else self._clock() + wait

    def share(self, left: int) -> float | None:
        """Return the seconds for the next of *left* URLs; None for the usual deadlines."""
        return None if self._until is None else max(self._until - self._clock(), 0.1) / left


def _as_asked(
    result: Resolution, query: Query, preferences: Preferences, rule: Rule | None
) -> Resolution:
    """Return *result* as one of *query*; with *rule*, it was found under another URL."""

    def marked(attempt: Attempt) -> Attempt:
        return attempt if rule is None else structs.replace(attempt, variant=rule)

    return replace(
        result,
        query=query,
        # Verification may have excluded archives.
        preferences=replace(result.preferences, also=preferences.also, wait=preferences.wait),
        best=None if result.best is None else marked(result.best),
        alternatives=tuple(map(marked, result.alternatives)),
        attempts=tuple(map(marked, result.attempts)),
    )


def _joined(chosen: Resolution, results: Sequence[Resolution]) -> Resolution:
    """Return *chosen* with the attempts and the mementos of all *results*."""
    in_order = (chosen, *(result for result in results if result is not chosen))
    mementos = [m for r in in_order if r.best for m in (r.best, *r.alternatives)]
    return replace(
        chosen,
        alternatives=tuple(best_per_archive(mementos)[1:]),
        attempts=tuple(attempt for result in results for attempt in result.attempts),
        unanswered=tuple(dict.fromkeys(a for r in results for a in r.unanswered)),
        unasked=results[0].unasked if chosen.memento is None else (),
        skipped=tuple(dict.fromkeys(a for r in results for a in r.skipped)),
    )
