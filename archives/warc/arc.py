"""ARC, the format before WARC: one line ``URL IP date mime length`` before every block."""

import re
from typing import Final

from archives.warc.head import Fields, text_of

_BEHIND_URL: Final = re.compile(
    rb"[0-9A-Fa-f.:]{1,45}+ [0-9]{4,14}+ [^ \r\n]{1,255}+ [0-9]{1,19}+"
)
_SCHEME: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*+:")
LONGEST_LINE: Final = 16 * 1024


def arc_fields(line: bytes) -> Fields | None:
    """Return what *line* says in the words of WARC, or None if it begins no ARC record.

    Some URLs hold blanks, so the other four fields are counted from the end of the line.
    """
    parts = line.rstrip(b"\r\n").rsplit(b" ", 4)
    if not _SCHEME.match(parts[0]) or not _BEHIND_URL.fullmatch(b" ".join(parts[1:])):
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
