"""Addresses of clients: in which networks they are, who counts as one, what is written down."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_interface, ip_network

Address = IPv4Address | IPv6Address
UNKNOWN = "unknown"


class Networks:
    """A set of networks, such as those of trusted proxies."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        """Read *texts*, each a CIDR or a single address. Raises ValueError."""
        self._networks = tuple(ip_network(text, strict=False) for text in texts)
        self._holds = lru_cache(maxsize=4096)(self._looked_up)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._networks)

    def __contains__(self, address: object) -> bool:
        """Whether *address*, a text, lies in one of them; what is no address does not."""
        return bool(self._networks) and isinstance(address, str) and self._holds(address)

    def _looked_up(self, text: str) -> bool:
        address = read_address(text)
        return address is not None and any(address in network for network in self._networks)


def read_address(text: str) -> Address | None:
    """Read an address; an IPv4 one in its IPv6 clothes is what it wraps."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


@lru_cache(maxsize=4096)
def household(text: str) -> str:
    """Return who counts as one client: an IPv4 address, or the 64 bits one line is given.

    Who has a /64 has more addresses than any table of ours.
    """
    return _network(text, 32, 64)


@lru_cache(maxsize=4096)
def neighbourhood(text: str) -> str:
    """Return what of an address may be written down (R24)."""
    return _network(text, 24, 48)


def _network(text: str, bits: int, bits6: int) -> str:
    address = read_address(text)
    if address is None:
        return UNKNOWN
    length = bits if address.version == 4 else bits6
    if length == address.max_prefixlen:
        return str(address)
    # A zone (fe80::1%eth0) is no part of a network.
    plain = str(address).partition("%")[0]
    return str(ip_interface(f"{plain}/{length}").network)
