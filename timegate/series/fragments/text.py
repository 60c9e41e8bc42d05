"""``char``, ``elt`` and ``name``: characters and tags of text and markup (3.4.1, 3.4.2).

Characters are counted in the text with CRLF line ends, half-open. Tags are counted from 0,
start and end tags alike; comments, declarations and processing instructions are none. An
interval of tags is closed: it includes the tag at its end.
"""

from collections.abc import Callable, Iterator
from html import unescape
from typing import Final, NamedTuple
from urllib.parse import unquote

from archives.regex_compat import compiled
from timegate.markup.model import Steps, TooComplex
from timegate.markup.tokens import html_tags
from timegate.series.formats import base_type, charset_of, decoder_of
from timegate.series.fragments import (
    BadFragment,
    DocumentPart,
    FragmentSpecifier,
    OutOfRange,
    Unextracted,
)

_LINE_END: Final = compiled(r"\r\n|\r|\n")
_XML_TAG: Final = compiled(r"</?+[A-Za-z_:][^\s/>\"'<]*+(?:[^>\"'<]++|\"[^\"]*+\"|'[^']*+')*+>")
_XML_ATTRIBUTE: Final = compiled(r"\sname\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')")
_DECLARATION: Final = compiled(r"<![A-Za-z](?:[^<>\[\"']++|\"[^\"]*+\"|'[^']*+')*+")
_SKIPPED: Final = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
_MOST_STEPS: Final = 4_000_000
_HTML: Final = "text/html"
_ASCII: Final = "us-ascii"
_XML_SUFFIX: Final = "+xml"


class TagPosition(NamedTuple):
    """A tag: where it begins and ends, and the value of its attribute ``name``."""

    start: int
    end: int
    name: str | None


def characters(
    fragment: FragmentSpecifier, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    """Return the characters from the first position up to the second."""
    start, end = fragment.range()
    read = decoded(media_type, body)
    if isinstance(read, Unextracted):
        return read
    text, charset = read
    canonical = canonical_text(text)
    size = f"{len(canonical)} characters"
    if end > len(canonical):
        raise OutOfRange(size)
    return DocumentPart(
        _encoded(canonical[start:end], charset), _typed(media_type, charset), size
    )


def canonical_text(text: str) -> str:
    """Return *text* with CRLF line ends."""
    return _LINE_END.sub("\r\n", text)


def elements(
    fragment: FragmentSpecifier, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    """Return everything from one tag to another, by their numbers."""
    if len(fragment.positions) == 1:
        fragment = fragment._replace(positions=fragment.positions * 2)
    first, last = fragment.range()

    def chosen(tags: list[TagPosition]) -> tuple[TagPosition, TagPosition]:
        if last >= len(tags):
            raise OutOfRange(f"{len(tags)} tags")
        return tags[first], tags[last]

    return _between(chosen, media_type, body)


def named(
    fragment: FragmentSpecifier, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    """Return everything from one tag to another, by the values of their ``name``."""
    if len(fragment.positions) > 2:
        raise BadFragment("name needs two names, such as Intro,End")
    first, last = (unquote(fragment.positions[n]) for n in (0, -1))

    def chosen(tags: list[TagPosition]) -> tuple[TagPosition, TagPosition]:
        by_name: dict[str, TagPosition] = {}
        for tag in tags:
            if tag.name is not None:
                by_name.setdefault(tag.name, tag)
        if first not in by_name or last not in by_name:
            raise OutOfRange(f"the names {', '.join(list(by_name)[:20]) or 'of no element'}")
        if by_name[first].start > by_name[last].start:
            raise BadFragment("the fragment ends before it begins")
        return by_name[first], by_name[last]

    return _between(chosen, media_type, body)


def _between(
    choose: Callable[[list[TagPosition]], tuple[TagPosition, TagPosition]],
    media_type: str,
    body: bytes,
) -> DocumentPart | Unextracted:
    base = base_type(media_type)
    is_markup = base == _HTML or base.endswith((_XML_SUFFIX, "/xml", "/sgml"))
    if not is_markup:
        return Unextracted(f"{base} has no tags")
    read = decoded(media_type, body)
    if isinstance(read, Unextracted):
        return read
    text, charset = read
    try:
        tags = list(_html_tags(text) if base == _HTML else xml_tags(text))
    except TooComplex:
        return Unextracted("the document is too complex")
    first, last = choose(tags)
    octets = _encoded(text[first.start : last.end], charset)
    return DocumentPart(octets, _typed(media_type, charset), f"{len(tags)} tags")


def _html_tags(text: str) -> Iterator[TagPosition]:
    for start, end, attributes in html_tags(text, Steps(_MOST_STEPS)):
        name = attributes.get("name")
        yield TagPosition(start, end, None if name is None else unescape(name))


def xml_tags(text: str) -> Iterator[TagPosition]:
    """Yield the tags of XML or SGML; what is no markup counts as text."""
    at = 0
    while (at := text.find("<", at)) >= 0:
        skipped = next((pair for pair in _SKIPPED if text.startswith(pair[0], at)), None)
        if skipped is not None:
            begin, close = skipped
            end = text.find(close, at + len(begin))
            at = len(text) if end < 0 else end + len(close)
        elif tag := _XML_TAG.match(text, at):
            stated = _XML_ATTRIBUTE.search(text, at, tag.end())
            value = (
                None if stated is None else stated[1] if stated[1] is not None else stated[2]
            )
            yield TagPosition(at, tag.end(), None if value is None else unescape(value))
            at = tag.end()
        elif declaration := _DECLARATION.match(text, at):
            at = _declaration_end(text, declaration.end())
        else:
            at += 1


def _declaration_end(text: str, at: int) -> int:
    """Return where a declaration ends that may have an internal subset in brackets."""
    if text.startswith("[", at):
        closed = text.find("]", at)
        at = len(text) if closed < 0 else closed
    end = text.find(">", at)
    return len(text) if end < 0 else end + 1


def decoded(media_type: str, body: bytes) -> tuple[str, str] | Unextracted:
    """Return the text of *body* and its character set."""
    base = base_type(media_type)
    if not (base.startswith("text/") or base.endswith((_XML_SUFFIX, "/xml", "/sgml"))):
        return Unextracted(f"{base} is not text")
    charset = charset_of(media_type) or (_ASCII if body.isascii() else "utf-8")
    try:
        return body.decode(decoder_of(charset)), charset
    except (UnicodeDecodeError, LookupError):
        return Unextracted("the character set of the document is not known")


def _encoded(text: str, charset: str) -> bytes:
    return text.encode(decoder_of(charset))


def _typed(media_type: str, charset: str) -> str:
    if charset_of(media_type) or charset == _ASCII:
        return media_type
    return f"{base_type(media_type)}; charset={charset}"
