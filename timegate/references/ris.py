"""Reader of RIS, which programs for references export: one field per line, ``UR  - http://``.

The format of RefWorks, ``LK http://``, has other names for some of the fields.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.dates import FoundDate, field_date, noted_dates
from timegate.references.links import find_links
from timegate.references.model import ReferencePlace, cited
from timegate.references.named_copies import copies_of

_FIELD: Final = compiled(r"^([A-Z][A-Z0-9])  ?-[ \t]?([^\r\n]*+)", re.MULTILINE)
_OF_REFWORKS: Final = compiled(r"^RT [A-Z][^\r\n]{1,40}\r?\n(?=[A-Z][A-Z0-9] )", re.MULTILINE)
_TAGGED: Final = compiled(r"^([A-Z][A-Z0-9]) (?! ?-)([^\r\n]*+)", re.MULTILINE)
"""A field of RefWorks."""
_LINKS: Final = ("UR", "LK", "UL", "L1", "L2", "DO", "N1", "N2", "AB")
_ACCESSED: Final = ("Y2", "RD")
_PUBLISHED: Final = ("DA", "PY", "Y1", "YR", "FD")
_OTHERS: Final = frozenset((*_ACCESSED, *_PUBLISHED, "TI", "T1", "T2", "AU", "A1", "DO"))
"""Fields without notes."""


class _Value(NamedTuple):
    text: str
    start: int


Entry = dict[str, list[_Value]]


def is_of_refworks(text: str) -> bool:
    """Whether *text* has fields as RefWorks writes them."""
    return _FIELD.search(text) is None and _OF_REFWORKS.search(text) is not None


def read_ris(text: str) -> Iterator[ReferencePlace]:
    """Yield the reference of every entry that has a link, in order."""
    position = 0
    for entry in _entries(text):
        place = _place(entry, position)
        if place is not None:
            yield place
            position += 1


def _entries(text: str) -> Iterator[Entry]:
    entry: Entry = defaultdict(list)
    fields = _TAGGED if is_of_refworks(text) else _FIELD
    for field in fields.finditer(text):
        tag = field[1]
        if tag in ("TY", "RT") and entry:
            yield entry
            entry = defaultdict(list)
        entry[tag].append(_Value(field[2].strip(), field.start(2)))
        if tag == "ER":
            yield entry
            entry = defaultdict(list)
    if entry:
        yield entry


def _place(entry: Entry, position: int) -> ReferencePlace | None:
    links = []
    for tag in _LINKS:
        for value in entry.get(tag, ()):
            found = find_links(value.text) if tag != "DO" else find_links(f"doi:{value.text}")
            shift = value.start - (4 if tag == "DO" else 0)
            links += [
                link._replace(span=TextSpan(link.span.start + shift, link.span.end + shift))
                for link in found
            ]
    if not links:
        return None
    references = tuple(dict.fromkeys(link.identifier for link in links))
    notes = " ".join(value.text for tag in _LINKS for value in entry.get(tag, ()))
    references = tuple(dict.fromkeys((*copies_of(references, notes), *references)))
    altered = any(link.incomplete for link in links)
    titles = [value.text for tag in ("TI", "T1") for value in entry.get(tag, ())]
    place = cited(references, tuple(_dates(entry)), altered=altered)
    named = next((link for link in links if link.identifier == references[0]), links[0])
    place = place._replace(title="".join(titles[:1]), link=named.span)
    return place._replace(item=place.item._replace(position=position))


def _dates(entry: Entry) -> Iterator[FoundDate]:
    for value in (value for tag in _ACCESSED for value in entry.get(tag, ())):
        yield from field_date(_calendar(value.text), "accessed")
    for value in (value for tag in entry if tag not in _OTHERS for value in entry[tag]):
        noted = noted_dates(value.text)
        yield from (date for date in noted if date.basis in ("accessed", "archived"))
    for value in (value for tag in _PUBLISHED for value in entry.get(tag, ())):
        yield from field_date(_calendar(value.text), "published")


def _calendar(text: str) -> str:
    """Return ``2010/11/05/10:15:00`` and ``2010/11//`` without what is empty or a time."""
    parts = [part for part in text.split("/")[:3] if part.strip()]
    return "-".join(part.strip().zfill(2) for part in parts) if "/" in text else text
