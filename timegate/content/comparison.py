"""The outcome of comparing a copy with those around it, for verdicts, reports and pages."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from archives.model import Memento


class PageClass(StrEnum):
    """What a copy is instead of the page that was cited."""

    SOFT_404 = "soft-404"
    """An error page that was sent as a page."""
    PARKED = "parked"
    """A page of a registrar, dealer or host for a domain without a site."""
    CONSENT = "consent-wall"
    LOGIN = "login-wall"
    REDIRECT_TO_ROOT = "redirect-to-root"
    EMPTY = "nearly-empty"


Value = Literal["same-around", "similar-around", "changed", "alone", "not-looked"]
Basis = Literal["digest", "text"]
SAME: Final[tuple[Value, ...]] = ("same-around", "similar-around")


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a copy compares with those around it."""

    value: Value
    """``same-around``: the captures on both sides of the time have the same octets.
    ``similar-around``: they have nearly the same main text. ``changed``: they have not.
    ``alone``: no second copy could be compared. ``not-looked``: nothing was compared."""
    basis: Basis | None = None
    before: Memento | None = None
    after: Memento | None = None
    similarity: int | None = None
    """Of the main texts of `before` and `after`, in percent."""
    before_class: PageClass | None = None
    """What `before` is, if it is not a usual page; so for `after`."""
    after_class: PageClass | None = None
    page_class: PageClass | None = None
    """What the copy is, if it is not a usual page."""
    evidence: tuple[str, ...] = ()
    """Why it has this class."""
    corroborated: tuple[str, ...] = ()
    """Other archives with the same octets or main text at the same time."""
    dissent: tuple[str, ...] = ()
    """Archives whose main text differs from that of several others at the same time."""
    title: str = ""
    language: str = ""
    instead: Memento | None = None
    """The nearest copy, if another one was chosen after looking at both."""
    instead_of: PageClass | None = None
    """What the nearest copy is."""
    looked: tuple[str, ...] = ()
    """Addresses of the copies that were read."""
    failure: str = ""
    """Why nothing, or no more, was looked at; for people."""
