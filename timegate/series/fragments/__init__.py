"""Fragments of documents (section 3 of the draft): which part of the bytes is meant.

    [scheme "="] position *("," position)

Each scheme has a module. A fragment that cannot be extracted is `Unextracted`: the document is
then delivered whole, and the verdict says so.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.series.formats import base_type

_SCHEME: Final = compiled(r"([A-Za-z][A-Za-z0-9-]*+)=")
_COMMA: Final = compiled(r"(sec|msec),", re.IGNORECASE)
_POSITION: Final = compiled(r"\([^()]*+\)|[^(),]++")
_NUMBER: Final = compiled(r"[0-9]{1,18}")
_MARKUP: Final = ("application/xml", "application/xhtml+xml", "application/sgml")


class DocumentPart(NamedTuple):
    """The part of a document that a fragment names."""

    body: bytes
    media_type: str
    size: str
    """The size of the whole, in the units of the scheme: ``1204 characters``."""


class Unextracted(NamedTuple):
    """A fragment that this server cannot extract, and why."""

    why: str


class OutOfRange(Exception):
    """The document has no such part; *size* says how large it is."""

    def __init__(self, size: str) -> None:
        super().__init__(f"the fragment is outside the document, which has {size}")
        self.size = size


class BadFragment(Exception):
    """Positions that the scheme does not have. The message is for the client."""


class FragmentSpecifier(NamedTuple):
    """A fragment as it is read."""

    scheme: str
    """In lower case; empty for the default of the format."""
    positions: tuple[str, ...]

    def numbers(self, count: int) -> tuple[int, ...]:
        """Return *count* positions that are numbers. Raises BadFragment."""
        if len(self.positions) != count or not all(map(_NUMBER.fullmatch, self.positions)):
            raise BadFragment(f"{self.scheme} needs {count} numbers, such as 37,51")
        return tuple(map(int, self.positions))

    def range(self) -> tuple[int, int]:
        """Return two numbers, of which the first is not larger. Raises BadFragment."""
        start, end = self.numbers(2)
        if start > end:
            raise BadFragment("the fragment ends before it begins")
        return start, end


Extractor = Callable[[FragmentSpecifier, str, bytes], "DocumentPart | Unextracted"]
"""Extracts a fragment of a media type and bytes. Raises OutOfRange and BadFragment."""


def read_fragment(text: str, media_type: str) -> FragmentSpecifier:
    """Read the fragment *text* of a document; the scheme may be that of its type by default.

    ``sec,23,51``, as in 3.4.5, is ``sec=23,51``. Raises BadFragment.
    """
    stated = _SCHEME.match(text) or _COMMA.match(text)
    scheme = stated[1].lower() if stated else default_scheme(media_type)
    if scheme is None:
        raise BadFragment("this format has no default scheme; write byte=23,57")
    rest = text[stated.end() :] if stated else text
    positions = tuple(_POSITION.findall(rest))
    if ",".join(positions) != rest or not positions:
        raise BadFragment("positions are separated by commas")
    return FragmentSpecifier(scheme, positions)


def default_scheme(media_type: str) -> str | None:
    """Return the scheme that may be omitted for a media type (3.4); None if there is none."""
    base = base_type(media_type)
    major = base.partition("/")[0]
    if base in _MARKUP:
        return "char"
    defaults = {"text": "char", "image": "rect", "audio": "sec", "video": "sec"}
    return defaults.get(major)


def extracted(
    fragment: FragmentSpecifier, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    """Return the part that *fragment* names. Raises OutOfRange and BadFragment."""
    extract = _extractors().get(fragment.scheme)
    if extract is None:
        return Unextracted(f"the scheme {fragment.scheme} is not known")
    return extract(fragment, media_type, body)


def _extractors() -> Mapping[str, Extractor]:
    from timegate.series.fragments import audio, image, octets, text  # noqa: PLC0415

    return {
        "char": text.characters,
        "elt": text.elements,
        "name": text.named,
        "byte": octets.octets,
        "rect": image.rectangle,
        "sec": audio.seconds,
        "msec": audio.milliseconds,
        "crop": audio.cropped,
    }
