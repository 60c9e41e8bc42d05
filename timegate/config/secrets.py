"""Secrets, which are never shown: not in logs, not in errors, not in printed values (R-26)."""

import os
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
            text = (folder / Path(str(place)).expanduser()).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{place} cannot be read") from error
    try:
        return Secret(text)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
