"""A server on loopback that speaks the Redis protocol, and gives false replies on demand."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

Command = Sequence[bytes]
Lie = Callable[[Command], bytes]
"""What is said instead of the answer."""
MOST_SENT = 1 << 28
"""Octets, of a lie that has no end."""


class LyingServer:
    """Honest while *lie* is None."""

    def __init__(self) -> None:
        self.lie: Lie | None = None
        self.endless = False
        """Whether a lie is said again and again."""
        self.commands: list[bytes] = []
        self.sent = 0
        self.port = 0
        self.kept: dict[bytes, bytes] = {}

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    async def converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                await self._say(writer, await _command(reader))
        writer.close()

    async def _say(self, writer: asyncio.StreamWriter, command: Command) -> None:
        # The library introduces itself on every connection; that is nothing of ours.
        if command[0] == b"CLIENT" or self.lie is None:
            writer.write(self._honest(command))
            return
        self.commands.append(command[0])
        lie = self.lie(command)
        writer.write(lie)
        self.sent += len(lie)
        while self.endless and self.sent < MOST_SENT:
            writer.write(lie)
            self.sent += len(lie)
            await writer.drain()

    def _honest(self, command: Command) -> bytes:
        match command:
            case [b"SET", key, value, *_]:
                self.kept[key] = value
            case [b"GETRANGE", key, *_]:
                return bulk(self.kept.get(key, b""))
            case [b"EVALSHA", _, b"3", *_]:
                return b"*4\r\n" + bulk(b"ab") + bulk(b"0") + bulk(b"0") + bulk(b"9")
            case [b"EXISTS" | b"PTTL" | b"EVALSHA", *_]:
                return b":0\r\n"
        return b"+OK\r\n"


def bulk(value: bytes) -> bytes:
    return b"$%d\r\n%s\r\n" % (len(value), value)


async def _command(reader: asyncio.StreamReader) -> Command:
    number = int((await reader.readuntil(b"\r\n"))[1:])
    words = []
    for _ in range(number):
        length = int((await reader.readuntil(b"\r\n"))[1:])
        words.append((await reader.readexactly(length + 2))[:-2])
    return words


@asynccontextmanager
async def lying_server() -> AsyncIterator[LyingServer]:
    lying = LyingServer()
    server = await asyncio.start_server(lying.converse, "127.0.0.1", 0)
    lying.port = server.sockets[0].getsockname()[1]
    try:
        yield lying
    finally:
        server.close()
