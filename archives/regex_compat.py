"""Expressions over foreign text, with possessive groups that also work before Python 3.11.5.

Every unbounded repeat over foreign text is possessive, so that nothing backtracks. In Python
3.11.0 to 3.11.4, Debian 12's 3.11.2 among them, a possessive *group* whose last round fails
halfway does not go back to where that round began (gh-106052): ``(?:ab)*+a`` does not match
``aba``. An atomic group around the plain repeat, ``(?>(?:ab)*)a``, means the same and is right
in all of them. It costs more, so newer ones keep the expression as it is written.
"""

import re
import sys
from typing import AnyStr, Final

# Python before 3.11.5 has the error; before 3.11 there is neither form.
_GROUPS_DO_NOT_GO_BACK: Final = sys.version_info < (3, 11, 5)

# Everything that could hide a parenthesis is one piece: an escape, a character class.
_PIECE: Final = re.compile(
    r"\\[\s\S]|\[\^?+\]?+(?>(?:\\[\s\S]|[^\]\\])*)\]|\)(?:(?:[*+?]|\{[0-9,]++\})\+)?|[\s\S]"
)


def compiled(pattern: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """Compile *pattern* so that its possessive groups go back in every Python."""
    return re.compile(atomic(pattern) if _GROUPS_DO_NOT_GO_BACK else pattern, flags)


def atomic(pattern: AnyStr) -> AnyStr:
    """Write each possessive group of *pattern* as an atomic group around a plain one."""
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
