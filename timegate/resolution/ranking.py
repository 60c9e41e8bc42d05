"""Ranking: which memento of several archives is the best (S-2, S-5), and when a search ends."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from archives.evidence import same_key
from archives.model import Closest, Memento
from archives.moment import Moment, second_of
from archives.nearest import (
    at_candidate,
    candidates,
    nearest,
    nearest_candidate,
)
from timegate.content.bracketing import DatedCapture, described_best, identical_sides
from timegate.resolution.model import Attempt, Direction, Preferences, Query

Rank = tuple[object, ...]
_ZERO: Final = timedelta(0)
_DAY_DIGITS: Final = 8
_SECOND: Final = 14
_MOST_AROUND: Final = timedelta(days=365)
"""How far from the time a copy may be that is ranked by its octets; the verdict grades those of
more than a year by their distance alone."""

ProvenDigits = Callable[[Memento], int]
"""Returns how many digits of the stamp of a memento its archive proves."""


class Wanted(NamedTuple):
    """Which archived responses are preferred to others."""

    pages: bool = True
    """Whether a page is preferred to an archived error or redirect."""
    tolerance: timedelta = timedelta(days=30)
    """How far from the interval such a page may be (S-5)."""

    @classmethod
    def of(cls, preferences: Preferences) -> "Wanted":
        """Return what a client prefers."""
        tolerance = preferences.tolerance
        return cls(
            preferences.status == "2xx", cls().tolerance if tolerance is None else tolerance
        )


def found(attempts: Sequence[Attempt]) -> list[tuple[Attempt, Closest]]:
    """Return the attempts that found a memento, each with its outcome."""
    return [(a, a.outcome) for a in attempts if isinstance(a.outcome, Closest)]


def ranked(
    query: Query,
    attempts: Sequence[Attempt],
    order: Sequence[str],
    wanted: Wanted | None = None,
) -> list[Attempt]:
    """Return the attempts that found a memento, best first.

    First mementos inside the interval from the named archive, then those from any archive, then
    the nearest. A page is preferred to an archived error or redirect within the tolerance of
    *wanted* (S-5), except inside the interval at the named archive. Ties are broken in this
    order: no doubts before doubts, the named archive, the exact URL before a variant, the
    earlier capture, the order of the plan, the address of the memento. Last come mementos of
    another page, and those that could not be verified.
    """
    mementos = found(attempts)
    position = {archive: number for number, archive in enumerate(order)}
    choice = wanted or Wanted()
    rank = (
        _newest_first(query, mementos, position, choice)
        if query.at is None
        else _nearest_first(query, query.at, position, choice)
    )
    return [attempt for attempt, _ in sorted(mementos, key=rank)]


def identical_first(
    query: Query, attempts: list[Attempt], proven: ProvenDigits | None = None
) -> list[Attempt]:
    """Return *attempts*, as they are ranked, those first that are identical around the time.

    These are the nearest captures before and after the time of an identifier, of whichever
    archives, if all of them have the same octets (`identical_sides`). Then no other capture is
    known to be nearer, none is inside the interval, and their distance says little: of copies
    with the same octets the one in the named archive is the best, then the exact URL before a
    variant, then the nearest. A copy that is more than a year off is ranked by its distance.

    Without digests, it costs a look at each memento.
    """
    at = query.at
    if at is None or query.identifier is None or not attempts:
        return attempts
    known = [
        (attempt, closest)
        for attempt, closest in found(attempts)
        if not attempt.unchecked and not is_other_page(attempt, closest.memento)
    ]
    named = [
        memento
        for _, closest in known
        for memento in (closest.memento, *closest.neighbours.values())
    ]
    if sum(memento.digest is not None for memento in named) < _SIDES:
        return attempts
    if any(closest.doubts for _, closest in known):
        return attempts
    original = known[0][1].memento.original
    captures = [
        DatedCapture.of(memento)
        if proven is None
        else DatedCapture.of(memento, proven(memento))
        for memento in described_best(named)
        if same_key(memento.original, original)
    ]
    sides = identical_sides(captures, at)
    if sides is None:
        return attempts
    around = {
        (memento.archive, memento.uri)
        for side in sides
        for memento in side
        if abs(at.distance(second_of(memento.stamp))) <= _MOST_AROUND
    }

    def rank(attempt: Attempt) -> tuple[bool, bool, bool]:
        closest = attempt.outcome
        if attempt.unchecked or not isinstance(closest, Closest):
            return True, False, False
        memento = closest.memento
        if (memento.archive, memento.uri) not in around:
            return True, False, False
        return False, attempt.archive != query.archive, attempt.variant is not None

    return sorted(attempts, key=rank)


_SIDES: Final = 2
"""Captures with a digest that a comparison needs."""


def on_day_first(
    query: Query, preferences: Preferences, attempts: Sequence[Attempt]
) -> list[Attempt]:
    """Return *attempts*, those of the requested day first if the client wants that day."""
    if preferences.precision != "day" or query.at is None:
        return list(attempts)
    at = query.at
    pairs = sorted(found(attempts), key=lambda pair: not is_on_day(at, pair[1].memento))
    return [attempt for attempt, _ in pairs]


def is_on_day(at: Moment, memento: Memento) -> bool:
    """Whether *memento* is of the UTC day of *at*, or inside *at* if that is longer."""
    digits = min(len(at.digits), _DAY_DIGITS)
    return memento.stamp[:digits] == at.digits[:digits]


def best_per_archive(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the first of the *attempts* at each archive, in the same order."""
    best: dict[str, Attempt] = {}
    for attempt in attempts:
        best.setdefault(attempt.archive, attempt)
    return list(best.values())


def _nearest_first(
    query: Query, at: Moment, position: dict[str, int], wanted: Wanted
) -> Callable[[tuple[Attempt, Closest]], Rank]:
    instant = at.negotiated
    first, last = at.window
    is_fine = not at.fits_http_date

    def rank(found: tuple[Attempt, Closest]) -> Rank:
        attempt, closest = found
        memento = closest.memento
        captured = second_of(memento.stamp)
        inside = first <= captured <= last
        away = _ZERO if inside else first - captured if captured < first else captured - last
        named = query.archive is not None and attempt.archive == query.archive
        no_page = memento.status is not None and is_no_page(query, memento)
        passed_over = no_page or away > wanted.tolerance
        is_other = memento.original != attempt.original and is_other_page(attempt, memento)
        return (
            bool(attempt.unchecked),
            is_other,
            not (inside and named),
            wanted.pages and passed_over and not (inside and named),
            not inside,
            # Inside the interval all are as near; one that is known to be there is preferred.
            inside and not _is_same_url(memento.original, query.original),
            inside and closest.evidence == "promised",
            abs(captured - instant) if inside else away,
            at.fraction_distance(memento.stamp) if is_fine else 0,
            no_page,
            bool(closest.doubts),
            not named,
            attempt.variant is not None,
            memento.stamp,
            position.get(attempt.archive, len(position)),
            memento.uri,
        )

    return rank


def _newest_first(
    query: Query,
    mementos: Sequence[tuple[Attempt, Closest]],
    position: dict[str, int],
    wanted: Wanted,
) -> Callable[[tuple[Attempt, Closest]], Rank]:
    newest = max((second_of(c.memento.stamp) for _, c in mementos), default=None)

    def rank(found: tuple[Attempt, Closest]) -> Rank:
        attempt, closest = found
        memento = closest.memento
        no_page = is_no_page(query, memento)
        captured = second_of(memento.stamp)
        old = newest is not None and newest - captured > wanted.tolerance
        return (
            bool(attempt.unchecked),
            is_other_page(attempt, memento),
            query.archive is not None and attempt.archive != query.archive,
            wanted.pages and (no_page or old),
            # Negative digits: the later stamp sorts first.
            tuple(-int(digit) for digit in memento.stamp),
            no_page,
            bool(closest.doubts),
            attempt.variant is not None,
            position.get(attempt.archive, len(position)),
            memento.uri,
        )

    return rank


def _is_same_url(one: str, other: str) -> bool:
    return one == other or one.lower() == other.lower()


def is_other_page(attempt: Attempt, memento: Memento) -> bool:
    """Whether *memento* is of another page than the one that the archive was asked for."""
    asked, got = attempt.original, memento.original
    return asked != got and not same_key(asked, got)


def is_no_page(query: Query, memento: Memento) -> bool:
    """Whether a page is wanted and *memento* is an archived error or redirect (S-5)."""
    if memento.status is None or query.precision == "part":
        return False
    return not 200 <= memento.status < 300


def ends_search(query: Query, attempt: Attempt) -> bool:
    """Whether no better memento can come: it is inside the interval, at the named archive.

    If no archive is named, any archive will do. A doubtful memento does not end the search, nor
    does an archived error or redirect, because another archive may have the page itself (S-5).
    If any archive may answer, neither does the newest memento of one archive, because another
    may have a newer one.
    """
    if not isinstance(attempt.outcome, Closest) or attempt.outcome.doubts:
        return False
    if query.archive is not None and attempt.archive != query.archive:
        return False
    memento = attempt.outcome.memento
    # The time comes first: most mementos are of another one.
    if query.at is not None and not _is_as_requested(query, query.at, memento.stamp):
        return False
    if is_no_page(query, memento) or attempt.unchecked or is_other_page(attempt, memento):
        return False
    return query.at is not None or query.archive is not None


def _is_as_requested(query: Query, at: Moment, stamp: str) -> bool:
    """Whether no archive that may answer can have a capture nearer to *at*.

    If any archive may answer, another one may hold the requested fraction of the second.
    """
    if len(stamp) == len(at.digits) == _SECOND and stamp != at.digits and at.fits_http_date:
        return False
    first, last = at.window
    if not first <= second_of(stamp) <= last:
        return False
    return at.fits_http_date or at.covers(stamp) or query.archive is not None


def in_direction(closest: Closest, at: Moment | None, direction: Direction) -> Closest | None:
    """Return *closest* with the nearest memento that it names in *direction*.

    That is not after, or not before, *at*; the first or last memento does not count, because
    others may lie between. None if the archive has shown no such memento.
    """
    if at is None or direction == "closest":
        return closest
    neighbour = closest.neighbours.get("prev" if direction == "before" else "next")
    mementos = [closest.memento, neighbour] if neighbour else [closest.memento]
    fitting = [memento for memento in mementos if _fits(memento, at, direction)]
    if not fitting:
        return None
    return at_candidate(closest, nearest(fitting, at) or closest.memento)


def nearest_candidates(
    closest: Closest, at: Moment | None, direction: Direction
) -> list[Closest]:
    """Return one `Closest` for each memento that *closest* names in *direction*, nearest first.

    The archive's own choice may be farther away than one that it links or lists (S-6).
    """
    return [
        at_candidate(closest, memento)
        for memento in candidates(closest, at)
        if at is None or direction == "closest" or _fits(memento, at, direction)
    ]


def nearest_named(closest: Closest, at: Moment | None, direction: Direction) -> Closest:
    """Return *closest* with the nearest memento that it names in *direction*."""
    if at is not None and at.digits == closest.memento.stamp:
        return closest
    if direction == "closest":
        return at_candidate(closest, nearest_candidate(closest, at))
    return next(iter(nearest_candidates(closest, at, direction)), closest)


def _fits(memento: Memento, at: Moment, direction: Direction) -> bool:
    side = at.side_of(memento.stamp)
    return side <= 0 if direction == "before" else side >= 0
