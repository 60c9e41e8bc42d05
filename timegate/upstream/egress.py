"""Decides whom we connect to: the endpoints an archive's entry names, at public addresses.

Both halves are needed. A redirect may lead anywhere, so the URL is compared with the registry
before anything else; and a harmless name may resolve to 169.254.169.254, so the address is
looked at once more when the socket is made (R1, R2). Nothing here connects.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, NamedTuple
from urllib.parse import quote

from archives.errors import Misbehaved
from archives.model import ArchiveEntry

Address = IPv4Address | IPv6Address

_PORTS: Final = {"http": 80, "https": 443}
_PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F)))


class Endpoint(NamedTuple):
    """Where a connection goes."""

    scheme: str
    host: str
    """ASCII, lower case, no brackets, no dot at the end."""
    port: int


class Target(NamedTuple):
    """A URL taken apart into where to connect and what to ask for there."""

    endpoint: Endpoint
    path: str
    """Path and query, octet by octet as they were written."""


def target(url: str) -> Target | None:
    """Take *url* apart, without userinfo and fragment; None unless it is an http(s) URL.

    Done by hand, because what is checked must be what is connected to, and because yarl
    drops a bare ``?`` at the end, which is part of the URL an archive is asked for.
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
        # A Location in raw UTF-8 or with spaces is what browsers repair daily. %xx stays.
        path = quote(path, safe=_PRINTABLE, errors="surrogateescape")
    return Target(endpoint, path)


def _is_clean(url: str) -> bool:
    """Whether it has no control characters of ASCII."""
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
    """Addresses that the entry itself spells out in numbers; they may be private."""
    allow_private: bool = False

    @classmethod
    def of(cls, entry: ArchiveEntry, *, allow_private: bool = False) -> "Egress":
        """Read the endpoints of *entry*.

        *allow_private* is for entries an operator wrote, whose names may lead to private
        addresses; never for known archives.
        """
        named = frozenset(_named(entry))
        secure = any(endpoint.scheme == "https" for endpoint in named)
        hosted = frozenset(_hosted(entry, plain=not secure))
        endpoints = named | hosted
        addresses = (_literal(endpoint.host) for endpoint in endpoints)
        literals = frozenset(address for address in addresses if address is not None)
        return cls(entry.id, endpoints, literals, allow_private)

    def check(self, url: str) -> Target:
        """Take *url* apart; raise Misbehaved if the entry does not name its endpoint."""
        parts = target(url)
        if parts is None:
            raise Misbehaved(self.archive, url, "leads to an address that is no http(s) URL")
        if parts.endpoint not in self.endpoints:
            scheme, host, port = parts.endpoint
            why = f"leads to {scheme}://{host}:{port}, which the registry does not name"
            raise Misbehaved(self.archive, url, why)
        return parts

    def refusal(self, host: str) -> str | None:
        """Say why the socket address *host* must not be connected to; None if it may."""
        address = _literal(host)
        if address is None:
            return f"{host} is no address"
        if address in self.literals:
            return None
        for meant in _unwrapped(address):
            kind = _denied(meant, private=self.allow_private)
            if kind is not None:
                return f"{host} is {kind}"
        return None


def _named(entry: ArchiveEntry) -> Iterator[Endpoint]:
    """Yield the endpoints of the URLs in *entry*, templates included."""
    urls = (entry.timegate, *entry.timemaps.values(), entry.cdx, entry.replay, entry.raw)
    for url in filter(None, urls):
        parts = target(url)
        # A template in the host itself would allow any host.
        if parts is not None and "{" not in parts.endpoint.host:
            yield parts.endpoint


def _hosted(entry: ArchiveEntry, *, plain: bool) -> Iterator[Endpoint]:
    """Yield the usual ports of its hosts; http only for an archive without any https.

    Else a redirect from https to http on the same host would pass unseen: who sends a
    request does not know which redirect it came from.
    """
    for host in entry.hosts:
        for scheme in ("https", "http") if plain else ("https",):
            endpoint = _endpoint(scheme, host.partition("/")[0])
            if endpoint is not None:
                yield endpoint


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


# is_global alone is no guard: it says True for 64:ff9b::7f00:1, 2002:7f00:1::, ::127.0.0.1,
# ::ffff:0:7f00:1, fec0::1, 192.0.0.8 and 224.0.0.1 (Python 3.11.7). So IPv4 addresses are
# unwrapped from every known wrapping first, and these nets are denied besides.
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
# Prefix, and where in the 128 bits the IPv4 address starts, counted from the right.
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
    """Yield the addresses a packet to *address* may end up at: itself or what it wraps."""
    if isinstance(address, IPv4Address):
        yield address
        return
    bits = int(address)
    wrapped = [IPv4Address(bits >> s & 0xFFFFFFFF) for net, s in _WRAPPINGS if address in net]
    if address in _TEREDO:
        wrapped += [IPv4Address(bits >> 64 & 0xFFFFFFFF), IPv4Address(~bits & 0xFFFFFFFF)]
    if bits >> 32 & 0xFFFFFFFF in _ISATAP:
        wrapped.append(IPv4Address(bits & 0xFFFFFFFF))
    # ::1 and :: lie in the compatible net, but are themselves.
    if bits < 2 or not wrapped:
        yield address
    else:
        yield from wrapped


def _denied(address: Address, *, private: bool) -> str | None:
    """Say what is wrong with *address*; None if it is a public one, or allowed private."""
    if any(address in net for net in _ANYWHERE_DENIED):
        return "link-local, multicast, reserved or a metadata service"
    if any(address in net for net in _PRIVATE):
        return None if private else "a private address"
    return None if address.is_global else "not a public address"
