"""What a copy that was found is called: its PWID and its duri."""

from functools import lru_cache

from archives.model import Memento
from archives.moment import Moment
from archives.reading import Diagnosis, Malformed
from archives.registry import Registry
from archives.uri import check_text, read_uri
from timegate.cite import citation
from timegate.identifiers.duri import Duri
from timegate.resolution import Resolution
from timegate.verdict import delivers_raw


def cited(resolution: Resolution, registry: Registry) -> dict[str, str | None]:
    """Return the names of what was really found; None where it has none."""
    names: dict[str, str | None] = {"pwid": None, "duri": None}
    memento = resolution.memento
    if memento is None:
        return names
    entry = registry.by_id(memento.archive)
    is_raw = delivers_raw(resolution.query, memento, entry)
    try:
        if entry is None or not entry.pwid:
            return {**names, "duri": _duri(memento)}
        pwid, duri = _names(memento.original, memento.stamp, entry.pwid[0], raw=is_raw)
    except Malformed:
        # What the archive calls the original is no URL that a name could hold.
        return names
    return {"pwid": pwid, "duri": duri}


def pwid_of(resolution: Resolution, registry: Registry) -> str | None:
    """Return the PWID of what was found, without the rest of `cited`."""
    memento = resolution.memento
    entry = None if memento is None else registry.by_id(memento.archive)
    return cited(resolution, registry)["pwid"] if entry is not None and entry.pwid else None


# As with the links: what many ask for is found again and again.
@lru_cache(maxsize=256)
def _names(original: str, stamp: str, archive: str, *, raw: bool) -> tuple[str, str]:
    found = citation(original, Moment(stamp), archive, raw=raw)
    return found.pwid.canonical, found.duri.canonical


def _duri(memento: Memento) -> str:
    url = memento.original.partition("#")[0]
    check_text(url)
    return Duri(memento.captured, read_uri(url, Diagnosis())).canonical
