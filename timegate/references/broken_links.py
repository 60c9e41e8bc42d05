"""Links that a text has in several pieces: on several lines, or with blanks in a file name.

They are joined, and that is said. Only a break at which nothing else can be meant leaves no
doubt: after a slash or in a query, before what only a link has.
"""

import re
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.references.link_ends import (
    ADDRESS,
    DATE_IN_LINE,
    FILE,
    NEXT_LINE,
    SUFFIX,
    is_rest,
)

_REST: Final = compiled(r"[\w%~+./?=&#:,;@!-]{1,400}")
_BREAKS: Final = "/-_?=&"
_MOST_LINES: Final = 6
_CERTAIN: Final = compiled(
    rf"(?:[\w%~+-]{{1,80}}[/.]){{1,12}}{SUFFIX}|[\w%~+.-]{{1,80}}(?:/[\w%~+.-]{{1,80}}){{2,12}}/?"
)
"""The rest of a path: a file, or several folders."""
_CERTAIN_QUERY: Final = compiled(
    r"[\w.-]{1,40}=[\w%~+.,:-]{1,200}(?:&[\w.%~+=,:-]{0,200}){0,20}"
)
_FOLDER: Final = compiled(r"/[\w%~+-]{1,80}$")
_WORDS: Final = compiled(
    r"(?:[ ](?:[A-Z0-9][\w%~+-]{0,30}|of|and|the|in|for|-|&)){0,5}"
    rf"[ ](?:[\w%~+()-]{{1,60}}\.){{1,3}}{SUFFIX}(?!\w)"
)
"""The rest of the name of a file with blanks in it."""
_CAPITAL: Final = compiled(r"/[A-Z0-9][\w%~+-]{0,80}$")
_LONGEST_PART: Final = 90


class BrokenLink(NamedTuple):
    """A link in several pieces."""

    end: int
    """Where it ends in the text."""
    joined: str
    certain: bool = False
    lines: bool = True
    """Whether it is on several lines."""


def broken_link(text: str, start: int, end: int, raw: int) -> BrokenLink | None:
    """Return the whole link that begins at *start*, if it goes on after *end*; else None.

    *raw*: where its first piece ends with the punctuation after it.
    """
    if raw > end + 1:
        return None
    return _in_lines(text, start, raw) or (
        _with_blanks(text, start, raw) if raw == end else None
    )


def _in_lines(text: str, start: int, raw: int) -> BrokenLink | None:
    joined, at, certain, found = text[start:raw], raw, True, False
    for _ in range(_MOST_LINES):
        rest = _rest(text, joined, at)
        if rest is None:
            break
        piece = text[slice(*rest)]
        certain = certain and _is_certain(joined[-1], piece.rstrip(".,;:!"))
        joined, at, found = joined + piece, rest[1], True
    return BrokenLink(at, joined, certain) if found else None


def _rest(text: str, joined: str, at: int) -> tuple[int, int] | None:
    """Return where the next piece of a link is; None if there is none."""
    line = NEXT_LINE.match(text, at)
    if line is not None and _is_in_host(text, joined, line.end()):
        rest = _REST.match(text, line.end())
        return rest.span() if rest else None
    if line is None or ADDRESS.match(text, line.end()) or DATE_IN_LINE.match(text, line.end()):
        return None
    last = joined[-1]
    if last not in _BREAKS:
        # Inside a word: ".../Tele" and "com09_flyer.pdf".
        is_broken = text[line.end()].islower() and FILE.match(text, line.end())
        if not (is_broken and _FOLDER.search(joined, max(0, len(joined) - _LONGEST_PART))):
            return None
    elif not is_rest(text, line.end(), last):
        return None
    rest = _REST.match(text, line.end())
    return rest.span() if rest else None


_HOST: Final = compiled(r"https?://(?:www[0-9]?\.|[\w.-]{1,255}-)", re.IGNORECASE)
_REST_OF_HOST: Final = compiled(r"(?:[\w-]{1,63}\.){1,5}[a-z]{2,18}(?=[/:\s.,;)>\]]|$)")


def _is_in_host(text: str, joined: str, at: int) -> bool:
    """Whether *joined* ends inside a host, and the line that begins *at* goes on with it."""
    return _HOST.fullmatch(joined) is not None and _REST_OF_HOST.match(text, at) is not None


_SHORTEST_LINE: Final = 50
"""Columns after which print breaks lines at any character."""
_LIKE_LINK: Final = compiled(r"[/?&=#%_.+~-]|[^\s/]{0,80}[/?&=#%~]|[\w-]{0,80}(?:[0-9_]|\w-\w)")


def may_be_broken(line: str, following: str) -> bool:
    """Whether a link may be broken between two lines of one word each.

    A word in letters alone is no rest of a short line.
    """
    if len(line) >= _SHORTEST_LINE or line[-1] in "-_?=&%#.:+~":
        return True
    return _LIKE_LINK.match(following) is not None or FILE.match(following) is not None


def _is_certain(last: str, piece: str) -> bool:
    """Whether a break after the sign *last* and before *piece* can only be inside a link."""
    if last in "?&":
        return _CERTAIN_QUERY.fullmatch(piece) is not None
    # A hyphen may be that of print.
    return last in "/_" and _CERTAIN.fullmatch(piece.rstrip("?&")) is not None


def _with_blanks(text: str, start: int, raw: int) -> BrokenLink | None:
    """Return a link to a file with blanks in its name, as in ``/Annual Report 2004.pdf``."""
    if not _CAPITAL.search(text, max(start, raw - _LONGEST_PART), raw):
        return None
    words = _WORDS.match(text, raw)
    if words is None:
        return None
    return BrokenLink(words.end(), text[start:raw] + words[0].replace(" ", "%20"), lines=False)
