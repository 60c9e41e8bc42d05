"""Lists with one reference a line: plain text, and lines of JSON.

Read as a stream, so that a list may be longer than memory.
"""

import json
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from timegate.bulk.item import Item

# 8,192 octets, each written as \u00XX in a JSON string, fit with room to spare.
_LONGEST_LINE: Final = 1 << 17
_NAMES: Final = ("id", "identifier", "url", "uri", "link", "href")
_DATES: Final = ("dates", "date", "datetime", "timestamp")


def text_lines(stream: BinaryIO) -> Iterator[str]:
    """Yield the lines of *stream* without their ends, each cut at a fixed length.

    Octets that are no UTF-8 become lone surrogates, which every reader of identifiers refuses.
    """
    first = True
    while line := stream.readline(_LONGEST_LINE):
        whole = line.endswith(b"\n")
        while not whole and (rest := stream.readline(_LONGEST_LINE)):
            whole = rest.endswith(b"\n")
        text = line.decode(errors="surrogateescape").rstrip("\r\n")
        yield text.removeprefix("\ufeff") if first else text
        first = False


def read_plain(stream: BinaryIO) -> Iterator[Item]:
    """Yield an item for each line: an identifier, or a URL, a blank and a date.

    Empty lines and those that begin with ``#`` are for people.
    """
    position = 0
    for line in text_lines(stream):
        words = line.split(maxsplit=1)
        if words and not words[0].startswith("#"):
            yield Item(position, line.strip(), (words[0],), tuple(w.strip() for w in words[1:]))
            position += 1


def read_jsonl(stream: BinaryIO) -> Iterator[Item]:
    """Yield an item for each line: a JSON string, or an object with ``url`` and ``dates``.

    A line that is neither is an item too: it will be refused, and the refusal reported.
    """
    position = 0
    for line in text_lines(stream):
        if line.strip():
            yield _item(position, line.strip())
            position += 1


def _item(position: int, line: str) -> Item:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return Item(position, line, (line,))
    if isinstance(value, str):
        return Item(position, value, (value,))
    if not isinstance(value, dict):
        return Item(position, line, (line,))
    references = tuple(_strings([value.get(name) for name in _NAMES]))
    dates = tuple(date for name in _DATES for date in _dates(value.get(name)))
    return Item(position, references[0] if references else line, references or (line,), dates)


def _dates(value: object) -> Iterator[str]:
    yield from _strings(value if isinstance(value, list) else [value])


def _strings(values: Sequence[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and value.strip():
            yield value.strip()
        elif isinstance(value, int) and not isinstance(value, bool):
            # A year, or digits, without quotes.
            yield str(value)
