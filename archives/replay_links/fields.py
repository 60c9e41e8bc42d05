"""The two fields of a link into an archive: its time, and the URL of the original.

A time is read in every notation that archives have used. It is a claim: Wayback software
redirects from any time to the nearest capture. It is read as written, no finer: ``2013`` stays
a year, nothing is padded.

The URL of the original (the target) is read with the damage undone that front ends do: servers
merge ``//``, people omit the scheme, frameworks percent-encode it. A target is decoded only
where its scheme colon is encoded or where it is the value of a parameter, and only once:
elsewhere its triplets are part of the original URL.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import unquote

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import GRANULARITIES, Moment
from archives.registry.forms import LinkKind


class Stamp(NamedTuple):
    """The segment of a link that holds the time."""

    text: str | None
    """The time as written; None if there is none."""
    digits: str
    """``YYYYMMDD...`` in UTC, not checked yet; empty if the time cannot be known."""
    modifier: str | None = None
    kind: LinkKind | None = None
    """The kind of link that the token implies: ``*`` a calendar, ``+`` the latest capture."""
    id: str | None = None


_DIGITS: Final = frozenset("0123456789")
_TO_MASK: Final = str.maketrans("0123456789", "#" * 10)
# archive.today writes dots, PANDORA a hyphen before the hour, hand-made links dashes.
_MASKS: Final = frozenset(
    {"####-##-##", "####.##.##", "####.##.##-######", "########-####", "########-######"}
)
_LONGEST_MODIFIER: Final = 4
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_BASE62: Final = {
    character: value
    for value, character in enumerate(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    )
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_JAPAN: Final = timedelta(hours=9)
# WebCite made captures from 1998 to 2019-07; nine letters that give another year are a word.
_WEBCITE_YEARS: Final = range(1998, 2021)


def read_stamp(codec: str, token: str) -> Stamp | None:
    """Read *token* in the notation *codec*; None if it is no time in it."""
    return _CODECS[codec](token)


def stamp_moment(stamp: Stamp, position: int, diagnosis: Diagnosis) -> Moment | None:
    """Return the moment that *stamp* states; None if it states none.

    Raises Malformed for a date that does not exist; *position* is where the stamp begins.
    """
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
        # If the stamp is written as plain digits, the error can point at the wrong digit.
        raise (
            error.moved(position)
            if stamp.text == digits
            else Malformed(error.code, error.why, position)
        ) from None


def _without_zero_parts(digits: str) -> str:
    """Remove a month or day 00, which cannot be meant.

    Bots pad 2010 to 20100000000000. Some stamps of the Internet Archive from the year 2000 have
    00 inserted before the month or day: 20000008241731 means 2000-08-24 17:31 (EDGI client).
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
    if token == "+":  # noqa: S105 - not a secret; UKGWA's sign for the latest capture
        return Stamp(None, "", kind="latest")
    if token.translate(_TO_MASK) in _MASKS:
        return Stamp(token, "".join(filter(_DIGITS.__contains__, token)))
    end = _digits_at_start(token)
    # A stray hyphen after the digits occurs at the Internet Archive.
    tail = token[end:].removeprefix("-")
    text = token[:end] or None
    # The calendar of the Internet Archive may be limited: 20200101-20201231*.
    if text and tail.endswith("*") and _DIGITS.issuperset(tail[:-1]):
        return Stamp(text, token[:end], kind="calendar")
    if _is_modifier(tail):
        return Stamp(text, token[:end], tail, kind=None if text else "timegate")
    return Stamp(text, token[:end]) if text and not tail else None


def _loose(token: str) -> Stamp | None:
    """Webrecorder: at least fourteen digits, then any text."""
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
    """WebCite: microseconds since 1970 in nine base-62 digits, 0 to 9 before A to Z."""
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
    """FreezePage: ten digits of Unix time and ten letters (inferred from its ids only)."""
    seconds, letters = token[:10], token[10:]
    if _digits_at_start(token) != 10 or not (letters.isascii() and letters.isalpha()):
        return None
    instant = _EPOCH + timedelta(seconds=int(seconds))
    return Stamp(seconds, Moment.of(instant).digits, id=token)


def _named(token: str) -> Stamp | None:
    """PANDORA: S2000-Dec-5."""
    year, _, rest = token.removeprefix("S").partition("-")
    month, _, day = rest.partition("-")
    numbers = (year + day).translate(_TO_MASK)
    if numbers not in ("#####", "######") or len(year) != 4 or month.lower() not in _MONTHS:
        return None
    return Stamp(token, f"{year}{_MONTHS.index(month.lower()) + 1:02}{day:0>2}")


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


_HEX: Final = frozenset("0123456789abcdefABCDEF")
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SCHEME_CHARACTERS: Final = _LETTERS | frozenset("0123456789+-.")
# Characters that crawled URIs hold unescaped. All others stay triplets when a target is
# decoded, so that decoding produces no blank, quote or line break.
_RAW: Final = frozenset(b"%:/?#[]@!$&'()*+,;=-._~^`{|}") | frozenset(
    each for each in range(128) if chr(each).isalnum()
)
_LONGEST_SCHEME: Final = 24
_WEB: Final = ("http", "https", "ftp")
_FILES: Final = frozenset(
    ["htm", "html", "shtml", "xhtml", "php", "asp", "aspx", "jsp", "cgi", "pdf", "txt", "xml"]
)
"""Suffixes of files that are no top-level domains: ``/web/petabox.php`` is a page."""


def is_target(text: str, *, bare: bool) -> bool:
    """Whether *text* can be a target; with *bare*, also one without a scheme.

    Without a scheme, its first segment must look like a host: it has a dot (P-22). Schemes
    other than http, https and ftp count only with *bare*: ``Special:Search`` is a page.
    """
    scheme = _scheme(text)
    if scheme and (bare or scheme.lower() in _WEB):
        return bool(text[_after_colon(text, scheme) :].strip("/"))
    first = _first_segment(text)
    is_file = first.rpartition(".")[2].lower() in _FILES
    return bare and "." in first.strip(".") and first[0] not in "._-%" and not is_file


def repaired_target(text: str, position: int, diagnosis: Diagnosis) -> str:
    """Return the target with its scheme repaired; *position* is where it begins in the link."""
    text = _with_plain_colon(text)
    scheme = _scheme(text)
    if not scheme:
        diagnosis.repair("scheme-assumed", "the target has no scheme: http is taken", position)
        return f"http://{text}"
    rest = text[len(scheme) + 1 :]
    if scheme.lower() in _WEB and not rest.startswith("//"):
        diagnosis.repair("slash-collapsed", "// after the scheme was merged to /", position)
        return f"{scheme}://{rest.removeprefix('/')}"
    return text


def without_viewer(text: str) -> str:
    """Undo what archive.today adds: escaped ``?`` and ``#``, and a reader's selection."""
    text = text.partition("#selection-")[0]
    for triplet, plain in (("%3F", "?"), ("%3f", "?"), ("%23", "#")):
        text = text.replace(triplet, plain)
    return text


def without_words(text: str) -> str:
    """Return the target in Google's ``cache:[id:]target[+words]``."""
    text = text.partition("+")[0].partition("%20")[0]
    identifier, colon, rest = text.partition(":")
    return rest if colon and len(identifier) == 12 and "." not in identifier else text


def decoded(text: str) -> str:
    """Remove one layer of percent-encoding, except from characters that a URI cannot hold."""
    parts = text.split("%")
    out = [parts[0]]
    for part in parts[1:]:
        triplet = part[:2]
        value = int(triplet, 16) if len(triplet) == 2 and _HEX.issuperset(triplet) else -1
        out.append(chr(value) + part[2:] if value in _RAW else f"%{part}")
    return "".join(out)


def is_encoded(text: str) -> bool:
    """Whether the scheme colon of *text* is written as a triplet."""
    scheme = _scheme(text)
    return bool(scheme) and text[len(scheme)] == "%"


def _with_plain_colon(text: str) -> str:
    """Decode all of *text* if its slashes are encoded too, else only the colon (NARA)."""
    if not is_encoded(text):
        return text
    scheme = _scheme(text)
    rest = text[len(scheme) + 3 :]
    return f"{scheme}:{rest}" if rest.startswith("/") else decoded(text)


def _scheme(text: str) -> str:
    """Return the scheme, whether its colon is encoded or not; empty if there is none.

    ``example.com:80`` has no scheme: a number after the colon is a port. ``duri:2016:http...``
    has one.
    """
    head = text[: _LONGEST_SCHEME + 1]
    end = next((at for at, each in enumerate(head) if each not in _SCHEME_CHARACTERS), 0)
    if not end or head[0] not in _LETTERS:
        return ""
    after = text[end : end + 4].lower()
    if after.startswith("%3a"):
        return text[:end]
    if not after.startswith(":") or _first_segment(text[end + 1 :]).isdecimal():
        return ""
    return text[:end] if text[:end].lower() in _WEB or "." not in text[:end] else ""


def _after_colon(text: str, scheme: str) -> int:
    return len(scheme) + (3 if text[len(scheme)] == "%" else 1)


def _first_segment(text: str) -> str:
    end = min((at for at in map(text.find, "/?#") if at >= 0), default=len(text))
    return text[:end]
