"""The PWID as a URN, by draft-08; the spellings of draft-02 are repaired.

    archival-time  = YYYY-MM-DD [ "T" hh ":" mm [ ":" ss [ "." 1*9DIGIT ] ] ] "Z"
    precision-spec = 1*ALPHA
    item           = "~" 1*unreserved / URI with  [ ] ? # %  written as triplets

By RFC 8141, section 2.3, ``?+``, ``?=`` and ``#`` begin components that are not part of the
name, so a ``?`` of the archived URL must be written ``%3F``.
"""

from binascii import Error, a2b_base64
from dataclasses import replace
from typing import Final

from archives.diagnostics import Diagnosis, Malformed, first_fault
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from archives.uri import check_text, lone_percent
from timegate.identifiers.model import IdentifierKind, ParsedIdentifier
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

_PREFIX: Final = "urn:pwid:"
# "urn:pwid:" in Base64: ukwa-access-api writes PWIDs in paths like this.
_PREFIX_BASE64: Final = "dXJuOnB3aWQ6"
_COMMON: Final = compiled(
    r"urn:pwid:([a-z0-9.-]++):([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-5][0-9])Z"
    rf":({'|'.join(sorted(PRECISIONS))}):"
    r"(https?+://[a-z0-9.-]++(?:/(?:[!$&-;=@-Z_a-z~]++|%3F|%25[0-9A-Fa-f]{2})*+)?+)"
)
_TIME: Final = compiled(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?([Zz]?)"
)
_TIME_DRAFT_02: Final = compiled(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):?([0-9]{2}):?([0-9]{2})([Zz]?)"
)
_SHAPE: Final = tuple(
    compiled("[0-9]" if each == "d" else f"(?i:[{each}])")
    for each in "dddd-dd-ddTdd:dd:dd.ddddddddd"
)
# RFC 8141: a component has at least one pchar.
_COMPONENT: Final = compiled(r"\?[+=](?=[A-Za-z0-9._~!$&'()*+,;=:@%-])")
_FIVE: Final = {"%25": "%", "%5B": "[", "%5D": "]", "%3F": "?", "%23": "#"}
_TRIPLET: Final = compiled(r"%[0-9A-Fa-f]{2}")
_RAW: Final = compiled(r"[][?]")


def read_common_urn(text: str) -> ParsedIdentifier | None:
    """Read the most common spelling with one expression; None for every other text.

    Gives the same result as `read_pwid_urn`, in a third of the time.
    """
    common = _COMMON.fullmatch(text)
    if common is None or not is_domain(common[1]):
        return None
    archive, *time, precision, item = common.groups()
    if "%" in item:
        # In this order: %253F stands for %3F, not for a question mark.
        item = item.replace("%3F", "?").replace("%25", "%")
    moment = Moment.stated("".join(time), text, common.start(2))
    return ParsedIdentifier(Pwid(archive, moment, precision, item), PWID_URN)


def read_pwid_urn(
    text: str, diagnosis: Diagnosis, _registry: Registry | None = None
) -> ParsedIdentifier | None:
    """Read ``urn:pwid:...``, also in Base64."""
    if text[:9].lower() != _PREFIX:
        return _read_base64(text, diagnosis)
    name, fragment = _without_components(text, diagnosis)
    archive_end, time_end, precision_end = split(name, len(_PREFIX))
    pwid = Pwid(
        read_archive(name[9:archive_end], 9),
        _read_time(name, archive_end + 1, time_end, diagnosis),
        _read_precision(name[time_end + 1 : precision_end], diagnosis, time_end + 1),
        _read_item(name[precision_end + 1 :], diagnosis, precision_end + 1),
    )
    return ParsedIdentifier(pwid, PWID_URN, tuple(diagnosis.diagnostics), fragment)


PWID_URN: Final = IdentifierKind(
    "urn:pwid",
    "PWID, as a URN",
    read_pwid_urn,
    read_common_urn,
    prefixes=("urn:pwid:",),
    encodes_item=True,
)


def _read_base64(text: str, diagnosis: Diagnosis) -> ParsedIdentifier | None:
    if not text.startswith(_PREFIX_BASE64):
        return None
    diagnosis.repair("base64", "the PWID is in Base64, as some archives write it in paths", 0)
    try:
        padded = text.translate(str.maketrans("-_", "+/")).rstrip("=")
        decoded = a2b_base64(padded + "=" * (-len(padded) % 4), strict_mode=True).decode()
    except (Error, ValueError) as error:
        raise Malformed(
            "not-pwid", f"it looks like Base64, but cannot be decoded: {error}", 0
        ) from error
    try:
        check_text(decoded)
        return read_pwid_urn(decoded, diagnosis)
    except Malformed as complaint:
        why = f"in the decoded {decoded[:80]!r}: {complaint.why}"
        raise Malformed(complaint.code, why, 0) from complaint


def _without_components(text: str, diagnosis: Diagnosis) -> tuple[str, str | None]:
    """Return the name without the components of RFC 8141, and the fragment (N-3)."""
    name, hash_sign, fragment = text.partition("#")
    mark = name.find("?")
    component = _COMPONENT.match(name, mark) if mark >= 0 else None
    if component:
        name = name[:mark]
    if component or hash_sign:
        why = "the rest is not part of the name by RFC 8141 and is ignored"
        diagnosis.note("rqf-ignored", why, len(name))
    return name, fragment if hash_sign else None


def _read_time(name: str, start: int, end: int, diagnosis: Diagnosis) -> Moment:
    stated = _TIME.fullmatch(name, start, end)
    if stated is None:
        stated = _TIME_DRAFT_02.fullmatch(name, start, end)
        if stated is None:
            why = "a PWID's time is written like 2016-01-22T11:20:29Z or 2016-01-22Z"
            raise Malformed("bad-time-syntax", why, first_fault(name, start, end, _SHAPE))
        why = "a time without colons is the spelling of draft-02"
        diagnosis.repair("legacy-time", why, start)
    *digits, zone = stated.groups()
    if not zone:
        diagnosis.repair("missing-zone", "Z is missing: read as UTC", end)
    moment = Moment.stated("".join(filter(None, digits)), name, start)
    if moment.leap_second_unconfirmed:
        why = "a leap second that has not been announced yet"
        diagnosis.note("leap-second-unconfirmed", why, start)
    return moment


def _read_precision(text: str, diagnosis: Diagnosis, offset: int) -> str:
    precision = read_precision(text, offset)
    if precision not in PRECISIONS:
        why = f"{precision} is an extension: not one of {', '.join(sorted(PRECISIONS))}"
        diagnosis.note("extension", why, offset)
    return precision


def _read_item(text: str, diagnosis: Diagnosis, offset: int) -> str:
    item = read_item_id(text, diagnosis.repair, offset)
    if item:
        return item
    decoded = _decoded(text, diagnosis, offset)
    if decoded == text:
        return read_item_uri(text, diagnosis, offset)
    return _read_decoded(decoded, text, diagnosis, offset)


def _read_decoded(decoded: str, text: str, diagnosis: Diagnosis, offset: int) -> str:
    """Read the *decoded* URI; positions in errors and diagnostics are those in *text*."""
    inner = Diagnosis(strict=diagnosis.strict)
    try:
        item = read_item_uri(decoded, inner, 0)
    except Malformed as complaint:
        raise Malformed(
            complaint.code, complaint.why, offset + _encoded_at(text, complaint.position)
        ) from None
    for diagnostic in inner.diagnostics:
        position = offset + _encoded_at(text, diagnostic.position)
        diagnosis.diagnostics.append(replace(diagnostic, position=position))
    return item


def _encoded_at(text: str, position: int) -> int:
    """Return the index in *text* of the character at *position* in the decoded text."""
    for triplet in _TRIPLET.finditer(text):
        if triplet.start() >= position:
            break
        position += 2
    return position


def _decoded(text: str, diagnosis: Diagnosis, offset: int) -> str:
    """Decode the five triplets once, unless the text was evidently not encoded (P-21)."""
    raw = _RAW.search(text)
    if raw is None and "%" not in text:
        return text
    if raw:
        why = f"a raw {raw[0]} shows that the URL was not encoded: read literally"
        diagnosis.repair("raw-reserved", why, offset + raw.start())
        return text
    for triplet in _TRIPLET.finditer(text):
        if triplet[0].upper() not in _FIVE:
            why = f"{triplet[0]} shows that the URL was not encoded: read literally"
            diagnosis.repair("raw-percent", why, offset + triplet.start())
            return text
    decoded = _TRIPLET.sub(lambda triplet: _FIVE[triplet[0].upper()], text)
    if lone_percent(decoded) is not None:
        why = "the archived URL has a percent sign outside a triplet: left as it is"
        diagnosis.repair("bad-inner-percent", why, offset)
    return decoded
