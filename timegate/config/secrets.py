"""Secrets, which are never shown: not in logs, not in errors, not in printed values (R-26)."""

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

_LONGEST: Final = 8192


class Secret:
    """A secret text; only `reveal` returns it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Raise ValueError for a text that is not allowed in a header."""
        if not (text and text.isascii() and text.isprintable() and len(text) <= _LONGEST):
            raise ValueError("it must be one line of printable ASCII")
        self._text = text

    def reveal(self) -> str:
        """Return the secret, to be sent."""
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is never serialized")


def read_secret(source: object, folder: Path) -> Secret:
    """Read a secret from ``{file = "..."}`` or ``{env = "..."}``, never from the configuration.

    Raises ValueError, whose message names the file or variable and never its content.
    """
    if (
        not isinstance(source, Mapping)
        or len(source) != 1
        or not source.keys() & {"file", "env"}
    ):
        raise ValueError('must be {file = "PATH"} or {env = "NAME"}')
    ((kind, place),) = source.items()
    if kind == "env":
        text = os.environ.get(str(place), "")
    else:
        try:
            text = bounded_text(folder / Path(str(place)).expanduser()).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{place} cannot be read") from error
    try:
        return Secret(text)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


MOST_OCTETS: Final = 16 * 1024 * 1024
"""The size of the largest file of a configuration."""


def bounded_text(path: Path) -> str:
    """Return the text of a file that may have been replaced by anything.

    A device without end is not read to its end, and a pipe without a writer is not waited for.
    Raises OSError and UnicodeDecodeError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        os.set_blocking(descriptor, True)
        octets = file.read(MOST_OCTETS + 1)
        is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    if len(octets) > MOST_OCTETS:
        raise OSError(errno.EFBIG, f"it has more than {MOST_OCTETS:,} bytes")
    if not octets and not is_regular:
        raise OSError(errno.ENODATA, "it is empty, and not a regular file")
    return octets.decode()
