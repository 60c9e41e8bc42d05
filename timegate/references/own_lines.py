"""What line breaks between two links say: two items of a list, or one citation.

A citation often has its archive link on a line of its own. In a list, each line is a reference,
even if two of them are of the same page.
"""

import re
from typing import Final

from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.dates import names_access
from timegate.text.written_dates import find_dates

BLANK_LINE: Final = compiled(r"\n[ \t\r]*+\n")
_MARKER: Final = compiled(
    r"[ \t>]{0,40}+(?:(?P<number>[(\[]?[0-9]{1,3}[.)\]:]{1,2}|[a-z][.)])"
    r"|[-+*#\u2022\u00b7\u2023\u25e6\u25aa\u2013\u2014]{1,4})\s"
)
"""Before an item of a list: a bullet, or a number."""
_LABEL: Final = compiled(
    r"archiv|arkiv|arquiv|backup|snapshot|wayback|\bcopy\b|kopie|\bcopie\b|\bcached?\b",
    re.IGNORECASE,
)
"""Before the link to a copy of the page above it."""
_GOES_ON: Final = compiled(r"[,:(\[<\u2013\u2014-][ \t]{0,8}\r?$")
"""The end of a line in the middle of a citation."""
_SAME_WORDS: Final = compiled(r"[ \t>\"'<(\[*_|]{0,8}")
_LONGEST_LINE: Final = 400


def is_divided(gap: str) -> bool:
    """Whether there is a blank line in *gap*: what is before it is another paragraph."""
    return "\n" in gap and BLANK_LINE.search(gap) is not None


def are_items(
    text: str, one: TextSpan, other: TextSpan, *, dated: TextSpan | None, is_copy: bool = True
) -> bool:
    """Whether the links *one* and *other* after it are two items of a list.

    *dated* is the one of them that needs a date beside it, because it states none itself.
    *is_copy*: the other one may be the link to a copy of the first.
    """
    if "\n" not in text[one.end : other.start]:
        return False
    first, second = _line_start(text, one), _line_start(text, other)
    before, head = text[first : one.start], text[second : other.start]
    if _indentation(head) > _indentation(before):
        return False
    is_labelled = _LABEL.search(head) is not None
    if marker := _MARKER.match(head):
        return marker["number"] is not None or not is_labelled
    rest = text[one.end : other.start].partition("\n")[0]
    if is_labelled or _GOES_ON.search(rest) or head.lstrip()[:1].islower():
        return False
    if dated is None or not _has_own_date(text, dated):
        return False
    # A link alone after a citation is that of its copy.
    is_bare = is_copy and _SAME_WORDS.fullmatch(head) and dated == one
    return not is_bare or _begins_line(before)


def _begins_line(before: str) -> bool:
    marker = _MARKER.match(before)
    return _SAME_WORDS.fullmatch(before, marker.end() if marker else 0) is not None


def _line_start(text: str, link: TextSpan) -> int:
    start = max(0, link.start - _LONGEST_LINE)
    return max(text.rfind("\n", start, link.start) + 1, start)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t>*#:"))


def _has_own_date(text: str, link: TextSpan) -> bool:
    """Whether the line of *link* says when the page was seen, or has nothing but a date."""
    start = _line_start(text, link)
    before = text[start : link.start]
    after = text[link.end : link.end + _LONGEST_LINE].partition("\n")[0]
    dates = [date.text for part in (before, after) for date in find_dates(part)]
    if not dates:
        return False
    words = f"{before}\n{after}"
    for date in dates:
        words = words.replace(date, "", 1)
    return names_access(words) or not any(map(str.isalpha, words))
