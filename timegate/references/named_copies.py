"""Copies of a page that a field of its entry names: PWIDs, duris and archive links in notes.

Such a name states page and time: it is more specific than the URL and the day of access.
"""

from collections.abc import Collection, Iterator
from typing import Final

from archives.regex_compat import compiled

IDENTIFIER: Final = (
    r"(?:(?:urn:)?pwid:[^\s:]{1,255}:[0-9TZ:.-]{4,30}:[a-z]{2,12}:"
    r"|(?:urn:)?duri:[0-9TZ:.-]{4,30}:)"
)
"""A PWID or duri up to the URL of its page."""
_COPY: Final = compiled(
    rf"(?:{IDENTIFIER}|https?://[^\s/]{{1,255}}/(?:[\w.-]{{1,40}}/){{0,4}}[0-9]{{14}}(?:[a-z]{{2}}_)?/)"
    r"(?P<page>https?://[^\s<>\"{}]{1,2000})"
)


def copies_of(pages: Collection[str], text: str) -> Iterator[str]:
    """Yield the copies of one of *pages* that are named in *text*."""
    known = {_core(page) for page in pages}
    for match in _COPY.finditer(text):
        name = match[0].rstrip(".,;:!?)]'")
        if _core(name[match.start("page") - match.start() :]) in known:
            yield name


def _core(page: str) -> str:
    return page.partition("://")[2].removeprefix("www.").rstrip("/")
