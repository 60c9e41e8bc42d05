"""Addresses and words as TeX writes them: escaped characters, the tilde, and accents."""

import re
from collections.abc import Mapping
from typing import Final
from unicodedata import normalize

from archives.regex_compat import compiled

ESCAPE: Final = (
    r"\{\\[_%&#~$^]\}|\\[~^]\{\}|\\[_%&#~$^]"
    r"|\{\\textasciitilde\}|\\textasciitilde(?:\{\}|[ ])?+"
    r"|\{\\textunderscore\}|\\textunderscore(?:\{\}|[ ])?+"
    r"|\{\$\\sim\$\}|\$_?\{?\\sim\}?\$|\\string[~_%#&]|\{[_%&#~]\}|\\allowbreak(?:\{\}|[ ])?+"
)
"""Characters with a meaning in TeX, as links have them, and where a line may break."""
_ESCAPED: Final = compiled(ESCAPE)


def without_tex(link: str) -> str:
    """Return *link* with the characters that its escapes stand for."""
    return _ESCAPED.sub(_character, link)


def _character(escape: re.Match[str]) -> str:
    written = escape[0]
    if "allowbreak" in written:
        return ""
    if "tilde" in written or "sim" in written:
        return "~"
    return "_" if "underscore" in written else written.strip("{}").removeprefix("\\string")[-1]


_MARKS: Final[Mapping[str, str]] = dict(
    zip(
        "'`^\"~.cvuHrk",
        "\u0301\u0300\u0302\u0308\u0303\u0307\u0327\u030c\u0306\u030b\u030a\u0328",
        strict=True,
    )
)
"""Signs of TeX, and the accents that they set."""
_ACCENT: Final = (
    # Without braces, it may be the end of a string in JSON: "\\"abgerufen\\"".
    r"(?:(?<=[^\W\d_])\\(?:\"[A-Za-z](?=[^\W\d_\\])|['`^~.][A-Za-z])|\{\\['`^\"~.]\\?[A-Za-z]\}|\\['`^\"~.]\{\\?[A-Za-z]\}"
    r"|\\[cvuHrk]\{[A-Za-z]\}|\{\\[cvuHrk]\s[A-Za-z]\}|(?<=[^\W\d_])\\[cv]\s[A-Za-z])"
)
_ACCENTS: Final = compiled(_ACCENT)
_ACCENTED: Final = compiled(rf"[^\W\d_]{{0,20}}(?:{_ACCENT}[^\W\d_]{{0,20}}){{1,6}}")
_THIN_SPACE: Final = compiled(r"(?<=[0-9.])\\[, ](?=[^\W\d_\\])")
"""After a day: 2.\\,März."""


def with_accents(text: str) -> str:
    """Return *text* with the accents of TeX as letters, and as long as it was."""
    if "\\" not in text:
        return text
    spaced = _THIN_SPACE.sub("  ", text)
    return _ACCENTED.sub(lambda word: _accented(word[0]).ljust(len(word[0])), spaced)


def _accented(word: str) -> str:
    return _ACCENTS.sub(_letter, word)


def _letter(accent: re.Match[str]) -> str:
    signs = accent[0].replace("{", "").replace("}", "").lstrip("\\")
    return normalize("NFC", signs[-1] + _MARKS[signs[0]])
