"""Foreign text into and out of a command: arguments, lines of standard input, the terminal."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

# 8,192 octets, each written as \u00XX in a JSON string, fit with room to spare.
_LONGEST_LINE: Final = 1 << 17


def inputs(arguments: Sequence[str]) -> Iterator[str]:
    """Yield each argument; for ``-`` each line of standard input."""
    for argument in arguments:
        if argument == "-":
            yield from lines(sys.stdin.buffer)
        else:
            yield argument


def lines(stream: BinaryIO) -> Iterator[str]:
    """Yield the lines of *stream*; one that begins with a quote is a JSON string.

    A line is never held beyond a fixed length: what is longer is cut there, and no identifier
    is that long. Octets that are no UTF-8 become lone surrogates, which every reader refuses.
    """
    while line := stream.readline(_LONGEST_LINE):
        whole = line.endswith(b"\n")
        while not whole and (rest := stream.readline(_LONGEST_LINE)):
            whole = rest.endswith(b"\n")
        text = line.decode(errors="surrogateescape").rstrip("\n").removesuffix("\r")
        yield _unquoted(text) if text.startswith('"') else text


def _unquoted(text: str) -> str:
    """Return the string that *text* is in JSON; *text* itself where it is none."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str) else text
