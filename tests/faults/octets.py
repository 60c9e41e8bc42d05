"""Faults at one byte position of a response: cut, delayed, repeated, corrupted."""

import gzip
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from timegate.misbehave.wire import WholeAnswer, chunk, head, written

PAUSE: Final = 1_000.0
"""Seconds of a delay; longer than every timeout, and virtual."""
Ending = Literal["stays", "closed", "reset"]


class Piece(NamedTuple):
    """Octets, and the seconds before they are sent."""

    octets: bytes
    after: float = 0.0


class Delivery(NamedTuple):
    """How a response is sent: its pieces, and what becomes of the connection then."""

    pieces: tuple[Piece, ...]
    ending: Ending = "stays"
    lacks: bool = False
    """Whether a part of the response is never sent, or too late."""

    @property
    def in_time(self) -> bytes:
        """The octets that arrive before anyone gives up."""
        return b"".join(piece.octets for piece in self.pieces if piece.after < PAUSE)


ByteFault = Callable[[bytes, int], Delivery]
"""Sends the octets of a response, with a fault at a position."""


def _in_two(octets: bytes, at: int, ending: Ending = "stays") -> Delivery:
    return Delivery((Piece(octets[:at]), Piece(octets[at:])), ending)


def _cut(ending: Ending) -> ByteFault:
    return lambda octets, at: Delivery((Piece(octets[:at]),), ending, at < len(octets))


def _delayed(octets: bytes, at: int) -> Delivery:
    return Delivery((Piece(octets[:at]), Piece(octets[at:], PAUSE)), lacks=at < len(octets))


def _repeated(length: int | None) -> ByteFault:
    def repeat(octets: bytes, at: int) -> Delivery:
        end = len(octets) if length is None else at + length
        return _in_two(octets[:end] + octets[at:end] + octets[end:], end)

    return repeat


def _replaced(change: Callable[[int], int]) -> ByteFault:
    def replace(octets: bytes, at: int) -> Delivery:
        corrupted = bytearray(octets)
        if at < len(octets):
            corrupted[at] = change(octets[at])
        return _in_two(bytes(corrupted), at)

    return replace


def _other_digit(octet: int) -> int:
    """Return the next digit, which makes another valid number or date; 7 for all others."""
    return 0x30 + (octet - 0x30 + 1) % 10 if 0x30 <= octet <= 0x39 else 0x37


FAULTS: Final[Mapping[str, ByteFault]] = {
    "cut": _cut("closed"),
    "reset": _cut("reset"),
    "delayed": _delayed,
    "octet twice": _repeated(1),
    "line twice": _repeated(40),
    "rest twice": _repeated(None),
    "bit": _replaced(lambda octet: octet ^ 0x01),
    "case": _replaced(lambda octet: octet ^ 0x20),
    "high bit": _replaced(lambda octet: octet ^ 0x80),
    "digit": _replaced(_other_digit),
    "NUL": _replaced(lambda _: 0),
    "CR": _replaced(lambda _: 13),
    "LF": _replaced(lambda _: 10),
    "0xFF": _replaced(lambda _: 0xFF),
    "comma": _replaced(lambda _: 0x2C),
    "quote": _replaced(lambda _: 0x22),
}
NO_FAULT: Final[ByteFault] = _in_two


# Framings of a body


def _chunks(answer: WholeAnswer, body: bytes) -> bytes:
    third = max(1, len(body) // 3)
    parts = [body[n : n + third] for n in range(0, len(body), third)]
    fields = (*answer.headers, ("Transfer-Encoding", "chunked"))
    return head(answer.status, fields) + b"".join(map(chunk, parts)) + b"0\r\n\r\n"


def _coded(answer: WholeAnswer) -> WholeAnswer:
    body = gzip.compress(answer.body, mtime=0)
    coded = answer.having("Content-Encoding", "gzip")
    return WholeAnswer(coded.status, coded.headers, body)


def _until_closed(answer: WholeAnswer) -> bytes:
    return head(answer.status, (*answer.headers, ("Connection", "close"))) + answer.body


def _framings() -> Iterator[tuple[str, Callable[[WholeAnswer], bytes]]]:
    yield "length", lambda answer: written(answer, "GET")
    yield "chunked", lambda answer: _chunks(answer, answer.body)
    yield "gzip", lambda answer: written(_coded(answer), "GET")
    yield "gzip chunked", lambda answer: _chunks(_coded(answer), _coded(answer).body)
    yield "until closed", _until_closed


FRAMINGS: Final[Mapping[str, Callable[[WholeAnswer], bytes]]] = dict(_framings())


def octets_of(answer: WholeAnswer, method: str, framing: str) -> bytes:
    """Return the octets of *answer* to a request with *method*, framed as *framing* says."""
    if method == "HEAD" or answer.status in (204, 304) or not answer.body:
        return written(answer, method)
    return FRAMINGS[framing](answer)
