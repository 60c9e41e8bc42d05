"""Cases from seeds: the same for the same number, on every machine."""

from collections.abc import Iterator
from random import Random
from typing import Final

WORDS: Final = (
    *(b"\0", b"\r\n", b"\n", b" ", b"\xff", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\x1b["),
    *(b"%", b"%00", b"%zz", b"://", b"//", b"[", b"]", b"{", b"}", b'"', b"<", b">", b"\\"),
    *(b"0", b"-1", b"99999999999999999999999999999999", b"1e999", b"2016", b"00000000000000"),
    *(b"http://", b"urn:pwid:", b"duri:", b"null", b"NaN", b"&#x110000;", b"&amp;", b"\t"),
)
LONGEST: Final = 4096


def cases(seeds: tuple[bytes, ...], count: int) -> Iterator[bytes]:
    """Yield the seeds, then *count* mutations of them."""
    yield from (b"", *seeds)
    for number in range(count):
        random = Random(number)  # noqa: S311 -- the same every time
        octets = random.choice(seeds)
        for _ in range(random.randint(1, 4)):
            octets = _mutated(octets, seeds, random)
        yield octets[:LONGEST]


def _mutated(octets: bytes, seeds: tuple[bytes, ...], random: Random) -> bytes:
    start = random.randint(0, len(octets))
    end = min(len(octets), start + random.choice((0, 1, 1, 4, 20)))
    match random.randint(0, 5):
        case 0:
            return octets[:start] + octets[end:]
        case 1:
            return (
                octets[:start] + random.choice(WORDS) * random.choice((1, 1, 40)) + octets[end:]
            )
        case 2:
            return octets[:start] + random.randbytes(random.choice((1, 3))) + octets[end:]
        case 3:
            return octets[:end] + octets[start:end] * random.choice((1, 30)) + octets[end:]
        case 4:
            return octets[:start]
        case _:
            other = random.choice(seeds)
            return octets[:start] + other[random.randint(0, len(other)) :]
