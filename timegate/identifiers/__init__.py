"""Reading identifiers: which kind a text is, and what it states.

`KINDS` lists every kind in the order in which they are tried (G-9). The first kind that
recognises the text either reads it or rejects it.
"""

import re
from bisect import bisect_right
from typing import Final

from archives.diagnostics import Diagnosis, Diagnostic, Malformed
from archives.registry import Registry
from archives.uri import check_length, check_text
from timegate.identifiers.duri import DURI, TDB
from timegate.identifiers.model import IdentifierKind, ParsedIdentifier
from timegate.identifiers.pdi import PDI
from timegate.identifiers.pwid.uri import PWID_HTTP, PWID_URI
from timegate.identifiers.pwid.urn import PWID_URN
from timegate.identifiers.replay_link import REPLAY_LINK
from timegate.identifiers.url import ACCEPT_DATETIME, URL

KINDS: Final[tuple[IdentifierKind, ...]] = (
    ACCEPT_DATETIME,
    PWID_URN,
    PWID_URI,
    DURI,
    TDB,
    PDI,
    PWID_HTTP,
    REPLAY_LINK,
    URL,  # last: it rejects every text that it cannot read
)
SCHEMES: Final = frozenset(
    prefix.partition(":")[0] for kind in KINDS for prefix in kind.prefixes
)
"""The URI schemes of identifiers, other than http and https."""
_COMMON_READERS: Final = tuple(kind.read_common for kind in KINDS if kind.read_common)
_WITH_SPACES: Final = tuple(kind for kind in KINDS if kind.has_spaces)
_WITHOUT_SPACES: Final = tuple(kind for kind in KINDS if not kind.has_spaces)
_WRAP: Final = re.compile(r"\s++")
_LINE_BREAKS: Final = frozenset("\n\r\v\f\x85\u2028\u2029")


def parse(
    text: str, registry: Registry | None = None, *, strict: bool = False
) -> ParsedIdentifier:
    """Return the identifier in *text*. Raises Malformed with the reason and the position.

    With a *registry*, links into its archives are recognised, and the archive that a PWID
    names is looked up in it.
    """
    check_length(text)
    for read_common in _COMMON_READERS:
        reading = read_common(text)
        if reading is not None:
            break
    else:
        reading = _parse(text, registry, Diagnosis(strict=strict))
    return reading if registry is None else _with_entry(reading, registry)


def _parse(text: str, registry: Registry | None, diagnosis: Diagnosis) -> ParsedIdentifier:
    for kind in _WITH_SPACES:
        reading = kind.read(text, diagnosis, registry)
        if reading is not None:
            return reading
    check_text(text)
    readings = (kind.read(text, diagnosis, registry) for kind in _WITHOUT_SPACES)
    return next(filter(None, readings))


def _with_entry(reading: ParsedIdentifier, registry: Registry) -> ParsedIdentifier:
    archive = reading.identifier.archive
    if reading.entry or archive is None or not reading.kind.names_archive:
        return reading
    entry = registry.by_pwid(archive)
    return reading if entry is None else reading._replace(entry=entry.id)


def parse_wrapped(
    text: str, registry: Registry | None = None, *, strict: bool = False
) -> ParsedIdentifier:
    """Like `parse`, for text pasted from print: lines are joined (G-8).

    Spaces around a line break are dropped; a hyphen before it stays, because the drafts break
    lines after hyphens that belong to the identifier.
    """
    joined, cuts = _joined(text)
    if not cuts:
        return parse(text, registry, strict=strict)
    try:
        reading = parse(joined, registry, strict=strict)
    except Malformed as complaint:
        position = _position_in(cuts, complaint.position)
        raise Malformed(complaint.code, complaint.why, position) from complaint
    placed = [
        Diagnostic(d.token, d.why, _position_in(cuts, d.position), d.repair)
        for d in reading.diagnostics
    ]
    note = Diagnostic("unwrapped", "line breaks were removed", cuts[0][0], repair=False)
    return reading._replace(diagnostics=(note, *placed))


def _joined(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return *text* without line breaks, and the cuts.

    A cut is its index in the joined text and the number of characters removed up to there.
    """
    pieces: list[str] = []
    cuts: list[tuple[int, int]] = []
    end = length = removed = 0
    for run in _WRAP.finditer(text):
        if _LINE_BREAKS.isdisjoint(run[0]):
            continue
        pieces.append(text[end : run.start()])
        length += run.start() - end
        end = run.end()
        removed += len(run[0])
        cuts.append((length, removed))
    pieces.append(text[end:])
    return "".join(pieces), cuts


def _position_in(cuts: list[tuple[int, int]], position: int) -> int:
    """Return the index in the original text of the character at *position* once joined."""
    before = bisect_right(cuts, position, key=lambda cut: cut[0])
    return position + (cuts[before - 1][1] if before else 0)
