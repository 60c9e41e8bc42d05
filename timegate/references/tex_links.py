"""Addresses as TeX writes them: escaped characters, and the spellings of the tilde."""

import re
from typing import Final

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
