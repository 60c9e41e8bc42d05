"""Writing: the PWID and the duri of a copy at hand.

Neither needs an authority to be minted (P-33, D-11). The time is the one that the archive
proves, at the granularity it proves; the URL is the one it says it captured.
"""

from dataclasses import dataclass
from functools import lru_cache

from archives.diagnostics import Diagnosis, Malformed
from archives.model import Memento
from archives.moment import Moment
from archives.registry import Registry
from archives.uri import check_text, read_uri
from timegate.identifiers.duri import Duri
from timegate.identifiers.pwid.parts import Pwid, read_archive
from timegate.resolution.model import Resolution
from timegate.verdict import delivers_raw


@dataclass(frozen=True, slots=True)
class Citation:
    """How to cite one copy: where it is held, and what it is a copy of."""

    pwid: Pwid
    duri: Duri


def citation(original: str, captured: Moment, archive: str, *, raw: bool = False) -> Citation:
    """Return the names of the copy of *original* that *archive* took at *captured*.

    *archive* is its PWID archive-id. The bytes as they were harvested are a ``part``, what
    replay makes of them is a ``page``. Raises Malformed where a name cannot be written.
    """
    url = original.partition("#")[0]
    check_text(url)
    item = read_uri(url, Diagnosis())
    precision = "part" if raw else "page"
    return Citation(
        Pwid(read_archive(archive, 0), captured, precision, item), Duri(captured, item)
    )


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
