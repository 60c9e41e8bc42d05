"""Who asks: the peer, or whom a trusted proxy names.

Anybody can write X-Forwarded-For, so it is read from the right, where the proxies that are ours
have written: the first address that is not theirs is the client (SE-23).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from timegate.networks import UNKNOWN, Networks, read_address

_MOST_HOPS: Final = 16
_FOR: Final = re.compile(r'(?:^|[;\s])for="?([^";,\s]++)', re.IGNORECASE)


class Fields(Protocol):
    """Header fields of a request."""

    def getall(self, name: str, default: Sequence[str], /) -> Sequence[str]: ...


class ClientAddresses:
    """Finds the addresses of clients."""

    def __init__(self, trusted: Networks, header: str = "X-Forwarded-For") -> None:
        self._trusted = trusted
        self._header = header

    def address(self, peer: object, fields: Fields) -> str:
        """Return the client's address; *peer* is what the socket says."""
        client = peer_address(peer)
        if client not in self._trusted:
            return client
        for named in self._named(fields):
            if named is None:
                # Hidden or unreadable: all that is known is who handed it on.
                return client
            client = named
            if client not in self._trusted:
                return client
        return client

    def _named(self, fields: Fields) -> Iterator[str | None]:
        """Yield who is said to have handed it on, the last one first."""
        hops = ",".join(fields.getall(self._header, ())).split(",")
        for hop in hops[: -_MOST_HOPS - 1 : -1]:
            yield _read(_forwarded_for(hop) if self._header == "Forwarded" else hop.strip())


def peer_address(peer: object) -> str:
    """Return the address in a socket's name; a Unix socket has none."""
    return str(peer[0]) if isinstance(peer, tuple) and peer else UNKNOWN


def _forwarded_for(element: str) -> str:
    """Return the node in an element of Forwarded (RFC 7239 4): ``for="[2001:db8::1]:80"``."""
    found = _FOR.search(element)
    return found[1] if found else ""


def _read(node: str) -> str | None:
    """Return the address of *node*, without its port."""
    if node.startswith("["):
        node = node[1:].partition("]")[0]
    elif node.count(":") == 1:
        node = node.partition(":")[0]
    address = read_address(node)
    return None if address is None else str(address)
