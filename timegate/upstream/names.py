"""Finds the addresses of a name, off everybody's way and in bounded time.

The default of asyncio is to look names up in the few threads that do all other blocking work
as well (M4).
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

_KEPT: Final = 60.0
_MOST: Final = 4
"""Addresses of one name that are tried."""


class UnknownName(OSError):
    """A name that has no address, or none that anybody tells us."""


class BoundedResolver(AbstractResolver):
    """Ends a look-up after *seconds*, which aiohttp does not."""

    def __init__(self, inner: AbstractResolver, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._inner.resolve(host, port, family)
        except TimeoutError:
            raise OSError(None, f"no answer from DNS in {self._seconds:g} s") from None

    async def close(self) -> None:
        await self._inner.close()


class SystemResolver(AbstractResolver):
    """Asks the operating system, in threads of its own: knows /etc/nsswitch.conf and mDNS."""

    def __init__(self, threads: int = 32) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="dns")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, socket.getaddrinfo, host, port, family, socket.SOCK_STREAM
        )
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=port,
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, _, protocol, _, address in found
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class Names:
    """The addresses of names, remembered for a minute."""

    def __init__(self, resolver: AbstractResolver, clock: Callable[[], float]) -> None:
        self._resolver = resolver
        self._clock = clock
        # As many as the registry has hosts: nobody else is connected to.
        self._known: dict[str, tuple[float, list[str]]] = {}

    async def addresses(self, host: str) -> list[str]:
        """Return addresses of *host*, both families in turn. Raises UnknownName."""
        if _is_address(host):
            return [host]
        until, known = self._known.get(host, (0.0, []))
        if self._clock() < until:
            return known
        try:
            found = await self._resolver.resolve(host, 0, socket.AF_UNSPEC)
        except OSError as error:
            raise UnknownName(None, str(error.strerror or error)) from error
        addresses = in_turn([each["host"] for each in found])
        if not addresses:
            raise UnknownName(None, "it has no address")
        self._known[host] = (self._clock() + _KEPT, addresses)
        return addresses

    async def close(self) -> None:
        """Close the resolver."""
        await self._resolver.close()


def in_turn(addresses: Sequence[str]) -> list[str]:
    """Return the first few addresses, IPv6 and IPv4 alternating (RFC 8305 4)."""
    distinct = list(dict.fromkeys(addresses))
    first = [address for address in distinct if (":" in address) == (":" in distinct[0])]
    other = [address for address in distinct if address not in first]
    turns = {2 * index: address for index, address in enumerate(first)}
    turns |= {2 * index + 1: address for index, address in enumerate(other)}
    return [turns[turn] for turn in sorted(turns)][:_MOST]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
