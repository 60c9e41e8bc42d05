"""Ranking: which memento of several archives is the best (S-2, S-5), and when a search ends."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from archives.model import Closest, Memento
from archives.moment import Moment
from archives.nearest import (
    fraction_distance,
    nearest,
    neighbours_of,
    second_of,
    side_of,
)
from timegate.resolution.model import Attempt, Direction, Query

Rank = tuple[object, ...]
_ZERO: Final = timedelta(0)


def found(attempts: Sequence[Attempt]) -> list[tuple[Attempt, Closest]]:
    """Return the attempts that found a memento, each with its outcome."""
    return [(a, a.outcome) for a in attempts if isinstance(a.outcome, Closest)]


def ranked(query: Query, attempts: Sequence[Attempt], order: Sequence[str]) -> list[Attempt]:
    """Return the attempts that found a memento, best first.

    First mementos inside the interval from the named archive, then those from any archive, then
    the nearest. Ties are broken in this order: a page before an archived error, no doubts
    before doubts, the named archive, the exact URL before a variant, the earlier capture, the
    order of the plan, the address of the memento.
    """
    position = {archive: number for number, archive in enumerate(order)}
    rank = (
        _newest_first(query, position)
        if query.at is None
        else _nearest_first(query, query.at, position)
    )
    mementos = sorted(found(attempts), key=lambda pair: rank(*pair))
    return [attempt for attempt, _ in mementos]


def best_per_archive(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the first of the *attempts* at each archive, in the same order."""
    best: dict[str, Attempt] = {}
    for attempt in attempts:
        best.setdefault(attempt.archive, attempt)
    return list(best.values())


def _nearest_first(
    query: Query, at: Moment, position: dict[str, int]
) -> Callable[[Attempt, Closest], Rank]:
    instant = at.negotiated

    def rank(attempt: Attempt, closest: Closest) -> Rank:
        memento = closest.memento
        captured = second_of(memento.stamp)
        away = abs(at.distance(captured))
        inside = away == _ZERO
        named = query.archive is not None and attempt.archive == query.archive
        return (
            not inside,
            inside and not named,
            abs(captured - instant) if inside else away,
            fraction_distance(at, memento.stamp),
            _is_no_page(query, memento),
            bool(closest.doubts),
            not named,
            attempt.variant is not None,
            memento.stamp,
            position.get(attempt.archive, len(position)),
            memento.uri,
        )

    return rank


def _newest_first(query: Query, position: dict[str, int]) -> Callable[[Attempt, Closest], Rank]:
    def rank(attempt: Attempt, closest: Closest) -> Rank:
        memento = closest.memento
        return (
            query.archive is not None and attempt.archive != query.archive,
            # Negative digits: the later stamp sorts first.
            tuple(-int(digit) for digit in memento.stamp),
            _is_no_page(query, memento),
            bool(closest.doubts),
            attempt.variant is not None,
            position.get(attempt.archive, len(position)),
            memento.uri,
        )

    return rank


def _is_no_page(query: Query, memento: Memento) -> bool:
    """Whether a page is wanted and *memento* is an archived error or redirect (S-5)."""
    if query.precision == "part" or memento.status is None:
        return False
    return not 200 <= memento.status < 300


def ends_search(query: Query, attempt: Attempt) -> bool:
    """Whether no better memento can come: it is inside the interval, at the named archive.

    If no archive is named, any archive will do. A doubtful memento does not end the search. If
    any archive may answer, neither does the newest memento of one archive, because another may
    have a newer one, nor an archived error or redirect, because another may have the page
    itself (S-5).
    """
    if not isinstance(attempt.outcome, Closest) or attempt.outcome.doubts:
        return False
    if query.archive is not None and attempt.archive != query.archive:
        return False
    if query.archive is None and _is_no_page(query, attempt.outcome.memento):
        return False
    if query.at is None:
        return query.archive is not None
    return _is_as_requested(query, query.at, attempt.outcome.memento.stamp)


def _is_as_requested(query: Query, at: Moment, stamp: str) -> bool:
    """Whether no archive that may answer can have a capture nearer to *at*.

    If any archive may answer, another one may hold the requested fraction of the second.
    """
    if at.distance(second_of(stamp)) != _ZERO:
        return False
    return at.fits_http_date or at.covers(stamp) or query.archive is not None


def in_direction(closest: Closest, at: Moment | None, direction: Direction) -> Closest | None:
    """Return *closest* with a memento in *direction*: not after, or not before, *at*.

    That may be the neighbour in this direction, but not the first or last memento, because
    others may lie between. None if the archive has shown no such memento.
    """
    if at is None or direction == "closest":
        return closest
    neighbour = closest.neighbours.get("prev" if direction == "before" else "next")
    mementos = [closest.memento, neighbour] if neighbour else [closest.memento]
    fitting = [memento for memento in mementos if _fits(memento, at, direction)]
    if not fitting:
        return None
    best = nearest(fitting, at) or closest.memento
    around = neighbours_of(best, closest.memento, closest.neighbours)
    return replace(closest, memento=best, neighbours=around)


def _fits(memento: Memento, at: Moment, direction: Direction) -> bool:
    side = side_of(at, memento.stamp)
    return side <= 0 if direction == "before" else side >= 0
