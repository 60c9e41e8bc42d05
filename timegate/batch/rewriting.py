"""Better links into a document: where an archive link stood, the copy that was found.

Only the link and its date change, and only where the copy is as good as asked; a link that
leads to the very copy it names stays as it is.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.model import ArchiveEntry, Closest
from archives.moment import Moment
from archives.registry import Registry
from archives.replay_links import read_link
from timegate.batch.item import Edit, ReferencePlace
from timegate.batch.result import ItemResult
from timegate.resolution.model import Attempt, Preferences, Resolution

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_DAY_FIRST: Final = re.compile(r"[0-9]{1,2} ([A-Za-z]{3,9}) [0-9]{4}")
_MONTH_FIRST: Final = re.compile(r"([A-Za-z]{3,9}) [0-9]{1,2}, [0-9]{4}")
# What would end a link, a parameter, a template, a field or a comment.
_UNSAFE: Final = frozenset(" |[]{}<>\"'\\^`")


def edits(
    document: str,
    places: Iterable[ReferencePlace],
    result_of: Callable[[int], ItemResult | None],
) -> Iterator[Edit]:
    """Yield the changes to *document*, in order."""
    changes = [
        edit
        for place in places
        if (result := result_of(place.item.position)) is not None
        for edit in _changes(document, place, result)
    ]
    # Equal places keep their order: the link, then its date.
    changes.sort(key=lambda edit: edit.span)
    end = 0
    for edit in changes:
        # A template inside the link of another: the outer one is not a link at all.
        if edit.span.start >= end:
            yield edit
            end = edit.span.end


def _changes(document: str, place: ReferencePlace, result: ItemResult) -> Iterator[Edit]:
    link = _safe(str((result.memento or {}).get("uri") or ""))
    if place.link is None or link is None or not _is_better(result):
        return
    yield Edit(place.link, f"{place.before_link}{link}")
    captured = str((result.memento or {}).get("datetime") or "")
    if place.date is not None and len(captured) >= 10:
        written = document[place.date.start : place.date.end]
        yield Edit(place.date, f"{place.before_date}{_dated(captured[:10], written)}")


def _is_better(result: ItemResult) -> bool:
    status = (result.memento or {}).get("status")
    # A copy of an error or of a redirect is a copy, and no use to a reader.
    return result.code == 0 and status in (None, 200) and not _is_the_same(result)


def _is_the_same(result: ItemResult) -> bool:
    """Whether the reference named this copy: there is nothing to improve."""
    named = (result.report or {}).get("archive")
    return (
        result.outcome == "exact"
        and isinstance(named, dict)
        and named.get("value") in ("same", "alias")
    )


def _safe(uri: str) -> str | None:
    """Return *uri* so that it ends nothing but itself; None for what is no link."""
    if not uri.lower().startswith(("http://", "https://")):
        return None
    return "".join(
        "".join(f"%{octet:02X}" for octet in c.encode(errors="replace"))
        if c in _UNSAFE or not c.isascii() or not c.isprintable()
        else c
        for c in uri
    )


def _dated(day: str, written: str) -> str:
    """Write *day* (ISO 8601) in the manner of *written*."""
    moment = Moment(day.replace("-", ""))
    year, month, date = moment.digits[:4], int(moment.digits[4:6]), int(moment.digits[6:8])
    if day_first := _DAY_FIRST.fullmatch(written.strip()):
        return f"{date} {_month(month, day_first[1])} {year}"
    if month_first := _MONTH_FIRST.fullmatch(written.strip()):
        return f"{_month(month, month_first[1])} {date}, {year}"
    return day


def _month(number: int, like: str) -> str:
    name = _MONTHS[number - 1]
    # May is short for May.
    return name[:3] if len(like) == 3 and like.lower() != "may" else name


def trusted(resolution: Resolution, registry: Registry) -> Resolution:
    """Return *resolution* with the best of the copies that its policy allows."""
    preferences = resolution.preferences
    if resolution.best is None or (preferences.archives is None and not preferences.exclude):
        return resolution
    copies = [
        attempt
        for attempt in (resolution.best, *resolution.alternatives)
        if _is_allowed(attempt, preferences, registry)
    ]
    best = copies[0] if copies else None
    return replace(resolution, best=best, alternatives=tuple(copies[1:]))


def _is_allowed(attempt: Attempt, preferences: Preferences, registry: Registry) -> bool:
    if not isinstance(attempt.outcome, Closest):
        return False
    holder = _holder(attempt.outcome.memento.uri, registry)
    if holder is None or _is_at_home(attempt.archive, holder, registry):
        return True
    chosen = preferences.archives is None or holder.id in preferences.archives
    return chosen and holder.id not in preferences.exclude


def _holder(uri: str, registry: Registry) -> ArchiveEntry | None:
    """Return the archive that *uri* leads into; None where nobody knows."""
    try:
        return registry.by_id(read_link(uri, registry, Diagnosis()).archive or "")
    except Malformed:
        return None


def _is_at_home(archive: str, holder: ArchiveEntry, registry: Registry) -> bool:
    """Whether *holder* is *archive* itself; at a shared host a link names the first of them."""
    entry = registry.by_id(archive)
    return entry is not None and not set(entry.hosts).isdisjoint(holder.hosts)
