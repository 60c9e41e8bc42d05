"""The text of an archived page: title, language, main text, all text, and what forms it has.

`extract` works in the process that calls it. Parsers of HTML take quadratic time for some pages
(100 kB of nested elements: half a minute), so that octets of archives are only given to it in
the process of `timegate.content.reading`, which has bounds on time and memory.
"""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal

from timegate.content.blocks import TextBlock, blocks_of

if TYPE_CHECKING:
    from resiliparse.parse.html import DOMNode, HTMLTree

MOST_OCTETS: Final = 10_000_000
"""Octets of a page that is read."""
_MOST_TEXT: Final = 1_000_000
"""Characters of each of the two texts; a longer one is cut."""
_MOST_TITLE: Final = 500
_MOST_HEADINGS: Final = 20
_MOST_LINKS: Final = 2_000
_MOST_FRAMES: Final = 10
_LANGUAGE_SAMPLE: Final = 20_000
_LEAST_LANGUAGE: Final = 150
"""Characters of which a language is detected; shorter texts gave wrong ones."""
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_UNTYPED: Final = frozenset({"", "application/octet-stream", "unknown/unknown", "unk"})

Reason = Literal["no-extractor", "media-type", "too-large", "too-long", "damaged"]


@dataclass(frozen=True, slots=True)
class NotRead:
    """Why the text of a page is not known. It says nothing about the page."""

    reason: Reason
    detail: str = ""
    """For people."""


@dataclass(frozen=True, slots=True)
class PageText:
    """What a page says. `main` is without navigation, advertisements and footers."""

    title: str = ""
    language: str = ""
    """ISO 639-1, as detected from the text; empty if it is short or of no known language."""
    declared_language: str = ""
    """The `lang` of the page, lower case; empty if there is none."""
    main: str = ""
    text: str = ""
    headings: tuple[str, ...] = ()
    description: str = ""
    refresh: str = ""
    """Where the page sends a browser at once; empty if it does not."""
    canonical: str = ""
    links: int = 0
    link_text: int = 0
    """Characters inside links."""
    link_targets: tuple[str, ...] = field(default=(), repr=False)
    """The first addresses of links, as they are written."""
    passwords: int = 0
    """Fields for passwords."""
    frames: tuple[str, ...] = ()
    images: int = 0
    scripts: int = 0
    script_text: str = field(default="", repr=False)
    """The beginning of inline scripts and the addresses of others."""
    marks: str = field(default="", repr=False)
    """Ids and classes of the first elements, with spaces between."""
    blocks: tuple[TextBlock, ...] = field(default=(), repr=False)
    """Paragraphs, headings and lists that are not hidden; empty for other media types."""
    inputs: str = field(default="", repr=False)
    """Names, hints and captions of the first fields of forms."""
    kind: str = ""
    """The ``og:type``; empty if there is none."""


def has_extractor() -> bool:
    """Whether HTML can be read: the extra `content` is installed."""
    return importlib.util.find_spec("resiliparse") is not None


def extract(octets: bytes, content_type: str) -> PageText | NotRead:
    """Return what the page of *octets* says. *content_type* is the archived header, or empty.

    For octets that are trusted; see `timegate.content.reading` for all others.
    """
    if len(octets) > MOST_OCTETS:
        return NotRead("too-large", f"more than {MOST_OCTETS} octets")
    media_type, charset = _content_type(content_type)
    if media_type in _UNTYPED:
        media_type = _sniffed(octets)
    if media_type in _HTML:
        return _of_html(octets, charset)
    if media_type == "application/pdf":
        return _of_pdf(octets)
    if media_type.startswith("text/"):
        return _of_plain_text(octets, charset)
    return NotRead("media-type", f"no text is read from {media_type[:100]}")


def _content_type(text: str) -> tuple[str, str]:
    """Return the media type and the charset of a Content-Type header; each may be empty."""
    from email.message import Message  # noqa: PLC0415 -- only copies that are read need it

    message = Message()
    message["content-type"] = text.replace("\r", " ").replace("\n", " ")
    if not text.strip():
        return "", ""
    charset = message.get_content_charset()
    return message.get_content_type(), charset if isinstance(charset, str) else ""


def _sniffed(octets: bytes) -> str:
    """Return the media type of octets without one, by their beginning."""
    start = octets[:1024].lstrip().lower()
    if start.startswith(b"%pdf-"):
        return "application/pdf"
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<!--", b"<title")):
        return "text/html"
    return "application/octet-stream"


def _of_plain_text(octets: bytes, charset: str) -> PageText | NotRead:
    text = _decoded(octets, charset, html=False)
    if isinstance(text, NotRead):
        return text
    text = text[:_MOST_TEXT]
    return PageText(language=_language(text), main=text, text=text)


def _of_pdf(octets: bytes) -> PageText | NotRead:
    try:
        from pypdf import PdfReader  # noqa: PLC0415 -- an extra
        from pypdf.errors import PyPdfError  # noqa: PLC0415
    except ImportError:
        return NotRead("no-extractor", "PDF needs: pip install 'timegate-proxy[documents]'")
    try:
        reader = PdfReader(BytesIO(octets))
        metadata = reader.metadata
        title = "" if metadata is None else str(metadata.get("/Title") or "")
        text = "\n\n".join(_until(_MOST_TEXT, (page.extract_text() for page in reader.pages)))
    except (
        PyPdfError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        # pypdf raises errors of all these kinds for damaged files.
        return NotRead("damaged", f"the PDF cannot be read: {type(error).__name__}")
    return PageText(title[:_MOST_TITLE], _language(text), main=text, text=text)


def _until(most: int, texts: Iterator[str]) -> Iterator[str]:
    """Yield texts until *most* characters are reached."""
    for text in texts:
        yield text[:most]
        most -= len(text)
        if most <= 0:
            return


def _of_html(octets: bytes, charset: str) -> PageText | NotRead:
    text = _decoded(octets, charset, html=True)
    if isinstance(text, NotRead):
        return text
    from resiliparse.extract.html2text import extract_plain_text  # noqa: PLC0415 -- an extra
    from resiliparse.parse.html import HTMLTree  # noqa: PLC0415

    tree = HTMLTree.parse(text)
    everything = extract_plain_text(tree, links=False, list_bullets=False)[:_MOST_TEXT]
    main = extract_plain_text(tree, main_content=True, links=False, list_bullets=False)
    return _described(tree, main[:_MOST_TEXT], everything)


def _described(tree: "HTMLTree", main: str, everything: str) -> PageText:
    links = _elements(tree, "a", _MOST_LINKS)
    scripts = _elements(tree, "script", 200)
    frames = (*_elements(tree, "iframe", _MOST_FRAMES), *_elements(tree, "frame", _MOST_FRAMES))
    metas = _metas(tree)
    return PageText(
        title=_title(tree)[:_MOST_TITLE],
        language=_language(main if len(main) >= _LEAST_LANGUAGE else everything),
        declared_language=_declared(tree),
        main=main,
        text=everything,
        headings=tuple(_headings(tree)),
        description=metas.get("description", "")[:_MOST_TITLE],
        refresh=_refresh(metas.get("refresh", "")),
        canonical=_canonical(tree),
        links=len(links),
        link_text=sum(len(_squeezed(link.text)) for link in links),
        link_targets=tuple((link.getattr("href") or "")[:300] for link in links[:300]),
        passwords=_passwords(tree),
        frames=tuple((frame.getattr("src") or "")[:_MOST_TITLE] for frame in frames),
        images=len(_elements(tree, "img", 200)),
        scripts=len(scripts),
        script_text=_script_text(scripts),
        marks=_marks(tree),
        blocks=blocks_of(tree),
        inputs=_inputs(tree),
        kind=metas.get("og:type", "")[:40].lower(),
    )


def _elements(tree: "HTMLTree", name: str, most: int) -> "list[DOMNode]":
    # A slice of such a collection cannot be iterated (resiliparse 1.1).
    return list(islice(tree.document.get_elements_by_tag_name(name), most))


def _squeezed(text: str | None) -> str:
    return " ".join((text or "").split())


def _title(tree: "HTMLTree") -> str:
    head = tree.head
    found = None if head is None else head.query_selector("title")
    return _squeezed(tree.title if found is None else found.text)


def _declared(tree: "HTMLTree") -> str:
    root = tree.document.query_selector("html")
    return "" if root is None else (root.getattr("lang") or "").strip().lower()[:20]


def _headings(tree: "HTMLTree") -> Iterator[str]:
    left = _MOST_HEADINGS
    for name in ("h1", "h2"):
        for node in _elements(tree, name, left):
            yield _squeezed(node.text)[:300]
            left -= 1


def _metas(tree: "HTMLTree") -> dict[str, str]:
    """Return the contents of `meta` elements by name or http-equiv; the first counts."""
    metas: dict[str, str] = {}
    for node in _elements(tree, "meta", 200):
        names = (node.getattr(key) for key in ("name", "http-equiv", "property"))
        name = next(filter(None, names), "").strip().lower()
        metas.setdefault(name, _squeezed(node.getattr("content")))
    return metas


def _refresh(text: str) -> str:
    """Return the address in ``0; url=/index.html`` if the browser goes there within 10 s."""
    delay, _, target = text.partition(";")
    name, equals, address = target.strip().partition("=")
    if not equals or name.strip().lower() != "url":
        return ""
    seconds = delay.strip().partition(".")[0]
    if not (
        seconds.isascii() and seconds.isdigit() and len(seconds) < 3 and int(seconds) <= 10
    ):
        return ""
    return address.strip(" '\"")[:2000]


def _canonical(tree: "HTMLTree") -> str:
    for node in _elements(tree, "link", 200):
        if (node.getattr("rel") or "").strip().lower() == "canonical":
            return (node.getattr("href") or "").strip()[:2000]
    return ""


def _passwords(tree: "HTMLTree") -> int:
    return sum(
        (node.getattr("type") or "").strip().lower() == "password"
        for node in _elements(tree, "input", 500)
    )


def _inputs(tree: "HTMLTree") -> str:
    keys = ("type", "name", "id", "placeholder", "value", "aria-label")
    found = (
        " ".join((node.getattr(key) or "")[:80] for key in keys)
        for node in _elements(tree, "input", 40)
        if (node.getattr("type") or "").strip().lower() != "hidden"
    )
    return " ".join(" ".join(found).split())[:4_000]


def _script_text(scripts: "list[DOMNode]") -> str:
    pieces = (
        (node.getattr("src") or "")[:300] + " " + (node.text or "")[:2000] for node in scripts
    )
    return " ".join(_until(20_000, pieces))


def _marks(tree: "HTMLTree") -> str:
    names: list[str] = []
    for kind in ("body", "div", "form", "section", "main"):
        for node in _elements(tree, kind, 200):
            names += (node.id or "", node.class_name or "")
    return " ".join(" ".join(names).split())[:20_000]


def _decoded(octets: bytes, charset: str, *, html: bool) -> str | NotRead:
    """Return *octets* as text, by byte order mark, header, `meta`, or as detected."""
    try:
        from resiliparse.parse.encoding import (  # noqa: PLC0415 -- an extra
            bytes_to_str,
            detect_encoding,
            map_encoding_to_html5,
        )
    except ImportError:
        return NotRead("no-extractor", "needs: pip install 'timegate-proxy[content]'")
    for mark, name in (
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16le"),
        (b"\xfe\xff", "utf-16be"),
    ):
        if octets.startswith(mark):
            return str(octets[len(mark) :].decode(name, errors="replace"))
    named = map_encoding_to_html5(charset, fallback_utf8=False) if charset else None
    return str(bytes_to_str(octets, named or detect_encoding(octets, from_html_meta=html)))


def _language(text: str) -> str:
    sample = " ".join(text[:_LANGUAGE_SAMPLE].split())
    if len(sample) < _LEAST_LANGUAGE:
        return ""
    try:
        from resiliparse.parse.lang import detect_fast  # noqa: PLC0415 -- an extra
    except ImportError:
        return ""
    language, _ = detect_fast(sample)
    return "" if language == "unknown" else str(language)
