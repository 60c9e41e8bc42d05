"""URL variants: other spellings of a URL under which an archive may hold the same page (S-7).

Most archives treat them as one URL; some look up the exact string only. Few of those are asked
for variants: otherwise every page that no archive holds would cost each of them four requests.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from archives.uri import host_of
from timegate.resolution.model import Query, Rule, UnaskedVariant

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
