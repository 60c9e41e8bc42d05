"""Descriptions of a memento and its neighbours, in the formats of MemGator and Time Travel.

Members and their order are exactly those that the clients of both read (A-5, A-6); additions of
ours are under the one key ``timegate``. In MemGator's JSON a ``uri`` is a string, in Time
Travel's a list, because several archives may hold a memento of the same second. URIs are
percent-encoded where they would break out of their brackets or quotes (L-6).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from archives.formats.httpdate import http_date
from archives.model import Memento, Relation
from archives.moment import Moment
from archives.uri import WEB
from timegate.timemaps import FORMATS, TimeMapLinks
from timegate.verdict import header_safe

Role = Literal["first", "last", "closest", "next", "prev"]
# The order in which MemGator writes the roles of one memento (main.go, setNavRels).
_ROLES: Final[tuple[Role, ...]] = ("first", "last", "closest", "next", "prev")
# The order of members in Time Travel's JSON (TimeTravelAPResource.java).
_MEMBERS: Final[tuple[Role, ...]] = ("first", "prev", "closest", "next", "last")
_TIME_TRAVEL: Final = ("link", "json")
"""The TimeMap formats of Time Travel."""


class Described(NamedTuple):
    """A memento with its neighbours, to be described."""

    names: TimeMapLinks
    roles: Mapping[Role, Memento]
    """The closest memento, and its neighbours as far as they are known."""
    known: Sequence[Memento] = ()
    """All mementos in the answers of archives: some may be of the same second."""
    report: Mapping[str, object] | None = None
    """The report, for formats that can include it."""

    @classmethod
    def of(
        cls,
        names: TimeMapLinks,
        closest: Memento,
        neighbours: Mapping[Relation, Memento],
        known: Iterable[Memento] = (),
    ) -> "Described":
        """Return *closest* with those neighbours that have a web address and a single date."""
        dates = {closest.uri: closest.stamp}
        roles: dict[Role, Memento] = {}
        for role in _ROLES:
            memento = closest if role == "closest" else neighbours.get(role)
            if memento is None or not memento.uri.startswith(WEB):
                continue
            # LANL's server links the chosen memento as first and last.
            if dates.setdefault(memento.uri, memento.stamp) == memento.stamp:
                roles[role] = memento
        return cls(names, roles, tuple(m for m in known if m.uri.startswith(WEB)))


Format = Callable[[Described], str]


def media_type(name: str) -> str:
    """Return the media type of the format *name*."""
    return FORMATS[name].type


def link(described: Described) -> str:
    """Write MemGator's ``application/link-format``: the closest is a plain memento."""
    names = described.names
    lines = [f'<{names.original}>; rel="original"']
    for memento, roles in _by_time(described):
        rels = " ".join([*(role for role in roles if role != "closest"), "memento"])
        when = http_date(memento.stamp)
        lines.append(f'<{header_safe(memento.uri)}>; rel="{rels}"; datetime="{when}"')
    lines += [
        f'<{uri}>; rel="timemap"; type="{media_type(name)}"'
        for name, uri in names.timemaps.items()
    ]
    lines.append(f'<{names.timegate}>; rel="timegate"')
    return ",\n".join(lines) + "\n"


def memgator_json(described: Described) -> str:
    """Write MemGator's JSON, with its line breaks."""
    names = described.names
    mementos = {
        role: {"datetime": rfc3339(memento), "uri": header_safe(memento.uri)}
        for memento, roles in _by_time(described)
        for role in roles
    }
    body = {
        "original_uri": names.original,
        "mementos": mementos,
        "timemap_uri": {f"{name}_format": uri for name, uri in names.timemaps.items()},
        "timegate_uri": names.timegate,
        **_ours(described),
    }
    return json.dumps(body, indent=2) + "\n"


def cdxj(described: Described) -> str:
    """Write MemGator's CDXJ: header lines with ``!``, then one line for each memento."""
    names = described.names
    timemaps = {f"{name}_format": uri for name, uri in names.timemaps.items()}
    lines = [
        '!context ["https://oduwsdl.github.io/contexts/memento"]',
        '!keys ["memento_datetime_YYYYMMDDhhmmss"]',
        f"!meta {json.dumps({'original_uri': names.original})}",
        f"!meta {json.dumps({'timegate_uri': names.timegate})}",
        f"!meta {json.dumps({'timemap_uri': timemaps})}",
    ]
    for memento, roles in _by_time(described):
        facts = {
            "uri": header_safe(memento.uri),
            "rel": " ".join([*roles, "memento"]),
            "datetime": http_date(memento.stamp),
        }
        lines.append(f"{_second(memento)} {json.dumps(facts)}")
    return "\n".join(lines) + "\n"


def time_travel_json(described: Described) -> str:
    """Write Time Travel's JSON: each ``uri`` lists all mementos of that second."""
    names, roles = described.names, described.roles
    mementos = {
        role: {
            "datetime": rfc3339(roles[role]),
            "uri": _of_the_same_second(roles[role], described),
        }
        for role in _MEMBERS
        if role in roles
    }
    body = {
        "original_uri": names.original,
        "timegate_uri": names.timegate,
        "timemap_uri": {f"{name}_format": names.timemaps[name] for name in _TIME_TRAVEL},
        "mementos": mementos,
        **_ours(described),
    }
    return json.dumps(body)


MEMGATOR: Final[Mapping[str, Format]] = {"link": link, "json": memgator_json, "cdxj": cdxj}
API: Final[Mapping[str, Format]] = {**MEMGATOR, "json": time_travel_json}
"""The formats below ``/api/``: ``json`` is Time Travel's, the others are MemGator's."""


def _by_time(described: Described) -> list[tuple[Memento, list[Role]]]:
    """Return each memento once with its roles, oldest first."""
    roles: dict[tuple[str, str], list[Role]] = {}
    mementos: dict[tuple[str, str], Memento] = {}
    for role, memento in described.roles.items():
        key = (memento.stamp, memento.uri)
        mementos[key] = memento
        roles.setdefault(key, []).append(role)
    return [(mementos[key], roles[key]) for key in sorted(roles)]


def _of_the_same_second(memento: Memento, described: Described) -> list[str]:
    second = _second(memento)
    others = (m for m in described.known if _second(m) == second)
    return list(dict.fromkeys(header_safe(m.uri) for m in (memento, *others)))


def _second(memento: Memento) -> str:
    """Return the second of capture; a leap second becomes the second before it, as in HTTP."""
    stamp = memento.stamp
    return stamp[:14] if stamp[12:14] != "60" else f"{stamp[:12]}59"


def rfc3339(memento: Memento) -> str:
    """Return the time of capture in RFC 3339."""
    return str(Moment(_second(memento)))


def _ours(described: Described) -> dict[str, object]:
    return {} if described.report is None else {"timegate": described.report}
