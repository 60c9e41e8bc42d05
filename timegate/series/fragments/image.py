"""``rect``: a rectangle of an image, and of one of its frames (3.4.5), by Pillow.

The part is a PNG: its pixels are those of the image, in whatever format that is.
"""

import struct
from importlib.util import find_spec
from io import BytesIO
from typing import Final

from archives.regex_compat import compiled
from timegate.series.formats import base_type
from timegate.series.fragments import (
    BadFragment,
    DocumentPart,
    FragmentSpecifier,
    OutOfRange,
    Unextracted,
)

_Box = tuple[int, int, int, int]
_COORDINATE: Final = compiled(r"\(([0-9]{1,9}),([0-9]{1,9})\)")
_FRAME: Final = compiled(r"[0-9]{1,6}")
_FORMATS: Final = ("GIF", "PNG", "JPEG", "BMP", "TIFF", "WEBP", "PPM")
"""Formats that Pillow reads by itself, without other programs."""
_MOST_PIXELS: Final = 50_000_000
_UNREADABLE: Final = (
    *(OSError, ValueError, SyntaxError, EOFError, TypeError, struct.error, LookupError),
    *(ArithmeticError, MemoryError, AttributeError, AssertionError, NotImplementedError),
)
"""What Pillow's readers raise for damaged images."""
_PNG_MODES: Final = ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA")


def rectangle(
    fragment: FragmentSpecifier, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    """Return the pixels from the first corner up to the second, which is excluded."""
    if not base_type(media_type).startswith("image/"):
        return Unextracted(f"{base_type(media_type)} is not an image")
    box, frame = _positions(fragment)
    if find_spec("PIL") is None:
        return Unextracted("this server has no Pillow (the extra images)")
    try:
        return _cropped(box, frame, body)
    except _UNREADABLE as error:
        return Unextracted(f"the image cannot be read: {type(error).__name__}")


def _cropped(box: _Box, frame: int, body: bytes) -> DocumentPart | Unextracted:
    from PIL import Image  # noqa: PLC0415 -- an extra

    try:
        image = Image.open(BytesIO(body), formats=_FORMATS)
    except Image.DecompressionBombError:
        return Unextracted("the image is too large")
    with image:
        frames = int(getattr(image, "n_frames", 1))
        size = f"{image.width} by {image.height} pixels and {frames} frames"
        if image.width * image.height > _MOST_PIXELS:
            return Unextracted(f"the image is too large: {size}")
        if box[2] > image.width or box[3] > image.height or frame >= frames:
            raise OutOfRange(size)
        image.seek(frame)
        part = image.crop(box)
        octets = BytesIO()
        (part if part.mode in _PNG_MODES else part.convert("RGB")).save(octets, "PNG")
        return DocumentPart(octets.getvalue(), "image/png", size)


def _positions(fragment: FragmentSpecifier) -> tuple[_Box, int]:
    found = [_COORDINATE.fullmatch(position) for position in fragment.positions[:2]]
    frame = fragment.positions[2] if len(fragment.positions) > 2 else "0"
    first, last = (*found, None, None)[:2]
    if (
        first is None
        or last is None
        or len(fragment.positions) > 3
        or not _FRAME.fullmatch(frame)
    ):
        raise BadFragment("rect needs two corners and perhaps a frame: (5,10),(25,30),2")
    box = (int(first[1]), int(first[2]), int(last[1]), int(last[2]))
    if box[0] >= box[2] or box[1] >= box[3]:
        raise BadFragment("the second corner is right of and below the first")
    return box, int(frame)
