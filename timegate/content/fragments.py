"""Text directives of URL fragments: ``#:~:text=prefix-,start,end,-suffix``.

They quote the page (URL Fragment Text Directives, WICG). Reading takes what people paste;
writing encodes everything that has a meaning in a directive.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

_DELIMITER: Final = ":~:"
_TEXT: Final = "text="
LONGEST_QUOTE: Final = 2000
"""Characters. A longer quotation is a copy of the text."""
_IN_ONE: Final = 200
"""Characters of a quotation that is written as one term; a longer one by its two ends."""
_WORDS_AT_END: Final = 6


class TextQuote(NamedTuple):
    """A quotation: its text, or how it begins and ends; and what is around it."""

    start: str
    end: str = ""
    """If it is not empty, the quotation is everything from *start* to *end*."""
    prefix: str = ""
    suffix: str = ""

    @property
    def text(self) -> str:
        """The quotation, for people."""
        return f"{self.start} \u2026 {self.end}" if self.end else self.start


def quote_in(url: str) -> TextQuote | None:
    """Return the first quotation in the fragment of *url*; None if there is none."""
    fragment = url.partition("#")[2]
    if _DELIMITER not in fragment:
        return None
    for directive in fragment.partition(_DELIMITER)[2].split("&"):
        if directive.startswith(_TEXT):
            found = _read(directive.removeprefix(_TEXT))
            if found is not None:
                return found
    return None


def read_quote(text: str) -> TextQuote | None:
    """Return the quotation *text*: as it is, or a text directive; None if it is of no use."""
    text = " ".join(text.split())
    if text.startswith((_DELIMITER, f"#{_DELIMITER}")):
        return quote_in(f"#{text.removeprefix('#')}")
    return TextQuote(text) if 0 < len(text) <= LONGEST_QUOTE else None


def quote_text(wanted: TextQuote) -> str:
    """Return the text that `read_quote` reads as *wanted*."""
    simple = not (wanted.end or wanted.prefix or wanted.suffix)
    return wanted.start if simple else with_quote("", wanted)


def _read(value: str) -> TextQuote | None:
    """Read a directive; None if it has no text, is too long, or has more parts than four."""
    parts = value.split(",")
    prefix = parts.pop(0)[:-1] if len(parts) > 1 and parts[0].endswith("-") else ""
    suffix = parts.pop()[1:] if len(parts) > 1 and parts[-1].startswith("-") else ""
    if not 1 <= len(parts) <= 2:
        return None
    read = TextQuote(*_decoded([parts[0], "".join(parts[1:]), prefix, suffix]))
    fits = sum(map(len, read)) <= LONGEST_QUOTE
    return read if read.start and fits else None


def _decoded(parts: Iterable[str]) -> list[str]:
    return [" ".join(unquote(part).split()) for part in parts]


def with_quote(uri: str, wanted: TextQuote) -> str:
    """Return *uri* with a directive for *wanted*; another one in it is replaced."""
    address = uri.partition(_DELIMITER)[0]
    mark = "" if "#" in address else "#"
    return f"{address}{mark}{_DELIMITER}{_TEXT}{_written(wanted)}"


def _written(wanted: TextQuote) -> str:
    parts = [
        f"{_encoded(wanted.prefix)}-" if wanted.prefix else "",
        _encoded(wanted.start),
        _encoded(wanted.end),
        f"-{_encoded(wanted.suffix)}" if wanted.suffix else "",
    ]
    return ",".join(filter(None, parts))


def _encoded(text: str) -> str:
    # A hyphen marks prefix and suffix; comma and ampersand separate terms and directives.
    return quote(text, safe="", errors="replace").replace("-", "%2D")


def quoted(passage: str) -> TextQuote | None:
    """Return how to quote *passage* of a page; None if it is empty.

    A browser finds a term within one block of the page only: a passage of several lines, or a
    long one, is written by the words at its ends.
    """
    lines = [line.split() for line in passage.splitlines() if line.split()]
    if not lines:
        return None
    whole = " ".join(lines[0])
    if len(lines) == 1 and len(whole) <= _IN_ONE:
        return TextQuote(whole)
    start, end = lines[0][:_WORDS_AT_END], lines[-1][-_WORDS_AT_END:]
    if len(lines) == 1 and len(lines[0]) < 2 * _WORDS_AT_END:
        half = len(lines[0]) // 2
        start, end = lines[0][:half], lines[0][half:]
    if not start or not end:
        # One word of more than 200 characters: text without spaces between words.
        return TextQuote(whole[: _IN_ONE // 2], whole[-_IN_ONE // 2 :])
    return TextQuote(" ".join(start), " ".join(end))
