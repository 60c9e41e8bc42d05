"""The parts of a page in each format: JSON, a list of PWIDs, a linkset (RFC 9264), and CSV."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from archives.diagnostics import Malformed
from archives.model import Memento
from archives.registry import Registry
from timegate.identifiers.pwid import minted
from timegate.parts.composite import CompositeMemento, Part, PartsSummary
from timegate.text import escaped
from timegate.verdict import header_safe, raw_address

Json = dict[str, object]
_COLUMNS: Final = (
    *("url", "kind", "outcome", "archive", "datetime", "offset", "status", "coherence"),
    *("pwid", "memento", "parent", "source", "variant", "why"),
)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def pwid_of(memento: Memento, registry: Registry, *, raw: bool) -> str | None:
    """Return the PWID of *memento*: of its bytes, or of the page; None if it has none."""
    entry = registry.by_id(memento.archive)
    if entry is None or not entry.pwid:
        return None
    try:
        return minted(memento.original, memento.captured, entry.pwid[0], raw=raw).canonical
    except Malformed:
        return None


def pwids(composite: CompositeMemento, registry: Registry) -> Iterator[str]:
    """Yield the PWID of the page, then those of the parts that were found."""
    yield from filter(None, (pwid_of(composite.root, registry, raw=False),))
    for part in composite.parts:
        if part.outcome == "found" and part.memento is not None:
            yield from filter(None, (pwid_of(part.memento, registry, raw=True),))


def parts_document(composite: CompositeMemento, registry: Registry) -> Json:
    """Return everything that is known of the parts, in plain JSON types."""
    return {
        "memento": _memento(composite.root, registry, raw=False),
        "summary": _summary(composite.summary),
        "parts": [part_document(part, registry) for part in composite.parts],
        "unread": [escaped(why) for why in composite.unread],
        "requests": composite.requests,
    }


def _summary(found: PartsSummary) -> Json:
    return {
        "parts": found.parts,
        "found": found.found,
        "missing": found.missing,
        "unknown": found.unknown,
        "not-looked": found.not_looked,
        "partial": found.partial,
        "spread": found.spread,
        "coherence": str(found.coherence) if found.found else None,
        "classes": {str(name): count for name, count in found.classes.items()},
    }


def _memento(memento: Memento, registry: Registry, *, raw: bool) -> Json:
    return {
        "uri": memento.uri,
        "raw": raw_address(memento, registry.by_id(memento.archive)),
        "datetime": str(memento.captured),
        "archive": memento.archive,
        "status": memento.status,
        "pwid": pwid_of(memento, registry, raw=raw),
    }


def part_document(part: Part, registry: Registry) -> Json:
    """Return everything that is known of a part, in plain JSON types."""
    memento = part.memento
    return {
        "url": part.url,
        "kind": part.kind,
        "source": part.source,
        "parent": part.parent,
        "variant": part.is_variant,
        "outcome": part.outcome,
        "memento": None if memento is None else _memento(memento, registry, raw=True),
        "offset": part.offset,
        "coherence": str(part.coherence) if part.outcome == "found" else None,
        "evidence": part.evidence,
        "last-modified": None if part.last_modified is None else str(part.last_modified),
        "digest": part.digest,
        "redirect": part.redirect,
        "why": escaped(part.why) or None,
    }


def _json(composite: CompositeMemento, registry: Registry) -> bytes:
    return msgspec.json.encode(parts_document(composite, registry))


def _uri_list(composite: CompositeMemento, registry: Registry) -> bytes:
    """Write RFC 2483, section 5: one URI a line."""
    return "".join(f"{pwid}\r\n" for pwid in pwids(composite, registry)).encode()


def _linkset(composite: CompositeMemento, registry: Registry) -> bytes:
    """Write the parts as items of the page, and of each its original and its PWID."""
    found = [part for part in composite.parts if part.outcome == "found" and part.memento]
    items = [
        {
            "href": header_safe(part.memento.uri),
            "datetime": [str(part.memento.captured)],
            "coherence": [str(part.coherence)],
        }
        for part in found
        if part.memento is not None
    ]
    page: Json = _context(composite.root, composite.root.original, registry, raw=False)
    if items:
        page["item"] = items
    contexts = [
        _context(part.memento, part.url, registry, raw=True)
        for part in found
        if part.memento is not None
    ]
    return msgspec.json.encode({"linkset": [page, *contexts]})


def _context(memento: Memento, original: str, registry: Registry, *, raw: bool) -> Json:
    pwid = pwid_of(memento, registry, raw=raw)
    return {
        "anchor": header_safe(memento.uri),
        "original": [{"href": header_safe(original)}],
        **({} if pwid is None else {"cite-as": [{"href": header_safe(pwid)}]}),
    }


def _csv(composite: CompositeMemento, registry: Registry) -> bytes:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    for part in composite.parts:
        writer.writerow(map(_cell, _cells(part, registry)))
    return written.getvalue().encode()


def _cells(part: Part, registry: Registry) -> tuple[object, ...]:
    memento = part.memento
    found = (None,) * 2 if memento is None else (memento.archive, str(memento.captured))
    return (
        *(part.url, part.kind, part.outcome, *found, part.offset),
        None if memento is None else memento.status,
        str(part.coherence) if part.outcome == "found" else None,
        None if memento is None else pwid_of(memento, registry, raw=True),
        None if memento is None else memento.uri,
        *(part.parent, part.source, "yes" if part.is_variant else "no", part.why),
    )


def _cell(value: object) -> object:
    """Return *value* without control characters, and not as a formula (CWE-1236)."""
    if not isinstance(value, str):
        return value
    return f"'{escaped(value)}" if value.startswith(_FORMULA) else escaped(value)


class PartsFormat(NamedTuple):
    """A format for programs."""

    media_type: str
    write: Callable[[CompositeMemento, Registry], bytes]


PARTS_FORMATS: Final[Mapping[str, PartsFormat]] = {
    "json": PartsFormat("application/json", _json),
    "uri-list": PartsFormat("text/uri-list", _uri_list),
    "linkset": PartsFormat("application/linkset+json", _linkset),
    "csv": PartsFormat("text/csv", _csv),
}
"""By the value of the parameter ``as``."""
