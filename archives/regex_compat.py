"""Compiles regular expressions, on first use, so that they work alike in every Python.

Every unbounded repeat over foreign text is possessive, so that nothing backtracks. In Python
3.11.0 to 3.11.4, including Debian 12's 3.11.2, a possessive *group* whose last iteration fails
halfway does not return to where that iteration began (gh-106052): ``(?:ab)*+a`` does not match
``aba``. An atomic group around the plain repeat, ``(?>(?:ab)*)a``, is equivalent and correct in
all versions. It is slower, so newer versions keep the expression as written.

Modules name some 450 expressions, and a command uses few of them: compiling all of them took a
sixth of the start of ``timegate resolve``.
"""

import re
import sys
from typing import AnyStr, Final, Generic, cast

# Python before 3.11.5 has the bug; before 3.11 there is neither form.
_HAS_GROUP_BUG: Final = sys.version_info < (3, 11, 5)

# Escapes and character classes are one piece each, because they may contain a parenthesis.
_PIECE: Final = re.compile(
    r"\\[\s\S]|\[\^?+\]?+(?>(?:\\[\s\S]|[^\]\\])*)\]|\)(?:(?:[*+?]|\{[0-9,]++\})\+)?|[\s\S]"
)


_MEMBERS: Final = tuple(name for name in dir(re.Pattern) if not name.startswith("_"))


class LazyPattern(Generic[AnyStr]):
    """A `re.Pattern` that is compiled when one of its members is used first.

    From then on, the members are attributes of this object, and cost what they cost there.
    """

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        """Compile; called only for what is no attribute yet."""
        if name not in _MEMBERS:
            raise AttributeError(f"a regular expression has no attribute {name!r}")
        source = atomic(self._pattern) if _HAS_GROUP_BUG else self._pattern
        expression = re.compile(source, self._flags)
        vars(self).update((each, getattr(expression, each)) for each in _MEMBERS)
        return vars(self)[name]


def compiled(pattern: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """Return *pattern*, compiled on first use; possessive groups work in every Python.

    Functions of `re` do not take the result, which has all members of a `re.Pattern`.
    """
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))


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
