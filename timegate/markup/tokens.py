"""HTML as tags and text, cut where the HTML Living Standard (13.2.5) cuts it.

No tree is built: trees of hostile pages take quadratic time or hundreds of megabytes (decision
21). Comments and declarations other than the doctype are left out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.markup.model import Steps
from timegate.text.html import ascii_lower

_START: Final = compiled(r"<([A-Za-z][^\t\n\f\r />]*+)")
_END: Final = compiled(r"</([A-Za-z][^\t\n\f\r />]*+)")
_BETWEEN: Final = compiled(r"[\t\n\f\r /]*+")
_ATTRIBUTE: Final = compiled(
    r"(=?+[^\t\n\f\r />=]*+)"
    r"(?:[\t\n\f\r ]*+(=)[\t\n\f\r ]*+"
    r"(?:\"([^\"]*+)(\"?+)|'([^']*+)('?+)|([^\t\n\f\r >]*+)))?+"
)
_DOCTYPE: Final = compiled(r"<!doctype[^>]*+>", re.IGNORECASE | re.ASCII)
_COMMENT_END: Final = compiled(r"--!?+>")
_SCRIPT_MARK: Final = compiled(
    r"<!--|-->|<(/?+)script(?=[\t\n\f\r />])", re.IGNORECASE | re.ASCII
)
RAW: Final = frozenset(
    {"style", "xmp", "iframe", "noembed", "noframes", "title", "textarea", "script"}
)
"""Elements whose content has no tags. Without scripts, ``noscript`` is not one of them."""
_RAW_ENDS: Final = {
    name: compiled(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE | re.ASCII) for name in RAW
}
_FOREIGN: Final = frozenset({"svg", "math"})


class StartTag(NamedTuple):
    """A start tag; its attributes as written, the first of each name."""

    name: str
    attributes: dict[str, str]
    self_closing: bool


class EndTag(NamedTuple):
    """An end tag."""

    name: str


class Text(NamedTuple):
    """Text with its character references as written."""

    text: str
    raw: bool = False
    """Whether ``&`` and ``<`` have no meaning in it."""


class Doctype(NamedTuple):
    """The document type, as written."""

    text: str


Token = StartTag | EndTag | Text | Doctype


def html_tokens(text: str, steps: Steps) -> Iterator[Token]:
    """Cut *text* into tokens. Raises TooComplex when the *steps* are used up."""
    return _Tokenizer(text, steps).tokens()


class TagSpan(NamedTuple):
    """Where a tag begins and ends, and its attributes; an end tag has none."""

    start: int
    end: int
    attributes: dict[str, str]


def html_tags(text: str, steps: Steps) -> Iterator[TagSpan]:
    """Yield the tags of *text* in order. Raises TooComplex when the *steps* are used up."""
    return _Tokenizer(text, steps).tags()


@dataclass(slots=True)
class _Tokenizer:
    text: str
    steps: Steps
    foreign: int = 0
    """How many drawings and formulas are open: in them, no element is raw."""
    pending: list[Token] = field(default_factory=list)
    tag_end: int = 0
    """Where the last tag ends."""

    def tokens(self) -> Iterator[Token]:
        text, at = self.text, 0
        while at < len(text):
            bracket = text.find("<", at)
            if bracket < 0:
                yield Text(text[at:])
                return
            self.steps.take(2)
            if bracket > at:
                yield Text(text[at:bracket])
            at = self._markup(bracket)
            yield from self.pending
            self.pending.clear()

    def tags(self) -> Iterator[TagSpan]:
        at = 0
        while (bracket := self.text.find("<", at)) >= 0:
            self.steps.take(2)
            at = self._markup(bracket)
            for token in self.pending[:1]:
                if isinstance(token, StartTag):
                    yield TagSpan(bracket, self.tag_end, token.attributes)
                elif isinstance(token, EndTag):
                    yield TagSpan(bracket, self.tag_end, {})
            self.pending.clear()

    def _markup(self, at: int) -> int:
        """Read what begins with ``<`` at index *at*; return where it ends."""
        if start := _START.match(self.text, at):
            return self._start_tag(_lower(start[1]), start.end())
        if end := _END.match(self.text, at):
            return self._end_tag(_lower(end[1]), end.end())
        if self.text.startswith("<!--", at):
            return self._comment_end(at + 4)
        if doctype := _DOCTYPE.match(self.text, at):
            self.pending.append(Doctype(doctype[0]))
            return doctype.end()
        if self.text.startswith(("<!", "<?", "</"), at):
            return self._after(">", at + 2)
        self.pending.append(Text("<"))
        return at + 1

    def _after(self, end: str, at: int) -> int:
        found = self.text.find(end, at)
        return len(self.text) if found < 0 else found + len(end)

    def _comment_end(self, at: int) -> int:
        for empty in (">", "->"):
            if self.text.startswith(empty, at):
                return at + len(empty)
        end = _COMMENT_END.search(self.text, at)
        return len(self.text) if end is None else end.end()

    def _end_tag(self, name: str, at: int) -> int:
        _, _, at = self._attributes(at)
        self.tag_end = at
        if at <= len(self.text):
            self.pending.append(EndTag(name))
            if name in _FOREIGN and self.foreign:
                self.foreign -= 1
        return at

    def _start_tag(self, name: str, at: int) -> int:
        attributes, self_closing, at = self._attributes(at)
        self.tag_end = at
        if at > len(self.text):
            return at
        self.pending.append(StartTag(name, attributes, self_closing))
        if name in _FOREIGN and not self_closing:
            self.foreign += 1
        if name == "plaintext" and not self.foreign:
            self.pending.append(Text(self.text[at:], raw=True))
            return len(self.text)
        if name in RAW and not (self.foreign and self_closing):
            return self._raw(name, at)
        return at

    def _raw(self, name: str, at: int) -> int:
        end = self._script_end(at) if name == "script" else self._raw_end(name, at)
        if end > at:
            self.pending.append(Text(self.text[at:end], raw=name not in {"title", "textarea"}))
        return end

    def _raw_end(self, name: str, at: int) -> int:
        found = _RAW_ENDS[name].search(self.text, at)
        return len(self.text) if found is None else found.start()

    def _script_end(self, at: int) -> int:
        """Find the end of a script: ``<!--<script>`` hides the next end tag."""
        commented = hidden = False
        for mark in _SCRIPT_MARK.finditer(self.text, at):
            if mark[0] == "<!--":
                commented = True
            elif mark[0] == "-->":
                commented = hidden = False
            elif not mark[1]:
                hidden = commented
            elif hidden:
                hidden = False
            else:
                return mark.start()
        return len(self.text)

    def _attributes(self, at: int) -> tuple[dict[str, str], bool, int]:
        """Return the attributes, whether ``/`` was last, and where the tag ends.

        The end is behind the text if the tag does not end: such a tag has no effect.
        """
        attributes: dict[str, str] = {}
        text = self.text
        while True:
            between = _BETWEEN.match(text, at)
            after = between.end() if between else at
            if after >= len(text):
                return attributes, False, len(text) + 1
            if text[after] == ">":
                return attributes, after > at and text[after - 1] == "/", after + 1
            found = _ATTRIBUTE.match(text, after)
            if found is None or found.end() >= len(text):
                return attributes, False, len(text) + 1
            at = found.end()
            self.steps.take()
            attributes.setdefault(_lower(found[1]), found[3] or found[5] or found[7] or "")


def _lower(name: str) -> str:
    return name.lower() if name.isascii() else ascii_lower(name)
