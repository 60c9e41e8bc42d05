"""The URLs of a stylesheet, or of a style attribute, replaced in one pass.

Only what the CSS Syntax Module needs to know where URLs are is read: comments, strings,
identifiers with escapes, blocks. The rest is written back as it was.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from archives.regex_compat import compiled
from timegate.markup.model import Kind, Role, TooComplex
from timegate.markup.urls import References

_ESCAPE: Final = r"\\(?:[0-9A-Fa-f]{1,6}(?:\r\n|[ \t\r\n\f])?+|[^\r\n\f0-9A-Fa-f])"
_TOKEN: Final = compiled(
    # Most of a stylesheet: anything but what follows, and words that call nothing.
    r"""(?P<run>(?:[^-A-Za-z0-9_\u0080-\U0010ffff@\\"'/{}()\[\];<]++"""
    r"""|[-A-Za-z0-9_\u0080-\U0010ffff]++(?![(\\]))++)"""
    rf"""|(?P<comment>/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?+)"""
    rf"""|(?P<string>"(?:[^"\\\r\n\f]|\\(?:\r\n|[\s\S])?+)*+"?+"""
    rf"""|'(?:[^'\\\r\n\f]|\\(?:\r\n|[\s\S])?+)*+'?+)"""
    rf"""|(?P<word>@?+(?:[-A-Za-z0-9_\u0080-\U0010ffff]|{_ESCAPE})++)(?P<call>\(?+)"""
    r"""|(?P<mark>[{}()\[\];])"""
    r"""|(?P<hidden><!--)"""
    r"""|(?P<other>[\s\S])"""
)
# An unquoted URL, and what follows up to the parenthesis if it is a bad one.
_UNQUOTED: Final = compiled(
    rf"""[ \t\r\n\f]*+((?:[^"'()\\ \t\r\n\f\x00-\x08\x0b\x0e-\x1f\x7f]|{_ESCAPE})*+)"""
    r"""[ \t\r\n\f]*+(\)|\Z)?+"""
)
_REMNANTS: Final = compiled(r"(?:[^)\\]|\\[\s\S]?+)*+\)?+")
_QUOTE_NEXT: Final = compiled(r"[ \t\r\n\f]*+[\"']")
_ESCAPED: Final = compiled(
    r"\\(?:([0-9A-Fa-f]{1,6})(?:\r\n|[ \t\r\n\f])?+|(\r\n|[\r\n\f])|([\s\S])|\Z)"
)
_URL_FUNCTIONS: Final = frozenset({"url", "src", "image"})
_SETS: Final = frozenset({"image-set", "-webkit-image-set"})
_MEDIUM: Final = compiled(r"[ \t\r\n\f)]*+([^;{}]{0,100})")
"""What follows the URL of an @import."""
# <!-- hid styles from browsers that knew none.
_LEFT_OUT: Final = {"comment": "/**/", "hidden": " "}
_MOST_NESTED: Final = 1000
_NOWHERE: Final = 'url("data:,")'
_FIRST_FONTS: Final = (".woff2", ".woff", ".ttf", ".otf")
"""What a browser of today takes, by the end of the path; the others are for older ones."""
_EVERY_SCREEN: Final = frozenset({"", "all", "screen", "only screen"})


@dataclass(slots=True)
class _Rule:
    """What is known of a statement."""

    name: str = ""
    """Of an at-rule."""
    prelude: list[str] = field(default_factory=list)
    variant: bool = False
    has_font: bool = False


@dataclass(slots=True)
class _Open:
    """A block or function that has begun; only its own end ends it (CSS Syntax 5.4.8)."""

    end: str
    function: str
    rule: _Rule
    """The statement that it belongs to."""


_ENDS: Final = {"(": ")", "[": "]", "{": "}"}
_NO_RULE: Final = _Rule()


def walk_css(text: str, references: References) -> str:
    """Return *text* with its URLs replaced, and without comments."""
    return "".join(_Pass(text, references).pieces())


@dataclass(slots=True)
class _Pass:
    text: str
    references: References
    opened: list[_Open] = field(default_factory=list)
    rule: _Rule = field(default_factory=_Rule)
    """The statement that has begun."""

    def pieces(self) -> Iterator[str]:
        at = 0
        while at < len(self.text):
            token = _TOKEN.match(self.text, at)
            if token is None:  # pragma: no cover - the last alternative takes anything
                return
            at = token.end()
            kind = token.lastgroup
            self.references.steps.take()
            if kind == "call":
                if token["call"] and _unescaped(token["word"]).lower() == "url":
                    piece, at = self._url(at)
                    yield piece
                else:
                    yield self._word(token["word"], token["call"])
            elif kind == "string":
                yield self._string(token[0], at)
            elif kind in _LEFT_OUT:
                yield _LEFT_OUT[kind]
            elif kind == "mark":
                yield self._mark(token[0])
            else:
                yield self._other(token[0])

    def _url(self, at: int) -> tuple[str, int]:
        """Return what stands in the place of ``url(`` that ends at index *at*, and its end."""
        if _QUOTE_NEXT.match(self.text, at):
            self._begin("(", "url")
            return "url(", at
        found = _UNQUOTED.match(self.text, at)
        if found is None:  # pragma: no cover - it matches nothing, too
            return _NOWHERE, at
        if found[2] is None:
            end = _REMNANTS.match(self.text, found.end())
            return _NOWHERE, end.end() if end else found.end()
        written = self._replaced(_unescaped(found[1]), "url()", found.end())
        return (_NOWHERE if written is None else f"url({_quoted(written)})"), found.end()

    def _word(self, word: str, call: str) -> str:
        if word.startswith("@"):
            self.rule = _Rule(name=_unescaped(word[1:]).lower())
        elif self.rule.name in {"media", "import"}:
            self.rule.prelude.append(word + call)
        if call:
            self._begin("(", _unescaped(word).lower())
        return word + call

    @property
    def _in_function(self) -> bool:
        return bool(self.opened) and self.opened[-1].end != "}"

    @property
    def _functions(self) -> Iterator[str]:
        """The functions around this place, the innermost first."""
        for each in reversed(self.opened):
            if each.end == "}":
                return
            yield each.function

    def _string(self, token: str, end: int) -> str:
        value = _unescaped(token[1:].removesuffix(token[0]) if len(token) > 1 else "")
        function = next(self._functions, "")
        if function in _URL_FUNCTIONS:
            written = self._replaced(value, f"{function}()", end)
        elif any(each in _SETS for each in self._functions):
            written = self._replaced(value, "image-set()", end)
        elif self.rule.name == "import":
            written = self._replaced(value, "@import", end)
        else:
            return _quoted(value)
        return _quoted("data:," if written is None else written)

    def _mark(self, mark: str) -> str:
        if mark in _ENDS:
            self._begin(mark, "")
        elif self.opened and mark == self.opened[-1].end:
            self._finish(self.opened.pop())
        elif mark == ";" and not self._in_function:
            self.rule = _Rule()
        return mark

    def _begin(self, mark: str, function: str) -> None:
        if len(self.opened) >= _MOST_NESTED:
            raise TooComplex(f"a stylesheet with more than {_MOST_NESTED} levels")
        if mark == "{":
            self.rule.variant = self._block.variant or _is_variant(self.rule)
        self.opened.append(_Open(_ENDS[mark], function, self.rule))
        if mark == "{":
            self.rule = _Rule()

    def _finish(self, ended: _Open) -> None:
        if ended.end == "}":
            self.rule = ended.rule if self._in_function else _Rule()

    @property
    def _block(self) -> _Rule:
        """The rule of the block around this place."""
        blocks = (each.rule for each in reversed(self.opened) if each.end == "}")
        return next(blocks, _NO_RULE)

    def _other(self, text: str) -> str:
        if self.rule.name in {"media", "import"}:
            self.rule.prelude.append(text)
        return text

    def _replaced(self, reference: str, source: str, end: int) -> str | None:
        if self.rule.name == "namespace":
            return reference  # a name, which is never requested
        kind, role = self._meaning(reference, end)
        if self.rule.name == "import":
            source = "@import"
        return self.references.written(reference, kind, role, source)

    def _meaning(self, reference: str, end: int) -> tuple[Kind, Role]:
        block = self._block
        if self.rule.name == "import":
            medium = _MEDIUM.match(self.text, end)
            is_variant = medium is not None and not _is_every_screen(medium[1])
            return "stylesheet", "variant" if is_variant else "part"
        if block.name == "font-face":
            return "font", self._font_role(block, reference)
        is_variant = block.variant or any(each in _SETS for each in self._functions)
        return "image", "variant" if is_variant else "part"

    @staticmethod
    def _font_role(block: _Rule, reference: str) -> Role:
        path = reference.partition("#")[0].partition("?")[0].lower()
        if block.has_font or not path.endswith(_FIRST_FONTS):
            return "variant"
        block.has_font = True
        return "part"


def _is_variant(rule: _Rule) -> bool:
    return rule.name == "media" and not _is_every_screen("".join(rule.prelude))


def _is_every_screen(medium: str) -> bool:
    return " ".join(medium.lower().split()) in _EVERY_SCREEN


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda escape: _character(escape[1], escape[3]), text)


def _character(digits: str | None, character: str | None) -> str:
    if digits is None:
        return character or ""
    number = int(digits, 16)
    is_scalar = 0 < number < 0xD800 or 0xDFFF < number < 0x110000
    return chr(number) if is_scalar else "\ufffd"


def _quoted(value: str) -> str:
    """Return *value* as a string that ends neither itself nor an element around it."""
    return '"' + _SPECIAL.sub(lambda special: f"\\{ord(special[0]):x} ", value) + '"'


_SPECIAL: Final = compiled(r"[\x00-\x1f\x7f\"\\<]")
