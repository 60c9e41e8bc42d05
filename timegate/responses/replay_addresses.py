"""Addresses of whole pages: ``/view/{stamp}/{URL}`` and ``/reconstruct/{stamp}/{URL}``.

The archived document in the frame, and each of its parts, has an address with the requested
time, the time and the archive of the page, and what it is used for:
``/view/20160122-20160122112029@mine.im_/http://example.org/logo.gif``. So a link leads to the
requested time again, however far this page is from it, and a part is looked for near its page.
``/view/20160122112029@mine/http://example.org/`` is the page as this archive has it.
"""

import re
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, unquote

from timegate.markup import EmbeddedUrl, Kind
from timegate.verdict import header_safe

PAGE: Final = "mp_"
FRAME: Final = "fr_"
STYLESHEET: Final = "cs_"
IMAGE: Final = "im_"
OTHER: Final = "oe_"
_USES: Final[dict[Kind, str]] = {
    "image": IMAGE,
    "icon": IMAGE,
    "stylesheet": STYLESHEET,
    "frame": FRAME,
    "font": OTHER,
    "media": OTHER,
    "object": OTHER,
    "other": OTHER,
}
_LONGEST: Final = 80
"""Characters of an archive's id, as it is written in an address."""
_PLACE: Final = re.compile(
    r"([0-9]{4,23})(?:-([0-9]{4,23})@([!-.0-?A-~]{1,80})\.(mp_|fr_|cs_|im_|oe_)"
    r"|@([!-.0-?A-~]{1,80}))?/(?=.)"
)


@dataclass(frozen=True, slots=True)
class ReplayPlace:
    """What is requested: a page with its frame, or a document or part inside it."""

    target: str
    """The requested time, as digits."""
    url: str
    near: str = ""
    """The time of the page to which a part belongs, as digits; empty for the frame."""
    archive: str = ""
    """The archive of the page; empty if it may be any."""
    use: str = ""
    """What it is used for; empty for the page with its frame."""

    def path(self, route: str) -> str:
        """Return the path of this place under *route* (view or reconstruct)."""
        archive = f"@{quote(self.archive, safe='')}" if self.archive else ""
        inside = f"-{self.near}{archive}.{self.use}" if self.use else archive
        return f"/{route}/{self.target}{inside}/{header_safe(self.url)}"

    def address_of(self, route: str, frame_url: str, embedded: EmbeddedUrl) -> str | None:
        """Return the address of a URL in the document at this place; None if it is inert.

        A link leads to the requested time; *frame_url* is the origin of the frame's page.
        """
        if embedded.role == "link":
            if embedded.kind == "frame":
                linked = replace(self, url=embedded.url, near=self.target, use=FRAME)
                return linked.path(route)
            return frame_url + ReplayPlace(self.target, embedded.url).path(route)
        use = _USES.get(embedded.kind)
        return None if use is None else replace(self, url=embedded.url, use=use).path(route)


def read_place(rest: str) -> ReplayPlace | None:
    """Return the place in the rest of a path; None if it is none."""
    found = _PLACE.match(rest)
    if found is None:
        return None
    target, near, of_part, use, of_page = found.groups("")
    archive = unquote(of_part or of_page)
    if len(quote(archive, safe="")) > _LONGEST:
        # Addresses in the document would be longer than those that are read here.
        return None
    return ReplayPlace(target, rest[found.end() :], near, archive, use)
