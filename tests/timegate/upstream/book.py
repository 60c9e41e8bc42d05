"""A resolver for tests with one list of addresses, or one kind of failure."""

import asyncio
import socket

from aiohttp.abc import AbstractResolver, ResolveResult


class Book(AbstractResolver):
    """Knows one list of addresses, for every name."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.trouble: OSError | None = None
        self.seconds = 0.0
        """It takes that long."""
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        await asyncio.sleep(self.seconds)
        if self.trouble is not None:
            raise self.trouble
        return [
            ResolveResult(hostname=host, host=each, port=port, family=family, proto=0, flags=0)
            for each in self.addresses
        ]

    async def close(self) -> None:
        pass
