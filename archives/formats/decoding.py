"""The decoder of a list of captures, chosen by its first bytes.

The media type is unreliable: archives send TimeMaps as text/plain and JSON as
application/link-format, and a bot gate answers 200 with a page (Archive-It, NARA and others).
"""

import re
from typing import Final

from archives.diagnostics import Malformed
from archives.formats.cdx import CdxLines
from archives.formats.rows import ListDecoder
from archives.formats.timemap_json import JsonTimeMap
from archives.formats.timemap_link import LinkTimeMap

HTML_PAGE: Final = "html-page"
"""Code of a document that is a web page."""
_EXAMINED: Final = 4096
_BLANK: Final = b" \t\r\n"
_BOM: Final = b"\xef\xbb\xbf"
# "<http://...", "</web/...", or any text in angle brackets with parameters after it.
_LINK: Final = re.compile(rb"<(?:https?://|/{1,2}[^/>]|[^<>\s!?]*+>\s*+[;,])", re.IGNORECASE)
_OBJECT: Final = re.compile(
    rb'\{(?:[ \t\r]*+\n|\s*+"(?:original_uri|mementos|self|time(?:map|gate)_))'
)
_LINES: Final = re.compile(
    rb"![a-z]++ |@[a-z]++ |CDX [A-Za-z ]++|[0-9]{14,23} \{|\S++ [0-9]{4,23} "
)


def decoder_for(first_bytes: bytes, base_url: str) -> ListDecoder:
    """Return the decoder for a document that begins with *first_bytes*; feed it these too.

    Raises Malformed for a web page, an empty document, or an unknown format.
    """
    start = first_bytes[:_EXAMINED].removeprefix(_BOM).strip(_BLANK)
    if start.startswith(b"[") or _OBJECT.match(start):
        return JsonTimeMap(base_url)
    if start.startswith(b"{") or _LINES.match(start):
        return CdxLines(base_url)
    if _LINK.match(start):
        return LinkTimeMap(base_url)
    raise _malformed(start)


def _malformed(start: bytes) -> Malformed:
    if not start:
        return Malformed("empty", "the document is empty", 0)
    if start.startswith(b"<"):
        return Malformed(HTML_PAGE, "a web page, not a list of captures", 0)
    return Malformed("unknown-format", "it does not begin like a list of captures", 0)
