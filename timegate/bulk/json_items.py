"""References in JSON: one value, or a whole document with a list of them.

A value is a string, or an object as people and Zotero (CSL-JSON) write it. One that is neither
is an item too, so that it is refused and the refusal reported, not lost.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from timegate.bulk.item import BadInput, Item

_NAMES: Final = ("identifier", "url", "uri", "link", "href", "id")
_DATES: Final = ("dates", "date", "datetime", "timestamp", "accessed", "issued")
_EXPECTED: Final = "expected is a list of URLs, or of objects with url and date"


def read_json(text: str) -> Iterator[Item]:
    """Yield the references of a document: a list, or an object with one. Raises BadInput."""
    if not text.strip("\ufeff \t\r\n"):
        return
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        lines = "; a file with one value a line is called .jsonl"
        raise BadInput(f"not JSON: {error.msg} in line {error.lineno}{lines}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"JSON that cannot be read: {error}") from error
    for position, one in enumerate(_listed(value)):
        yield item_of(position, one)


def item_of(position: int, value: object) -> Item:
    """Return the reference that *value* is, with its dates."""
    if isinstance(value, str):
        return Item(position, value, (value,))
    text = json.dumps(value)
    if not isinstance(value, dict):
        return Item(position, text, (text,))
    members = _members(value)
    references = tuple(_references(members))
    dates = tuple(date for name in _DATES for date in _dates(members.get(name)))
    return Item(position, references[0] if references else text, references or (text,), dates)


def _listed(value: object) -> Sequence[object]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        if next(_references(_members(value)), None) is not None:
            return [value]
        lists = [member for member in value.values() if isinstance(member, list)]
        if len(lists) == 1:
            return lists[0]
        raise BadInput(f"an object with {len(lists) or 'no'} lists; {_EXPECTED}")
    raise BadInput(f"no list; {_EXPECTED}")


def _members(value: Mapping[str, object]) -> dict[str, object]:
    # CSL-JSON has URL where others have url.
    return {name.lower(): member for name, member in value.items()}


def _references(members: Mapping[str, object]) -> Iterator[str]:
    """Yield what names the page; an ``id`` first if it can be more than a number or a key."""
    found = {name: text for name in _NAMES for text in _strings([members.get(name)])}
    if ":" in found.get("id", ""):
        yield found.pop("id")
    yield from found.values()


def _dates(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        # CSL-JSON 1.0: {"date-parts": [[2016, 1, 22]]}
        parts = value.get("date-parts")
        first = parts[0] if isinstance(parts, list) and parts else None
        yield from _calendar_date(first)
    else:
        yield from _strings(value if isinstance(value, list) else [value])


def _calendar_date(parts: object) -> Iterator[str]:
    numbers = [*_strings(parts)] if isinstance(parts, list) else []
    if numbers:
        yield "-".join(number.zfill(2) for number in numbers[:3])


def _strings(values: Sequence[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and value.strip():
            yield value.strip()
        elif isinstance(value, int) and not isinstance(value, bool):
            # A year, or digits, without quotes.
            yield str(value)
