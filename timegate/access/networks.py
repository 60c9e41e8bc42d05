"""Client networks: which clients count as one, what is logged, and which archives they see.

A restricted archive is visible only to clients in certain networks. For all other clients it
is left out of every plan: it is not queried, no question in progress to it is joined, and its
cached answers are not used (R-13, R-27). They see that it exists and where to apply for access,
but not its endpoints and not when or how often it was queried.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface, ip_network
from typing import Final

from archives.model import ArchiveEntry

Address = IPv4Address | IPv6Address
UNKNOWN = "unknown"


class Networks:
    """A set of networks, such as those of trusted proxies."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        """Read *texts*, each a CIDR or a single address. Raises ValueError."""
        self._networks = tuple(ip_network(text, strict=False) for text in texts)
        self.holds: Callable[[str], bool] = lru_cache(maxsize=4096)(self._holds)
        """Whether an address lies in one of the networks; asked for every request."""

    def __bool__(self) -> bool:
        """Whether there are any networks."""
        return bool(self._networks)

    def __contains__(self, address: object) -> bool:
        """Whether *address* lies in one of the networks; False if it is not an address."""
        return bool(self._networks) and isinstance(address, str) and self.holds(address)

    def _holds(self, text: str) -> bool:
        address = read_address(text)
        return address is not None and any(address in network for network in self._networks)


class Restrictions:
    """The networks from which each restricted archive may be seen."""

    def __init__(self, networks: Mapping[str, Networks] | None = None) -> None:
        """Take the networks of each restricted archive by its id."""
        self._networks = networks or {}
        self.hidden_from: Callable[[str], frozenset[str]] = lru_cache(4096)(self._hidden_from)

    def __bool__(self) -> bool:
        """Whether any archive is restricted."""
        return bool(self._networks)

    def shared_with(self, address: str) -> bool:
        """Whether a client at *address* sees more than the public does."""
        return len(self.hidden_from(address)) < len(self._networks)

    @property
    def archives(self) -> Collection[str]:
        """The ids of the restricted archives."""
        return self._networks.keys()

    def _hidden_from(self, address: str) -> frozenset[str]:
        """Return the archives that a client at *address* may not see."""
        return frozenset(name for name, nets in self._networks.items() if address not in nets)


PUBLIC_FACTS: Final = (
    *("id", "name", "kind", "use", "because", "access", "access_note", "apply", "country"),
    *("status", "pwid", "domains"),
)
"""What every client may see of a restricted archive."""


def public_entry(entry: ArchiveEntry) -> ArchiveEntry:
    """Return *entry* without what is hidden from clients outside its networks."""
    facts = {name: getattr(entry, name) for name in PUBLIC_FACTS}
    return ArchiveEntry(limits=entry.limits, **facts)


def read_address(text: str) -> Address | None:
    """Return the address in *text*, None if it is none; an IPv4-mapped one as IPv4."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


@lru_cache(maxsize=4096)
def household(text: str) -> str:
    """Return what counts as one client: an IPv4 address, or the /64 of an IPv6 address.

    Providers assign a /64 to one customer, who could otherwise use more addresses than any
    table holds.
    """
    return _network(text, 32, 64)


@lru_cache(maxsize=4096)
def neighbourhood(text: str) -> str:
    """Return the part of an address that may be logged (R-24)."""
    return _network(text, 24, 48)


def _network(text: str, bits: int, bits6: int) -> str:
    address = read_address(text)
    if address is None:
        return UNKNOWN
    length = bits if address.version == 4 else bits6
    if length == address.max_prefixlen:
        return str(address)
    # A network has no zone (fe80::1%eth0).
    plain = str(address).partition("%")[0]
    return str(ip_interface(f"{plain}/{length}").network)
