"""What a verdict is made of, and how its members add up to one word (X-3, X-4)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from operator import attrgetter
from typing import Final

Parameter = str | int
_SAME_ARCHIVE: Final = ("same", "alias", "any")
_SAME_URI: Final = ("same", "normalized")
_ALL_OF_IT: Final = ("as-requested", "upgraded")


@dataclass(frozen=True, slots=True)
class Member:
    """One way in which an answer can differ: the value, and what was asked and found."""

    value: str
    params: Mapping[str, Parameter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Leave out what is not known: an empty text says nothing."""
        if "" in self.params.values():
            kept = {name: value for name, value in self.params.items() if value != ""}
            object.__setattr__(self, "params", kept)

    def __getitem__(self, name: str) -> Parameter | None:
        """Return a parameter; None where it is not given."""
        return self.params.get(name)


@lru_cache(maxsize=256)
def plain(value: str) -> Member:
    """Return the member that has nothing to add to *value*."""
    return Member(value)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Every member of X-3, in its order. Where nothing was found, most have nothing to say."""

    match: Member
    archive: Member | None = None
    time: Member | None = None
    granularity: Member | None = None
    coverage: Member | None = None
    uri: Member | None = None
    content: Member | None = None
    sources: Member | None = None
    negotiation: Member | None = None
    syntax: Member | None = None

    def members(self) -> Iterator[tuple[str, Member | None]]:
        """Yield every member with its name, in the order of X-3."""
        return zip(_NAMES, _VALUES(self), strict=True)


_NAMES: Final = tuple(each.name for each in fields(Verdict))
_VALUES: Final = attrgetter(*_NAMES)


def matched(
    archive: Member, time: Member, granularity: Member, coverage: Member, uri: Member
) -> Member:
    """Return the worst of what the members allow (X-4).

    An archive-id that no registry knows makes every answer a substitute: it comes from an
    archive of which nobody said that it is the one named (P-40).
    """
    if archive.value not in _SAME_ARCHIVE:
        return plain("substitute")
    if uri.value not in _SAME_URI or coverage.value not in _ALL_OF_IT:
        return plain("approximate")
    if time.value == "exact" and granularity.value == "same":
        return plain("exact")
    if time.value == "within":
        # An interval as fine as what the archive proves leaves no room for another capture.
        return plain("exact" if granularity.value == "same" else "within")
    return plain("within" if time.value in ("exact", "latest") else "approximate")
