"""A name server over UDP with settable answers, which counts queries.

    python -m tests.chaos.rig.name_server ADDRESS

Each JSON line at its standard input is a table with the answer for each name: a list of
addresses, or ``silent``, ``servfail``, ``refused``, ``nxdomain``. Ends when the input ends.
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
"""The TTL of answers."""
NameAnswer = list[str] | str


def question(packet: bytes) -> tuple[str, int, bytes]:
    """Return the name and the type of a query, and its question section."""
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


def reply(packet: bytes, answer: NameAnswer) -> bytes:
    """Return the response to one query."""
    _, kind, section = question(packet)
    records: list[bytes] = []
    code = 0
    if isinstance(answer, str):
        code = _CODES[answer]
    elif kind in (_A, _AAAA):
        matching = [address for address in answer if (":" in address) == (kind == _AAAA)]
        records = [record(kind, address) for address in matching]
    # A response to a standard query, with recursion desired and available.
    head = packet[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(records), 0, 0)
    return head + section + b"".join(records)


def main(address: str) -> None:
    """Answer queries until the input ends; unknown names do not exist."""
    table: dict[str, NameAnswer] = {}
    counts: Counter[str] = Counter()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind((address, 53))
        while True:
            ready, _, _ = select.select([udp, sys.stdin], [], [])
            if udp in ready:
                packet, client = udp.recvfrom(4096)
                name, _, _ = question(packet)
                counts[name] += 1
                answer = table.get(name, "nxdomain")
                if answer != "silent":
                    udp.sendto(reply(packet, answer), client)
            if sys.stdin in ready:
                line = sys.stdin.readline()
                if not line:
                    return
                table |= json.loads(line)
                sys.stdout.write(json.dumps(counts) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
