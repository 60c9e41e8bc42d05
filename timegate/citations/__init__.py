"""Citing a copy: its PWID and duri. The usual notations are in `timegate.citations.forms`.

A PWID and a duri can be minted without an authority (P-33, D-11). They state the time that the
archive proves, at the granularity that it proves, and the URL that it reports as captured.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.registry import Registry
from archives.uri import check_text, read_uri
from timegate.identifiers import parse
from timegate.identifiers.duri import Duri
from timegate.identifiers.pwid import Pwid, minted
from timegate.identifiers.replay_link import ReplayUrl
from timegate.resolution.model import Resolution
from timegate.text.times import read_time
from timegate.verdict import delivers_raw, location

if TYPE_CHECKING:
    from timegate.references.dates import FoundDate
    from timegate.references.model import ReferencePlace


@dataclass(frozen=True, slots=True)
class Citation:
    """The two identifiers of one copy: the PWID names the archive, the duri does not."""

    pwid: Pwid
    duri: Duri


def citation(original: str, captured: Moment, archive: str, *, raw: bool = False) -> Citation:
    """Return the identifiers of the copy of *original* that *archive* captured at *captured*.

    *archive* is a PWID archive-id. The bytes as they were captured are a ``part``, the replayed
    page is a ``page``. Raises Malformed if the copy cannot be named.
    """
    pwid = minted(original, captured, archive, raw=raw)
    return Citation(pwid, Duri(captured, pwid.item))


def cited(resolution: Resolution, registry: Registry) -> dict[str, str | None]:
    """Return the identifiers of the memento that was found; None for those it has not."""
    names: dict[str, str | None] = {"pwid": None, "duri": None}
    memento = resolution.memento
    if memento is None or resolution.extent is not None:
        # A PWID of a page or a file would name something else.
        return names
    entry = registry.by_id(memento.archive)
    is_raw = delivers_raw(resolution.query, memento, entry)
    try:
        if entry is None or not entry.pwid:
            return {
                **names,
                "duri": Duri(memento.captured, item_of(memento.original)).canonical,
            }
        found = citation(memento.original, memento.captured, entry.pwid[0], raw=is_raw)
    except Malformed:
        # The archive reports an original that is not a valid URL.
        return names
    return {"pwid": found.pwid.canonical, "duri": found.duri.canonical}


def item_of(original: str) -> str:
    """Return *original* as the item of an identifier. Raises Malformed."""
    url = original.partition("#")[0]
    check_text(url)
    return read_uri(url, Diagnosis())


UrlStatus = Literal["dead", "live", "deviated", "unfit", "usurped", "bot: unknown"]


@dataclass(frozen=True, slots=True)
class Copy:
    """The copy to be cited, as a reference describes it."""

    uri: str
    original: str
    captured: Moment
    archive: str
    """Name of the archive for people."""
    archive_id: str | None = None
    """PWID archive-id of the archive; None if it has none."""
    raw: bool = False
    """Whether *uri* is the address of the bytes as they were captured."""
    title: str | None = None
    accessed: date | None = None
    """The day on which the reader consulted the page; None if it is not stated."""
    authors: tuple[str, ...] = ()
    """Names as they are written, such as ``Smith, A.``."""
    year: str = ""
    """The year of publication; empty if it is not stated."""
    pasted: "PastedCitation | None" = None
    """The citation that the user pasted."""
    url_status: UrlStatus = "bot: unknown"
    """Whether the original still works, in the words of Wikipedia's citation templates.

    The default is the word for programs that did not try it.
    """


_EARLIEST_ZONE: Final = timedelta(hours=14)
"""How far the clocks of the earliest time zone are ahead of UTC."""


def access_day(text: str, now: datetime) -> date | None:
    """Return the day of access that a user wrote; None for an empty *text*.

    Raises ValueError for anything but one day, and for a day that has begun nowhere yet.
    """
    moment = read_time(text.strip())
    if moment is None:
        return None
    digits = moment.digits
    if len(digits) < len("20160122"):
        raise ValueError(f"{text.strip()!r} is not a day such as 2016-01-22")
    day = date(int(digits[:4]), int(digits[4:6]), int(digits[6:8]))
    if day > (now + _EARLIEST_ZONE).date():
        raise ValueError(f"{day} is in the future: it is the day on which you read the page")
    return day


class PastedCitation(NamedTuple):
    """A citation that a user pasted, to which a copy can be added."""

    text: str
    notation: Literal["wikitext", "bibtex", "prose"]
    place: "ReferencePlace | None"
    """Where the link to the copy and its day belong; None at the end of prose."""
    dates: "tuple[FoundDate, ...]"
    """Its dates, as they are written."""

    @property
    def has_archive_link(self) -> bool:
        """Whether it has a link to a copy already."""
        place = self.place
        if place is None or place.link is None or place.before_link:
            return False
        return place.link.end > place.link.start

    @property
    def is_unchanged(self) -> bool:
        """Whether no copy is added, because its own archive link stays."""
        return self.place is not None and self.place.link is None


class PageDescription(NamedTuple):
    """What the text with the reference says about its page."""

    title: str = ""
    url_status: UrlStatus | None = None
    accessed: date | None = None
    pasted: "PastedCitation | None" = None
    """The text itself, if it is a citation that the copy can be added to."""
    authors: tuple[str, ...] = ()
    year: str = ""

    @property
    def taken_over(self) -> str:
        """What citations take over from the text, and what not; empty if there is no text."""
        parts = {
            "author": self.authors,
            "year": self.year,
            "title": self.title,
            "day of access": self.accessed,
        }
        taken = [name for name, value in parts.items() if value]
        if not (taken or self.pasted):
            return ""
        absent = [name for name in ("author", "title") if name not in taken]
        date = "full date" if self.year else "date of publication"
        left = ", ".join((*absent, "work", "publisher"))
        if not taken:
            return f"nothing (no {left} or {date})"
        *first, last = taken
        listed = f"{', '.join(first)} and {last}" if first else last
        return f"{listed}; not {left} or {date}"


NO_DESCRIPTION: Final = PageDescription()


def copy_found(
    resolution: Resolution,
    registry: Registry,
    title: str | None = None,
    described: PageDescription = NO_DESCRIPTION,
) -> Copy | None:
    """Return the copy that *resolution* found, for a reference; None if it found none.

    What the user wrote about the page in *described* stays as it was.
    """
    memento = resolution.memento
    if memento is None:
        return None
    entry = registry.by_id(memento.archive)
    return Copy(
        uri=location(resolution, registry) or memento.uri,
        original=memento.original,
        captured=memento.captured,
        archive=memento.archive if entry is None else entry.name,
        archive_id=entry.pwid[0] if entry and entry.pwid else None,
        raw=delivers_raw(resolution.query, memento, entry),
        title=title or described.title or None,
        accessed=described.accessed,
        authors=described.authors,
        year=described.year,
        pasted=_with_its_link(described.pasted, resolution),
        url_status=described.url_status or "bot: unknown",
    )


def _with_its_link(
    pasted: PastedCitation | None, resolution: Resolution
) -> PastedCitation | None:
    """Return *pasted*; its own archive link stays if its archive said nothing of that copy.

    It does not stay if that archive is closed for good, or given up in the preferences.
    """
    if pasted is None or pasted.place is None or not pasted.has_archive_link:
        return pasted
    query, named, skip = resolution.query, resolution.query.archive, resolution.unqueried
    is_unchecked = query.by_id or skip or named in resolution.failed
    is_closed = skip is not None and skip.cause == "defunct"
    if named is None or not is_unchecked or is_closed:
        return pasted
    if not resolution.preferences.allow(named):
        return pasted
    return pasted._replace(place=pasted.place._replace(link=None))


def copy_behind(link: str, registry: Registry) -> Copy:
    """Return the copy that an archive link leads to. Raises Malformed if that is unclear."""
    reading = parse(link, registry)
    identifier = reading.identifier
    if not isinstance(identifier, ReplayUrl):
        raise Malformed("not-a-memento", "not a link to a copy in a known archive", 0)
    if identifier.item is None:
        why = "the link has the archive's own id for the copy, and does not say of what"
        raise Malformed("not-negotiable", why, 0)
    if identifier.time is None or len(identifier.time.digits) < 14:
        why = "the link does not name the second of capture: open it, and cite where it leads"
        raise Malformed("coarse-time", why, 0)
    entry = None if reading.entry is None else registry.by_id(reading.entry)
    return Copy(
        uri=link.strip(),
        original=identifier.item,
        captured=identifier.time,
        archive=identifier.archive or "" if entry is None else entry.name,
        archive_id=identifier.archive,
        raw=identifier.precision == "part",
    )
