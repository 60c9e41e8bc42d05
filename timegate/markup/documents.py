"""Octets of a document in: the URLs in it, or the document with other ones, out."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from timegate.markup.css import walk_css
from timegate.markup.html import walk_html
from timegate.markup.model import MOST_OCTETS, Address, EmbeddedUrl, Steps, TooComplex
from timegate.markup.urls import References
from timegate.text.html import encoding_of

_HTML: Final = frozenset({"text/html", "application/xhtml+xml", "image/svg+xml"})
_CSS: Final = "text/css"
_SNIFFED: Final = 512
_UNKNOWN: Final = frozenset({"", "application/octet-stream", "unknown/unknown"})
MOST_URLS: Final = 5000


class Rewritten(NamedTuple):
    """A document with other URLs, and its media type with the encoding it is written in."""

    octets: bytes
    media_type: str


def embedded_in(
    octets: bytes, content_type: str, base_url: str, most: int = MOST_URLS
) -> Sequence[EmbeddedUrl]:
    """Return the first *most* URLs of an HTML or CSS document, each once, in their order.

    Empty for documents of other types. Raises TooComplex.
    """
    found: dict[tuple[str, str, str], EmbeddedUrl] = {}

    def keep(url: EmbeddedUrl) -> None:
        if len(found) < most:
            found.setdefault((url.url, url.kind, url.role), url)

    _walk(octets, content_type, base_url, keep)
    return list(found.values())


def rewritten(
    octets: bytes,
    content_type: str,
    base_url: str,
    address: Address,
    *,
    in_frame: bool = False,
) -> Rewritten:
    """Return an HTML or CSS document with *address* of each of its URLs in their place.

    Where *address* is None, the URL is removed; so is all that could run or reach out.
    Documents of other types are returned as they are. Raises TooComplex.
    """
    return _walk(octets, content_type, base_url, address, in_frame=in_frame)


def is_walkable(octets: bytes, content_type: str) -> bool:
    """Whether *octets* begin a document that has URLs in it."""
    return _media_type(octets, content_type) in {*_HTML, _CSS}


def is_stylesheet(octets: bytes, content_type: str) -> bool:
    """Whether *octets* begin a stylesheet."""
    return _media_type(octets, content_type) == _CSS


def _walk(
    octets: bytes, content_type: str, base_url: str, address: Address, *, in_frame: bool = False
) -> Rewritten:
    media_type = _media_type(octets, content_type)
    if media_type not in _HTML and media_type != _CSS:
        return Rewritten(octets, content_type)
    if len(octets) > MOST_OCTETS:
        raise TooComplex(f"a document of more than {MOST_OCTETS // 1024 // 1024} MB")
    codec = encoding_of(octets, content_type)
    # Without a declared encoding the octets stay as they are, and the browser finds out.
    text = octets.decode(codec or "latin-1", "replace")
    references = References(base_url, codec or "latin-1", address, Steps())
    if media_type == _CSS:
        written = walk_css(text, references)
    else:
        written = walk_html(text, references, in_frame=in_frame)
    if codec is None:
        return Rewritten(written.encode("latin-1", "xmlcharrefreplace"), media_type)
    return Rewritten(written.encode("utf-8", "replace"), f"{media_type}; charset=utf-8")


def _media_type(octets: bytes, content_type: str) -> str:
    named = content_type.partition(";")[0].strip().lower()
    if named not in _UNKNOWN:
        return named
    start = octets[:_SNIFFED].lstrip().lower()
    looks_like_html = start.startswith(b"<") and any(
        mark in start for mark in (b"<!doctype html", b"<html", b"<head", b"<body", b"<title")
    )
    return "text/html" if looks_like_html else named
