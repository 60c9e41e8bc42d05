"""JSON of known programs, read by the meaning of its members.

The availability API and the CDX server of the Wayback Machine, TimeMaps, HAR files of browsers,
and reports of this program. Each becomes a list of URLs, or of objects with ``url`` and the
time at which the page was seen.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from archives.regex_compat import compiled

_FRACTION: Final = compiled(r"\.[0-9]{1,9}(?=Z|[+-][0-9]|$)")
_ADDRESS: Final = compiled(r"https?://\S{3}", re.IGNORECASE)
_NO_PAGES: Final = frozenset(
    ("id", "@id", "@context", "$schema", "schema", "context", "type", "license", "profile")
)
"""Members whose addresses name things, vocabularies and licences."""
_MOST: Final = 1000
"""Members of an object that are looked at."""
_MOST_LEVELS: Final = 8


def known_pages(value: object) -> list[object] | None:
    """Return the pages in JSON of a known program; None if it is of none."""
    if isinstance(value, list):
        return _of_rows(value) or _of_requests(value)
    if not isinstance(value, dict):
        return None
    log = value.get("log")
    if isinstance(log, dict) and isinstance(log.get("entries"), list):
        return _of_requests(log["entries"])
    found = _of_requests([value]) or _of_availability(value) or _of_timemap(value)
    return found or _of_report(value)


def _of_availability(value: Mapping[str, object]) -> list[object] | None:
    """Return the closest copy that the availability API of the Wayback Machine names."""
    snapshots = value.get("archived_snapshots")
    closest = snapshots.get("closest") if isinstance(snapshots, dict) else None
    address = closest.get("url") if isinstance(closest, dict) else None
    return [address] if isinstance(address, str) else None


def _of_requests(entries: Sequence[object]) -> list[object] | None:
    """Return the requests of a HAR file."""
    found: list[object] = []
    for entry in entries:
        request = entry.get("request") if isinstance(entry, dict) else None
        started = entry.get("startedDateTime") if isinstance(entry, dict) else None
        response = entry.get("response") if isinstance(entry, dict) else None
        if not isinstance(request, dict) or not isinstance(started, str):
            return None
        address = request.get("url")
        if isinstance(address, str):
            name = "accessed" if _was_sent(request, response) else "requested"
            found.append({"url": address, name: _FRACTION.sub("", started)})
    return found or None


def _was_sent(request: Mapping[str, object], response: object) -> bool:
    """Whether a page was sent: not in answer to a form, and not an error."""
    status = response.get("status") if isinstance(response, dict) else None
    is_error = isinstance(status, int) and not _OK <= status < _ERROR
    return request.get("method", "GET") == "GET" and not is_error


_OK: Final = 200
_ERROR: Final = 400


def _of_rows(rows: Sequence[object]) -> list[object] | None:
    """Return the captures of a CDX server: its first row has the names of the fields."""
    names = rows[0] if rows else None
    if not isinstance(names, list) or "timestamp" not in names:
        return None
    name = next((each for each in ("original", "url") if each in names), None)
    if name is None:
        return None
    address, time = names.index(name), names.index("timestamp")
    return [
        {"url": row[address], "archived": row[time]}
        for row in rows[1:]
        if isinstance(row, list) and len(row) > max(address, time)
    ]


def _of_timemap(value: Mapping[str, object]) -> list[object] | None:
    """Return the mementos of a TimeMap in JSON."""
    mementos = value.get("mementos")
    listed = mementos.get("list") if isinstance(mementos, dict) else None
    if not isinstance(listed, list):
        closest = mementos.get("closest") if isinstance(mementos, dict) else None
        listed = [closest] if isinstance(closest, dict) else []
    addresses = (each.get("uri") for each in listed if isinstance(each, dict))
    found = [
        address[0] if isinstance(address, list) and address else address
        for address in addresses
        if address
    ]
    return found or None


def _of_report(value: Mapping[str, object]) -> list[object] | None:
    """Return the copy that a report of this program names; else what was asked for."""
    original, time = value.get("original"), value.get("time")
    if not isinstance(original, str) or not {"identifier", "memento"} <= value.keys():
        return None
    memento = value.get("memento")
    address = memento.get("uri") if isinstance(memento, dict) else None
    if isinstance(address, str):
        return [address]
    asked = time.get("req") if isinstance(time, dict) else None
    return [{"url": original, **({"accessed": asked} if isinstance(asked, str) else {})}]


def has_other_pages(value: Mapping[str, object], references: Sequence[str]) -> bool:
    """Whether an object of an unknown shape names pages besides *references*."""
    known = {_core(reference) for reference in references}
    return any(_core(address) not in known for address in _addresses(value))


def _core(address: str) -> str:
    return address.partition("://")[2].removeprefix("www.").rstrip("/").lower()


def _addresses(value: Mapping[str, object]) -> Iterator[str]:
    """Yield the addresses in the members of *value*, at any level."""
    left: list[tuple[object, int]] = [(value, 0)]
    count = 0
    while left and count < _MOST:
        member, level = left.pop()
        count += 1
        if isinstance(member, str) and _ADDRESS.match(member):
            yield member
        elif level < _MOST_LEVELS and isinstance(member, dict):
            left += [
                (each, level + 1)
                for name, each in member.items()
                if str(name).lower() not in _NO_PAGES
            ]
        elif level < _MOST_LEVELS and isinstance(member, list):
            left += [(each, level + 1) for each in member[:_MOST]]
