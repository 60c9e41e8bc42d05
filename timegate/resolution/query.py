"""Turns an identifier into the query that is sent to archives.

An identifier keeps everything that was written. Archives can only be queried for an http or
https URL near a time, without fragment and user name.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from archives.diagnostics import Diagnostic, Malformed
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from archives.uri import host_of, negotiable, without_user
from timegate.content.fragments import quote_in
from timegate.identifiers import parse
from timegate.identifiers.model import ParsedIdentifier
from timegate.identifiers.url import not_held
from timegate.resolution.model import Query, Syntax

STRIPPED_FRAGMENT: Final = "item-fragment"
"""Diagnostic: the item had a fragment, which is not sent to archives (N-8)."""
STRIPPED_USER: Final = "item-user"
"""Diagnostic: the item had a user name, which is not sent to archives (R-23)."""
_MOST_NESTED: Final = 5
"""URLs inside a URL, as in links to copies of copies; real chains have one or two."""
# Links made by aggregators, which query every archive they know.
_AGGREGATORS: Final = frozenset({"timetravel", "memgator-odu"})
_TAKEN_LITERALLY: Final = frozenset({"raw-percent", "raw-reserved"})
# After these repairs, the item contains triplets that its author did not write.
_REWRITTEN: Final = frozenset({"iri", "encoded-unsafe"})
# P-20: the characters that are written as triplets in an item.
_TRIPLETS: Final = str.maketrans({c: f"%{ord(c):02X}" for c in "%[]?#"})
# The five triplets of P-20, and those of all characters that have a meaning in a query.
_ENCODED: Final = (
    compiled(r"%(?:25|5[BbDd]|3[Ff]|23)"),
    compiled(r"%(?:2[1346-9A-Ca-cFf5]|3[ABDFabdf]|40|5[BbDd])"),
)


class NotNegotiable(ValueError):
    """A valid reference that archives cannot be queried for."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code
        """``not-negotiable``, or ``unknown-archive`` if only another resolver can help."""


def query_for(reading: ParsedIdentifier, registry: Registry) -> Query:
    """Return the query for *reading*. Raises NotNegotiable."""
    identifier = reading.identifier
    item = identifier.item
    if item is None or not identifier.negotiable:
        raise _refusal(reading)
    named, fragment_sign, _ = item.partition("#")
    original = without_user(named)
    _check_nesting(original)
    archive, archive_id = _archive(reading, registry)
    notes = _tokens(reading.diagnostics)
    if fragment_sign:
        notes.append(STRIPPED_FRAGMENT)
    if original != named:
        notes.append(STRIPPED_USER)
    notes += [f"{name}-not-applied" for name, _ in identifier.selection]
    return Query(
        original=original,
        at=identifier.time,
        archive=archive,
        archive_id=archive_id,
        precision=identifier.precision,
        identifier=identifier.canonical,
        literal=_literal(reading, item),
        decoded=_decoded(reading, original),
        selection=identifier.selection,
        minted=reading.kind.is_dated_by_minting,
        syntax=_syntax(reading.diagnostics),
        diagnostics=tuple(notes),
        link=reading.link if original == named else None,
        quote=quote_in(item) if fragment_sign else None,
    )


def query_for_url(
    original: str,
    at: Moment | None,
    diagnostics: Sequence[Diagnostic] = (),
    *,
    precision: str | None = None,
) -> Query:
    """Return the query of a TimeGate: a URL, and the time of ``Accept-Datetime``.

    The fragment of a plain URL stays with the client (N-8). User name and password do as well,
    but that is reported: a logged-in user may see another page (R-23). Raises NotNegotiable.
    """
    if not negotiable(original):
        raise NotNegotiable("not-negotiable", "web archives only hold http and https URLs")
    named = original.partition("#")[0]
    url = without_user(named)
    _check_nesting(url)
    notes = [*_tokens(diagnostics), *([] if url == named else [STRIPPED_USER])]
    syntax = _syntax(diagnostics)
    return Query(url, at, precision=precision, syntax=syntax, diagnostics=tuple(notes))


def of_cited_copy(query: Query, links: Sequence[str], registry: Registry) -> Query:
    """Return *query* as that of a citation which also has the other *links*.

    An archive's own id, as in ``https://perma.cc/AB12-CD34``, names one copy without its URL,
    so the URL of the citation is queried; the copy that is meant is still the one in that
    archive.
    """
    if query.archive_id is not None:
        return query
    for link in links:
        try:
            reading = parse(link, registry)
        except Malformed:
            continue
        if reading.kind.is_archive_link and reading.identifier.item is None:
            archive, archive_id = _archive(reading, registry)
            return replace(
                query,
                archive=archive,
                archive_id=archive_id,
                link=reading.link,
                by_id=True,
            )
    return query


def _check_nesting(url: str) -> None:
    """Raise NotNegotiable for a URL with too many others inside.

    A nested reference is a part of the URL like any other (P-23), so each could be queried in
    all archives, and no archive has such copies.
    """
    if url.count("://") > 1 + _MOST_NESTED:
        why = f"more than {_MOST_NESTED} URLs are nested in it"
        raise NotNegotiable("not-negotiable", why)


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
    why = not_held(scheme)
    if scheme in ("http", "https"):
        why = "the URL in it has no host"
    return NotNegotiable("not-negotiable", why)


def _archive(reading: ParsedIdentifier, registry: Registry) -> tuple[str | None, str | None]:
    """Return the named archive: its registry id, and its id as written.

    Both are None for kinds that name no archive, and for links made by an aggregator.
    """
    written = reading.identifier.archive
    if not reading.kind.names_archive or reading.entry in _AGGREGATORS:
        return None, None
    if reading.entry is not None:
        return reading.entry, written or reading.entry
    entry = None if written is None else registry.by_pwid(written)
    return (None if entry is None else entry.id), written


def _literal(reading: ParsedIdentifier, item: str) -> str | None:
    """Return the item read literally, with its triplets as part of the URL (P-21).

    The case of the hex digits is lost; RFC 3986, section 2.1, prefers capitals.
    """
    tokens = {diagnostic.token for diagnostic in reading.diagnostics}
    if not reading.kind.encodes_item or tokens & (_TAKEN_LITERALLY | _REWRITTEN):
        return None
    item = without_user(item)
    literal = item.translate(_TRIPLETS)
    # The brackets around an IPv6 address must have been encoded.
    return literal if literal != item and host_of(literal) == host_of(item) else None


def _decoded(reading: ParsedIdentifier, item: str) -> tuple[str, ...]:
    """Return an item that was read literally, decoded: the five triplets of P-20, then all.

    A query whose question mark is encoded beside other triplets was encoded in part, as
    ``%3F`` alone, or with more characters than needed, such as ``%26``.
    """
    tokens = {diagnostic.token for diagnostic in reading.diagnostics}
    if not reading.kind.encodes_item or "raw-percent" not in tokens or tokens & _REWRITTEN:
        return ()
    if "%3F" not in item.upper():
        return ()
    spellings = (pattern.sub(lambda found: unquote(found[0]), item) for pattern in _ENCODED)
    urls = dict.fromkeys(spelling.partition("#")[0] for spelling in spellings)
    return tuple(url for url in urls if url != item and host_of(url) == host_of(item))


def _syntax(diagnostics: Sequence[Diagnostic]) -> Syntax:
    """Return ``legacy`` if the only repairs are spellings of earlier drafts."""
    repairs = {diagnostic.token for diagnostic in diagnostics if diagnostic.repair}
    if not all(_is_legacy(token) for token in repairs):
        return "repaired"
    return "legacy" if any(_is_legacy(d.token) for d in diagnostics) else "strict"


def _is_legacy(token: str) -> bool:
    return token.startswith("legacy-") or token in _TAKEN_LITERALLY
