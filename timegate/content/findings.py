"""What is known of copies after they were looked at: their texts, and a quotation.

A copy lacks the quotation only if its text was read whole. All else is not known.
"""

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from archives.model import Memento
from timegate.content.fragments import TextQuote, quoted, with_quote
from timegate.content.main_text import PageText

QuoteStatus = Literal["found", "near", "absent", "elsewhere", "not-looked"]
CopyStatus = Literal["found", "near", "absent", "not-looked"]


class CopyText(NamedTuple):
    """What a copy says."""

    memento: Memento
    page: PageText
    octets: bytes
    """As captured."""


class UnreadCopy(NamedTuple):
    """Why it is not known what a copy says."""

    memento: Memento
    why: str
    """For people."""


@dataclass(frozen=True, slots=True)
class LookLimits:
    """Limits of looking for one quotation."""

    copies: int = 4
    requests: int = 8
    octets: int = 2_000_000
    seconds: float = 8.0


class WordEdit(NamedTuple):
    """One difference between a quotation and the passage of the text."""

    quoted: str
    """What the quotation has; empty if it lacks something."""
    written: str
    """What the text has instead; empty if it has nothing there."""


@dataclass(frozen=True, slots=True)
class LookedAt:
    """One copy that was looked at for a quotation."""

    memento: Memento
    status: CopyStatus
    score: float = 0.0
    """The similarity of the passage, 0 to 1."""
    passage: str = ""
    """The passage as the copy has it."""
    edits: tuple[WordEdit, ...] = ()
    before: str = ""
    """Words before the passage, if the same words occur earlier."""
    why: str = ""
    """Why the text is not known, or not known as a whole."""

    @property
    def has_it(self) -> bool:
        """Whether the copy has the quotation, or nearly."""
        return self.status in ("found", "near")

    def address(self, uri: str = "") -> str:
        """Return the address of the copy, or *uri*, with a text directive for the passage."""
        uri = uri or self.memento.uri
        found = quoted(self.passage) if self.has_it else None
        if found is None:
            return uri
        # A browser is led to the page without a frame, in which nothing would be highlighted.
        own = f"/collections/{self.memento.archive}/{self.memento.stamp}"
        shown = uri.replace(f"{own}/", f"{own}{_WITHOUT_FRAME}/", 1)
        return with_quote(shown, found._replace(prefix=self.before))


@dataclass(frozen=True, slots=True)
class QuoteFinding:
    """Whether a copy has a quotation, and which others have it."""

    wanted: TextQuote
    status: QuoteStatus
    copies: tuple[LookedAt, ...] = ()
    """The copies that were looked at; the chosen one is the first, if it was."""
    why: str = ""
    """Why it is not known, or which copies were not looked at."""

    @property
    def holder(self) -> LookedAt | None:
        """The copy that has it: the chosen one, or another."""
        if self.status in ("found", "near"):
            return self.copies[0]
        if self.status == "elsewhere":
            return next((copy for copy in self.copies if copy.has_it), None)
        return None

    def linked(self, uri: str) -> str:
        """Return *uri*, an address of the chosen copy, with the passage that it has."""
        if self.status not in ("found", "near"):
            return uri
        return self.copies[0].address(uri)

    @property
    def is_settled(self) -> bool:
        """Whether the answer is the same when the copies are looked at again."""
        return self.status != "not-looked"


def finding(
    wanted: TextQuote, copies: tuple[LookedAt, ...], chosen: Memento, why: str = ""
) -> QuoteFinding:
    """Return what *copies* say of *wanted* in the copy *chosen*."""
    first = next((copy for copy in copies if copy.memento.uri == chosen.uri), None)
    others = tuple(copy for copy in copies if copy is not first)
    if first is None:
        first = LookedAt(chosen, "not-looked", why=why or _UNREACHED)
    ordered = (first, *others)
    if first.has_it:
        return QuoteFinding(wanted, first.status, ordered, why)
    if any(copy.has_it for copy in others):
        return QuoteFinding(wanted, "elsewhere", ordered, why)
    return QuoteFinding(wanted, first.status, ordered, first.why or why)


_WITHOUT_FRAME: Final = "mp_"
_UNREACHED: Final = "the copy was not read"
