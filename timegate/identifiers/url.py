"""Identifiers with only one half: a URL without a time, and a time without a URL."""

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from archives.diagnostics import Diagnosis, Malformed
from archives.formats.httpdate import WEEKDAYS, read_http_date
from archives.moment import Moment
from archives.registry import Registry
from archives.uri import begins_with_host, canonical_uri, host_of, read_uri, scheme_of
from timegate.identifiers.model import CanonicalEquality, IdentifierKind, ParsedIdentifier


@dataclass(frozen=True, slots=True, eq=False)
class Url(CanonicalEquality):
    """The URL of an original, at any time and in any archive."""

    archive: ClassVar[None] = None
    time: ClassVar[None] = None
    precision: ClassVar[None] = None
    item: str

    @property
    def canonical(self) -> str:
        return canonical_uri(self.item)


def read_url(
    text: str, diagnosis: Diagnosis, _registry: Registry | None = None
) -> ParsedIdentifier:
    """Read an http or https URL. Raises Malformed for every other text."""
    name, hash_sign, fragment = text.partition("#")
    url = Url(_read_http(name, diagnosis))
    return ParsedIdentifier(
        url, URL, tuple(diagnosis.diagnostics), fragment if hash_sign else None
    )


URL: Final = IdentifierKind("uri", "plain URL", read_url, states_time=False)


def _read_http(text: str, diagnosis: Diagnosis) -> str:
    scheme = scheme_of(text)
    if scheme is None:
        return _with_scheme(text, diagnosis)
    if scheme not in ("http", "https"):
        raise Malformed("not-negotiable", not_held(scheme), 0)
    uri = read_uri(text, diagnosis)
    if not host_of(uri):
        raise Malformed("bad-item", "the URL has no host", len(scheme) + 1)
    return uri


def not_held(scheme: str) -> str:
    """Return why no web archive is queried for a URL of *scheme*, and what to do instead."""
    why = f"web archives hold http and https URLs, not {scheme}"
    if scheme in ("ftp", "ftps"):
        return f"if the server has a website too, write https:// instead: {why}"
    return why


_FILE_NAME: Final = re.compile(
    r"[^./:?#]++\.(?:jsx?|tsx|json|css|s?html?|php|aspx?|jsp|txt|csv|xml|ya?ml|toml|pdf|docx?"
    r"|xlsx?|pptx?|rtf|odt|exe|dll|jar|rb|cpp|png|jpe?g|gif|svg|webp|mp[34]|avi|gz|tar|bak|d|e|g)\.?+"
    r"|(?:readme|changelog|license|contributing|notes|todo)\.md|(?:setup|main|manage|test)\.py"
    r"|(?:install|run|build|test)\.sh",
    re.IGNORECASE,
)
"""A name of a file, or an abbreviation, that looks like a host; Node.js is one as well."""


def _with_scheme(text: str, diagnosis: Diagnosis) -> str:
    if not begins_with_host(text):
        why = "not an identifier: expected a PWID, duri, tdb, PDI, archive link or URL"
        raise Malformed("item-not-absolute", why, 0)
    if _FILE_NAME.fullmatch(text.partition("/")[0]):
        why = "it may be the name of a file: write http:// before it if it is a host"
        raise Malformed("item-not-absolute", why, 0)
    diagnosis.repair("scheme-assumed", "no scheme: http:// is assumed", 0)
    return read_uri("http://" + text, diagnosis, -len("http://"))


_DATE_LIKE: Final = re.compile(rf"(?:{'|'.join(WEEKDAYS)})[a-z]*+,? |[^:/]*+ [^:/]*+:.*+ GMT")


@dataclass(frozen=True, slots=True, eq=False)
class AcceptDatetime(CanonicalEquality):
    """A time in the format of RFC 7089, without a URL."""

    archive: ClassVar[None] = None
    precision: ClassVar[None] = None
    item: ClassVar[None] = None
    time: Moment
    written: str
    """As written, without surrounding white space. A wrong weekday is kept (M-3)."""

    @property
    def canonical(self) -> str:
        return self.written


def read_accept_datetime(
    text: str, diagnosis: Diagnosis, _registry: Registry | None = None
) -> ParsedIdentifier | None:
    """Read ``Thu, 31 May 2007 20:35:00 GMT``; raise Malformed for similar faulty dates."""
    if " " not in text or not _DATE_LIKE.match(text.lstrip(" \t")):
        return None
    date = AcceptDatetime(read_http_date(text, diagnosis), text.strip(" \t"))
    return ParsedIdentifier(date, ACCEPT_DATETIME, tuple(diagnosis.diagnostics))


ACCEPT_DATETIME: Final = IdentifierKind(
    "http-date",
    "value of Accept-Datetime",
    read_accept_datetime,
    has_spaces=True,
    is_reference=False,
)
