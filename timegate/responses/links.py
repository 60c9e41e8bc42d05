"""The links of an answer: the original, our own resources, the copy and what lies around it.

Nothing in a Link header is taken over as it came: every target is written anew, so that no URL
can end its angle brackets or begin another header (Q-4).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from archives.evidence import WEB
from archives.formats.httpdate import http_date
from archives.model import Closest, Memento, Relation
from archives.registry import Registry
from timegate.citations import pwid_of
from timegate.resolution.model import Resolution
from timegate.verdict import header_safe

LONGEST_LINKS: Final = 8000
"""Octets. Clients on aiohttp refuse a field of more than 8190."""
_LONGEST_KEPT: Final = 16 * 1024
"""Octets of addresses, about; what has more is written anew each time. With six archives and
addresses of 1.8 kB, what is kept here was 42 MB; with 35 and 8 kB it would be a gigabyte."""


def links(resolution: Resolution, base_url: str, registry: Registry | None = None) -> str:
    """Return the value of ``Link``: the original, our own resources, the copy and its likes.

    The PWID (``cite-as``) is given where *registry* knows how the archive is called in one. The
    original is always there (M-6); others, the least important first, are left out where the
    field would grow too long.
    """
    original = header_safe(resolution.query.original)
    base = base_url.rstrip("/")
    written = [
        f'<{original}>; rel="original"',
        *_mementos(resolution),
        f'<{base}/timemap/link/{original}>; rel="timemap"; type="application/link-format"',
        f'<{base}/timegate/{original}>; rel="timegate"',
    ]
    pwid = None if registry is None else pwid_of(resolution, registry)
    if pwid is not None:
        written.append(f'<{header_safe(pwid)}>; rel="cite-as"')
    return ", ".join(_fitting(written))


def _fitting(written: Sequence[str]) -> Iterable[str]:
    if sum(map(len, written)) + 2 * len(written) <= LONGEST_LINKS:
        return written
    return _cut(written)


def _cut(written: Iterable[str]) -> Iterator[str]:
    room = LONGEST_LINKS
    for number, link in enumerate(written):
        if number == 0 or len(link) + 2 <= room:
            room -= len(link) + 2
            yield link


def _mementos(resolution: Resolution) -> tuple[str, ...]:
    chosen = resolution.memento
    if chosen is None:
        return ()
    stated, copies = _stated(resolution), (*known_copies(resolution),)
    if len(chosen.uri) * len(copies) > _LONGEST_KEPT:
        return _written(chosen, stated, copies)
    return _written_before(chosen, stated, copies)


def _written(
    chosen: Memento, stated: tuple[Relation, ...], copies: tuple[Memento, ...]
) -> tuple[str, ...]:
    """Write the copy chosen, then its neighbours; one target, one link (M-8)."""
    rels: dict[str, list[str]] = {chosen.uri: []}
    dates = {chosen.uri: chosen.stamp}
    for relation, memento in _nearest(chosen, stated, copies).items():
        if dates.setdefault(memento.uri, memento.stamp) == memento.stamp:
            rels.setdefault(memento.uri, []).append(relation)
    return tuple(
        f'<{header_safe(uri)}>; rel="{" ".join([*names, "memento"])}"; '
        f'datetime="{http_date(dates[uri])}"'
        for uri, names in rels.items()
        if uri.startswith(WEB)
    )


# A page that many ask for is found again and again, with the same neighbours.
_written_before: Final = lru_cache(maxsize=1024)(_written)


def neighbours(resolution: Resolution, chosen: Memento) -> Mapping[Relation, Memento]:
    """Return the neighbours that the archive states, or better ones that others hold.

    Where it states none there may be one that nobody knows, and so there may where others were
    not heard because the copy is exact: then none is claimed.
    """
    return _nearest(chosen, _stated(resolution), (*known_copies(resolution),))


def _nearest(
    chosen: Memento, stated: Iterable[Relation], copies: Sequence[Memento]
) -> dict[Relation, Memento]:
    best: dict[Relation, Memento] = {}
    for relation in stated:
        found = _NEAREST[relation](copies, chosen.stamp)
        if found is not None:
            best[relation] = found
    return best


def known_copies(resolution: Resolution) -> Iterator[Memento]:
    """Yield every copy that the answers of the archives name."""
    for attempt in filter(None, (resolution.best, *resolution.alternatives)):
        if isinstance(attempt.outcome, Closest):
            yield attempt.outcome.memento
            yield from attempt.outcome.neighbours.values()


def _stated(resolution: Resolution) -> tuple[Relation, ...]:
    best = resolution.best
    if best is None or not isinstance(best.outcome, Closest) or resolution.skipped:
        return ()
    return (*best.outcome.neighbours,)


def _first(known: Sequence[Memento], _: str) -> Memento | None:
    return min(known, key=_age, default=None)


def _last(known: Sequence[Memento], _: str) -> Memento | None:
    return max(known, key=_age, default=None)


def _prev(known: Sequence[Memento], stamp: str) -> Memento | None:
    return _last([memento for memento in known if memento.stamp < stamp], stamp)


def _next(known: Sequence[Memento], stamp: str) -> Memento | None:
    return _first([memento for memento in known if memento.stamp > stamp], stamp)


def _age(memento: Memento) -> str:
    return memento.stamp


_NEAREST: Final[Mapping[Relation, Callable[[Sequence[Memento], str], Memento | None]]] = {
    "first": _first,
    "prev": _prev,
    "next": _next,
    "last": _last,
}
