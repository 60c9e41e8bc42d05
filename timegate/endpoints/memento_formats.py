"""A copy and what lies around it, described as MemGator and as Time Travel describe it.

The shapes are those that their clients read, to the letter and in their order (A-5, A-6); what
is ours is under the one key ``timegate``. In MemGator's JSON a ``uri`` is a text, in Time
Travel's a list: several archives may hold a copy of the same second. URIs are written anew
where they would break out of their brackets or quotes (L-6).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from archives.evidence import WEB
from archives.formats.httpdate import http_date
from archives.model import Memento, Relation
from archives.moment import Moment
from timegate.timemaps import TimeMapLinks
from timegate.verdict import header_safe

Role = Literal["first", "last", "closest", "next", "prev"]
# In this order MemGator names the roles of one copy (main.go, setNavRels).
_ROLES: Final[tuple[Role, ...]] = ("first", "last", "closest", "next", "prev")
# And in this one Time Travel puts its members (TimeTravelAPResource.java).
_MEMBERS: Final[tuple[Role, ...]] = ("first", "prev", "closest", "next", "last")
_TYPES: Final = {
    "link": "application/link-format",
    "json": "application/json",
    "cdxj": "application/cdxj+ors",
}
_TIME_TRAVEL: Final = ("link", "json")
"""The formats of TimeMaps that Time Travel has."""


class Described(NamedTuple):
    """What is described."""

    names: TimeMapLinks
    roles: Mapping[Role, Memento]
    """The copy that is closest, and those of its neighbours that are known."""
    known: Sequence[Memento] = ()
    """Other copies that were seen on the way: some may be of the same second."""
    told: Mapping[str, object] | None = None
    """The report, where the format has room for it."""

    @classmethod
    def of(
        cls,
        names: TimeMapLinks,
        closest: Memento,
        neighbours: Mapping[Relation, Memento],
        known: Iterable[Memento] = (),
    ) -> "Described":
        """Describe *closest*; what people cannot be led to, or has two dates, is left out."""
        dates = {closest.uri: closest.stamp}
        roles: dict[Role, Memento] = {}
        for role in _ROLES:
            memento = closest if role == "closest" else neighbours.get(role)
            if memento is None or not memento.uri.startswith(WEB):
                continue
            # LANL's server gives the copy chosen as the target of first and last.
            if dates.setdefault(memento.uri, memento.stamp) == memento.stamp:
                roles[role] = memento
        return cls(names, roles, tuple(m for m in known if m.uri.startswith(WEB)))


Format = Callable[[Described], str]


def media_type(name: str) -> str:
    """Return the media type of the format *name*."""
    return _TYPES[name]


def link(described: Described) -> str:
    """Write MemGator's ``application/link-format``: what is closest is a plain memento."""
    names = described.names
    lines = [f'<{names.original}>; rel="original"']
    for memento, roles in _by_time(described):
        rels = " ".join([*(role for role in roles if role != "closest"), "memento"])
        when = http_date(memento.stamp)
        lines.append(f'<{header_safe(memento.uri)}>; rel="{rels}"; datetime="{when}"')
    lines += [
        f'<{uri}>; rel="timemap"; type="{_TYPES[name]}"' for name, uri in names.timemaps.items()
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
    """Write MemGator's CDXJ: lines about the URL behind ``!``, then one for each copy."""
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
    """Write Time Travel's JSON: each ``uri`` lists every copy of that second."""
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
"""``/api/json`` is Time Travel's; MemGator's alias for the others stays MemGator's."""


def _by_time(described: Described) -> list[tuple[Memento, list[Role]]]:
    """Return each copy once with its roles, oldest first."""
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
    """Return the second of capture; a leap second is the one before it, as in HTTP."""
    stamp = memento.stamp
    return stamp[:14] if stamp[12:14] != "60" else f"{stamp[:12]}59"


def rfc3339(memento: Memento) -> str:
    """Return when a copy was captured, as JSON has it."""
    return str(Moment(_second(memento)))


def _ours(described: Described) -> dict[str, object]:
    return {} if described.told is None else {"timegate": described.told}
