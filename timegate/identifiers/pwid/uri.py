"""The PWID in its two older notations, both of draft-pwid-uri-specification-02.

    pwid: archive-id : YYYY-MM-DD ("_" / "T") hh ["."] mm ["."] ss "Z" : coverage : item
    https://archive-id/pwid?time=...&coverage=...&item=...

The item is a plain URI without additional encoding, so nothing is decoded (U-3).
"""

import re
from typing import Final

from archives.diagnostics import Diagnosis, Malformed, first_fault
from archives.moment import Moment
from archives.registry import Registry
from archives.replay_links.fields import decoded, is_encoded
from timegate.identifiers.model import UNRESERVED, IdentifierKind, ParsedIdentifier
from timegate.identifiers.pwid import (
    PRECISIONS,
    Pwid,
    is_domain,
    read_archive,
    read_item_id,
    read_item_uri,
    read_precision,
    split,
)

_PREFIX: Final = "pwid:"
_COVERAGES: Final = PRECISIONS | {"other"}
_ARCHIVE: Final = re.compile(rf"[{UNRESERVED}]++")
_DATE: Final = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_TIME: Final = re.compile(rf"{_DATE}[_Tt]([0-9]{{2}})\.?([0-9]{{2}})\.?([0-9]{{2}})([Zz]?)")
_URN_TIME: Final = re.compile(rf"{_DATE}[_Tt]([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}})([Zz]?)")
_DAY: Final = re.compile(rf"{_DATE}([Zz]?)")
_DIGIT: Final = (re.compile("[0-9]"),)
_SHAPE: Final = (
    *_DIGIT * 4,
    *((re.compile("-"), *_DIGIT * 2) * 2),
    re.compile("[_Tt]"),
    *((*_DIGIT * 2, re.compile(r"[.:]?")) * 2),
    *_DIGIT * 2,
)


def read_pwid_uri(
    text: str, diagnosis: Diagnosis, _registry: Registry | None = None
) -> ParsedIdentifier | None:
    """Read ``pwid:...``."""
    if text[:5].lower() != _PREFIX:
        return None
    name, hash_sign, fragment = text.partition("#")
    archive_end, time_end, precision_end = split(name, len(_PREFIX))
    pwid = Pwid(
        _read_archive(name[5:archive_end], diagnosis),
        _read_time(name, archive_end + 1, time_end, diagnosis),
        _read_coverage(name[time_end + 1 : precision_end], diagnosis, time_end + 1),
        _read_plain_item(name[precision_end + 1 :], diagnosis, precision_end + 1),
    )
    return ParsedIdentifier(
        pwid, PWID_URI, tuple(diagnosis.diagnostics), fragment if hash_sign else None
    )


PWID_URI: Final = IdentifierKind(
    "pwid", "PWID, as a pwid: URI", read_pwid_uri, prefixes=("pwid:",)
)


def _read_archive(text: str, diagnosis: Diagnosis) -> str:
    offset = len(_PREFIX)
    if not _ARCHIVE.fullmatch(text) or text.startswith("~") or is_domain(text.lower()):
        return read_archive(text, offset)
    why = "an archive-id that is not a domain name is read as a registered id"
    diagnosis.note("legacy-archive-id", why, offset)
    return "~" + text.lower()


def _read_time(text: str, start: int, end: int, diagnosis: Diagnosis) -> Moment:
    """Read the time of a ``pwid:`` URI, in which seconds are mandatory."""
    stated = _TIME.fullmatch(text, start, end)
    if stated is None:
        stated = _read_other_time(text, start, end, diagnosis)
    *digits, zone = stated.groups()
    if not zone:
        diagnosis.repair("missing-zone", "Z is missing: read as UTC", end)
    return Moment.stated("".join(digits), text, start)


def _read_other_time(text: str, start: int, end: int, diagnosis: Diagnosis) -> re.Match[str]:
    stated = _URN_TIME.fullmatch(text, start, end)
    if stated:
        diagnosis.repair("urn-style-time", "colons in the time are only used in the URN", start)
        return stated
    stated = _DAY.fullmatch(text, start, end)
    if stated:
        diagnosis.repair("coarse-time", "a time in a pwid URI must include seconds", start)
        return stated
    why = "the time in a pwid URI is written like 2016-01-22_11.20.29Z"
    raise Malformed("bad-time-syntax", why, first_fault(text, start, end, _SHAPE))


def _read_coverage(text: str, diagnosis: Diagnosis, offset: int) -> str:
    coverage = read_precision(text, offset)
    if coverage not in _COVERAGES:
        why = f"extensions such as {coverage} are only defined for the URN"
        diagnosis.repair("extension", why, offset)
    return coverage


def _read_plain_item(text: str, diagnosis: Diagnosis, offset: int) -> str:
    """Read an item without additional encoding; its ids may lack the ``~`` (U-2)."""
    item = read_item_id(text, diagnosis.note, offset)
    return item or read_item_uri(text, diagnosis, offset)


_FORM: Final = re.compile(
    r"https?+://([^/?#:@]++)/pwid\?time=([^&]*+)&coverage=([^&]*+)&item=", re.IGNORECASE
)
_TIME_OF_URN: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?)?Z"
)


def read_pwid_http(
    text: str, diagnosis: Diagnosis, _registry: Registry | None = None
) -> ParsedIdentifier | None:
    """Read ``https://archive.org/pwid?time=...&coverage=...&item=...``."""
    form = _FORM.match(text)
    if form and is_encoded(text[form.end() :]):
        # Programs encode the parameters, people often do not: the first colon shows it (G-4).
        text = decoded(text)
        form = _FORM.match(text)
    if form is None:
        _refuse_misspelled(text)
        return None
    name, hash_sign, fragment = text.partition("#")
    stated = _TIME_OF_URN.fullmatch(name, form.start(2), form.end(2))
    if stated:
        time = Moment.stated("".join(filter(None, stated.groups())), name, form.start(2))
    else:
        time = _read_time(name, form.start(2), form.end(2), diagnosis)
    pwid = Pwid(
        read_archive(form[1], form.start(1)),
        time,
        read_precision(form[3], form.start(3)),
        _read_plain_item(name[form.end() :], diagnosis, form.end()),
    )
    return ParsedIdentifier(
        pwid, PWID_HTTP, tuple(diagnosis.diagnostics), fragment if hash_sign else None
    )


PWID_HTTP: Final = IdentifierKind("pwid-http", "PWID, as an HTTP address", read_pwid_http)


def _refuse_misspelled(text: str) -> None:
    """Raise Malformed for a misspelled prefix: no later kind could read the text either."""
    head = text[:16].lower()
    if head.startswith(("urn", "pwid", "wpid")) and ("pwid" in head or "wpid" in head):
        raise Malformed("not-pwid", "a PWID begins with urn:pwid: or pwid:", 0)
