"""Addresses with a mistyped scheme, or with blanks in them, as people and OCR write them.

What is repaired here is never certain: the link counts as incomplete.
"""

import re
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.references.mistyped_hosts import has_comma, is_odd_host, with_dots

_LETTERS: Final = r"(?:h{1,2}[tps]{2,5}|h[tps]{1,4}|t{1,2}ps?)"
MISTYPED: Final = (
    r"(?!https?://[^/\s]|ttps?://)"
    rf"{_LETTERS}(?:[:;.]?[/\\]{{1,4}}:?/{{0,2}}|[:;](?=www\.))"
    r"(?=(?:[\w-]{1,63}\.){1,5}[a-z]{2,18}(?![\w@-]))"
)
"""A scheme with wrong letters or signs, before a host: ``htp//``, ``http;//``, ``http:/``."""
_SCHEME: Final = compiled(
    rf"^(?P<letters>{_LETTERS})[:;.]?[/\\]{{0,4}}:?/{{0,2}}", re.IGNORECASE
)
_MISTYPED: Final = compiled(rf"^{MISTYPED}", re.IGNORECASE)
_SPACED_SCHEME: Final = compiled(r"^h?ttps?(?:\s|:\s|:/\s|://\s)", re.IGNORECASE)
_SPACED: Final = compiled(
    r"(?P<scheme>https?)\s?:\s?/\s?/\s?"
    r"(?P<host>(?:[\w-]{1,63}\s?\.\s?){1,4}"
    r"(?:com|org|net|edu|gov|mil|int|info|[a-z]{2})(?!\w))"
    r"(?P<path>(?:\s?/\s?[\w%~+-]{1,80}){0,12}+)(?P<suffix>\s?\.\s?[a-z]{2,5}(?!\w))?",
    re.IGNORECASE,
)
_BLANKS: Final = compiled(r"\s++")
_HOST: Final = compiled(r"https?://(?:[^/?#@\s]{0,255}@)?([^/?#]{0,1024})", re.IGNORECASE)
_OF_WEB: Final = compiled(
    r"(?!www[0-9]?\.[\w-]{1,63}\.?(?::|$))(?:[\w-]{1,63}\.){1,20}(?:[^\W\d_]{2,63}|xn--[\w-]{1,59})\.?"
    r"(?::[0-9]{0,5})?|(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?::[0-9]{0,5})?|\[[0-9a-f:.]{2,45}\](?::[0-9]{0,5})?",
    re.IGNORECASE,
)
"""A host of the Web: a name with a domain, or an IP address. ``www.museum`` has no domain."""
_INNER: Final = compiled(
    r"(?:(?<=[0-9_]/)|(?<=[0-9a-z]:))(?!https?:/{1,2}[^/])(?P<scheme>h[tps]{1,5})[:;]/{1,4}"
    r"(?=(?:[\w-]{1,63}\.){1,5}[a-z]{2,18}(?![\w@-]))",
    re.IGNORECASE,
)
"""The same in an archive link or a PWID."""
_TWICE: Final = compiled(r"^h(?:tt|xx)ps?://(?=h(?:tt|xx)ps?://)", re.IGNORECASE)


ALTERED: Final = "The link may be incomplete or altered: compare it with its source"


class SpacedLink(NamedTuple):
    """A link with blanks in it."""

    end: int
    joined: str


def with_scheme_repaired(link: str) -> str:
    """Return *link* with the scheme that is meant, if it is mistyped or there twice."""
    link = _INNER.sub(_repaired, with_dots(_TWICE.sub("", link)), 1)
    if _MISTYPED.match(link) is None:
        return link
    scheme = _SCHEME.match(link)
    if scheme is None:
        return link
    return f"{_web_scheme(scheme['letters'])}{link[scheme.end() :]}"


def _repaired(inner: re.Match[str]) -> str:
    return _web_scheme(inner["scheme"])


def _web_scheme(letters: str) -> str:
    return f"http{'s' if letters.lower().endswith('s') else ''}://"


def is_repaired(written: str) -> bool:
    """Whether the beginning of a link is mistyped, or has blanks in it."""
    is_scheme = _MISTYPED.match(written) or _SPACED_SCHEME.match(written)
    return bool(is_scheme) or has_comma(written) or has_mistyped_page(written)


def has_mistyped_page(link: str) -> bool:
    """Whether the scheme of the page in an archive link or a PWID is mistyped."""
    return _INNER.search(link) is not None


def is_altered(written: str) -> bool:
    """Whether a link in a field of a citation is mistyped, or has signs that none has."""
    link = with_scheme_repaired(written)
    is_mistyped = is_repaired(written) or has_no_domain(link) or is_odd_host(link)
    return is_mistyped or has_foreign_sign(written)


def has_no_domain(link: str) -> bool:
    """Whether *link* is one of HTTP whose host has no domain, or signs that no host has."""
    host = _HOST.match(link)
    return host is not None and _OF_WEB.fullmatch(host[1]) is None


_FOREIGN: Final = compiled(r"[\\\"<>]|^[^?{}|^`]{1,2000}[{}|^`]")
"""Signs that are in no address, or not before its query."""
_GOES_ON: Final = compiled(
    r"\\(?![\s\"'nrt,;:!]|\\(?![a-z0-9])|$)|`(?=\w)|\{|<(?:wbr|b|i|em|strong|mark|span)(?:\s[^<>]{0,200})?>(?=[\w/])",
    re.IGNORECASE,
)
"""Signs and tags inside an address; a line break of TeX and escapes of JSON end it."""


def has_foreign_sign(link: str) -> bool:
    """Whether an address has signs that none has: of a notation not understood."""
    return _FOREIGN.search(link) is not None


def goes_on_with_sign(text: str, end: int) -> bool:
    """Whether the link that ends at *end* may go on after a sign of a notation."""
    return _GOES_ON.match(text, end) is not None


def spaced_link(text: str, start: int) -> SpacedLink | None:
    """Return the link at *start* without the blanks in it; None if there is none."""
    match = _SPACED.match(text, start)
    if match is None:
        return None
    parts = (match[name] or "" for name in ("host", "path", "suffix"))
    return SpacedLink(match.end(), f"{match['scheme']}://{_BLANKS.sub('', ''.join(parts))}")
