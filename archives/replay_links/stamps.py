"""The time in a link into an archive, in every notation that archives have used.

A stamp is a claim, not a fact: Wayback software leads from any time to the nearest capture.
What is read here is what the link says, no finer: ``2013`` stays a year, nothing is padded.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import unquote

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import GRANULARITIES, Moment
from archives.registry.forms import LinkKind


class Stamp(NamedTuple):
    """What stands in the place of the time."""

    text: str | None
    """The time as written; None where there is none."""
    digits: str
    """``YYYYMMDD...`` in UTC, not checked yet; empty where no time can be known."""
    modifier: str | None = None
    kind: LinkKind | None = None
    """What the token makes of the link: ``*`` a calendar, ``+`` the latest."""
    id: str | None = None


_DIGITS: Final = frozenset("0123456789")
_TO_MASK: Final = str.maketrans("0123456789", "#" * 10)
# archive.today writes dots, PANDORA a hyphen before the hour, hand-made links dashes.
_MASKS: Final = frozenset(
    {"####-##-##", "####.##.##", "####.##.##-######", "########-####", "########-######"}
)
_LONGEST_MODIFIER: Final = 4
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun")
_MONTHS_TOO: Final = ("jul", "aug", "sep", "oct", "nov", "dec")
_BASE62: Final = {
    character: value
    for value, character in enumerate(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    )
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_JAPAN: Final = timedelta(hours=9)
# WebCite took copies from 1998 to 2019-07; nine letters that mean another year are a word.
_WEBCITE_YEARS: Final = range(1998, 2021)


def read_stamp(codec: str, token: str) -> Stamp | None:
    """Read *token*; None if it is no time in this notation."""
    return _CODECS[codec](token)


def settled(stamp: Stamp, position: int, diagnosis: Diagnosis) -> Moment | None:
    """Return the moment a stamp states, None if none; dates that never were are Malformed."""
    digits = stamp.digits
    if len(digits) < 4:
        return None
    usable = _without_zero_parts(digits[:14]) if len(digits) >= 14 else digits
    if len(usable) not in GRANULARITIES:
        usable = usable[: max(length for length in GRANULARITIES if length < len(usable))]
    if usable != digits:
        diagnosis.repair("odd-stamp", f"{digits[:24]} is read as {usable}", position)
    try:
        return Moment(usable)
    except Malformed as error:
        # Where only digits are written, the complaint can point at the wrong one.
        raise (
            error.moved(position)
            if stamp.text == digits
            else Malformed(error.code, error.why, position)
        ) from None


def _without_zero_parts(digits: str) -> str:
    """Drop what cannot be meant: a month or day 00.

    Bots pad 2010 to 20100000000000. Some stamps of the Internet Archive from the year 2000 have
    00 put in before the month or day: 20000008241731 means 2000-08-24 17:31 (EDGI client).
    """
    for start in (4, 6):
        if digits[start : start + 2] == "00":
            if not digits[start:].strip("0"):
                return digits[:start]
            return digits[:start] + digits[start + 2 :]
    return digits


def _wayback(token: str) -> Stamp | None:
    if token in ("*", "%2A", "%2a"):
        return Stamp(None, "", kind="calendar")
    if token == "+":  # noqa: S105 - not a secret; UKGWA's sign for the latest copy
        return Stamp(None, "", kind="latest")
    if token.translate(_TO_MASK) in _MASKS:
        return Stamp(token, "".join(filter(_DIGITS.__contains__, token)))
    end = _digits_at_start(token)
    # A stray hyphen after the digits occurs at the Internet Archive.
    tail = token[end:].removeprefix("-")
    text = token[:end] or None
    if tail == "*" and text:
        return Stamp(text, token[:end], kind="calendar")
    if _is_modifier(tail):
        return Stamp(text, token[:end], tail, kind=None if text else "timegate")
    return Stamp(text, token[:end]) if text and not tail else None


def _loose(token: str) -> Stamp | None:
    """Webrecorder: fourteen digits, then anything."""
    end = _digits_at_start(token)
    return _wayback(token) or (Stamp(token[:end], token[:end]) if end >= 14 else None)


def _japan(token: str) -> Stamp | None:
    """Megalodon: YYYY-MMDD-HHMM-SS, nine hours ahead of UTC."""
    if token.translate(_TO_MASK) != "####-####-####-##":
        return None
    digits = token.replace("-", "")
    try:
        local = Moment(digits).window[0]
        return Stamp(token, Moment.of(local - _JAPAN).digits)
    except (Malformed, OverflowError):
        return Stamp(token, digits)


def _base62(token: str) -> Stamp | None:
    """WebCite: nine characters that are microseconds since 1970, digits before capitals."""
    if len(token) != 9 or not _BASE62.keys() >= set(token):
        return None
    number = 0
    for character in token:
        number = number * 62 + _BASE62[character]
    return _microseconds(token, number)


def _decimal(token: str) -> Stamp | None:
    """WebCite: the same number in sixteen decimal digits."""
    if len(token) != 16 or _digits_at_start(token) != 16:
        return None
    return _microseconds(token, int(token))


def _microseconds(token: str, number: int) -> Stamp | None:
    instant = _EPOCH + timedelta(microseconds=number)
    if instant.year not in _WEBCITE_YEARS:
        return None
    return Stamp(token, Moment.of(instant).digits, id=token)


def _unix(token: str) -> Stamp | None:
    """FreezePage: ten digits of Unix time and ten letters (inferred from the ids alone)."""
    seconds, letters = token[:10], token[10:]
    if _digits_at_start(token) != 10 or not (letters.isascii() and letters.isalpha()):
        return None
    instant = _EPOCH + timedelta(seconds=int(seconds))
    return Stamp(seconds, Moment.of(instant).digits, id=token)


def _named(token: str) -> Stamp | None:
    """PANDORA: S2000-Dec-5."""
    year, _, rest = token.removeprefix("S").partition("-")
    month, _, day = rest.partition("-")
    months = _MONTHS + _MONTHS_TOO
    numbers = (year + day).translate(_TO_MASK)
    if numbers not in ("#####", "######") or len(year) != 4 or month.lower() not in months:
        return None
    return Stamp(token, f"{year}{months.index(month.lower()) + 1:02}{day:0>2}")


def _iso(token: str) -> Stamp | None:
    """Dates in parameters, perhaps with a time: 2018-02-11+10:20:30, 2016-01-22_11.20.29Z."""
    plain = unquote(token)
    date, rest = plain[:10], plain[10:].removesuffix("Z")
    time = rest[1:].translate(_TO_MASK)
    if date.translate(_TO_MASK) != "####-##-##" or len(token) > 40:
        return _wayback(token)
    if rest and (rest[0] not in "T_+ " or time.replace(".", ":") not in ("##:##:##", "##:##")):
        return None
    return Stamp(token, "".join(filter(_DIGITS.__contains__, plain)))


def _digits_at_start(token: str) -> int:
    return next((at for at, each in enumerate(token) if each not in _DIGITS), len(token))


def _is_modifier(text: str) -> bool:
    """Whether *text* is ``id_``, ``x_`` or another word of Wayback software."""
    word = text[:-1]
    return (
        text[-1:] == "_"
        and 1 <= len(word) <= _LONGEST_MODIFIER
        and word.isascii()
        and (word.isalpha() and word.islower())
    )


_CODECS: Final[Mapping[str, Callable[[str], Stamp | None]]] = {
    "": _wayback,
    "jst": _japan,
    "base62": _base62,
    "micros": _decimal,
    "unix": _unix,
    "named": _named,
    "iso": _iso,
    "loose": _loose,
}
