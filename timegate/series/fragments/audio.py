"""``sec``, ``msec`` and ``crop``: times of sound and moving pictures (3.4.4, 3.4.5).

A part has the samples whose time is in the half-open interval. WAV and AU files are cut; other
sound, and video, is delivered whole.
"""

import struct
import wave
from io import BytesIO
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.series.formats import base_type
from timegate.series.fragments import (
    BadFragment,
    DocumentPart,
    FragmentSpecifier,
    OutOfRange,
    Unextracted,
)

_AU_HEADER: Final = struct.Struct(">4sIIIII")
_AU_SIZES: Final = {1: 1, 2: 1, 3: 2, 4: 3, 5: 4, 6: 4, 7: 8, 27: 1}
"""Octets of a sample by the encoding, for those in which they do not vary."""
_AU_UNKNOWN: Final = 0xFFFFFFFF
_CROP: Final = compiled(r"\([0-9]{1,9},[0-9]{1,9}\)")


class _Sound(NamedTuple):
    rate: int
    frames: int


def seconds(
    fragment: FragmentSpecifier, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    """Return the sound between two seconds."""
    return _cut(fragment, 1, media_type, body)


def milliseconds(
    fragment: FragmentSpecifier, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    """Return the sound between two milliseconds."""
    return _cut(fragment, 1000, media_type, body)


def cropped(
    fragment: FragmentSpecifier, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    """Return nothing: moving pictures are not cut."""
    del media_type, body
    scheme, *rest = fragment.positions
    if scheme.lower() not in ("sec", "msec") or len(rest) not in (2, 4):
        raise BadFragment("crop needs a unit, two times and perhaps two corners: sec,23,51")
    FragmentSpecifier("crop", tuple(rest[:2])).range()
    if not all(map(_CROP.fullmatch, rest[2:])):
        raise BadFragment("the corners of crop are written (10,10),(20,20)")
    return Unextracted("moving pictures are not cut here")


def _cut(
    fragment: FragmentSpecifier, units: int, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    start, end = fragment.range()
    if body.startswith(b".snd"):
        return _cut_au(start, end, units, media_type, body)
    if body.startswith(b"RIFF") and body[8:12] == b"WAVE":
        return _cut_wave(start, end, units, media_type, body)
    return Unextracted(f"{base_type(media_type)} is not cut here")


def _interval(sound: _Sound, start: int, end: int, units: int) -> tuple[int, int, str]:
    """Return the first sample, the one after the last, and the size. Raises OutOfRange.

    A sample n is at n / rate seconds; those of the interval have start <= time < end.
    """
    size = f"{sound.frames} samples at {sound.rate} Hz"
    seconds_in_all = sound.frames / sound.rate
    size = f"{seconds_in_all:g} seconds ({size})"
    if end * sound.rate > sound.frames * units:
        raise OutOfRange(size)
    return -(-start * sound.rate // units), -(-end * sound.rate // units), size


def _cut_wave(
    start: int, end: int, units: int, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    try:
        with wave.open(BytesIO(body)) as source:
            parameters = source.getparams()
            sound = _Sound(source.getframerate(), source.getnframes())
            first, last, size = _interval(sound, start, end, units)
            source.setpos(first)
            samples = source.readframes(last - first)
    except (wave.Error, EOFError, ZeroDivisionError):
        return Unextracted("this WAV file cannot be read here")
    octets = BytesIO()
    with wave.open(octets, "wb") as target:
        target.setparams(parameters._replace(nframes=0))
        target.writeframes(samples)
    return DocumentPart(octets.getvalue(), media_type, size)


def _cut_au(
    start: int, end: int, units: int, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    if len(body) < _AU_HEADER.size:
        return Unextracted("this AU file is incomplete")
    magic, offset, stated, encoding, rate, channels = _AU_HEADER.unpack_from(body)
    width = _AU_SIZES.get(encoding, 0) * channels
    if not width or not rate or offset < _AU_HEADER.size or offset > len(body):
        return Unextracted("this AU file cannot be read here")
    length = len(body) - offset if stated == _AU_UNKNOWN else min(stated, len(body) - offset)
    sound = _Sound(rate, length // width)
    first, last, size = _interval(sound, start, end, units)
    samples = body[offset + first * width : offset + last * width]
    head = _AU_HEADER.pack(magic, offset, len(samples), encoding, rate, channels)
    return DocumentPart(head + body[_AU_HEADER.size : offset] + samples, media_type, size)
