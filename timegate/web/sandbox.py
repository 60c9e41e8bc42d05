"""How archived bytes go out: in a sandbox, with few headers of whoever sent them (R5, R9).

They are as dangerous as on the day they were written, and they come from our own origin.
"""

import re
from collections.abc import Mapping
from typing import Final

LONGEST_VALUE: Final = 2000
MOST_ARCHIVED: Final = 40
"""Headers of the archived answer that are told."""
SANDBOX: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# More than one range is a way to have a file sent many times over.
SINGLE_RANGE: Final = re.compile(r"bytes=(?:[0-9]{1,18}-[0-9]{0,18}|-[0-9]{1,18})")
_HARMLESS: Final = re.compile(
    r"(?:image/(?!svg)|audio/|video/|font/|text/(?:plain|css|csv)\b|application/json\b)"
)
"""Types that cannot act when a browser opens them; all others are downloads."""
_OPAQUE: Final = "application/octet-stream"
_TYPE: Final = re.compile(
    r"[a-z0-9!#$&^_.+-]{1,127}/[a-z0-9!#$&^_.+-]{1,127}\s*+(?:;.*+)?", re.IGNORECASE
)


def typed(stated: str) -> dict[str, str]:
    """Return the archived type, and that it is a download where it could act."""
    readable = is_clean(stated) and _TYPE.fullmatch(stated)
    kind = stated if readable else _OPAQUE
    if _HARMLESS.match(kind.lower()):
        return {"Content-Type": kind}
    return {"Content-Type": kind, "Content-Disposition": "attachment"}


def is_clean(value: str) -> bool:
    """Whether *value* can stand in a header as it is."""
    return len(value) <= LONGEST_VALUE and value.isascii() and value.isprintable()
