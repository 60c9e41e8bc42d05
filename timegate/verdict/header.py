"""``Memento-Precision``: a verdict as a Dictionary of RFC 9651 (X-1, X-2).

Values are Tokens; times, URLs and archive-ids are Strings, since an SF Date holds no fraction
and a Token not every URL. A field that grows past 8190 octets is refused by aiohttp's and other
clients, so a URL too long to be told is left out: the report has it.
"""

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from timegate.verdict.model import Member, Parameter, Verdict

LONGEST_TEXT: Final = 2000
_WORDS: Final = {
    "time": ("basis", "live"),
    "granularity": ("req", "got"),
    "coverage": ("req", "got"),
    "uri": ("rule",),
}
"""Parameters out of a closed vocabulary: Tokens, all others are Strings or Integers."""
_TOKEN: Final = re.compile(r"[A-Za-z*][A-Za-z0-9:/!#$%&'*+.^_`|~-]{0,63}")
_VISIBLE: Final = "".join(map(chr, range(0x20, 0x7F)))


def header(verdict: Verdict) -> str:
    """Return the value of ``Memento-Precision``, ASCII throughout."""
    # A Dictionary is its members with commas between (RFC 9651 4.1.2), and most of them are
    # the same in every answer.
    return ", ".join(_members(verdict))


def around_time(verdict: Verdict) -> tuple[str, str]:
    """Return what stands before the member ``time``, and what stands behind it."""
    members = _members(verdict)
    here = next(n for n, text in enumerate(members) if text.startswith("time="))
    before, behind = members[:here], members[here + 1 :]
    return "".join(f"{text}, " for text in before), "".join(f", {text}" for text in behind)


def written(name: str, member: Member) -> str:
    """Return one member."""
    return _member(name, member.value, tuple(member.params.items()))


def _members(verdict: Verdict) -> list[str]:
    return [written(name, member) for name, member in verdict.members() if member is not None]


@lru_cache(maxsize=1024)
def _member(name: str, value: str, params: tuple[tuple[str, Parameter], ...]) -> str:
    # Written here and not by http_sf, which takes 25 microseconds for the one member that
    # differs in every answer; the tests hold both side by side.
    told = [
        f";{key}={item}"
        for key, parameter in params
        if (item := _item(parameter, name, key)) is not None
    ]
    return f"{name}={value}{''.join(told)}"


def _item(value: Parameter, member: str, name: str) -> str | None:
    """Write an Integer, a Token or a String; None for what is too long to be told."""
    if isinstance(value, int):
        return str(value)
    if name in _WORDS.get(member, ()) and _TOKEN.fullmatch(value):
        return value
    plain = value.isascii() and value.isprintable()
    text = value if plain else quote(value, safe=_VISIBLE, errors="replace")
    if len(text) > LONGEST_TEXT:
        return None
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
