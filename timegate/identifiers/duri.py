"""Dated URIs: a resource at a time (``duri``), or the thing that it described (``tdb``).

    duri      = ("duri" / "tdb") ":" [ timestamp ] ":" absolute-URI
    timestamp = YYYY [ "-" MM [ "-" DD ] ] / YYYY-MM-DD "T" time zone
    time      = hh ":" mm [ ":" ss [ "." 1*DIGIT ] ]
    zone      = "Z" / ("+"/"-") hh ":" mm

A working grammar for draft-masinter-dated-uri-10, whose ABNF was not available (D-1). No
archive is named, so any archive may answer. The timestamp ends at the first colon followed by
a letter: a URI scheme begins with a letter, no part of a time does.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Final

from archives.diagnostics import Diagnosis, Malformed, first_fault
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from archives.uri import canonical_uri, read_uri, scheme_of
from timegate.identifiers.model import CanonicalEquality, IdentifierKind, ParsedIdentifier

_PREFIX: Final = compiled(r"(urn:)?(duri|tdb):", re.IGNORECASE)
_COMMON: Final = compiled(
    r"duri:([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:T([0-9]{2}):([0-9]{2}):([0-5][0-9])Z)?+)?+)?+"
    r":(https?+://[a-z0-9.-]++(?:/[!$&-;=?-Z_a-z~]*+)?+)"
)
_SPLIT: Final = compiled(r"((?:[^:]++|:(?![A-Za-z]))*+):(?=[A-Za-z])")
_NO_TIME_FOLLOWS: Final = compiled(r":(?![0-9])")
_DATE: Final = compiled(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")
_BASIC_DATE: Final = compiled(r"[0-9]{4}[0-9]{2}(?:[0-9]{2})?")
# The timestamps of archive links; ten digits, an hour, are no time of a dated URI (D-2).
_STAMP: Final = compiled(r"([0-9]{12}(?:[0-9]{2})?)[Zz]?")
_TIME: Final = compiled(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]++))?+)?+"
)
_SHAPE: Final = tuple(
    compiled("[0-9]" if each == "d" else f"(?i:[{each}])") for each in "dddd-dd-ddTdd:dd"
)
_OFFSET: Final = compiled(r"([+-])([0-9]{2})(?:(:?)([0-9]{2}))?")


@dataclass(frozen=True, slots=True, eq=False)
class Duri(CanonicalEquality):
    """A URI at a time. Without a time, it means now: the newest copy (D-7)."""

    archive: ClassVar[None] = None
    precision: ClassVar[None] = None
    time: Moment | None
    item: str
    thing: bool = False
    """Whether it names the described thing (``tdb``), not the document."""

    @property
    def canonical(self) -> str:
        kind = TDB if self.thing else DURI
        when = "" if self.time is None else str(self.time)
        return f"{kind.name}:{when}:{canonical_uri(self.item)}"

    @property
    def document(self) -> str | None:
        return Duri(self.time, self.item).canonical if self.thing else None

    def __str__(self) -> str:
        return self.canonical


def read_common_duri(text: str) -> ParsedIdentifier | None:
    """Read the most common spelling with one expression; None for every other text.

    Gives the same result as `read_duri`, in a third of the time.
    """
    common = _COMMON.fullmatch(text)
    if common is None:
        return None
    *time, item = common.groups()
    return ParsedIdentifier(Duri(Moment.stated("".join(filter(None, time)), text), item), DURI)


def read_duri(
    text: str, diagnosis: Diagnosis, _registry: Registry | None = None
) -> ParsedIdentifier | None:
    """Read ``duri:...`` and the older ``urn:duri:...``."""
    return _read(text, DURI, diagnosis)


def read_tdb(
    text: str, diagnosis: Diagnosis, _registry: Registry | None = None
) -> ParsedIdentifier | None:
    """Read ``tdb:...`` and the older ``urn:tdb:...``."""
    return _read(text, TDB, diagnosis)


DURI: Final = IdentifierKind(
    "duri", "dated URI", read_duri, read_common_duri, prefixes=("duri:", "urn:duri:")
)
TDB: Final = IdentifierKind(
    "tdb", "thing described by a dated URI", read_tdb, prefixes=("tdb:", "urn:tdb:")
)


def _read(text: str, kind: IdentifierKind, diagnosis: Diagnosis) -> ParsedIdentifier | None:
    prefix = _PREFIX.match(text)
    if prefix is None or prefix[2].lower() != kind.name:
        return None
    if prefix[1]:
        why = "duri was a URN namespace in early drafts only"
        diagnosis.repair("legacy-urn-form", why, 0)
    name, hash_sign, fragment = text.partition("#")
    start = prefix.end()
    end = _end_of_timestamp(name, start)
    time = _read_timestamp(name[start:end], kind, diagnosis, start)
    if hash_sign:
        why = "the fragment stays with the client and is not part of the name"
        diagnosis.note("fragment", why, len(name))
    duri = Duri(time, _read_item(name[end + 1 :], diagnosis, end + 1), kind is TDB)
    return ParsedIdentifier(
        duri, kind, tuple(diagnosis.diagnostics), fragment if hash_sign else None
    )


def _end_of_timestamp(name: str, start: int) -> int:
    timestamp = _SPLIT.match(name, start)
    if timestamp is None:
        why = "a dated URI is written as a time, a colon and an absolute URI"
        raise Malformed("bad-structure", why, _where_no_uri_begins(name, start))
    return timestamp.end(1)


def _where_no_uri_begins(name: str, start: int) -> int:
    """Return the index where a scheme should begin: after the colon that ends the time."""
    if not (name[start : start + 1] == ":" or "0" <= name[start : start + 1] <= "9"):
        return start
    colon = _NO_TIME_FOLLOWS.search(name, start)
    return colon.end() if colon else len(name)


def _read_item(text: str, diagnosis: Diagnosis, offset: int) -> str:
    if scheme_of(text) is None:
        why = "after the time comes an absolute URI, with a scheme such as http:"
        raise Malformed("item-not-absolute", why, offset)
    return read_uri(text, diagnosis, offset)


def _read_timestamp(
    text: str, kind: IdentifierKind, diagnosis: Diagnosis, offset: int
) -> Moment | None:
    if not text:
        if kind is DURI:
            why = "the time is empty: read as now, which is an extension"
            diagnosis.repair("ext-empty-timestamp", why, offset)
        return None
    try:
        moment = (
            _read_date(text, diagnosis, offset)
            or _read_stamp(text, diagnosis, offset)
            or _read_time(text, diagnosis, offset)
        )
    except Malformed as complaint:
        raise complaint.moved(offset) from None
    if moment.leap_second_unconfirmed:
        why = "a leap second that has not been announced yet"
        diagnosis.note("leap-second-unconfirmed", why, offset)
    return moment


def _read_date(text: str, diagnosis: Diagnosis, offset: int) -> Moment | None:
    """Read a year, month or day; None if *text* has a time of day."""
    bare = text[:-1] if text[-1] in "Zz" else text
    stated = _DATE.fullmatch(bare)
    if stated is None:
        if not _BASIC_DATE.fullmatch(bare):
            return None
        why = "a date without hyphens is the spelling of early drafts"
        diagnosis.repair("legacy-basic-date", why, offset)
    if bare != text:
        why = "a date takes no time zone: it is a day in UTC"
        diagnosis.repair("zone-on-date", why, offset + len(bare))
    return Moment.stated(bare.replace("-", ""), text)


def _read_stamp(text: str, diagnosis: Diagnosis, offset: int) -> Moment | None:
    """Read 20160122112029, as archive links state times; None for every other text."""
    stated = _STAMP.fullmatch(text)
    if stated is None:
        return None
    why = "a time without separators is the timestamp of an archive link: read as UTC"
    diagnosis.repair("basic-time", why, offset)
    return Moment.stated(stated[1], text)


def _read_time(text: str, diagnosis: Diagnosis, offset: int) -> Moment:
    stated = _TIME.match(text)
    if stated is None:
        raise _no_time(text)
    digits = "".join(filter(None, stated.groups()))
    zone = text[stated.end() :]
    if not zone:
        why = "the time zone is missing: read as UTC"
        diagnosis.repair("missing-zone", why, offset + stated.end())
    elif zone not in ("Z", "z"):
        return _in_utc(text, digits, stated.end(), diagnosis, offset)
    return Moment.stated(digits, text)


def _no_time(text: str) -> Malformed:
    date = _DATE.match(text)
    if date and _OFFSET.fullmatch(text, date.end()):
        why = "a date takes no offset: it is a day in UTC"
        return Malformed("offset-on-date", why, date.end())
    why = "a time is written like 2012, 2012-01, 2012-01-21, 2012-01-21T11:20Z"
    return Malformed("bad-time-syntax", why, first_fault(text, 0, len(text), _SHAPE))


def _in_utc(text: str, digits: str, zone: int, diagnosis: Diagnosis, offset: int) -> Moment:
    """Return the moment that *digits* state with the offset that begins at index *zone*.

    Offsets are whole minutes, so seconds, fractions and leap seconds do not change.
    """
    stated = _OFFSET.fullmatch(text, zone)
    if stated is None:
        raise Malformed(
            "bad-time-syntax", "a time ends with Z or an offset such as +01:00", zone
        )
    shift = _read_offset(stated, diagnosis, offset)
    # The minute is checked as local time; whether :60 is a leap second is checked in UTC.
    local = datetime.strptime(Moment.stated(digits[:12], text).digits, "%Y%m%d%H%M")  # noqa: DTZ007
    try:
        utc = local - shift
    except OverflowError:
        why = "converted to UTC, this is outside the years 0001 to 9999"
        raise Malformed("bad-year", why, zone) from None
    return Moment.stated(f"{utc.year:04}{utc:%m%d%H%M}{digits[12:]}", text)


def _read_offset(stated: re.Match[str], diagnosis: Diagnosis, offset: int) -> timedelta:
    sign, hours, colon, minutes = stated.groups()
    if hours > "23" or (minutes or "00") > "59":
        raise Malformed("bad-offset", "an offset is less than 24 hours", stated.start())
    shift = timedelta(hours=int(hours), minutes=int(minutes or 0))
    where = offset + stated.start()
    if not colon:
        diagnosis.repair("offset-short", "an offset is written like +01:00", where)
    elif shift:
        diagnosis.note("offset-normalized", "the time was converted to UTC", where)
    elif sign == "-":
        diagnosis.note("unknown-offset", "-00:00 means that the local offset is unknown", where)
    return shift if sign == "+" else -shift
