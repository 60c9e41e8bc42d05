"""The forms of an archive: those its entry lists, and those that follow from them.

Who serves ``/web/{time}/{uri}`` runs Wayback software, which also serves ``/web/{uri}``,
``/web/timemap/link/{uri}`` and often the same without ``/web``. No entry needs to repeat that.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from archives.model import ArchiveEntry
from archives.registry.forms import LinkForm, compiled

_DATED: Final = ("{time}{mod}/{uri}", "{time}/{uri}")
_WAYBACK: Final = (
    "{time}{mod}/{uri}",
    "timemap: timemap/{any}/{uri}",
    "timemap: timemap/{uri}",
    "index-query: timemap/cdx?url={uri}",
    "index-query: cdx?url={uri}",
    "timegate/{uri}",
    "{uri}",
)
_USUAL_PLACES: Final = ("{host}/", "{host}/web/", "{host}/wayback/")
# Seeds 001 and 002 imagine this at every archive (U-7).
_PWID: Final = "{host}/pwid?time={time:iso}&coverage={mod}&item={uri}"


def forms_of(entry: ArchiveEntry) -> tuple[LinkForm, ...]:
    """Return the forms of links into *entry*, those that say most first."""
    listed = tuple(form.template for form in entry.forms)
    return _forms(listed, tuple(_from_endpoints(entry)))


@lru_cache(maxsize=512)
def _forms(listed: tuple[str, ...], endpoints: tuple[str, ...]) -> tuple[LinkForm, ...]:
    # What is listed knows of collections, which the address of an endpoint does not show.
    own, asked = _places(listed), _places(endpoints)
    crowded = any(place.startswith("{host}/{coll}") for place in own)
    usual = () if crowded or not (own or asked) else _USUAL_PLACES
    templates = (*listed, *_derived(own), *endpoints, *_derived((*asked, *usual)), _PWID)
    return tuple(map(compiled, dict.fromkeys(templates)))


def _derived(places: tuple[str, ...]) -> Iterator[str]:
    for shape in _WAYBACK:
        kind, colon, rest = shape.rpartition(": ")
        for place in places:
            yield f"{kind}{colon}{place}{rest}"


def _places(templates: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(_place, templates))))


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
