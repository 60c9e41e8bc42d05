"""Compiles regular expressions with possessive groups that also work before Python 3.11.5.

Every unbounded repeat over foreign text is possessive, so that nothing backtracks. In Python
3.11.0 to 3.11.4, including Debian 12's 3.11.2, a possessive *group* whose last iteration fails
halfway does not return to where that iteration began (gh-106052): ``(?:ab)*+a`` does not match
``aba``. An atomic group around the plain repeat, ``(?>(?:ab)*)a``, is equivalent and correct in
all versions. It is slower, so newer versions keep the expression as written.
"""

import re
import sys
from typing import AnyStr, Final

# Python before 3.11.5 has the bug; before 3.11 there is neither form.
_HAS_GROUP_BUG: Final = sys.version_info < (3, 11, 5)

# Escapes and character classes are one piece each, because they may contain a parenthesis.
_PIECE: Final = re.compile(
    r"\\[\s\S]|\[\^?+\]?+(?>(?:\\[\s\S]|[^\]\\])*)\]|\)(?:(?:[*+?]|\{[0-9,]++\})\+)?|[\s\S]"
)


def compiled(pattern: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """Compile *pattern* so that its possessive groups work in every version of Python."""
    return re.compile(atomic(pattern) if _HAS_GROUP_BUG else pattern, flags)


def atomic(pattern: AnyStr) -> AnyStr:
    """Return *pattern* with each possessive group as an atomic group around a plain one."""
    if isinstance(pattern, bytes):
        return _atomic(pattern.decode("latin-1")).encode("latin-1")
    return _atomic(pattern)


def _atomic(pattern: str) -> str:
    written: list[str] = []
    opened: list[int] = []
    for match in _PIECE.finditer(pattern):
        piece = match[0]
        if piece == "(":
            opened.append(len(written))
        elif piece.startswith(")"):
            begin = opened.pop()
            if piece != ")":
                written[begin] = "(?>" + written[begin]
                piece = piece.removesuffix("+") + ")"
        written.append(piece)
    return "".join(written)
