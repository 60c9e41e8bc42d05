"""A name server over UDP with settable answers, which counts questions.

    python -m tests.chaos.rig.name_server ADDRESS

Told in JSON lines at its standard input, each a table of what it does with a name: a list of
addresses, or ``silent``, ``servfail``, ``refused``, ``nxdomain``. Ends when the input does.
"""

import json
import select
import socket
import struct
import sys
from collections import Counter
from typing import Final

_CODES: Final = {"servfail": 2, "nxdomain": 3, "refused": 5}
_A, _AAAA, _INTERNET = 1, 28, 1
_SECONDS: Final = 1
"""For which an answer may be kept."""
Manner = list[str] | str


def question(packet: bytes) -> tuple[str, int, bytes]:
    """Return the name and the type that are asked for, and the question as it was sent."""
    labels, at = [], 12
    while length := packet[at]:
        labels.append(packet[at + 1 : at + 1 + length].decode("ascii").lower())
        at += 1 + length
    (kind,) = struct.unpack("!H", packet[at + 1 : at + 3])
    return ".".join(labels), kind, packet[12 : at + 5]


def record(kind: int, address: str) -> bytes:
    family = socket.AF_INET6 if kind == _AAAA else socket.AF_INET
    octets = socket.inet_pton(family, address)
    # 0xC00C: the name in the question.
    return struct.pack("!HHHIH", 0xC00C, kind, _INTERNET, _SECONDS, len(octets)) + octets


def reply(packet: bytes, manner: Manner) -> bytes:
    """Answer one question."""
    _, kind, asked = question(packet)
    records: list[bytes] = []
    code = 0
    if isinstance(manner, str):
        code = _CODES[manner]
    elif kind in (_A, _AAAA):
        fitting = [one for one in manner if (":" in one) == (kind == _AAAA)]
        records = [record(kind, one) for one in fitting]
    # A reply to a standard query with recursion wanted and had.
    head = packet[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(records), 0, 0)
    return head + asked + b"".join(records)


def main(address: str) -> None:
    """Answer until the input ends; a name that is not told does not exist."""
    table: dict[str, Manner] = {}
    asked: Counter[str] = Counter()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as place:
        place.bind((address, 53))
        while True:
            ready, _, _ = select.select([place, sys.stdin], [], [])
            if place in ready:
                packet, who = place.recvfrom(4096)
                name, _, _ = question(packet)
                asked[name] += 1
                manner = table.get(name, "nxdomain")
                if manner != "silent":
                    place.sendto(reply(packet, manner), who)
            if sys.stdin in ready:
                line = sys.stdin.readline()
                if not line:
                    return
                table |= json.loads(line)
                sys.stdout.write(json.dumps(asked) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
