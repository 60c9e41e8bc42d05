"""Egress rules: requests go only to the endpoints in an archive's entry, at public addresses.

Both checks are needed. A redirect may lead anywhere, so the URL is compared first with the
servers that `archives.addresses` names for the archive (R-1); and a harmless name may resolve
to 169.254.169.254, so the address is checked again when the socket is made (R-2). Nothing here
connects.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, NamedTuple
from urllib.parse import quote

from archives.addresses import WITHOUT_SERVER
from archives.errors import Misbehaved
from archives.model import ArchiveEntry

Address = IPv4Address | IPv6Address

_PORTS: Final = {"http": 80, "https": 443}
_AFTER_SCHEME: Final = len("https://")
_PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F)))


class Endpoint(NamedTuple):
    """Scheme, host and port of a connection."""

    scheme: str
    host: str
    """ASCII, lower case, no brackets, no dot at the end."""
    port: int


class Target(NamedTuple):
    """A URL, split into the endpoint and the request target."""

    endpoint: Endpoint
    path: str
    """Path and query, byte for byte as they were written."""


def target(url: str) -> Target | None:
    """Split *url*, without userinfo and fragment; None unless it is an http(s) URL.

    Split by hand, because what is checked must be what is connected to, and because yarl drops
    a bare ``?`` at the end, which is part of the URL that is looked up in an archive.
    """
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _PORTS or not _is_clean(url):
        return None
    rest = rest.partition("#")[0]
    end = len(rest.partition("/")[0].partition("?")[0])
    endpoint = _endpoint(scheme, rest[:end].rpartition("@")[2])
    if endpoint is None:
        return None
    path = rest[end:]
    path = path if path.startswith("/") else "/" + path
    if " " in path or not path.isascii():
        # Browsers repair a Location in raw UTF-8 or with spaces, so we do. %xx stays.
        path = quote(path, safe=_PRINTABLE, errors="surrogateescape")
    return Target(endpoint, path)


def host_field(endpoint: Endpoint) -> str:
    """Return host and port as the field Host has them: without a default port."""
    scheme, host, port = endpoint
    name = f"[{host}]" if ":" in host else host
    return name if port == _PORTS[scheme] else f"{name}:{port}"


def _is_clean(url: str) -> bool:
    """Whether *url* has no ASCII control characters."""
    if url.isascii():
        return url.isprintable()
    return not any(character < " " or character == "\x7f" for character in url)


@lru_cache(maxsize=1024)
def _endpoint(scheme: str, authority: str) -> Endpoint | None:
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = authority, ""
    if port and not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536):
        return None
    # Before lower(), which turns the Kelvin sign into a k. IDNs are registered in punycode.
    if not host.isascii():
        return None
    host = host.lower().rstrip(".")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return Endpoint(scheme, host, int(port or _PORTS[scheme])) if host else None


@dataclass(frozen=True, slots=True)
class Egress:
    """Where requests for one archive may go."""

    archive: str
    endpoints: frozenset[Endpoint]
    literals: frozenset[Address]
    """IP addresses that stand in the entry itself; they may be private."""
    allow_private: bool = False
    origins: Mapping[str, Endpoint] = field(default_factory=dict)
    """The endpoints by their usual spelling, ``https://archive.example``: nearly all URLs begin
    with one, and need not be split again."""

    @classmethod
    def of(cls, entry: ArchiveEntry, *, allow_private: bool = False) -> "Egress":
        """Return the rules for *entry*.

        *allow_private* is for entries that the operator wrote, whose names may resolve to
        private addresses; never for known archives.
        """
        endpoints = frozenset(map(Endpoint._make, WITHOUT_SERVER.of(entry).requested))
        addresses = (_literal(endpoint.host) for endpoint in endpoints)
        literals = frozenset(address for address in addresses if address is not None)
        origins = {f"{each.scheme}://{host_field(each)}": each for each in endpoints}
        return cls(entry.id, endpoints, literals, allow_private, origins)

    def check(self, url: str) -> tuple[Endpoint, str]:
        """Split *url* as `target`; raise Misbehaved if the entry does not name its endpoint."""
        end = url.find("/", _AFTER_SCHEME)
        endpoint = None if end < 0 else self.origins.get(url[:end])
        # Sent as they are: visible ASCII, no fragment.
        is_plain = url.isascii() and url.isprintable() and " " not in url and "#" not in url
        if endpoint is not None and is_plain:
            return endpoint, url[end:]
        parts = target(url)
        if parts is None:
            raise Misbehaved(self.archive, url, "leads to an address that is no http(s) URL")
        if parts.endpoint not in self.endpoints:
            scheme, host, port = parts.endpoint
            why = f"leads to {scheme}://{host}:{port}, which the registry does not name"
            raise Misbehaved(self.archive, url, why)
        return parts

    def refusal(self, host: str) -> str | None:
        """Return why the IP address *host* must not be connected to; None if it may."""
        address = _literal(host)
        if address is None:
            return f"{host} is no address"
        if address in self.literals:
            return None
        for destination in _unwrapped(address):
            kind = _denied(destination, private=self.allow_private)
            if kind is not None:
                return f"{host} is {kind}"
        return None


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


# is_global alone is not enough: it is True for 64:ff9b::7f00:1, 2002:7f00:1::, ::127.0.0.1,
# ::ffff:0:7f00:1, fec0::1, 192.0.0.8 and 224.0.0.1 (Python 3.11.7). So embedded IPv4 addresses
# are extracted first, and these networks are denied in addition.
_ANYWHERE_DENIED: Final[tuple[IPv4Network | IPv6Network, ...]] = (
    IPv4Network("0.0.0.0/8"),
    IPv4Network("169.254.0.0/16"),  # link-local; cloud metadata at .169.254
    IPv4Network("100.100.100.200/32"),  # metadata of Alibaba Cloud
    IPv4Network("168.63.129.16/32"),  # Azure's host agent, in public address space
    IPv4Network("192.0.0.0/24"),  # protocol assignments; Oracle's metadata at .192
    IPv4Network("192.88.99.0/24"),  # 6to4 relays
    IPv4Network("224.0.0.0/4"),
    IPv4Network("240.0.0.0/4"),
    IPv6Network("::/128"),
    IPv6Network("100::/64"),  # discard
    IPv6Network("fd00:ec2::/32"),  # metadata of AWS
    IPv6Network("fd20:ce::/32"),  # metadata of Google Cloud
    IPv6Network("fe80::/10"),
    IPv6Network("fec0::/10"),  # site-local
    IPv6Network("ff00::/8"),
)
_PRIVATE: Final[tuple[IPv4Network | IPv6Network, ...]] = (
    IPv4Network("10.0.0.0/8"),
    IPv4Network("100.64.0.0/10"),
    IPv4Network("127.0.0.0/8"),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.168.0.0/16"),
    IPv6Network("::1/128"),
    IPv6Network("fc00::/7"),
)
# Prefix, and the position of the embedded IPv4 address in the 128 bits, from the right.
_WRAPPINGS: Final = (
    (IPv6Network("::/96"), 0),  # compatible, RFC 4291 2.5.5.1
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (IPv6Network("::ffff:0:0:0/96"), 0),  # translated, RFC 2765
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("64:ff9b:1::/48"), 0),  # local NAT64, RFC 8215
    (IPv6Network("2002::/16"), 80),  # 6to4
)
_TEREDO: Final = IPv6Network("2001::/32")
_ISATAP: Final = (0x00005EFE, 0x02005EFE)


def _unwrapped(address: Address) -> Iterator[Address]:
    """Yield the addresses that a packet to *address* may reach: itself, or embedded ones."""
    if isinstance(address, IPv4Address):
        yield address
        return
    bits = int(address)
    wrapped = [IPv4Address(bits >> s & 0xFFFFFFFF) for net, s in _WRAPPINGS if address in net]
    if address in _TEREDO:
        wrapped += [IPv4Address(bits >> 64 & 0xFFFFFFFF), IPv4Address(~bits & 0xFFFFFFFF)]
    if bits >> 32 & 0xFFFFFFFF in _ISATAP:
        wrapped.append(IPv4Address(bits & 0xFFFFFFFF))
    # ::1 and :: lie in the IPv4-compatible network, but embed no address.
    if bits < 2 or not wrapped:
        yield address
    else:
        yield from wrapped


def _denied(address: Address, *, private: bool) -> str | None:
    """Return why *address* is denied; None if it is public, or private and allowed."""
    if any(address in net for net in _ANYWHERE_DENIED):
        return "link-local, multicast, reserved or a metadata service"
    if any(address in net for net in _PRIVATE):
        return None if private else "a private address"
    return None if address.is_global else "not a public address"
