"""Web links (RFC 8288) as archives write them, in headers and in bodies.

Both have one grammar: `parse_header` reads the value of a ``Link`` header, `LinkReader` a body
of any length in chunks. A bad link is skipped and counted, and not fatal. Three rules make
recovery simple: text in angle brackets or quotes ends at the end of its line, no link is longer
than `LONGEST_ITEM`, and a character that a link cannot contain ends it. So a ``<`` at the start
of a line always begins a link, whatever damage precedes it.

Reading takes linear time: every repetition is possessive, and no text is scanned twice.
"""

import re
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple
from urllib.parse import quote, unquote, urljoin

from archives.formats.httpdate import WEEKDAYS
from archives.formats.rows import LONGEST_ITEM, Backlog, plain
from archives.regex_compat import compiled

BLANK: Final = r"[ \t\r\n]"  # not \s: in Latin-1 that is also part of UTF-8 sequences
NAME_CHARACTER: Final = r"""[^ \t\r\n=;,<>"']"""
# `rel=memento` (perma, 2016), and dates with their comma: `datetime=Tue, 31 Dec 1996 ...`.
DAY_COMMA: Final = rf"(?:(?:{'|'.join(WEEKDAYS)}),(?= [0-9]))?+"
_GAP: Final = BLANK + "*+"
_QUOTED: Final = r'"[^"\\\r\n]*+(?:\\[^\r\n]?+[^"\\\r\n]*+)*+'
_SINGLE: Final = r"'[^'\r\n]*+"
_BARE: Final = rf"""(?!["']){DAY_COMMA}[^;,<>"\r\n]*+"""
_NAME: Final = NAME_CHARACTER + "++"
_VALUE: Final = rf"(?:{_QUOTED}\"|{_SINGLE}'|{_BARE})"
_PARAMETER: Final = rf"{_GAP};{_GAP}(?:{_NAME}(?:{_GAP}={_GAP}{_VALUE})?+)?+"
_LINK: Final = rf"<([^<>\r\n]*+)>((?:{_PARAMETER})*+){_GAP}"
# The comma between links is often missing (RFC 7089 figure 30). A comma is the end only if no
# digit follows, so two more characters are needed to know that a link is complete.
ENDS: Final = r"(?:,(?=[\s\S]{2})|(?=<))"
_LOOK_AHEAD: Final = 2

_ITEM: Final = compiled(_LINK + ENDS)
_LAST_ITEM: Final = compiled(_LINK + r"(?:,|(?=<)|\Z)")
# The part of a bad link that can be skipped.
_DAMAGE: Final = compiled(
    rf"<[^<>\r\n]*+(?:>(?:{_PARAMETER})*+(?:{_GAP}={_GAP}(?:{_QUOTED}|{_SINGLE}))?+)?+"
)
# The optional groups are not possessive: with captures inside, CPython 3.11 may crash
# (gh-101955). They do not repeat, so there is no backtracking.
_NAMED_VALUE: Final = compiled(
    rf"{_GAP};{_GAP}(?:({_NAME})(?:{_GAP}={_GAP}"
    rf"(?:\"([^\"\\\r\n]*+(?:\\[^\r\n]?+[^\"\\\r\n]*+)*+)\"|'([^'\r\n]*+)'|({_BARE})))?)?"
)
# A link as most software writes it: every value in double quotes and without escapes, no
# characters outside ASCII, "; " between parameters and ", " between links.
_PLAIN_LINK: Final = compiled(r"<([!#-;=?-~]++)>((?:; [a-z]++=\"[ !#-\[\]-~]*+\")++)(?:, |\Z)")
# Nearly all links of TimeGates: with rel, datetime and perhaps the collection, as pywb writes
# them, or with rel, and of a TimeMap its type and its range (RFC 7089, 5). What is in
# brackets and quotes is not looked at, which halves the time.
_DATED_LINK: Final = compiled(
    r"<([^>]++)>; rel=\"([^\"]*+)\"; datetime=\"([^\"]*+)\""
    r"(?:; collection=\"[^\"]*+\")?+(?:, |\Z)"
)
_UNDATED_LINK: Final = compiled(
    r"<([^>]++)>; rel=\"([^\"]*+)\"((?:; (?:type|from|until)=\"[^\"]*+\")*+(?:, |\Z))"
)
_PLAIN_PARAMETER: Final = compiled(r"; ([a-z]++)=\"([^\"]*+)\"")
_ESCAPE: Final = compiled(r"\\(.?)")
_SCHEME: Final = compiled(r"[A-Za-z][A-Za-z0-9+.-]*+:")
_ORIGIN: Final = compiled(r"([A-Za-z][A-Za-z0-9+.-]*+:)//[^/?#]*+")
_NOT_UTF8: Final = compiled("[\ud800-\udfff]")
_SEPARATORS: Final = " \t\r\n,;\xef\xbb\xbf"  # the last three are a byte order mark


class Link(NamedTuple):
    """One link: target, relations, and all parameters."""

    target: str
    """As written: perhaps relative, without line breaks and angle brackets."""
    rels: tuple[str, ...]
    """In lower case, in the order of the text."""
    params: dict[str, str]
    """By name in lower case; of equal names the first one counts (RFC 8288 3.3)."""

    @property
    def anchor(self) -> str | None:
        """The context of the link, if it is not the document."""
        return self.params.get("anchor")


class LinkSplitter:
    """Finds the links in a text and skips other text."""

    __slots__ = ("_in_damage", "oversized", "skipped", "unfinished")

    def __init__(self) -> None:
        self.skipped = 0
        self.oversized = False
        """Whether an item was too long to be read."""
        self.unfinished = False
        """Whether the text ended inside angle brackets or quotes."""
        self._in_damage = False

    def split(self, text: str, *, last: bool) -> tuple[list[tuple[str, str]], str]:
        """Return targets with their parameters, and the rest, which may begin another link."""
        found: list[tuple[str, str]] = []
        pattern = _LAST_ITEM if last else _ITEM
        at = 0
        while (start := text.find("<", at)) >= 0:
            self._skip_between(text[at:start])
            match = pattern.match(text, start, start + LONGEST_ITEM + _LOOK_AHEAD)
            if match and match.end() - start <= LONGEST_ITEM:
                found.append((match[1], match[2]))
                self._in_damage = False
                at = match.end()
            elif last or len(text) >= start + LONGEST_ITEM + _LOOK_AHEAD:
                at = self._skip_link(text, start, last=last)
            else:
                return found, text[start:]
        self._skip_between(text[at:])
        return found, ""

    def recover(self) -> None:
        """Note that another reader read a link: damage after it is counted separately."""
        self._in_damage = False

    def _skip_between(self, between: str) -> None:
        if not self._in_damage and between.strip(_SEPARATORS):
            self.skipped += 1
            self._in_damage = True

    def _skip_link(self, text: str, start: int, *, last: bool) -> int:
        window = start + LONGEST_ITEM
        match = _DAMAGE.match(text, start, window)
        reach = match.end() if match else start + 1
        if reach == window:
            self.oversized = True
        elif last and reach == len(text):
            self.unfinished = True
        self.skipped += 1
        self._in_damage = True
        return reach


class LinkReader:
    """Reads a body in ``application/link-format`` as it arrives."""

    def __init__(self) -> None:
        self._backlog = Backlog()
        self._splitter = LinkSplitter()

    @property
    def skipped(self) -> int:
        """Number of links that could not be read."""
        return self._splitter.skipped

    @property
    def complete(self) -> bool:
        """Whether no link was too long, and the end was not inside a link."""
        return not (self._splitter.oversized or self._splitter.unfinished)

    def feed(self, chunk: bytes) -> list[Link]:
        """Return the links that *chunk* completed."""
        text = self._backlog.add(chunk)
        return self._read(text, last=False) if text else []

    def close(self) -> list[Link]:
        """End the body; return the links that this completed."""
        return self._read(self._backlog.drain(), last=True)

    def _read(self, text: str, *, last: bool) -> list[Link]:
        found, rest = self._splitter.split(text, last=last)
        self._backlog.keep(rest)
        return [link(target, params) for target, params in found]


def parse_header(value: str) -> list[Link]:
    """Read the value of ``Link``; several field lines are joined by commas."""
    return _plain_links(value) or _all_links(value)


def split_at_dates(value: str) -> list[str] | None:
    """Split *value* at links with ``rel``, ``datetime`` and perhaps ``collection``, as written.

    The parts are what lies before the first of them, its target, ``rel`` and ``datetime``, what
    lies before the next, and so on; at last what lies behind all. None for a value that is too
    long. Each part may contain anything but the character that ends it: use only what equals a
    text that is known.
    """
    return None if len(value) >= LONGEST_ITEM else _DATED_LINK.split(value)


def undated_links(value: str) -> list[tuple[str, str]] | None:
    """Return target and ``rel`` of the links of *value*; None if one has other parameters.

    Besides ``rel`` they may have ``type``, ``from`` and ``until``.

    They are read as in `split_at_dates`. *value* may end with the comma before another link.
    """
    found: list[tuple[str, str, str]] = _UNDATED_LINK.findall(value)
    size = sum(map(len, chain.from_iterable(found))) + len('<>; rel=""') * len(found)
    # Nothing lies before, between or after the links.
    return [(target, rel) for target, rel, _ in found] if size == len(value) else None


def _plain_links(value: str) -> list[Link]:
    """Return the links of *value* if all of them match `_PLAIN_LINK`; otherwise nothing.

    They are the links that `_all_links` returns, in less than half of its time.
    """
    found = _PLAIN_LINK.findall(value)
    links: list[Link] = []
    size = -2
    for target, parameters in found:
        length = len(target) + len(parameters)
        pairs = _PLAIN_PARAMETER.findall(parameters)
        params = dict(pairs)
        if len(params) != len(pairs) or length >= LONGEST_ITEM - 2:
            return []
        links.append(Link(target, relations(params.get("rel", "")), params))
        size += length + 4
    # Angle brackets and ", " make four characters: nothing lies between the links.
    return links if size == len(value) else []


def _all_links(value: str) -> list[Link]:
    try:
        wire = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        wire = value.encode("utf-8", "replace")
    found, _ = LinkSplitter().split(wire.decode("latin-1"), last=True)
    return [link(target, params) for target, params in found]


_AFTER_PATH: Final = compiled(r"[?#].*+", re.DOTALL)


def resolved(target: str, base_url: str) -> str | None:
    """Return *target* as an absolute URL; None if it cannot be resolved.

    `urljoin` alone is not enough: it makes ``http:/`` of the ``http://`` inside a URI-M. Octets
    that are not UTF-8 become triplets, as they are sent: no other text can be kept.
    """
    if not target.isascii():
        target = _NOT_UTF8.sub(_as_triplets, target)
    if target.startswith("/"):  # UKWA wrote <//www.webarchive.org.uk/...>
        scheme, origin = _origin(base_url)
        return (scheme if target.startswith("//") else origin) + target
    if _SCHEME.match(target):
        return target
    try:
        joined = urljoin(base_url, target)
    except ValueError:
        return None
    return joined if target[:1] in ("", "?", "#") else _merged(base_url, target)


def _merged(base_url: str, target: str) -> str:
    """Return the address of a relative path (RFC 3986 5.2.3), with empty segments kept."""
    _, origin = _origin(base_url)
    path = _AFTER_PATH.sub("", base_url[len(origin) :])
    relative = _AFTER_PATH.sub("", target)
    segments = (path.rpartition("/")[0] + "/" + relative).split("/")[1:]
    kept: list[str] = []
    for segment in segments:
        if segment == ".." and kept:
            kept.pop()
        if segment not in (".", ".."):
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return f"{origin}/{'/'.join(kept)}{target[len(relative) :]}"


def _as_triplets(lone: re.Match[str]) -> str:
    """Return an octet that ``surrogateescape`` kept, or a surrogate of JSON, as triplets."""
    code = ord(lone[0])
    if 0xDC80 <= code <= 0xDCFF:
        return f"%{code - 0xDC00:02X}"
    return quote(lone[0].encode(errors="surrogatepass"))


@lru_cache(maxsize=64)
def _origin(base_url: str) -> tuple[str, str]:
    match = _ORIGIN.match(base_url)
    return (match[1], match[0]) if match else ("", "")


def link(target: str, parameters: str) -> Link:
    """Build a link from the two parts that `LinkSplitter` finds."""
    params: dict[str, str] = {}
    for name, quoted, single, bare in _NAMED_VALUE.findall(parameters):
        if "\\" in quoted:
            quoted = _ESCAPE.sub(r"\1", quoted)  # noqa: PLW2901 (it is the same value)
        value = quoted or single or bare.rstrip(" \t")
        params.setdefault(name.lower(), plain(value))
    params.pop("", None)
    if "title*" in params:
        params["title"] = _extended(params["title*"])
    return Link(plain(target), relations(params.get("rel", "")), params)


@lru_cache(maxsize=256)
def relations(rel: str) -> tuple[str, ...]:
    """Return the relations in the value of ``rel``, in lower case."""
    return tuple(rel.lower().split())


def _extended(value: str) -> str:
    """Decode a value of RFC 8187, ``UTF-8'en'%e2%82%ac``; other values are unchanged."""
    charset, quote, rest = value.partition("'")
    _, second_quote, encoded = rest.partition("'")
    if not (quote and second_quote):
        return value
    return unquote(encoded, "utf-8" if charset.lower() == "utf-8" else "latin-1", "replace")
