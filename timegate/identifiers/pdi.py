"""Persistent Document Identifiers (draft-mallery-urn-pdi-00, 1997).

    pdi:// series / year / month / day / unique-id [ . format [ . version ]] [ suffix ]
    suffix = "#" [ scheme "=" ] position *( "," position )  /  "@" position "=" pdi

The series is written like a domain and ends with a country code. ``*`` in place of a part asks
for a list. A unique-id that decodes to a URI encapsulates it; the day is then the day of its
content (I-13). The printed ABNF is faulty in places; rules I-1 to I-14 say how it is read.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache
from typing import Final
from urllib.parse import unquote, unquote_to_bytes

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from archives.uri import canonical_uri, check_characters, lone_percent, negotiable, read_uri
from timegate.identifiers.model import CanonicalEquality, IdentifierKind, ParsedIdentifier

_PREFIX: Final = compiled(r"(?:urn:)?pdi:", re.IGNORECASE)
_SUFFIX: Final = compiled(r"[#@]")
_SERIES: Final = compiled(r"(?:[a-z0-9-]++\.)++", re.IGNORECASE)
_UNIQUE: Final = r"A-Za-z0-9()\-:;$_!'"
_UNIQUE_ID: Final = compiled(rf"(?:[{_UNIQUE}]++|%[0-9A-Fa-f]{{2}})++|\*")
_FORMAT: Final = compiled(r"(?:[A-Za-z0-9+-]++|%[0-9A-Fa-f]{2})++|\*")
# The examples of 2.6 lack the unique-id, and the country: pdi://oma.eop.gov/1997/09/01.html.1
_SHORT_DAY: Final = compiled(r"([0-9]{2})(\..*+)")
_FORMAT_BARE: Final = compiled(r"[A-Za-z0-9-]")
_MOST_CITATIONS: Final = 8
_VERSION: Final = compiled(r"[1-9][0-9]{0,8}|\*")
_POSITION: Final = rf"(?:\([^(),]++(?:,[^(),]++)*+\)|(?:[{_UNIQUE}.]++|%[0-9A-Fa-f]{{2}})++)"
_ONE_POSITION: Final = compiled(_POSITION)
_FRAGMENT: Final = compiled(rf"(?:([A-Za-z][A-Za-z0-9-]*+)=)?+{_POSITION}(?:,{_POSITION})*+")
_TRIPLET: Final = compiled(r"%[0-9A-Fa-f]{2}")
_BARE: Final = compiled(rf"[{_UNIQUE}]")
_FOREIGN: Final = compiled(r"[A-Za-z][A-Za-z0-9+.-]*+:(?=.)")
_FOREIGN_URL: Final = compiled(r"[A-Za-z][A-Za-z0-9+.-]*+://.")


@dataclass(frozen=True, slots=True, eq=False)
class Pdi(CanonicalEquality):
    """A PDI; with ``*``, a query for many documents."""

    series: str
    date: tuple[str, str, str]
    """Year, month and day as written; ``*`` stands for any."""
    unique_id: str
    """As written; triplets are only decoded in `foreign`. Empty in the short form of 2.6."""
    format: str | None = None
    version: str | None = None
    fragment: str | None = None
    origin: str | None = None
    cites: "Pdi | None" = None
    foreign: str | None = None
    """The URI that the unique-id encapsulates."""

    @property
    def archive(self) -> str:
        return self.series

    @property
    def precision(self) -> None:
        return None

    @property
    def time(self) -> Moment | None:
        """The smallest interval that contains every day; None if the year is ``*``."""
        year, month, day = self.date
        if year == "*":
            return None
        if month == "*":
            return Moment(year)
        return Moment(year + month) if day == "*" else Moment(year + month + day)

    @property
    def granularity(self) -> str:
        return "any" if self.time is None else self.time.granularity

    @property
    def item(self) -> str:
        return self.foreign or self.unique_id

    @property
    def negotiable(self) -> bool:
        return self.foreign is not None and negotiable(self.foreign)

    @property
    def selection(self) -> tuple[tuple[str, str], ...]:
        """Format, version, fragment and citation, but for those that select nothing.

        Version 1 is the document itself: every PDI that is minted has it (I-14).
        """
        parts = (
            ("format", None if _is_format_of(self.foreign, self.format) else self.format),
            ("version", None if self.version == "1" else self.version),
            ("fragment", self.fragment),
            ("citation", self.origin),
        )
        return tuple((name, value) for name, value in parts if value is not None)

    @property
    def canonical_id(self) -> str:
        """The unique-id in canonical form."""
        if self.foreign is None:
            return _TRIPLET.sub(_bare_if_allowed, self.unique_id)
        return _escaped(canonical_uri(self.foreign))

    @property
    def is_query(self) -> bool:
        """Whether it has a ``*``, so that it names no single document."""
        return "*" in (*self.date, self.unique_id, self.format, self.version)

    @property
    def document_name(self) -> str:
        """The name of the document in any format and version, in canonical form."""
        slash = "/" if self.unique_id else ""
        day = "/".join(self.date)
        return f"pdi://{self.series}/{day}{slash}{self.canonical_id}"

    @property
    def canonical(self) -> str:
        parts = (self.document_name, self.format, self.version)
        return ".".join(part for part in parts if part is not None) + self.suffix

    @property
    def suffix(self) -> str:
        """The fragment or the citation, with its sign; empty if there is none."""
        if self.cites is not None:
            return f"@{self.origin}={self.cites.canonical}"
        return "" if self.fragment is None else f"#{self.fragment}"

    def __str__(self) -> str:
        return self.canonical


def read_pdi(
    text: str, diagnosis: Diagnosis, _registry: Registry | None = None
) -> ParsedIdentifier | None:
    """Read ``pdi://...`` and ``urn:pdi://...``."""
    if not _PREFIX.match(text):
        return None
    try:
        return _read(text, Diagnosis(strict=diagnosis.strict))
    except Malformed as complaint:
        return _read_encoded_fragment(text, diagnosis, complaint)


def _read(text: str, diagnosis: Diagnosis) -> ParsedIdentifier:
    pdi = _read_name(text, 0, diagnosis, depth=0)
    return ParsedIdentifier(pdi, PDI, tuple(diagnosis.diagnostics))


def _read_encoded_fragment(
    text: str, diagnosis: Diagnosis, complaint: Malformed
) -> ParsedIdentifier:
    """Read a PDI whose fragment sign is encoded; raise *complaint* if that does not help.

    In a request a ``#`` can only be sent as ``%23``, which may also be part of a unique-id
    (I-23).
    """
    before, sign, fragment = text.rpartition("%23")
    if not sign:
        raise complaint
    try:
        reading = _read(f"{before}#{fragment}", Diagnosis(strict=diagnosis.strict))
    except Malformed:
        raise complaint from None
    diagnosis.repair("encoded-fragment", "%23 stands for the # of a fragment", len(before))
    return reading._replace(diagnostics=(*diagnosis.diagnostics, *reading.diagnostics))


PDI: Final = IdentifierKind(
    "pdi",
    "persistent document identifier",
    read_pdi,
    prefixes=("pdi:", "urn:pdi:"),
    names_archive=False,
    is_dated_by_minting=True,
    resolver="the resolver of its series",
)


def _read_name(text: str, start: int, diagnosis: Diagnosis, *, depth: int) -> Pdi:
    prefix = _PREFIX.match(text, start)
    if prefix is None:
        raise Malformed("not-pdi", "a PDI begins with pdi://", start)
    if not text.startswith("//", prefix.end()):
        raise Malformed("pdi-syntax", "pdi: must be followed by //", prefix.end())
    mark = _SUFFIX.search(text, prefix.end())
    end = mark.start() if mark else len(text)
    resource = _read_resource(text, prefix.end() + 2, end, diagnosis)
    if mark is None:
        return resource
    _check_suffix_allowed(resource, text, mark.start(), diagnosis)
    if mark[0] == "#":
        return _with_fragment(resource, text, mark.end())
    if depth >= _MOST_CITATIONS:
        why = f"more than {_MOST_CITATIONS} citations are nested"
        raise Malformed("pdi-citation", why, mark.start())
    if depth:
        why = "a citation is cited: only the outermost one is looked up"
        diagnosis.repair("nested-citation", why, mark.start())
    return _with_citation(resource, text, mark.end(), diagnosis, depth=depth)


def _read_resource(text: str, start: int, end: int, diagnosis: Diagnosis) -> Pdi:
    parts = text[start:end].split("/")
    short = _SHORT_DAY.fullmatch(parts[3]) if len(parts) == 4 else None
    if short is not None:
        return _read_short(parts, short, (start, end), diagnosis)
    if len(parts) != 5:
        why = "a PDI is written pdi://series.country/YYYY/MM/DD/id.format.version"
        raise Malformed("pdi-syntax", why, end)
    series, year, month, day, specifier = parts
    date = (year, month, day)
    _check_series(series, start)
    _check_date(date, start + len(series) + 1)
    where = end - len(specifier)
    unique_id, form, version = _read_specifier(specifier, where)
    pdi = Pdi(
        series.lower(),
        date,
        unique_id,
        form,
        version,
        foreign=_read_foreign(unique_id, form, diagnosis, where),
    )
    _note_wildcards(pdi, diagnosis, start)
    return pdi


def _read_short(
    parts: list[str], day: "re.Match[str]", span: tuple[int, int], diagnosis: Diagnosis
) -> Pdi:
    """Read the form of the examples in 2.6, without unique-id and perhaps without country."""
    start, end = span
    series, year, month, _ = parts
    if _has_country(series):
        _check_series(series, start)
    elif _SERIES.fullmatch(f"{series}."):
        why = "the series does not end with a two-letter country: read as it is"
        diagnosis.repair("series-country", why, start + len(series))
    else:
        _check_series(series, start)
    _check_date((year, month, day[1]), start + len(series) + 1)
    _, form, version = _read_specifier(f"1{day[2]}", end - len(day[2]) - 1)
    why = "the unique-id is missing: read as the only document of the day without one"
    diagnosis.repair("unique-id-missing", why, end - len(day[2]))
    return Pdi(series.lower(), (year, month, day[1]), "", form, version)


def _has_country(series: str) -> bool:
    country = series.rpartition(".")[2]
    return len(country) == 2 and country.isascii() and country.isalpha()


def _check_series(series: str, offset: int) -> None:
    components = _SERIES.match(series)
    country = series[components.end() :] if components else ""
    if not (len(country) == 2 and country.isascii() and country.isalpha()):
        why = "a series is written like a domain name and ends with a two-letter country"
        raise Malformed("pdi-syntax", why, offset + (components.end() if components else 0))


def _check_date(date: tuple[str, str, str], offset: int) -> None:
    year, month, day = date
    places = [offset, offset + len(year) + 1, offset + len(year) + len(month) + 2]
    for part, digits, where in zip(date, (4, 2, 2), places, strict=True):
        if part != "*" and not (len(part) == digits and part.isascii() and part.isdecimal()):
            why = f"this part of the date must be {digits} digits or *"
            raise Malformed("pdi-syntax", why, where)
    # The year 2000 has every day of any year, January every day of any month.
    known = [year if year != "*" else "2000", month if month != "*" else "01", day]
    digits_stated = "".join(known[:2] if day == "*" else known)
    try:
        Moment(digits_stated)
    except Malformed as complaint:
        wrong = bisect_right((4, 6), complaint.position)
        raise Malformed(complaint.code, complaint.why, places[wrong]) from None


def _read_specifier(text: str, offset: int) -> tuple[str, str | None, str | None]:
    unique_id, dot, rest = text.partition(".")
    if not _UNIQUE_ID.fullmatch(unique_id):
        why = "a unique-id has letters, digits, ( ) - : ; $ _ ! ' and triplets, or is *"
        raise Malformed("pdi-syntax", why, _end_of(_UNIQUE_ID, unique_id) + offset)
    if not dot:
        return unique_id, None, None
    form, dot, version = rest.partition(".")
    offset += len(unique_id) + 1
    if not _FORMAT.fullmatch(form):
        why = "a format is a word such as html or text, or *"
        raise Malformed("pdi-syntax", why, _end_of(_FORMAT, form) + offset)
    if dot and not _VERSION.fullmatch(version):
        raise Malformed(
            "pdi-version", "a version is a number from 1, or *", offset + len(form) + 1
        )
    # Reserved characters stay encoded (3.6.4): + joins two types, %2b belongs to one.
    plain = _TRIPLET.sub(_format_character, form.lower())
    return unique_id, plain, version if dot else None


def _format_character(triplet: "re.Match[str]") -> str:
    character = chr(int(triplet[0][1:], 16))
    return character.lower() if _FORMAT_BARE.fullmatch(character) else triplet[0]


def _end_of(pattern: re.Pattern[str], text: str, start: int = 0) -> int:
    """Return the end of what *pattern* matches at *start*; *start* if it does not match."""
    found = pattern.match(text, start)
    return found.end() if found else start


def _read_foreign(
    unique_id: str, form: str | None, diagnosis: Diagnosis, offset: int
) -> str | None:
    """Return the URI that *unique_id* encapsulates, checked after decoding (G-5)."""
    try:
        decoded = unquote_to_bytes(unique_id).decode()
    except UnicodeDecodeError:
        return None
    if form is None:
        if _FOREIGN_URL.match(decoded):
            why = "an encapsulated URL must be followed by a format: read as an opaque id"
            diagnosis.repair("format-missing", why, offset + len(unique_id))
        return None
    if not _FOREIGN.match(decoded):
        return None
    diagnosis.note("encapsulated", "the id encapsulates a URI", offset)
    if lone_percent(decoded) is not None:
        why = "the encapsulated URI has a percent sign outside a triplet: left as it is"
        diagnosis.repair("bad-inner-percent", why, offset)
    try:
        check_characters(decoded)
        return read_uri(decoded, diagnosis, offset)
    except Malformed as complaint:
        why = f"in the encapsulated URI: {complaint.why}"
        raise Malformed("bad-item", why, offset) from complaint


def _note_wildcards(pdi: Pdi, diagnosis: Diagnosis, offset: int) -> None:
    if not pdi.is_query:
        return
    diagnosis.note("wildcard", "* asks for a list and does not name a single document", offset)
    open_places = [part == "*" for part in pdi.date]
    if open_places != sorted(open_places):
        why = "the days are not consecutive: the interval only encloses them"
        diagnosis.note("non-contiguous", why, offset)


def _check_suffix_allowed(pdi: Pdi, text: str, where: int, diagnosis: Diagnosis) -> None:
    if pdi.is_query:
        why = "a query with * cannot have a fragment or a citation"
        raise Malformed("pdi-wildcard-fragment", why, where)
    if pdi.format is None and text[where] == "#":
        why = "a fragment needs a format, which defines its positions"
        raise Malformed("pdi-fragment-needs-format", why, where)
    if pdi.version is None:
        why = "the version is missing: fragments and citations refer to one version"
        diagnosis.repair("version-missing", why, where)


def _with_fragment(pdi: Pdi, text: str, start: int) -> Pdi:
    stated = _FRAGMENT.fullmatch(text, start)
    if stated is None:
        why = "a fragment is written like 37,51 or char=37,51 or (5,10),(25,30)"
        raise Malformed("pdi-fragment", why, _end_of(_FRAGMENT, text, start))
    scheme = stated[1] or ""
    return replace(pdi, fragment=scheme.lower() + text[start + len(scheme) :])


def _with_citation(pdi: Pdi, text: str, start: int, diagnosis: Diagnosis, *, depth: int) -> Pdi:
    equals = text.find("=", start)
    if equals < 0 or not _ONE_POSITION.fullmatch(text, start, equals):
        why = "a citation is written @position=pdi://..."
        raise Malformed("pdi-citation", why, start)
    cited = _read_name(text, equals + 1, diagnosis, depth=depth + 1)
    return replace(pdi, origin=text[start:equals], cites=cited)


@cache
def _media_types() -> dict[str, str]:
    """Return media types by the ending of a file, without those of the operating system."""
    from mimetypes import MimeTypes  # noqa: PLC0415 -- few PDIs need them

    return MimeTypes().types_map[True]


def _is_format_of(uri: str | None, form: str | None) -> bool:
    """Whether a document of *uri* has the format *form*, as far as its name shows.

    Without the name of a file, it is a page.
    """
    path = (uri or "").partition("://")[2].partition("?")[0].partition("/")[2]
    _, dot, ending = path.rpartition("/")[2].lower().rpartition(".")
    media_type = _media_types().get(dot + ending, "text/html")
    major, _, minor = media_type.partition("/")
    short = "text" if media_type == "text/plain" else minor
    stated = unquote(form or "").lower()  # text%2bhtml is text+html
    return stated in ("*", short, f"{major}+{minor}", ending if dot else short)


def _bare_if_allowed(triplet: re.Match[str]) -> str:
    character = chr(int(triplet[0][1:], 16))
    return character if _BARE.fullmatch(character) else triplet[0].lower()


def _escaped(uri: str) -> str:
    return "".join(
        c if _BARE.fullmatch(c) else "".join(f"%{octet:02x}" for octet in c.encode())
        for c in uri
    )
