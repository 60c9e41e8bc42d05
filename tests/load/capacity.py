"""The capacity of a server, measured before it is overloaded."""

import time

from tests.chaos.rig.asking import Answer, Client, timegates
from tests.chaos.rig.timegates import TimeGate


async def capacity(server: TimeGate, seconds: int) -> float:
    """Return the number of new questions that the server can answer in a second."""
    client = Client(server.port)
    await client.at_once(timegates("warm", 50), 16)
    began = time.monotonic()
    answers: list[Answer] = []
    while time.monotonic() < began + seconds:
        answers += await client.at_once(timegates("peak", 128, len(answers)), 64)
    return len(answers) / (time.monotonic() - began)
