"""PWIDs with mistakes of notation: a mistyped scheme, dots in place of colons, no coverage.

A PWID with a day that does not exist names no copy: it is rejected, with the place of the
mistake.
"""

from typing import Final, NamedTuple

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.uri import begins_with_host
from timegate.references.mistyped_links import with_scheme_repaired

_PWID: Final = compiled(
    r"^(?:urn[:.;]?)?pwid[:;](?P<archive>[\w.~-]{1,255}+)[:;](?P<time>[0-9][0-9A-Za-z:._-]{3,40}?)"
    r"(?:[:;](?P<coverage>(?!https?\b)[a-z]{3,12}))?:(?P<page>(?=[A-Za-z])(?![a-z]{3,12}:(?!/))\S{4,8192})$"
)
_TIME: Final = compiled(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[Tt_]([0-9]{2})[:.]?([0-9]{2})(?:[:.]?([0-9]{2}))?)?)?)?[Zz]?"
)


class MistypedPwid(NamedTuple):
    """What a PWID with a mistake in it names."""

    page: str
    time: Moment
    corrected: str
    """The PWID that may be meant; empty if its time is only a month or a year."""


def mistyped_pwid(text: str) -> MistypedPwid | None:
    """Return what the PWID *text*, which cannot be read, names; None if it is no such one."""
    match = _PWID.match(text)
    if match is None:
        return None
    page, time = with_scheme_repaired(match["page"]), _time(match["time"])
    if time is None:
        return None
    if not page.startswith(("http://", "https://")):
        if not begins_with_host(page):
            return None
        page = f"http://{page}"
    coverage = match["coverage"] or "page"
    corrected = f"urn:pwid:{match['archive']}:{time}:{coverage}:{page}"
    return MistypedPwid(page, time, corrected if len(time.digits) >= len("20101105") else "")


def _time(text: str) -> Moment | None:
    match = _TIME.fullmatch(text)
    try:
        return Moment("".join(filter(None, match.groups()))) if match else None
    except Malformed:
        return None
