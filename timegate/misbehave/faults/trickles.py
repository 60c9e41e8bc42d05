# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Too slow, and too short: one byte at a time, and answers that break off."""

import asyncio
from collections.abc import AsyncIterator
from itertools import cycle

from timegate.misbehave.addresses import ReplayQuestion
from timegate.misbehave.faults.fault import EVERYTHING, LISTS, FaultContext, fault
from timegate.misbehave.site import Manner
from timegate.misbehave.wire import RawAnswer, chunk, head, once, written


async def silence(manner: Manner) -> AsyncIterator[bytes]:
    """Say nothing, for as long as the server lets it, while the client is there."""
    while True:
        yield b""
        await asyncio.sleep(manner.interval)


async def _trickle(first: bytes, text: bytes, manner: Manner) -> AsyncIterator[bytes]:
    """Yield *first* at once, then *text* over and over, a byte every `Manner.interval`."""
    yield first
    for byte in cycle(text):
        await asyncio.sleep(manner.interval)
        yield bytes([byte])


@fault(*EVERYTHING)
def drip_head(exchange: FaultContext) -> RawAnswer:
    """The header comes one byte at a time and never ends."""
    start = b"HTTP/1.1 200 OK\r\nContent-Type: application/link-format\r\nX-Slow: "
    return RawAnswer(_trickle(start, b"z", exchange.site.manner))


@fault(*EVERYTHING)
def drip_body(exchange: FaultContext) -> RawAnswer:
    """The right header comes at once, the body one byte at a time and never ends."""
    answer = exchange.right.having("Connection", "close")
    start = head(answer.status, answer.headers)
    return RawAnswer(_trickle(start, answer.body or b"z", exchange.site.manner))


@fault(*LISTS, ReplayQuestion)
def truncated_length(exchange: FaultContext) -> RawAnswer:
    """The body ends in its middle, short of its Content-Length."""
    whole = written(exchange.right, exchange.request.method)
    return RawAnswer(once(whole[: len(whole) - len(exchange.right.body) // 2]))


@fault(*LISTS, ReplayQuestion)
def truncated_chunks(exchange: FaultContext) -> RawAnswer:
    """A chunked body ends in its middle, without the last chunk."""
    answer = exchange.right.having("Transfer-Encoding", "chunked")
    half = answer.body[: len(answer.body) // 2 + 1]
    return RawAnswer(once(head(answer.status, answer.headers), chunk(half)))


@fault(*LISTS, ReplayQuestion)
def truncated_close(exchange: FaultContext) -> RawAnswer:
    """A body without a stated length ends in its middle: nobody can tell."""
    answer = exchange.right.having("Connection", "close")
    half = answer.body[: len(answer.body) // 2 + 1]
    return RawAnswer(once(head(answer.status, answer.headers) + half))
