"""ARC, the format before WARC: one line ``URL IP date mime length`` before every block."""

import re
from typing import Final

from archives.warc.head import Fields, text_of

# Some URLs hold blanks, so the other four fields are counted from the end of the line.
_LINE: Final = re.compile(
    rb"([a-z][a-z0-9+.-]{0,30}+:[^\r\n]*) ([0-9A-Fa-f.:]{1,45}) ([0-9]{4,14}) ([^ \r\n]++) "
    rb"([0-9]{1,19})\r?\n"
)
LONGEST_LINE: Final = 16 * 1024


def arc_fields(line: bytes) -> Fields | None:
    """Return what *line* says in the words of WARC, or None if it begins no ARC record."""
    parts = line.rstrip(b"\r\n").rsplit(b" ", 4)
    rebuilt = b" ".join(parts[1:]) if len(parts) == 5 else b""
    if not rebuilt or not _LINE.fullmatch(b"x: " + rebuilt + b"\n") or b":" not in parts[0]:
        return None
    url, address, date, mime, length = map(text_of, parts)
    return (
        ("WARC-Type", "warcinfo" if url.startswith("filedesc:") else "response"),
        ("WARC-Target-URI", url),
        ("WARC-IP-Address", address),
        ("WARC-Date", date),
        ("Content-Type", mime),
        ("Content-Length", length),
    )
