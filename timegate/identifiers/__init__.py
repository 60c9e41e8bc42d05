"""Text to identifier: which notation it is, and what it says.

A text is tried as each kind in turn (G-9); the first that knows its prefix reads or refuses it.
"""

import re
from bisect import bisect_right
from typing import Final

from archives.diagnostics import Diagnosis, Diagnostic, Malformed
from archives.registry import Registry
from archives.uri import check_length, check_text
from timegate.identifiers.duri import read_common_duri, read_duri
from timegate.identifiers.model import ParsedIdentifier, Reader
from timegate.identifiers.pdi import read_pdi
from timegate.identifiers.pwid import (
    read_common_urn,
    read_pwid_http,
    read_pwid_uri,
    read_pwid_urn,
)
from timegate.identifiers.replay_link import read_replay
from timegate.identifiers.url import read_accept_datetime, read_url

_READERS: Final[tuple[Reader, ...]] = (
    read_pwid_urn,
    read_pwid_uri,
    read_duri,
    read_pdi,
    read_pwid_http,
)
_WRAP: Final = re.compile(r"\s++")
_LINE_BREAKS: Final = frozenset("\n\r\v\f\x85\u2028\u2029")


def parse(
    text: str, registry: Registry | None = None, *, strict: bool = False
) -> ParsedIdentifier:
    """Return what *text* says. Raises Malformed: what is wrong, and at which character.

    With a *registry*, links into its archives are read as such, and the archive that a PWID
    names is looked up in it.
    """
    check_length(text)
    common = read_common_urn(text) or read_common_duri(text)
    reading = common or _parse(text, registry, Diagnosis(strict=strict))
    return reading if registry is None else _with_entry(reading, registry)


def _parse(text: str, registry: Registry | None, diagnosis: Diagnosis) -> ParsedIdentifier:
    date = read_accept_datetime(text, diagnosis)
    if date:
        return date
    check_text(text)
    for read in _READERS:
        reading = read(text, diagnosis)
        if reading:
            return reading
    _refuse_nearly_pwid(text)
    replay = None if registry is None else read_replay(text, registry, diagnosis)
    return replay or read_url(text, diagnosis)


def _with_entry(reading: ParsedIdentifier, registry: Registry) -> ParsedIdentifier:
    archive = reading.identifier.archive
    if reading.entry or archive is None or "pwid" not in reading.scheme:
        return reading
    entry = registry.by_pwid(archive)
    return reading if entry is None else reading._replace(entry=entry.id)


def _refuse_nearly_pwid(text: str) -> None:
    head = text[:16].lower()
    if head.startswith(("urn", "pwid", "wpid")) and ("pwid" in head or "wpid" in head):
        raise Malformed("not-pwid", "a PWID begins with urn:pwid: or pwid:", 0)


def parse_wrapped(
    text: str, registry: Registry | None = None, *, strict: bool = False
) -> ParsedIdentifier:
    """Like `parse`, for text pasted from print: what is broken over lines is joined (G-8).

    Blanks around a line break go, a hyphen before it stays: drafts break after real hyphens.
    """
    joined, cuts = _joined(text)
    if not cuts:
        return parse(text, registry, strict=strict)
    try:
        reading = parse(joined, registry, strict=strict)
    except Malformed as complaint:
        where = _position_in(cuts, complaint.position)
        raise Malformed(complaint.code, complaint.why, where) from complaint
    placed = [
        Diagnostic(d.token, d.why, _position_in(cuts, d.position), d.repair)
        for d in reading.diagnostics
    ]
    note = Diagnostic("unwrapped", "joined over line breaks", cuts[0][0], repair=False)
    return reading._replace(diagnostics=(note, *placed))


def _joined(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return *text* without line breaks, and for each cut where it is and how much is gone."""
    kept: list[str] = []
    cuts: list[tuple[int, int]] = []
    end = length = removed = 0
    for run in _WRAP.finditer(text):
        if _LINE_BREAKS.isdisjoint(run[0]):
            continue
        kept.append(text[end : run.start()])
        length += run.start() - end
        end = run.end()
        removed += len(run[0])
        cuts.append((length, removed))
    kept.append(text[end:])
    return "".join(kept), cuts


def _position_in(cuts: list[tuple[int, int]], position: int) -> int:
    """Return where the character at *position* of the joined text stood before."""
    before = bisect_right(cuts, position, key=lambda cut: cut[0])
    return position + (cuts[before - 1][1] if before else 0)
