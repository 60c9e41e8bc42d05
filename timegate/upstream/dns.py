"""DNS: resolvers with a time limit, and a cache that serves stale addresses.

By default asyncio resolves names in the few threads that do all other blocking work as well.
While the resolver fails, the last known addresses of a name are used for up to a day (serve
stale, RFC 8767); not so when DNS says that the name no longer exists.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

_LIFETIME: Final = 60.0
"""Seconds for which addresses are fresh."""
_STALE_LIFETIME: Final = 24 * 3600.0
"""Seconds for which addresses are used while the resolver fails: the least that RFC 8767
recommends. A server that has got such an address since lacks the right certificate."""
_RECHECK: Final = 30.0
"""Seconds until the next lookup after a failed one (RFC 8767's failure recheck timer)."""
_STALE_WAIT: Final = 0.3
"""Seconds that a lookup may take where stale addresses are known."""
_MOST_ADDRESSES: Final = 8
"""Addresses of one name that are tried."""
_NO_SUCH_NAME: Final = frozenset(
    # RFC 3493 dropped EAI_NODATA; not every system has it.
    (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
)
_NO_SUCH_NAME_CARES: Final = frozenset((1, 4))
"""ENODATA and ENOTFOUND of c-ares; aiohttp hides them in the cause of an OSError."""


class UnknownName(OSError):
    """A name that has no address, or that could not be resolved."""


class NameResolver(Protocol):
    """Looks names up; resolvers of aiohttp do."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> "list[ResolveResult]":
        """Return the addresses of *host*. Raises OSError."""
        ...

    async def close(self) -> None:
        """Release what the resolver holds."""
        ...


class LazyResolver:
    """A resolver that is made for the first lookup.

    Importing that of aiohttp takes a sixth of the start of a command that queries no archive
    over the network.
    """

    def __init__(self, make: Callable[[], NameResolver]) -> None:
        self._make = make
        self._made: NameResolver | None = None

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> "list[ResolveResult]":
        if self._made is None:
            self._made = self._make()
        return await self._made.resolve(host, port, family)

    async def close(self) -> None:
        if self._made is not None:
            await self._made.close()


def default_resolver() -> NameResolver:
    """Return the resolver of aiohttp, which asks DNS itself; else that of the system."""
    from aiohttp import DefaultResolver, ThreadedResolver  # noqa: PLC0415 -- see LazyResolver

    # Without aiodns, aiohttp resolves names in the threads that do all other blocking work.
    return SystemResolver() if DefaultResolver is ThreadedResolver else DefaultResolver()


class BoundedResolver:
    """Ends a lookup after *seconds*, which aiohttp does not."""

    def __init__(self, inner: NameResolver, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> "list[ResolveResult]":
        try:
            async with asyncio.timeout(self._seconds):
                return await self._inner.resolve(host, port, family)
        except TimeoutError:
            raise OSError(None, f"no answer from DNS in {self._seconds:g} s") from None

    async def close(self) -> None:
        await self._inner.close()


class SystemResolver:
    """The resolver of the operating system, in its own threads: nsswitch.conf, mDNS."""

    def __init__(self, threads: int = 32) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="dns")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> "list[ResolveResult]":
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, socket.getaddrinfo, host, port, family, socket.SOCK_STREAM
        )
        return [
            {
                "hostname": host,
                "host": str(address[0]),
                "port": port,
                "family": kind,
                "proto": protocol,
                "flags": socket.AI_NUMERICHOST,
            }
            for kind, _, protocol, _, address in found
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


@dataclass(slots=True)
class KnownAddresses:
    """The addresses of a name; times are those of the cache's clock."""

    addresses: list[str]
    fresh_until: float
    good_until: float
    better: str = ""
    """An address that answered where those before it did not."""


AddressBook = dict[str, KnownAddresses]
"""By name. Bounded by the number of hosts in the registry: no other name is resolved."""


class DnsCache:
    """The addresses of names, cached for a minute, and longer while the resolver fails."""

    def __init__(
        self,
        resolver: NameResolver,
        clock: Callable[[], float],
        known: AddressBook | None = None,
    ) -> None:
        """Cache in *known*, where it is given; it may outlive this object."""
        self._resolver = resolver
        self._clock = clock
        self._known = {} if known is None else known
        self._lookups: dict[str, asyncio.Task[list[str] | UnknownName]] = {}

    async def addresses(self, host: str) -> list[str]:
        """Return addresses of *host*, both families in turn. Raises UnknownName."""
        if _is_address(host):
            return [host]
        known = self._known.get(host)
        if known is not None and self._clock() < known.fresh_until:
            return known.addresses
        stale = self._stale(host)
        lookup = self._lookup(host)
        done, _ = await asyncio.wait([lookup], timeout=_STALE_WAIT if stale else None)
        outcome = lookup.result() if done else stale
        if isinstance(outcome, UnknownName):
            raise UnknownName(*outcome.args) from outcome
        return outcome

    def prefer(self, host: str, address: str) -> None:
        """Put *address* first from now on: it answered, and those before it did not."""
        known = self._known.get(host)
        if known is not None and address in known.addresses[1:]:
            known.addresses = _led_by(address, known.addresses)
            known.better = address

    async def close(self) -> None:
        """End lookups under way, and close the resolver."""
        for lookup in self._lookups.values():
            lookup.cancel()
        await asyncio.gather(*self._lookups.values(), return_exceptions=True)
        await self._resolver.close()

    def _stale(self, host: str) -> list[str]:
        """Return the cached addresses that may be used without a lookup, fresh or stale."""
        known = self._known.get(host)
        return known.addresses if known and self._clock() < known.good_until else []

    def _lookup(self, host: str) -> "asyncio.Task[list[str] | UnknownName]":
        """Return the lookup of *host*, one for all concurrent requests."""
        lookup = self._lookups.get(host)
        if lookup is None:
            lookup = asyncio.get_running_loop().create_task(self._looked_up(host))
            self._lookups[host] = lookup
            lookup.add_done_callback(lambda _: self._lookups.pop(host, None))
        return lookup

    async def _looked_up(self, host: str) -> list[str] | UnknownName:
        try:
            found = await self._resolver.resolve(host, 0, socket.AF_UNSPEC)
        except OSError as error:
            return self._not_found(host, error)
        addresses = in_turn([each["host"] for each in found])
        if not addresses:
            self._known.pop(host, None)
            return UnknownName(None, "it has no address")
        known, now = self._known.get(host), self._clock()
        better = known.better if known and known.better in addresses else ""
        if better:
            # The addresses that DNS returns first may still be unreachable.
            addresses = _led_by(better, addresses)
        fresh_until, good_until = now + _LIFETIME, now + _STALE_LIFETIME
        self._known[host] = KnownAddresses(addresses, fresh_until, good_until, better)
        return addresses

    def _not_found(self, host: str, error: OSError) -> list[str] | UnknownName:
        stale = [] if _is_no_such_name(error) else self._stale(host)
        if stale:
            self._known[host].fresh_until = self._clock() + _RECHECK
            return stale
        self._known.pop(host, None)
        return UnknownName(None, str(error.strerror or error))


def in_turn(addresses: Sequence[str]) -> list[str]:
    """Return the first few addresses, IPv6 and IPv4 alternating (RFC 8305 4)."""
    distinct = list(dict.fromkeys(addresses))
    first = [address for address in distinct if (":" in address) == (":" in distinct[0])]
    other = [address for address in distinct if address not in first]
    by_position = {2 * index: address for index, address in enumerate(first)}
    by_position |= {2 * index + 1: address for index, address in enumerate(other)}
    return [by_position[position] for position in sorted(by_position)][:_MOST_ADDRESSES]


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _led_by(first: str, addresses: Sequence[str]) -> list[str]:
    return [first, *(address for address in addresses if address != first)]


def _is_no_such_name(error: OSError) -> bool:
    """Whether DNS answered that there is no such name; a resolver that fails is not that."""
    if isinstance(error, socket.gaierror):
        return error.errno in _NO_SUCH_NAME
    match error.__cause__:
        case Exception(args=(int(code), *_)):
            return code in _NO_SUCH_NAME_CARES
        case _:
            return False
