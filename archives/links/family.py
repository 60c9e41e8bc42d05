"""The forms of an archive: those its entry lists, and those that follow from them.

Who serves ``/web/{time}/{uri}`` runs Wayback software, which also serves ``/web/{uri}``,
``/web/timemap/link/{uri}`` and often the same without ``/web``. No entry needs to repeat that.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from archives.model import ArchiveEntry
from archives.registry.forms import Form, compiled

_DATED: Final = ("{time}{mod}/{uri}", "{time}/{uri}")
_USUAL_PLACES: Final = ("{host}/", "{host}/web/", "{host}/wayback/")
# Seeds 001 and 002 imagine this at every archive (U-7).
_PWID: Final = "{host}/pwid?time={time:iso}&coverage={mod}&item={uri}"


def forms_of(entry: ArchiveEntry) -> tuple[Form, ...]:
    """Return the forms of links into *entry*, those that say most first."""
    listed = tuple(form.template for form in entry.forms)
    return _forms(listed, tuple(_from_endpoints(entry)))


@lru_cache(maxsize=512)
def _forms(listed: tuple[str, ...], endpoints: tuple[str, ...]) -> tuple[Form, ...]:
    places = list(dict.fromkeys(filter(None, map(_place, (*listed, *endpoints)))))
    if places and not any(place.startswith("{host}/{coll}") for place in places):
        places += [place for place in _USUAL_PLACES if place not in places]
    derived = [
        *(f"{place}{{time}}{{mod}}/{{uri}}" for place in places),
        *(f"timemap: {place}timemap/{{any}}/{{uri}}" for place in places),
        *(f"timemap: {place}timemap/{{uri}}" for place in places),
        *(f"{place}{{uri}}" for place in places),
    ]
    templates = dict.fromkeys((*listed, *endpoints, *derived, _PWID))
    return tuple(map(compiled, templates))


def _place(template: str) -> str | None:
    """Return what stands before the stamp, if nothing but the target follows it."""
    for ending in _DATED:
        if template.endswith(ending):
            return template.removesuffix(ending)
    return None


def _from_endpoints(entry: ArchiveEntry) -> Iterator[str]:
    for address in entry.timemaps.values():
        yield f"timemap: {_bare(address)}{{uri}}"
    if entry.cdx is not None:
        yield f"index-query: {_bare(entry.cdx)}?url={{uri}}"
    if entry.timegate is not None:
        yield f"{_bare(entry.timegate)}{{time}}{{mod}}/{{uri}}"
        yield f"{_bare(entry.timegate)}{{uri}}"
    if entry.replay is not None and entry.replay.endswith("{time14}/{uri}"):
        yield _bare(entry.replay).replace("{time14}", "{time}{mod}")


def _bare(address: str) -> str:
    return address.partition("://")[2]
