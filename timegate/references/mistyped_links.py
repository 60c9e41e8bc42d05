"""Addresses with a mistyped scheme, or with blanks in them, as people and OCR write them.

What is repaired here is never certain: the link counts as incomplete.
"""

import re
from typing import Final, NamedTuple

from archives.regex_compat import compiled

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
_NO_DOT: Final = compiled(r"https?://(?!https?://)[^./?#\[\]]{0,255}(?:[/?#]|$)", re.IGNORECASE)


class SpacedLink(NamedTuple):
    """A link with blanks in it."""

    end: int
    joined: str


def with_scheme_repaired(link: str) -> str:
    """Return *link* with the scheme that is meant, if it is mistyped."""
    if _MISTYPED.match(link) is None:
        return link
    scheme = _SCHEME.match(link)
    if scheme is None:
        return link
    is_secure = scheme["letters"].lower().endswith("s")
    return f"http{'s' if is_secure else ''}://{link[scheme.end() :]}"


def is_repaired(written: str) -> bool:
    """Whether the scheme of a link is mistyped, or has blanks in it."""
    return bool(_MISTYPED.match(written) or _SPACED_SCHEME.match(written))


def has_no_dot(link: str) -> bool:
    """Whether the host of *link* has no dot: it is not one of the Web."""
    return _NO_DOT.match(link) is not None


def spaced_link(text: str, start: int) -> SpacedLink | None:
    """Return the link at *start* without the blanks in it; None if there is none."""
    match = _SPACED.match(text, start)
    if match is None:
        return None
    parts = (match[name] or "" for name in ("host", "path", "suffix"))
    return SpacedLink(match.end(), f"{match['scheme']}://{_BLANKS.sub('', ''.join(parts))}")
