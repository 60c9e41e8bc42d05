"""Requests ``/healthz`` ten times a second, in its own process, and prints the times.

    python -m tests.chaos.rig.pinger PORT

Ends when its standard input ends; then prints the milliseconds as one JSON list. It is a
process of its own, because a process that makes load is late itself.
"""

import json
import select
import socket
import sys
import time

INTERVAL = 0.1


def pinged(port: int) -> float:
    """Return milliseconds from connecting to the answer."""
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        connection.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        while connection.recv(4096):
            pass
    return (time.perf_counter() - began) * 1000


def main(port: int) -> None:
    """Ping until the input ends."""
    spans: list[float] = []
    while not select.select([sys.stdin], [], [], INTERVAL)[0]:
        try:
            spans.append(pinged(port))
        except OSError:
            spans.append(30_000.0)
    sys.stdout.write(json.dumps(spans) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))
