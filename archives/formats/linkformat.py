"""Web links (RFC 8288) as archives really write them, in headers and in bodies.

One grammar for both: `parse_header` reads the value of a ``Link`` header, `LinkReader` a body
of any length piece by piece. A bad link is skipped and counted, never fatal. Three rules make
recovery simple: nothing in angle brackets or quotes goes on past the end of its line, no link
is longer than `LONGEST_ITEM`, and whatever a link cannot contain ends it. So a ``<`` that
begins a line always begins a link, whatever damage precedes it.

Linear time: every repetition is possessive, and what was scanned in vain is not scanned again.
"""

from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote, urljoin

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
# The comma between links is often missing (RFC 7089 figure 30). A comma is the end only if
# no digit follows, so two more characters have to be there before a link is known to be over.
ENDS: Final = r"(?:,(?=[\s\S]{2})|(?=<))"
_LOOK_AHEAD: Final = 2

_ITEM: Final = compiled(_LINK + ENDS)
_LAST_ITEM: Final = compiled(_LINK + r"(?:,|(?=<)|\Z)")
# As far as a link that goes wrong can be followed.
_DAMAGE: Final = compiled(
    rf"<[^<>\r\n]*+(?:>(?:{_PARAMETER})*+(?:{_GAP}={_GAP}(?:{_QUOTED}|{_SINGLE}))?+)?+"
)
# The optional groups are not possessive: with captures inside, CPython 3.11 may crash
# (gh-101955). They repeat nothing, so there is nothing to backtrack into.
_NAMED_VALUE: Final = compiled(
    rf"{_GAP};{_GAP}(?:({_NAME})(?:{_GAP}={_GAP}"
    rf"(?:\"([^\"\\\r\n]*+(?:\\[^\r\n]?+[^\"\\\r\n]*+)*+)\"|'([^'\r\n]*+)'|({_BARE})))?)?"
)
_ESCAPE: Final = compiled(r"\\(.?)")
_SCHEME: Final = compiled(r"[A-Za-z][A-Za-z0-9+.-]*+:")
_ORIGIN: Final = compiled(r"([A-Za-z][A-Za-z0-9+.-]*+:)//[^/?#]*+")
_SEPARATORS: Final = " \t\r\n,;\xef\xbb\xbf"  # the last three are a byte order mark


class Link(NamedTuple):
    """One link: where to, in which relations, with which other parameters."""

    target: str
    """As written: perhaps relative, never with a line break or an angle bracket."""
    rels: tuple[str, ...]
    """In lower case, in the order in which they were written."""
    params: dict[str, str]
    """By name in lower case; of equal names the first one counts (RFC 8288 3.3)."""

    @property
    def anchor(self) -> str | None:
        """What the link is about, where it is not the document."""
        return self.params.get("anchor")


class LinkSplitter:
    """Finds the links in a text and steps over what is none."""

    __slots__ = ("_amid_damage", "oversized", "skipped", "unfinished")

    def __init__(self) -> None:
        self.skipped = 0
        self.oversized = False
        """Whether some item was too long to be looked at."""
        self.unfinished = False
        """Whether the text broke off in angle brackets or quotes."""
        self._amid_damage = False

    def split(self, text: str, *, last: bool) -> tuple[list[tuple[str, str]], str]:
        """Return targets with their parameters, and what may be the start of one more link."""
        found: list[tuple[str, str]] = []
        pattern = _LAST_ITEM if last else _ITEM
        at = 0
        while (start := text.find("<", at)) >= 0:
            self._pass_over(text[at:start])
            match = pattern.match(text, start, start + LONGEST_ITEM + _LOOK_AHEAD)
            if match and match.end() - start <= LONGEST_ITEM:
                found.append((match[1], match[2]))
                self._amid_damage = False
                at = match.end()
            elif last or len(text) >= start + LONGEST_ITEM + _LOOK_AHEAD:
                at = self._step_over(text, start, last=last)
            else:
                return found, text[start:]
        self._pass_over(text[at:])
        return found, ""

    def recover(self) -> None:
        """Take note that a sound link was read by other means: damage after it is new."""
        self._amid_damage = False

    def _pass_over(self, between: str) -> None:
        if not self._amid_damage and between.strip(_SEPARATORS):
            self.skipped += 1
            self._amid_damage = True

    def _step_over(self, text: str, start: int, *, last: bool) -> int:
        window = start + LONGEST_ITEM
        match = _DAMAGE.match(text, start, window)
        reach = match.end() if match else start + 1
        if reach == window:
            self.oversized = True
        elif last and reach == len(text):
            self.unfinished = True
        self.skipped += 1
        self._amid_damage = True
        return reach


class LinkReader:
    """Reads a body in ``application/link-format`` as it arrives."""

    def __init__(self) -> None:
        self._backlog = Backlog()
        self._splitter = LinkSplitter()

    @property
    def skipped(self) -> int:
        """How many things that look like links could not be read."""
        return self._splitter.skipped

    @property
    def complete(self) -> bool:
        """Whether nothing was dropped for its length, and the end was not inside a link."""
        return not (self._splitter.oversized or self._splitter.unfinished)

    def feed(self, chunk: bytes) -> list[Link]:
        """Return the links that *chunk* completed."""
        text = self._backlog.add(chunk)
        return self._read(text, last=False) if text else []

    def close(self) -> list[Link]:
        """Say that the body has ended; return the links that this completed."""
        return self._read(self._backlog.drain(), last=True)

    def _read(self, text: str, *, last: bool) -> list[Link]:
        found, rest = self._splitter.split(text, last=last)
        self._backlog.keep(rest)
        return [link(target, params) for target, params in found]


def parse_header(value: str) -> list[Link]:
    """Read the value of ``Link``; several field lines are one list, joined by commas."""
    try:
        wire = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        wire = value.encode("utf-8", "replace")
    found, _ = LinkSplitter().split(wire.decode("latin-1"), last=True)
    return [link(target, params) for target, params in found]


def resolved(target: str, base_url: str) -> str | None:
    """Make *target* absolute; None if it is beyond repair.

    Not by `urljoin` alone: it makes ``http:/`` of the ``http://`` inside a URI-M.
    """
    if target.startswith("/"):  # UKWA wrote <//www.webarchive.org.uk/...>
        scheme, origin = _origin(base_url)
        return (scheme if target.startswith("//") else origin) + target
    if _SCHEME.match(target):
        return target
    try:
        return urljoin(base_url, target)
    except ValueError:
        return None


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
    """Split the value of ``rel``: blanks between, compared without regard to case."""
    return tuple(rel.lower().split())


def _extended(value: str) -> str:
    """Decode RFC 8187: ``UTF-8'en'%e2%82%ac``. What is no such value stays as it is."""
    charset, quote, rest = value.partition("'")
    _, second_quote, encoded = rest.partition("'")
    if not (quote and second_quote):
        return value
    return unquote(encoded, "utf-8" if charset.lower() == "utf-8" else "latin-1", "replace")
