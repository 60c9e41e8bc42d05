"""Which copy a result of a list found: where its bytes are, of what, and from when."""

from collections.abc import Mapping
from typing import NamedTuple

from archives.model import Memento
from archives.moment import Moment
from archives.registry import Registry
from timegate.bulk.result import ItemResult
from timegate.verdict import raw_address


class FoundCopy(NamedTuple):
    """A copy in an archive."""

    archive: str
    uri: str
    """Where the copy is (URI-M)."""
    raw: str | None
    """Where its bytes are as they were harvested; None where the archive has no such view."""
    original: str
    """What was captured (URI-R), as the archive writes it."""
    captured: Moment


def held(memento: Memento, registry: Registry) -> FoundCopy:
    """Return where the copy *memento* and its bytes are."""
    raw = raw_address(memento, registry.by_id(memento.archive))
    return FoundCopy(memento.archive, memento.uri, raw, memento.original, memento.captured)


def held_by(result: ItemResult) -> FoundCopy | None:
    """Return the copy that *result* found; None where it found none."""
    report, memento = result.report, result.memento
    if report is None or memento is None:
        return None
    raw = memento["raw"]
    return FoundCopy(
        str(memento["archive"]),
        str(memento["uri"]),
        raw if isinstance(raw, str) else None,
        _original(report),
        Moment("".join(c for c in str(memento["datetime"]) if c.isdigit())),
    )


def _original(report: Mapping[str, object]) -> str:
    """Return the URL of the copy: that of the question, unless the verdict says another."""
    uri = report["uri"]
    got = uri.get("got") if isinstance(uri, dict) else None
    return got if isinstance(got, str) else str(report["original"])
