"""Other spellings under which an archive may hold the same page (S-7).

Most archives fold these themselves; some look up the exact string only. Few of those are asked:
otherwise a page that nobody has would cost each archive four requests.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from archives.uri import host_of
from timegate.resolution.model import Query, Rule, Unasked

MOST_ASKED: Final = 2
"""Questions for other spellings in one resolution, over all archives (S7)."""


class Spelling(NamedTuple):
    """Another way to write the URL of a query."""

    rule: Rule
    url: str


def variants(query: Query) -> Iterator[Spelling]:
    """Yield the variants of the URL in *query*, the likeliest first."""
    if query.literal is not None:
        yield Spelling("percent", query.literal)
    scheme, _, rest = query.original.partition("://")
    yield Spelling("scheme", f"{'https' if scheme == 'http' else 'http'}://{rest}")
    yield from _www(query.original, scheme, rest)
    yield from _slash(query.original, rest)


def _www(original: str, scheme: str, rest: str) -> Iterator[Spelling]:
    if rest.startswith("www."):
        yield Spelling("www", f"{scheme}://{rest[4:]}")
    elif host_of(original).count(".") == 1:
        yield Spelling("www", f"{scheme}://www.{rest}")


def _slash(original: str, rest: str) -> Iterator[Spelling]:
    if "?" in rest:
        return
    if "/" not in rest:
        yield Spelling("slash", original + "/")
    elif original.endswith("/"):
        yield Spelling("slash", original[:-1])
    elif "." not in rest.rpartition("/")[2]:
        yield Spelling("slash", original + "/")


class Spellings:
    """Which archives are asked for which other spellings, in one search.

    An answer that is remembered counts as a question too: who asks again costs nobody more.
    """

    def __init__(self, query: Query, folding: frozenset[str]) -> None:
        """*folding* are those who have said all at once."""
        self._named = query.archive
        self._folding = folding
        self._variants = (*variants(query),)
        self._heard: set[tuple[str, str]] = set()

    def left(self, archives: Iterable[str]) -> list[tuple[str, Spelling]]:
        """Return what *archives*, the most promising first, have not been asked.

        The archive that is named comes first with all its spellings (S-7), then the likeliest
        spelling in all others.
        """
        order = [*archives]
        of_named = [(a, one) for a in order if a == self._named for one in self._variants]
        of_others = [(a, one) for one in self._variants for a in order if a != self._named]
        return [pair for pair in (*of_named, *of_others) if self._is_open(*pair)]

    def take(self, archives: Iterable[str]) -> list[tuple[str, Spelling]]:
        """Return whom to ask for what now; they count as asked."""
        room = max(MOST_ASKED - len(self._heard), 0)
        taken = self.left(archives)[:room]
        self.heard((archive, one.url) for archive, one in taken)
        return taken

    def heard(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Note the archives and URLs of which the answer is known or on its way."""
        self._heard.update(pairs)

    def unasked(self, archives: Sequence[str]) -> tuple[Unasked, ...]:
        """Return what *archives* were not asked, spelling by spelling."""
        left: dict[Spelling, list[str]] = {one: [] for one in self._variants}
        for archive, one in self.left(archives):
            left[one].append(archive)
        return tuple(Unasked(*one, tuple(those)) for one, those in left.items() if those)

    def _is_open(self, archive: str, one: Spelling) -> bool:
        # No index takes a percent sign for what it encodes and for itself (P-21).
        folded = archive in self._folding and one.rule != "percent"
        return not folded and (archive, one.url) not in self._heard
