"""Finds the addresses of a name, off everybody's way and in bounded time.

The default of asyncio is to look names up in the few threads that do all other blocking work
as well (M4). While nobody can be asked for a name, the addresses it had last are used for up
to a day, as resolvers do that serve stale (RFC 8767); a name that is said to be no more is not.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

_KEPT: Final = 60.0
_LAST_GOOD: Final = 24 * 3600.0
"""Seconds for which addresses are used that nobody can be asked for again: the least that RFC
8767 recommends. Whoever has got such an address since is found out by his certificate."""
_AGAIN: Final = 30.0
"""Seconds until a name is looked up again that could not be, RFC 8767's failure recheck."""
_HESITATION: Final = 0.3
"""Seconds that a look-up may take where the last addresses are known."""
_MOST: Final = 8
"""Addresses of one name that are tried."""
_NO_SUCH_NAME: Final = frozenset(
    # RFC 3493 dropped EAI_NODATA; not every system has it.
    (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
)
_NO_SUCH_NAME_CARES: Final = frozenset((1, 4))
"""What c-ares calls ENODATA and ENOTFOUND; aiohttp hides it in the cause of an OSError."""


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


@dataclass(slots=True)
class KnownAddresses:
    """The addresses of a name, by the clock of who looked it up."""

    addresses: list[str]
    fresh_until: float
    good_until: float
    better: str = ""
    """One that answered where those before it did not."""


AddressBook = dict[str, KnownAddresses]
"""By name; as many as registries have hosts, nobody else is connected to."""


class DnsCache:
    """The addresses of names, remembered for a minute, and longer in need."""

    def __init__(
        self,
        resolver: AbstractResolver,
        clock: Callable[[], float],
        known: AddressBook | None = None,
    ) -> None:
        """Remember in *known*, which may be older than this, where it is given."""
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
        last = self._last_good(host)
        lookup = self._lookup(host)
        done, _ = await asyncio.wait([lookup], timeout=_HESITATION if last else None)
        outcome = lookup.result() if done else last
        if isinstance(outcome, UnknownName):
            raise UnknownName(*outcome.args) from outcome
        return outcome

    def prefer(self, host: str, address: str) -> None:
        """Try *address* first from now on: it answered, and those before it did not."""
        known = self._known.get(host)
        if known is not None and address in known.addresses[1:]:
            known.addresses = _led_by(address, known.addresses)
            known.better = address

    async def close(self) -> None:
        """End look-ups under way, and close the resolver."""
        for lookup in self._lookups.values():
            lookup.cancel()
        await asyncio.gather(*self._lookups.values(), return_exceptions=True)
        await self._resolver.close()

    def _last_good(self, host: str) -> list[str]:
        """Return what may be used without asking anybody, nothing if there is none."""
        known = self._known.get(host)
        return known.addresses if known and self._clock() < known.good_until else []

    def _lookup(self, host: str) -> "asyncio.Task[list[str] | UnknownName]":
        """Return the look-up of *host* that all wait for who need it now."""
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
            # Those whom DNS names first may be dead still.
            addresses = _led_by(better, addresses)
        self._known[host] = KnownAddresses(addresses, now + _KEPT, now + _LAST_GOOD, better)
        return addresses

    def _not_found(self, host: str, error: OSError) -> list[str] | UnknownName:
        last = [] if _is_gone(error) else self._last_good(host)
        if last:
            self._known[host].fresh_until = self._clock() + _AGAIN
            return last
        self._known.pop(host, None)
        return UnknownName(None, str(error.strerror or error))


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


def _led_by(first: str, addresses: Sequence[str]) -> list[str]:
    return [first, *(address for address in addresses if address != first)]


def _is_gone(error: OSError) -> bool:
    """Whether somebody said that there is no such name, which is not that nobody answered."""
    if isinstance(error, socket.gaierror):
        return error.errno in _NO_SUCH_NAME
    match error.__cause__:
        case Exception(args=(int(code), *_)):
            return code in _NO_SUCH_NAME_CARES
        case _:
            return False
