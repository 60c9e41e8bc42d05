"""Lists with one reference a line: plain text, and lines of JSON.

Read as a stream, so that a list may be longer than memory.
"""

import json
from collections.abc import Iterator
from typing import BinaryIO, Final

from timegate.bulk.item import Item
from timegate.bulk.json_items import item_of

# 8,192 octets, each written as \u00XX in a JSON string, fit with room to spare.
_LONGEST_LINE: Final = 1 << 17


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
    return item_of(position, value)
