"""The redirect that nearly every TimeGate sends, read in one step.

It says everything at once: where the copy is, when it was captured, of what, and what lies next
to it, each in one place and nowhere else. `read_usual` takes such a reply and no other; what it
says is what `evidence` and `negotiation` would say after looking at every statement by itself,
in a fifth of the time. Ten archives are asked for every cold question.
"""

from collections.abc import Mapping
from typing import Final

from archives.evidence import plausible
from archives.formats.linkformat import Link, parse_tidy
from archives.formats.rows import DAYS, UnreadableItem
from archives.model import Memento, Relation
from archives.moment import Moment
from archives.nearest import second_of

_RELATIONS: Final[Mapping[tuple[str, ...], tuple[Relation, ...]]] = {
    ("memento",): (),
    ("first", "memento"): ("first",),
    ("last", "memento"): ("last",),
    ("prev", "memento"): ("prev",),
    ("next", "memento"): ("next",),
    ("first", "prev", "memento"): ("first", "prev"),
    ("prev", "first", "memento"): ("first", "prev"),
    ("next", "last", "memento"): ("next", "last"),
    ("last", "next", "memento"): ("next", "last"),
}
_OTHERS: Final = (("original",), ("timegate",), ("timemap",))


def read_usual(
    headers: Mapping[str, str], original: str, at: Moment | None, archive: str, now: str
) -> tuple[Memento, dict[Relation, Memento]] | None:
    """Return the copy and its neighbours; None where the reply is not the usual one."""
    links = parse_tidy(headers.get("link", ""))
    mementos = _mementos(links, original, archive, now)
    if mementos is None:
        return None
    location = headers["location"]
    chosen: Memento | None = None
    neighbours: dict[Relation, Memento] = {}
    for memento, relations in mementos:
        if memento.uri == location:
            if chosen is not None and chosen.stamp != memento.stamp:
                return None
            chosen = memento
        for relation in relations:
            neighbours[relation] = memento
    if chosen is None or _is_nearer(neighbours, chosen, at):
        return None
    return chosen, neighbours


def _mementos(
    links: list[Link], original: str, archive: str, now: str
) -> list[tuple[Memento, tuple[Relation, ...]]] | None:
    """Return the mementos linked; None where any link is not as usual."""
    mementos: list[tuple[Memento, tuple[Relation, ...]]] = []
    originals = 0
    for target, rels, params in links:
        relations = _RELATIONS.get(rels)
        if relations is None:
            if rels not in _OTHERS or "anchor" in params:
                return None
            originals += rels == ("original",)
            if rels == ("original",) and target != original:
                return None
            continue
        stamp = _stamp(params.get("datetime", ""))
        spelled = f"/{stamp}/{original}"
        if stamp is None or "anchor" in params or not target.endswith(spelled):
            return None
        if not plausible(stamp, now) or "://" in target[target.find("://") + 3 : -len(spelled)]:
            return None
        mementos.append((Memento(stamp, target, original, archive), relations))
    return mementos if originals == 1 else None


def _stamp(date: str) -> str | None:
    if len(date) != 29 or date[25:] != " GMT" or date[16] != " ":
        return None
    clock = date[17:19] + date[20:22] + date[23:25]
    sound = date[19] == date[22] == ":" and clock.isascii() and clock.isdecimal()
    if not sound or not (clock[:2] < "24" and clock[2:4] < "60" and clock[4:] < "60"):
        return None
    try:
        return DAYS[date[:16]] + clock
    except UnreadableItem:
        return None


def _is_nearer(
    neighbours: Mapping[Relation, Memento], chosen: Memento, at: Moment | None
) -> bool:
    """Whether a neighbour would be the better choice (S-6): then look at everything."""
    if at is None:
        return any(other.stamp > chosen.stamp for other in neighbours.values())
    instant = at.negotiated
    away = abs(second_of(chosen.stamp) - instant)
    return any(
        abs(second_of(other.stamp) - instant) <= away
        for other in neighbours.values()
        if other.stamp != chosen.stamp
    )
