"""Redirects that were written before, but for the time that was asked for.

A page of a collection is asked for at many times. Of all that is said of a copy only the member
``time`` is another then, and to write the rest anew is two thirds of the work of a TimeGate.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from typing import Final, NamedTuple

import msgspec

from archives.model import Closest
from archives.registry import Registry
from timegate.resolution.model import Query, Resolution
from timegate.resolution.preferences import NOTHING_CHOSEN
from timegate.responses.model import Response
from timegate.responses.report import summary
from timegate.verdict import Member, Verdict, around_time, asked_time, written

_KEPT: Final = 2048
_LONGEST: Final = 500
"""Characters of a URL. A pattern holds it some fifteen times."""
_HERE: Final = b"\0"
"""Stands where the time goes; JSON holds no such octet."""


class _Pattern(NamedTuple):
    found: Closest
    """Of what it is one; while it is kept, nothing else has its identity."""
    headers: Mapping[str, str]
    precision: tuple[str, str]
    body: tuple[bytes, bytes]
    keep: float

    def filled(self, time: Member) -> Response:
        before, behind = self.precision
        headers = {**self.headers, "Memento-Precision": before + written("time", time) + behind}
        told = {"value": time.value, **time.params}
        body = msgspec.json.encode(told).join(self.body)
        return Response(302, headers, body, self.keep)


class Patterns:
    """Keeps what was written."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._kept: OrderedDict[Hashable, _Pattern] = OrderedDict()

    def redirect(self, resolution: Resolution, vary: str) -> Response | None:
        """Return the answer; None where its like was not written before."""
        found = _found(resolution)
        if found is None:
            return None
        entry = self._registry.by_id(found.memento.archive)
        time = asked_time(resolution.query, found.memento, entry)
        key = _key(resolution.query, found, time, vary)
        pattern = self._kept.get(key)
        if pattern is None:
            return None
        self._kept.move_to_end(key)
        return pattern.filled(time)

    def keep(
        self, resolution: Resolution, judged: Verdict, answer: Response, vary: str
    ) -> None:
        """Take *answer* for a pattern of others, where it can be one."""
        found, time = _found(resolution), judged.time
        if found is None or time is None or len(resolution.query.original) > _LONGEST:
            return
        told = summary(resolution, judged, self._registry)
        body = msgspec.json.encode({**told, "time": msgspec.Raw(_HERE)}).split(_HERE)
        told_before = (body[0], body[1])
        self._kept[_key(resolution.query, found, time, vary)] = _Pattern(
            found, answer.headers, around_time(judged), told_before, answer.keep
        )
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


def _found(resolution: Resolution) -> Closest | None:
    """Return what one archive alone answered just now to a URL and a time; None otherwise.

    A reference says more than that, and answers of others take part in the links.
    """
    query, best = resolution.query, resolution.best
    if best is None or resolution.attempts != (best,) or resolution.unanswered:
        return None
    if best.age is not None or best.original != query.original or not _is_plain(query):
        return None
    found = best.outcome
    if not isinstance(found, Closest) or resolution.preferences is not NOTHING_CHOSEN:
        return None
    return None if found.doubts else found


def _is_plain(query: Query) -> bool:
    is_reference = query.identifier is not None or query.archive_id is not None
    # A leap second is answered with the one before it, and that is said elsewhere, too.
    is_leap = query.at is not None and query.at.digits[12:14] == "60"
    return not is_reference and not is_leap and query.precision is None


def _key(query: Query, found: Closest, time: Member, vary: str) -> Hashable:
    """Return all that the rest of an answer depends on.

    A collection hands out the same object for the same copy and neighbours.
    """
    finely = 0 if query.at is None else len(query.at.digits)
    # On which side of the time a copy lies is said in the member time, and nowhere else.
    where = "outside" if time.value in ("before", "after") else time.value
    asked = (query.original, query.syntax, query.diagnostics, finely, vary)
    return (id(found), where, *asked)
