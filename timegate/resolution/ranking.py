"""Which of several archives' copies is the best answer (S-2, S-5), and when to stop looking."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from archives.model import Closest, Memento
from archives.moment import Moment
from archives.nearest import second_of
from timegate.resolution.model import Attempt, Direction, Query

Rank = tuple[object, ...]
_NOTHING: Final = timedelta(0)


def found(attempts: Sequence[Attempt]) -> list[tuple[Attempt, Closest]]:
    """Return the attempts that brought a copy, with it."""
    return [(a, a.outcome) for a in attempts if isinstance(a.outcome, Closest)]


def ranked(query: Query, attempts: Sequence[Attempt], order: Sequence[str]) -> list[Attempt]:
    """Return the attempts that brought a copy, best first.

    The named archive inside the interval, then any archive inside it, then the nearest. Of two
    as near: a page before an archived error, what is not in doubt, the named archive, the URL
    as it was asked, the earlier, the order in which archives are asked, the address.
    """
    place = {archive: number for number, archive in enumerate(order)}
    rank = (
        _newest_first(query, place)
        if query.at is None
        else _nearest_first(query, query.at, place)
    )
    copies = sorted(found(attempts), key=lambda pair: rank(*pair))
    return [attempt for attempt, _ in copies]


def _nearest_first(
    query: Query, at: Moment, place: dict[str, int]
) -> Callable[[Attempt, Closest], Rank]:
    instant = at.negotiated

    def rank(attempt: Attempt, closest: Closest) -> Rank:
        memento = closest.memento
        captured = second_of(memento.stamp)
        away = abs(at.distance(captured))
        inside = away == _NOTHING
        named = query.archive is not None and attempt.archive == query.archive
        return (
            not inside,
            inside and not named,
            abs(captured - instant) if inside else away,
            _is_no_page(query, memento),
            bool(closest.doubts),
            not named,
            attempt.variant is not None,
            memento.stamp,
            place.get(attempt.archive, len(place)),
            memento.uri,
        )

    return rank


def _newest_first(query: Query, place: dict[str, int]) -> Callable[[Attempt, Closest], Rank]:
    def rank(attempt: Attempt, closest: Closest) -> Rank:
        memento = closest.memento
        return (
            query.archive is not None and attempt.archive != query.archive,
            # Digits count down: the larger the stamp, the earlier it sorts.
            tuple(-int(digit) for digit in memento.stamp),
            _is_no_page(query, memento),
            bool(closest.doubts),
            attempt.variant is not None,
            place.get(attempt.archive, len(place)),
            memento.uri,
        )

    return rank


def _is_no_page(query: Query, memento: Memento) -> bool:
    """Whether a page was asked for and this is an archived error or redirect (S-5)."""
    if query.precision == "part" or memento.status is None:
        return False
    return not 200 <= memento.status < 300


def ends_search(query: Query, attempt: Attempt) -> bool:
    """Whether nothing better can come: inside the interval, from the archive that was named.

    Where none is named, from any. A copy in doubt ends nothing, nor does the newest of one
    archive where any may answer: another may have a newer one. There an archived error or
    redirect ends nothing either: another may have the page itself (S-5).
    """
    if not isinstance(attempt.outcome, Closest) or attempt.outcome.doubts:
        return False
    if query.archive is not None and attempt.archive != query.archive:
        return False
    if query.archive is None and _is_no_page(query, attempt.outcome.memento):
        return False
    if query.at is None:
        return query.archive is not None
    return query.at.distance(second_of(attempt.outcome.memento.stamp)) == _NOTHING


def in_direction(closest: Closest, at: Moment | None, direction: Direction) -> Closest | None:
    """Return *closest* as the client wants it: not after, or not before, the time asked for.

    Its neighbour on that side is looked at too, not the first or last copy: others may lie
    between. None where the archive showed no such copy.
    """
    if at is None or direction == "closest":
        return closest
    beside = closest.neighbours.get("prev" if direction == "before" else "next")
    captures = [closest.memento, beside] if beside else [closest.memento]
    fitting = [capture for capture in captures if _fits(capture, at, direction)]
    if not fitting:
        return None
    best = min(fitting, key=lambda capture: abs(at.distance(second_of(capture.stamp))))
    return Closest(best, closest.via, closest.doubts, closest.neighbours)


def _fits(capture: Memento, at: Moment, direction: Direction) -> bool:
    away = at.distance(second_of(capture.stamp))
    return away <= _NOTHING if direction == "before" else away >= _NOTHING
