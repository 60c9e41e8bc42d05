"""A secret that is never shown: not in logs, not in errors, not in what is printed (R-26)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

_LONGEST: Final = 8192


class Secret:
    """Text that only `reveal` gives out."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Raise ValueError for what cannot stand in a header."""
        if not (text and text.isascii() and text.isprintable() and len(text) <= _LONGEST):
            raise ValueError("it must be one line of printable ASCII")
        self._text = text

    def reveal(self) -> str:
        """Return it, for where it is sent."""
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written down")


def read_secret(source: object, folder: Path) -> Secret:
    """Read it from ``{file = "..."}`` or ``{env = "..."}``, never out of the configuration.

    Raises ValueError, which says where it was looked for and never what was found.
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
