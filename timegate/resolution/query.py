"""From what a reference says to what archives are asked.

An identifier keeps everything that was written; archives can be asked for an http URL without
its fragment and its user, near a time, and for nothing else.
"""

from collections.abc import Sequence
from typing import Final

from archives.diagnostics import Diagnostic
from archives.moment import Moment
from archives.registry import Registry
from archives.uri import host_of, negotiable, without_user
from timegate.identifiers.model import ParsedIdentifier
from timegate.resolution.model import Query, Syntax

STRIPPED_FRAGMENT: Final = "item-fragment"
"""Diagnostic: the item had a fragment, which is not sent to archives (N-8)."""
STRIPPED_USER: Final = "item-user"
"""Diagnostic: the item had a user name, which is not sent to archives (R-23)."""
# These links were made by aggregators, which asked every archive they knew.
_AGGREGATORS: Final = frozenset({"timetravel", "memgator-odu"})
_TAKEN_LITERALLY: Final = frozenset({"raw-percent", "raw-reserved"})
# After these, triplets stand in the item that its writer did not write.
_REWRITTEN: Final = frozenset({"iri", "encoded-unsafe"})
# P-20: what an item writes as triplets.
_TRIPLETS: Final = str.maketrans({c: f"%{ord(c):02X}" for c in "%[]?#"})


class NotNegotiable(ValueError):
    """A reference that says what it means, but nothing that archives can be asked for."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code
        """``not-negotiable``, or ``unknown-archive`` where only its own resolver could help."""


def query_for(reading: ParsedIdentifier, registry: Registry) -> Query:
    """Return what archives are asked for *reading*. Raises NotNegotiable."""
    identifier = reading.identifier
    item = identifier.item
    if item is None or not identifier.negotiable:
        raise _refusal(reading)
    named, fragment_sign, _ = item.partition("#")
    original = without_user(named)
    archive, archive_id = _archive(reading, registry)
    notes = _tokens(reading.diagnostics)
    if fragment_sign:
        notes.append(STRIPPED_FRAGMENT)
    if original != named:
        notes.append(STRIPPED_USER)
    return Query(
        original=original,
        at=identifier.time,
        archive=archive,
        archive_id=archive_id,
        precision=identifier.precision,
        identifier=identifier.canonical,
        literal=_literal(reading, item),
        minted=reading.kind.is_dated_by_minting,
        syntax=_syntax(reading.diagnostics),
        diagnostics=tuple(notes),
    )


def query_for_url(
    original: str, at: Moment | None, diagnostics: Sequence[Diagnostic] = ()
) -> Query:
    """Return what a TimeGate is asked: a URL, and the time of ``Accept-Datetime``.

    The fragment of a plain URL stays with the client (N-8), and so does a password, but that
    is told: whoever logs in may see another page (R23). Raises NotNegotiable.
    """
    if not negotiable(original):
        raise NotNegotiable("not-negotiable", "archives of the web hold http and https URLs")
    named = original.partition("#")[0]
    url = without_user(named)
    notes = [*_tokens(diagnostics), *([] if url == named else [STRIPPED_USER])]
    return Query(url, at, syntax=_syntax(diagnostics), diagnostics=tuple(notes))


def _tokens(diagnostics: Sequence[Diagnostic]) -> list[str]:
    return list(dict.fromkeys(diagnostic.token for diagnostic in diagnostics))


def _refusal(reading: ParsedIdentifier) -> NotNegotiable:
    item = reading.identifier.item
    resolver = reading.kind.resolver
    if resolver is not None:
        why = f"only {resolver} can look it up, and no such resolver is configured"
        return NotNegotiable("unknown-archive", why)
    if item is None:
        return NotNegotiable("not-negotiable", "it does not say of which URL it is a copy")
    if item.startswith("~"):
        why = "only the archive that assigned this item id can look it up"
        return NotNegotiable("not-negotiable", why)
    scheme = item.partition(":")[0]
    why = f"archives of the web hold http and https URLs, not {scheme}"
    if scheme in ("http", "https"):
        why = "the URL in it has no host"
    return NotNegotiable("not-negotiable", why)


def _archive(reading: ParsedIdentifier, registry: Registry) -> tuple[str | None, str | None]:
    """Return the archive that is named: its id in the registry, and as it is written.

    The series of a PDI is no archive, and a link to an aggregator names none.
    """
    written = reading.identifier.archive
    if not reading.kind.names_archive or reading.entry in _AGGREGATORS:
        return None, None
    if reading.entry is not None:
        return reading.entry, written or reading.entry
    entry = None if written is None else registry.by_pwid(written)
    return (None if entry is None else entry.id), written


def _literal(reading: ParsedIdentifier, item: str) -> str | None:
    """Return the item as it reads if its triplets were those of the URL itself (P-21).

    Which case their hex digits had is not kept; RFC 3986 2.1 wants capitals.
    """
    tokens = {diagnostic.token for diagnostic in reading.diagnostics}
    if not reading.kind.encodes_item or tokens & (_TAKEN_LITERALLY | _REWRITTEN):
        return None
    item = without_user(item)
    literal = item.translate(_TRIPLETS)
    # Around an IPv6 address brackets can have been nothing but encoded.
    return literal if literal != item and host_of(literal) == host_of(item) else None


def _syntax(diagnostics: Sequence[Diagnostic]) -> Syntax:
    """Return ``legacy`` for what an earlier draft would have written, and nothing worse."""
    repairs = {diagnostic.token for diagnostic in diagnostics if diagnostic.repair}
    if not all(_is_legacy(token) for token in repairs):
        return "repaired"
    return "legacy" if any(_is_legacy(d.token) for d in diagnostics) else "strict"


def _is_legacy(token: str) -> bool:
    return token.startswith("legacy-") or token in _TAKEN_LITERALLY
