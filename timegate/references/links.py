"""Finding links in any text: where each is, and which identifier is meant by it.

A link is found among words, brackets and markup: closing punctuation does not belong to it,
balanced parentheses do. Spellings that make a link harmless (``hxxp://``, ``[.]``) and those of
TeX and HTML are undone. The scan is linear in the length of the text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple
from urllib.parse import unquote

from archives.regex_compat import compiled
from timegate.identifiers import SCHEMES
from timegate.references import TextSpan
from timegate.references.broken_lines import PrintedText
from timegate.references.broken_links import broken_link, may_be_broken
from timegate.references.link_ends import (
    end_before_words,
    end_in_brackets,
    glued_word,
    has_own_dot,
    may_end_sentence,
    may_go_on,
    open_parenthesis,
)
from timegate.references.mistyped_hosts import has_comma, is_odd_host
from timegate.references.mistyped_links import (
    MISTYPED,
    goes_on_with_sign,
    has_foreign_sign,
    has_mistyped_page,
    has_no_domain,
    is_repaired,
    spaced_link,
    with_scheme_repaired,
)
from timegate.references.tex_links import ESCAPE, without_tex
from timegate.text.html import decode_entities

_SIGN_BEFORE: Final = r"[\s.,;:!?\"\u201d\u2019)\]]"
_NUMBERED: Final = (
    rf"(?=https?://)(?:(?<=\A[0-9])|(?<=\A[0-9]{{2}})|(?<={_SIGN_BEFORE}[0-9])"
    rf"|(?<={_SIGN_BEFORE}[0-9]{{2}})|(?<={_SIGN_BEFORE}[0-9]{{3}}))"
)
"""A link right after the number of a footnote."""
_START: Final = compiled(
    rf"(?:(?<![A-Za-z0-9@])|{_NUMBERED})(?:view-source:)?(?:{MISTYPED}|urn:(?:pwid|duri|tdb):|pwid:|duri:|tdb:|pdi://"
    r"|(?:h(?:tt|xx|\*\*)|tt)ps?(?:\s?:\s?|\[:\]|\(:\))//"
    r"(?:\x20(?=(?:[\w-]{1,63}\.){1,5}[a-z]{2,18}(?:[/\s]|$)))?"
    r"|h(?:tt|xx)ps?\[://\]|(?<![:/\\\w])//(?=(?:[\w-]{1,63}\.){1,5}[a-z]{2,18}(?::[0-9]{1,5})?(?:[/?\s]|$))"
    r"|arxiv:\s?(?=[0-9]{4}\.[0-9]{4,5}|[a-z-]{2,20}(?:\.[A-Z]{2})?/[0-9]{7})|hdl:\s?(?=[0-9][0-9.]{1,20}/\w)"
    r"|(?<![\w./:-])(?:perma\.cc|archive\.(?:ph|today|is|fo|li|md|vn))/(?=[a-z0-9])"
    r"|https?%3A%2F%2F(?=\w)|www[0-9]?(?:\.|\[\.\]|,(?=[\w-]{1,63}\.[a-z]{2}))(?=[\w-])"
    r"|doi(?::\s{0,2}|\s)(?=10\.[0-9]{4,9}/)|10\.[0-9]{4,9}/(?=[^\s]))",
    re.IGNORECASE,
)
# Characters that end a link: blanks, quotes, brackets of other scripts, full stops of others.
_ENDS: Final = (
    r"\s<>\"“”„«»\u2039\u203a`{}\\\u060c\u061b\u061f\u3001\u3002\uff0c"
    r"\u0589\u06d4\u0700-\u0702\u0964\u0965\u104a\u104b\u1362\u17d4\u17d5\u0f0d\u0f0e"
    r"\uff1b\uff09\u3010\u3011\u3014\u3015\u300a\u300c\u300d\u300e\u300f\u300b\uff08\uff1c\uff1e\uff3b\uff3d\u3009"
)
# A title in brackets in an address of Wikipedia.
_TITLE: Final = (
    r"(?<![!-.0-^`-~])(?:\u300c[^\s\u300c\u300d]{1,80}\u300d"
    r"|\u300e[^\s\u300e\u300f]{1,80}\u300f)"
)
_BODY: Final = rf"(?:{ESCAPE}|[^{_ENDS}|]|\{{[^\s{{}}<>\"|]{{0,200}}\}}|\\-|{_TITLE})*+"
_REST: Final = compiled(_BODY)
_REST_WITH_PIPES: Final = compiled(rf"(?:{_BODY}|\|(?![\s|\]}}]))*+".replace("*+|", "|", 1))
_IN_NEXT_LINE: Final = compiled(
    r"[ \t]{0,4}\r?\n[ \t>]{0,16}(?=(?:page|part|subsite|site|collection|snapshot):)"
)
_IN_LINES: Final = compiled(r"[ \t]{0,4}\r?\n[ \t>]{0,16}")
_NEXT: Final = compiled(
    r"(?<![,;|])[,;|]++(?=(?:https?|hxxps?)://|urn:pwid:|duri:)", re.IGNORECASE
)
_SICI: Final = compiled(r"<[^\s<>\"]{1,60}>[^\s<>\"\[\]]{1,40}")
_GLUED_LINK: Final = compiled(r"(?<=[A-Za-z0-9])(?=https?://)", re.IGNORECASE)
_WORD_CELL: Final = compiled(r",[A-Z][a-z]{2,30}$")
"""A link that ends in a comma and a word, which may be the next cell of a table."""
_LONGEST_CELL: Final = 32
_STAMP_CELL: Final = compiled(r"[,;](?=(?:19|20)[0-9]{6}(?:[0-9]{6})?$)")
_BACKSLASHES: Final = compiled(r"\bhttps?:\\\\[^\s<>\"]{1,2000}", re.IGNORECASE)
_BAD_SCHEME: Final = compiled(
    r"https?(?:/{1,3}|:/?|;/{1,2})$|[a-z]{2,8}[:;.]?[/\\]{2,3}$", re.IGNORECASE
)
"""A scheme that is not written as it should be, before "www"."""
_DATE_CELL: Final = compiled(
    r",(?=[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?$)|;(?=[0-9]{4}-[0-9]{2}(?:-[0-9]{2}(?:;|$)|$))"
)
_ENTITY_END: Final = compiled(r"&(?:gt|lt|quot|nbsp|#39|#34|#60|#62|rdquo|ldquo);")
_FOOTNOTE: Final = compiled(
    r"(?:\[\^?[0-9a-z]{1,3}\]|[\u00b9\u00b2\u00b3\u2070-\u2079]{1,3})[.,;]?$"
)
_LONGEST_NOTE: Final = 8
_DEFANGED_PART: Final = compiled(r"\[(?:\.|:|dot|://)\]", re.IGNORECASE)
_BRACKETS: Final = compiled(r"[\[\]]")
_CLOSING: Final = {")": "(", "]": "[", "}": "{", ">": "<"}
_IN_CELLS: Final = ".?!:"
"""What may end an address that a program wrote; commas and quotes are rests of its list."""
_AFTER: Final = frozenset(".,;:!?'\"\u2019\u2018…·*_~")
# Characters that typesetting puts in the place of others.
_TYPESET: Final = str.maketrans(
    dict(zip("\u02dc\u2010\u2011", "~--", strict=True))
    | {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl"}
)
_DEFANGED: Final = (
    (compiled(r"^(?:h(?:xx|\*\*)|tt)p", re.IGNORECASE), "http"),
    (compiled(r"^(https?)\s?(?:\[:\]|\(:\)|:)\s?//\s?", re.IGNORECASE), r"\1://"),
    (compiled(r"^(https?)\[://\]", re.IGNORECASE), r"\1://"),
    (compiled(r"(?<=[/:])h(?:xx|\*\*)p(?=s?://)", re.IGNORECASE), "http"),
    (compiled(r"\[\.\]|\(\.\)|\[dot\]|\(dot\)|\{\.\}", re.IGNORECASE), "."),
)
_ADDRESSES: Final = {
    "arxiv:": "https://arxiv.org/abs/",
    "hdl:": "https://hdl.handle.net/",
    "//": "https://",
    "www": "http://www",
}
"""Beginnings of links without a scheme of the Web, and their addresses."""
_DOI: Final = compiled(r"(?:doi(?:[:\s]\s{0,2}|\.org/))?(?=10\.[0-9]{4,9}/)", re.IGNORECASE)
_SCHEMES: Final = ("http://", "https://")
_NOTHING_TO_UNDO: Final = compiled(r"https?://(?!https?:)[^\s/&\\(\[{][^&\\(\[{]*+")
_ESCAPED_TWICE: Final = compiled(r"&amp;(?:amp;){1,3}")
_HOST_PATH: Final = compiled(
    r"(?<![\w@./:-])[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}(?:\.|\[\.\]|\(\.\)|\[dot\])){1,5}"
    r"([A-Za-z]{2,18})(?::[0-9]{2,5})?/",
)
# Top-level domains of pages that people name without a path; not those that are suffixes of
# files, or words.
_HOST: Final = compiled(
    r"(?<![\w@./:%-])(?:[a-z0-9](?:[a-z0-9-]{0,62})\.){1,4}"
    r"(?:com|org|net|edu|gov|mil|int|info|eu|uk|de|fr|dk|se|fi|nl|ch|jp|cn|ru|br|au|nz|pl|cz)"
    r"(?![\w@/-]|\.\w)",
    re.IGNORECASE,
)
_COMMA_BEFORE: Final = compiled(r"(?<![\w,.])[a-z0-9-]{1,63},$")
_NO_HOSTS: Final = frozenset(("asp.net", "ado.net", "vb.net"))
_BEFORE_INNER: Final = frozenset("/=:?&+,;|@")
"""Signs in an address before the address of another page."""
_LAST_WORD: Final = compiled(r"[^\s<>\"'()\[\]{}]{1,200}$")
_LONGEST_PREFIX: Final = 200
_WRAPPED: Final = compiled(
    r"((?:[^\s<>\"]{1,2000}+[ \t]{0,8}\r?\n[ \t>]{0,16}){1,5}+[^\s<>\"]{1,2000}+)\s{0,4}>"
)
_NO_DOMAIN: Final = frozenset(
    [
        "js",
        "py",
        "md",
        "txt",
        "html",
        "htm",
        "php",
        "pdf",
        "css",
        "doc",
        "docx",
        "exe",
        "rb",
        "ts",
        "sh",
    ]
)
_LONGEST: Final = 8192
_GLUED: Final = 32
"""Links that brackets separate in one word, after which links are expected to be short: each
link is looked for in the whole rest of the word."""
_SHORT: Final = 256


class TextLink(NamedTuple):
    """A link in a text."""

    span: TextSpan
    written: str
    identifier: str
    """What is meant by it, with a scheme."""
    incomplete: bool = False
    """Whether the text may contain only a part of it, or characters of typesetting."""
    lines: bool = False
    """Whether it was joined from several lines."""


def find_links(text: str) -> Iterator[TextLink]:
    """Yield the links in *text*, in order."""
    if "\\\\" in text:
        # Of the same length, so that positions stay.
        shown = _BACKSLASHES.sub(lambda link: link[0].replace("\\", "/"), text)
        for link in _found_links(shown):
            written = text[slice(*link.span)]
            is_plain = written == link.written
            yield link if is_plain else link._replace(written=written, incomplete=True)
        return
    yield from _found_links(text)


def _found_links(text: str) -> Iterator[TextLink]:
    at = line = reached = inside = 0
    broken = False
    printed = PrintedText(text)
    while match := _START.search(text, at):
        start = _start(text, at, match)
        yield from _without_scheme(text, line, text.rfind("\n", line, start) + 1)
        if wrapped := _wrapped(text, match.start()) or _broken(text, printed, match.start()):
            yield wrapped
            at = wrapped.span.end
        else:
            inside = inside + 1 if match.start() < reached else 0
            reached = end = _end(text, match, _LONGEST if inside < _GLUED else _SHORT)
            for span in _parts(text, start, end):
                link = _link(text, span)
                if link is not None:
                    yield link
                    broken = link.incomplete
                    # Another link may follow the bracket at which this one ends.
                    end = link.span.end if span.end == end else end
            at = max(end, match.end())
        line = _line_after(text, _line_after(text, at) if broken else at)
    yield from _without_scheme(text, line, len(text))


def _line_after(text: str, at: int) -> int:
    line_break = text.find("\n", at)
    return line_break + 1 if line_break >= 0 else len(text)


def _wrapped(text: str, start: int) -> TextLink | None:
    """Return a link in angle brackets that is broken into lines, which may be quoted."""
    if text[start - 1 : start] != "<" and text[max(0, start - 5) : start].upper() != "<URL:":
        return None
    match = _WRAPPED.match(text, start)
    if match is None:
        return None
    first, *rest = (line.strip(" \t>") for line in match[1].splitlines())
    identifier = meant("".join([first, *rest]))
    others = pairwise([first, *rest])
    if any(_START.match(line) and not _is_unfinished(last) for last, line in others):
        return None
    if identifier is None:
        return None
    return TextLink(TextSpan(*match.span(1)), match[1], identifier)


def _broken(text: str, printed: PrintedText, start: int) -> TextLink | None:
    """Return a PWID that is broken into lines without brackets around it."""
    pwid = printed.pwid_at(start)
    if pwid is None:
        return None
    end = trimmed(pwid.joined, 0, len(pwid.joined))
    written = TextSpan(start, pwid.end - (len(pwid.joined) - end))
    identifier = meant(pwid.joined[:end]) or pwid.joined[:end]
    return TextLink(written, text[slice(*written)], identifier, lines=True)


def _start(text: str, floor: int, match: re.Match[str]) -> int:
    """Return where the link begins: an archive link without a scheme contains another link."""
    at = match.start()
    if not at or text[at - 1] not in _BEFORE_INNER:
        return at
    window = text[max(floor, at - _LONGEST_PREFIX) : at]
    word = _LAST_WORD.search(window)
    if word is None or not _HOST_PATH.match(word[0]):
        return at
    return at - len(word[0])


def _end(text: str, match: re.Match[str], longest: int) -> int:
    before = text[match.start() - 1 : match.start()]
    limit = min(len(text), match.end() + longest)
    quoted = text.find("'", match.end(), limit) if before == "'" else -1
    rest = (_REST if before in ("<", "[", "|", "=") else _REST_WITH_PIPES).match(
        text, match.end(), quoted if quoted >= 0 else limit
    )
    end = rest.end() if rest else match.end()
    if text[end : end + 1] == "<" and "(sici)" in text[match.start() : end].lower():
        # Old DOIs have angle brackets in them.
        sici = _SICI.match(text, end)
        end = sici.end() if sici else end
    # A PWID or duri is often broken after its time.
    if text[end - 1 : end] == ":" and (broken := _IN_NEXT_LINE.match(text, end)):
        rest = _REST_WITH_PIPES.match(text, broken.end(), broken.end() + longest)
        end = rest.end() if rest else end
    return end


def _parts(text: str, start: int, end: int) -> Iterator[TextSpan]:
    """Yield the links that commas, semicolons or pipes separate, without blanks."""
    for mark in [*_NEXT.finditer(text, start, end)]:
        yield TextSpan(start, mark.start())
        start = mark.end()
    for mark in [*_GLUED_LINK.finditer(text, start + 1, end)]:
        # A link right after another, as in ".htmhttp://".
        yield TextSpan(start, mark.start())
        start = mark.start()
    cell = _DATE_CELL.search(text[start:end]) or _STAMP_CELL.search(text[start:end])
    yield TextSpan(start, start + cell.start() if cell else end)


def _link(text: str, span: TextSpan) -> TextLink | None:
    start, end = span
    entity = _ENTITY_END.search(text, start, end)
    raw = _bracket(text, start, entity.start() if entity else end)
    note = _FOOTNOTE.search(text, max(start, raw - _LONGEST_NOTE), raw)
    raw = note.start() if note else raw
    before_words = end_before_words(text, start, raw)
    end = trimmed(text, start, before_words)
    glued = glued_word(text, start, end)
    end = trimmed(text, start, glued or end)
    opened = open_parenthesis(text, start, end)
    if opened is not None and text[opened - 1] != "_":
        end = trimmed(text, start, opened)
    end = end_in_brackets(text, start, end)
    identifier = meant(_IN_LINES.sub("", text[start:end]))
    if identifier is None:
        return None
    if has_no_domain(identifier) and (spaced := spaced_link(text, start)):
        written = TextSpan(start, spaced.end)
        return TextLink(written, text[slice(*written)], spaced.joined, incomplete=True)
    if broken := broken_link(text, start, end, raw):
        # It is joined, and that is said.
        last = trimmed(broken.joined, 0, len(broken.joined))
        joined = meant(broken.joined[:last])
        written = TextSpan(start, broken.end - (len(broken.joined) - last))
        if joined is not None and written.end > end:
            return TextLink(
                written,
                text[slice(*written)],
                joined,
                incomplete=not broken.certain or is_repaired(text[start:end]),
                lines=broken.lines,
            )
    incomplete = (
        opened is not None
        or is_repaired(text[start:end])
        or has_no_domain(identifier)
        or is_odd_host(identifier)
        or has_foreign_sign(identifier)
        or goes_on_with_sign(text, raw)
        or _WORD_CELL.search(identifier, max(0, len(identifier) - _LONGEST_CELL)) is not None
        or _GLUED_LINK.match(text, end) is not None
        or (_GLUED_LINK.match(text, start) is not None and not _has_number(text, start))
        or _BAD_SCHEME.search(text, max(0, start - 8), start) is not None
        or _may_be_own_number(text, end)
        or glued is not None
        or note is not None
        or (before_words == raw and may_go_on(text, start, end, raw))
        or (has_own_dot(text, start, end) and may_end_sentence(text, start, end))
        or any(ord(character) in _TYPESET for character in text[start:end])
        or "\u2018" in text[start:end]
    )
    return TextLink(TextSpan(start, end), text[start:end], identifier, incomplete)


_NUMBER_BEFORE: Final = compiled(
    r"(?:(?:^|\n)[ \t]{0,8}|[^\W\d_][.,;:!?\"\u201d\u2019)\]]{1,3})[0-9]{1,3}$"
)
"""The number of a footnote at the beginning of a line, or after a sentence."""


def _has_number(text: str, start: int) -> bool:
    """Whether a link stands right after the number of a footnote, as in ``text.12http://``."""
    begin = max(0, start - _LONGEST_NOTE * 2)
    number = _NUMBER_BEFORE.search(text[begin:start])
    return number is not None and (bool(number.start()) or not begin or number[0][0] == "\n")


def _may_be_own_number(text: str, end: int) -> bool:
    """Whether eight digits after a comma may belong to the link: the only one of a text."""
    cell = _STAMP_CELL.match(text, end)
    return (
        cell is not None and end + len(",20101105") == len(text.rstrip()) and "\n" not in text
    )


def _bracket(text: str, start: int, end: int) -> int:
    """Return where a link ends at a bracket that is not its own.

    It opens brackets only in its query, around an IPv6 address, and in ``[.]``.
    """
    opened, query = 0, text.find("?", start, end)
    for bracket in _BRACKETS.finditer(text, start, end):
        at = bracket.start()
        is_own = text[at - 1] in "/@" or -1 < query < at or _DEFANGED_PART.match(text, at)
        if bracket[0] == "[" and (not is_own or text.find("]", at, end) < 0):
            return at
        opened += 1 if bracket[0] == "[" else -1
        if opened < 0:
            return at
    return end


def trimmed(text: str, start: int, end: int) -> int:
    """Return where a link ends: before punctuation and brackets that are not its own."""
    counts = {each: text.count(each, start, end) for each in "()[]{}<>"}
    before = text[start - 1 : start]
    while end > start:
        last = text[end - 1]
        opening = _CLOSING.get(last)
        if opening is not None:
            if counts[last] <= counts[opening]:
                break
            counts[last] -= 1
        elif last in "([{":
            counts[last] -= 1
        elif (
            last not in _AFTER
            or (last in "*_~" and before != last and not _is_behind(text, start, end, counts))
            or (last == "\u2019" and "\u2018" in text[start:end])
            or (last == "." and has_own_dot(text, start, end))
        ):
            break
        end -= 1
    return end


def _is_behind(text: str, start: int, end: int, counts: Mapping[str, int]) -> bool:
    """Whether signs of emphasis stand behind a bracket that is not the link's own."""
    bracket = text[max(start, end - _LONGEST_EMPHASIS) : end].rstrip("*_~")[-1:]
    opening = _CLOSING.get(bracket)
    return opening is not None and counts[bracket] > counts[opening]


_LONGEST_EMPHASIS: Final = 4


def meant(written: str) -> str | None:
    """Return the identifier that *written* stands for; None if nothing is left of it."""
    link = written if written.isascii() else written.translate(_TYPESET)
    is_plain = link.startswith(_SCHEMES) and _NOTHING_TO_UNDO.fullmatch(link)
    if is_plain and not (has_comma(link) or has_mistyped_page(link)):
        return link
    if link.lower().startswith("view-source:"):
        link = link[len("view-source:") :]
    if link.lower().startswith(("http%3a", "https%3a")):
        # The address as a parameter of another.
        return unquote(link)
    link = with_scheme_repaired(link)
    for pattern, plain in _DEFANGED:
        link = pattern.sub(plain, link)
    if "(sici)" in link.lower():
        link = link.replace("<", "%3C").replace(">", "%3E")
    # Markup that was escaped once more has "&amp;amp;".
    link = _ESCAPED_TWICE.sub("&amp;", without_tex(link).replace("\\-", "-"))
    return _with_scheme(decode_entities(link))


def _with_scheme(link: str) -> str | None:
    lower = link.lower()
    if doi := _DOI.match(link):
        return f"https://doi.org/{link[doi.end() :]}"
    for prefix, address in _ADDRESSES.items():
        if lower.startswith(prefix):
            return address + link[len(prefix) :].lstrip()
    if lower.startswith(("http", "urn:", "pwid:", "duri:", "tdb:", "pdi:")):
        return None if lower.partition("://")[2] == "" and "://" in lower else link
    return f"http://{link}" if _HOST_PATH.match(link) else None


def _without_scheme(text: str, start: int, end: int) -> Iterator[TextLink]:
    """Yield ``museum.example/page``, as some citation styles write links, between two places.

    They are lines without any other link, in which such a word may be a path.
    """
    while start < end and (match := _HOST_PATH.search(text, start, end)):
        rest = _REST.match(text, match.end())
        start = rest.end() if rest else match.end()
        link = _link(text, TextSpan(match.start(), start))
        if match[1].lower() not in _NO_DOMAIN and link and link.span.end >= match.end() - 1:
            yield link


def find_hosts(text: str) -> Iterator[TextLink]:
    """Yield ``museum.org`` in a text without any link."""
    form = _HOST_LINE if are_hosts(text.split()) else _HOST
    for match in form.finditer(text):
        if match[0].lower() not in _NO_HOSTS:
            # In "museum,example.org", the comma may be a dot.
            is_cut = _COMMA_BEFORE.search(text, max(0, match.start() - 65), match.start())
            span = TextSpan(*match.span())
            yield TextLink(span, match[0], f"http://{match[0]}", is_cut is not None)


def with_hosts(text: str, links: Sequence[TextLink]) -> list[TextLink]:
    """Return *links*, and the hosts that are lines of a list in which each line is a word."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 2 or len(lines) != len(text.split()):
        return [*links]
    words = {line.strip() for line in lines}
    hosts = (host for host in _HOST.finditer(text) if host[0] in words)
    found = (TextLink(TextSpan(*host.span()), host[0], f"http://{host[0]}") for host in hosts)
    return sorted([*links, *found])


def is_exact(text: str) -> bool:
    """Whether a cell or a member is one identifier; punctuation at its end belongs to it."""
    return is_identifier(text.rstrip(_IN_CELLS)) and not any(map(str.isspace, text))


def video_address(link: str) -> str | None:
    """Return the address of the video that a link to Ghostarchive names; None if none."""
    head, sign, rest = link.partition("ghostarchive.org/varchive/")
    if not sign or "/" in head.partition("://")[2]:
        return None
    video = unquote(rest.partition("?")[0].rstrip("/").rpartition("/")[2])
    if not re.fullmatch(r"[A-Za-z0-9_-]{11}", video):
        return None
    return f"https://www.youtube.com/watch?v={video}"


_ARCHIVE_PREFIX: Final = compiled(r"/(?:[0-9]{14}|web/[0-9]{4,14})(?:[a-z]{2}_)?/$")


def is_identifier(text: str) -> bool:
    """Whether *text* may be one identifier, perhaps broken into lines, and nothing else.

    The lines of a plain URL are joined only if none of them is a reference or a date.
    """
    if len(text) > _LONGEST:
        return False
    lines = text.split()
    written = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and len(lines) != len(written):
        return _is_date(text)
    if _are_several(text, lines):
        return False
    if text.partition(":")[0].lower() in SCHEMES:
        return trimmed(text, 0, len(text)) == len(text) and not is_repaired(text)
    links = [*find_links(text)]
    if len(lines) == 1:
        return not links or (
            links[0].written == links[0].identifier == text and not links[0].incomplete
        )
    from timegate.text.written_dates import other_dates, whole_date  # noqa: PLC0415 -- slow

    return not any(whole_date(line) or next(other_dates(line), None) for line in lines[1:])


def _are_several(text: str, lines: Sequence[str]) -> bool:
    """Whether *lines* of a word each are not one link that is broken into lines."""
    pairs = [*pairwise(lines)]
    if are_hosts(lines):
        return True
    if any(_begins_with_link(line) and not _is_unfinished(last) for last, line in pairs):
        return True
    if not (text.lower().startswith((*_SCHEMES, "www.")) or _HOST_PATH.match(text)):
        return False
    return any(_HOST.fullmatch(pair[1]) or not may_be_broken(*pair) for pair in pairs)


_BEFORE_LINK: Final = compiled(
    r"[^\w\s/?&=#%~;:@+.,!$]{1,4}|\[[^\[\]\s]{0,80}\]\(|[(\[]?[0-9]{1,3}[.)\]]"
)
"""Before a link that is no part of another: a bullet, a bracket, or its words in Markdown."""


def _begins_with_link(line: str) -> bool:
    link = next(find_links(line), None)
    if link is None:
        return False
    return not link.span.start or _BEFORE_LINK.fullmatch(line, 0, link.span.start) is not None


_HOST_LINE: Final = compiled(
    r"(?:[a-z0-9](?:[a-z0-9-]{0,62})\.){1,5}([a-z]{2,18})", re.IGNORECASE
)


def are_hosts(lines: Sequence[str]) -> bool:
    """Whether each of several *lines* is a host without a path, and none is part of a link."""
    matches = (_HOST_LINE.fullmatch(line) for line in lines)
    return len(lines) > 1 and all(
        match is not None and match[1].lower() not in _NO_DOMAIN for match in matches
    )


def _is_unfinished(line: str) -> bool:
    """Whether a URL must follow: after the colon of a PWID, or the time of an archive link."""
    return line.endswith(":") or _ARCHIVE_PREFIX.search(line) is not None


def _is_date(text: str) -> bool:
    """Whether *text* has blanks and no link: a date in words, or nothing that can be read."""
    return next(find_links(text), None) is None
