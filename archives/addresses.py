"""Which addresses are an archive's: the one policy for every URL that an archive states (Q-1).

An archive states addresses in ``Location``, ``Content-Location`` and ``Link``, in TimeMaps, in
lists of captures and in the pages of these lists. `ArchiveAddresses` decides about each of them
by scheme, host, port, user name, and our own address:

| use | what for | which servers |
|---|---|---|
| request | a redirect or a page of a list that is followed | the endpoints of the entry; default ports of its hosts; http only if no endpoint has https |
| link | an address in a header that is handed out | the same, and http for https: many archives have both |
| list | an address in a list of captures | the same, subdomains, and former hosts: lists are old |

A host with an endpoint at a port of its own has no other ports. A host without endpoint may
have the ports of the endpoints as well, because an entry cannot state its port.

An address is refused if clients may disagree about its host: with user name, backslash,
control character, a final dot, letters outside ASCII, or an empty host. What follows the host
is the key of a page, and is kept as it is.
"""  # noqa: E501 -- a table

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple, NewType

from archives.model import ArchiveEntry
from archives.uri import DEFAULT_PORTS, plain_origin

ArchiveAddress = NewType("ArchiveAddress", str)
"""An address that the policy has accepted, with scheme and host in lower case."""
AddressUse = Literal["request", "link", "list"]
Refusal = Literal["not-web", "ambiguous", "ours", "foreign", "downgrade"]
_WEB: Final = ("http:", "https:")
_SHOWN: Final = 200
_ANY_INTERFACE: Final = ("", "0.0.0.0", "::")  # noqa: S104 -- compared, not bound
_LOCAL: Final = ("127.0.0.1", "::1", "localhost")


class ServerName(NamedTuple):
    """Scheme, host and port of a server."""

    scheme: str
    host: str
    """In lower case, without brackets."""
    port: int


class RefusedAddress(NamedTuple):
    """An address that an archive stated and that is not used, with the reason."""

    url: str
    refusal: Refusal

    @property
    def why(self) -> str:
        """The reason for people, as the end of ``redirects to ...`` or ``links ...``."""
        match self.refusal:
            case "ambiguous":
                return "an address whose host is ambiguous"
            case "downgrade":
                return "http, from https to http"
            case "not-web":
                return f"{self.url[:_SHOWN]}, which is no http(s) URL"
        server = server_of(self.url)
        stated = self.url if server is None else written(server)
        named = "is this server" if self.refusal == "ours" else "the registry does not name"
        return f"{stated[:_SHOWN]}, which {named}"


RefusalReport = Callable[[str, RefusedAddress, int], None]
"""Called with the archive, an address that was refused, and the number of such addresses."""


class OwnAddress(NamedTuple):
    """An address of this server: what is below it is no memento of a remote archive."""

    server: ServerName
    path: str

    @classmethod
    def of(cls, base_url: str) -> "OwnAddress | None":
        """Return the own address *base_url*; None if it is no http(s) URL."""
        server = server_of(base_url)
        if server is None:
            return None
        path = base_url.partition("://")[2].partition("/")[2].strip("/")
        return cls(server, f"/{path}/" if path else "/")

    @classmethod
    def of_all(cls, urls: Iterable[str], host: str, port: int) -> "tuple[OwnAddress, ...]":
        """Return the addresses of a server that is reached at *urls* and at *host* and *port*.

        A server that listens on all interfaces is known by the names of the local one. What is
        at the default port of one scheme is ours at that of the other, too.
        """
        hosts = _LOCAL if host in _ANY_INTERFACE else (host,)
        local = [written(ServerName(s, h, port)) for h in hosts for s in DEFAULT_PORTS if port]
        found = [own for url in (*urls, *local) if (own := cls.of(url)) is not None]
        return tuple(
            dict.fromkeys(
                cls(server, own.path) for own in found for server in _twins(own.server)
            )
        )


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """What the addresses of all archives have in common."""

    ours: tuple[OwnAddress, ...] = ()
    report: RefusalReport = lambda _archive, _refused, _times: None
    archives: frozenset[str] = frozenset()
    """Hosts of all archives that are queried by themselves, within their own rate limits: no
    original and no TimeGate that an original links may be there. A host without port stands for
    the default ports, and for its subdomains."""

    def is_ours(self, url: str) -> bool:
        """Whether *url* is an address of this server."""
        server = server_of(url)
        return server is not None and _is_ours(url, server, self.ours)

    def has_archive(self, url: str) -> bool:
        """Whether *url* is at a host of an archive, or below one."""
        server = server_of(url)
        if server is None:
            return False
        if not _is_default(server):
            return f"{_bracketed(server.host)}:{server.port}" in self.archives
        host = server.host
        while host and host not in self.archives:
            host = host.partition(".")[2]
        return bool(host)

    def knowing(self, entries: Iterable[ArchiveEntry]) -> "AddressPolicy":
        """Return the policy for originals beside the archives *entries*."""
        names: set[str] = set()
        for entry in entries:
            names.update(host.partition("/")[0].lower() for host in entry.hosts)
            for server in _endpoints(entry):
                port = "" if _is_default(server) else f":{server.port}"
                names.add(f"{_bracketed(server.host) if port else server.host}{port}")
        return replace(self, archives=frozenset(names))

    def at(self, entry: ArchiveEntry, *urls: str) -> "ArchiveAddresses":
        """Return the addresses of originals: only the servers of *urls*, with either scheme."""
        servers = [server for url in urls if (server := server_of(url)) is not None]
        hosts = tuple(dict.fromkeys(f"{_bracketed(host)}:{port}" for _, host, port in servers))
        return self.of(replace(entry, timegate=urls[0], hosts=hosts))

    def of(self, entry: ArchiveEntry) -> "ArchiveAddresses":
        """Return the addresses of the archive *entry*."""
        named = frozenset(_endpoints(entry))
        linked = frozenset(_linked(named, entry.hosts))
        listed = linked | frozenset(_linked(named, entry.former_hosts))
        # Collections of the operator are at our own address; and a reverse proxy may serve an
        # archive and this server at one host.
        ours = () if entry.kind.is_local else self.ours
        beside = frozenset(_linked(named, ()))
        ours = tuple(
            own
            for own in ours
            if entry.aggregator
            or (
                _is_listed(listed, own.server) and (own.path != "/" or own.server not in beside)
            )
        )
        hosts = {server.host for server in named}
        usual = sorted(server for server in linked if server.host in hosts)
        # Addresses with https are more common, and come first.
        usual.reverse()
        return ArchiveAddresses(
            archive=entry.id,
            requested=frozenset(_requested(named, entry.hosts)),
            linked=linked,
            listed=listed,
            ours=ours,
            usual=() if ours else tuple(f"{written(server)}/" for server in usual),
            report=self.report,
            names_others=entry.aggregator,
        )


WITHOUT_SERVER: Final = AddressPolicy()
"""The policy of a program that has no address of its own."""


@dataclass(frozen=True, slots=True)
class ArchiveAddresses:
    """The addresses of one archive, according to its entry."""

    archive: str
    requested: frozenset[ServerName]
    linked: frozenset[ServerName]
    listed: frozenset[ServerName]
    ours: tuple[OwnAddress, ...]
    """Our own addresses that are at a server of the archive."""
    usual: tuple[str, ...]
    """How nearly all addresses begin that it states: with the server of an endpoint."""
    report: RefusalReport = field(repr=False, compare=False)
    names_others: bool = False
    """Whether it is an aggregator, whose mementos are in other archives."""

    def read(
        self, url: str, use: AddressUse, after: str = ""
    ) -> ArchiveAddress | RefusedAddress:
        """Return *url* as an address for this *use*, or the refusal.

        *after* is the address of the answer that states it, if https must stay https (R-3).
        """
        if after and downgrades(after, url):
            return RefusedAddress(url, "downgrade")
        if use != "request" and url.startswith(self.usual):
            return ArchiveAddress(url)
        server = server_of(url)
        if server is None:
            known = url[:6].lower().startswith(_WEB)
            return RefusedAddress(url, "ambiguous" if known else "not-web")
        is_named = self.names_others and use != "request"
        if not is_named and not self._has(server, use):
            return RefusedAddress(url, "foreign")
        if self.ours and _is_ours(url, server, self.ours):
            return RefusedAddress(url, "ours")
        return ArchiveAddress(_lower_case(url))

    def is_own(self, url: str, use: AddressUse, after: str = "") -> bool:
        """Whether *url* is an address of the archive for this *use*."""
        return not isinstance(self.read(url, use, after), RefusedAddress)

    def accepts(self, url: str, use: AddressUse, after: str = "") -> bool:
        """Whether *url* is an address of the archive; a refusal is reported."""
        return not isinstance(self.accepted(url, use, after), RefusedAddress)

    def accepted(
        self, url: str, use: AddressUse, after: str = ""
    ) -> ArchiveAddress | RefusedAddress:
        """Read *url*, and report a refusal."""
        found = self.read(url, use, after)
        if isinstance(found, RefusedAddress):
            self.report(self.archive, found, 1)
        return found

    def _has(self, server: ServerName, use: AddressUse) -> bool:
        if use == "request":
            return server in self.requested
        if use == "link":
            return server in self.linked
        return _is_listed(self.listed, server)


@lru_cache(maxsize=1024)
def _is_listed(listed: Collection[ServerName], server: ServerName) -> bool:
    """Whether *server* is one of those *listed*, or at a subdomain of one."""
    host = server.host
    while host:
        if server._replace(host=host) in listed:
            return True
        host = host.partition(".")[2]
    return False


def downgrades(url: str, following: str) -> bool:
    """Whether a redirect goes from https to http (R-3)."""
    return url[:6].lower() == "https:" and following[:5].lower() == "http:"


def server_of(url: str) -> ServerName | None:
    """Return the server of an http(s) URL that all clients parse alike; otherwise None."""
    origin = plain_origin(url)
    if origin is None or origin[1].endswith("."):
        return None
    return ServerName(*origin)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def written(server: ServerName) -> str:
    """Return *server* as the beginning of a URL, without a default port."""
    scheme, host, port = server
    return f"{scheme}://{_bracketed(host)}" + (
        "" if port == DEFAULT_PORTS[scheme] else f":{port}"
    )


def _endpoints(entry: ArchiveEntry) -> Iterator[ServerName]:
    """Yield the servers of the URLs and templates in *entry*; a template has a fixed host."""
    urls = (entry.timegate, *entry.timemaps.values(), entry.cdx, entry.replay, entry.raw)
    for url in filter(None, urls):
        scheme, _, rest = url.partition("://")
        # The user of an endpoint is the operator's business; a secret is better in [archive].
        server = server_of(f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}/")
        if server is not None:
            yield server


def _requested(named: Collection[ServerName], hosts: Iterable[str]) -> Iterator[ServerName]:
    """Yield the servers that requests go to.

    http only for an archive without any https. Otherwise a redirect from https to http on the
    same host would pass: the HTTP client does not know which redirect a request came from.
    """
    yield from named
    secure = any(server.scheme == "https" for server in named)
    schemes = ("https",) if secure else ("https", "http")
    for host, port in _ports(named, hosts):
        for scheme in schemes:
            yield ServerName(scheme, host, port or DEFAULT_PORTS[scheme])


def _linked(named: Collection[ServerName], hosts: Iterable[str]) -> Iterator[ServerName]:
    """Yield the servers whose addresses are handed out: with either scheme."""
    yield from named
    ports = {server.port for server in named if not _is_default(server)}
    at_endpoints = {server.host for server in named}
    for server in named:
        yield from _twins(server)
    for host, port in _ports(named, hosts):
        for scheme, default in DEFAULT_PORTS.items():
            yield ServerName(scheme, host, port or default)
            if port is None and host not in at_endpoints:
                yield from (ServerName(scheme, host, other) for other in ports)


def _ports(
    named: Collection[ServerName], hosts: Iterable[str]
) -> Iterator[tuple[str, int | None]]:
    """Yield hosts with their ports, None for the default ports.

    They are the *hosts* of an entry, and those of its endpoints. A host whose endpoints all
    have ports of their own is left out: it is not known to have the default ports.
    """
    usual = {server.host for server in named if _is_default(server)}
    special = {server.host for server in named} - usual
    yield from ((host, None) for host in usual)
    for text in hosts:
        host, port = _host_and_port(text)
        if port is not None or host not in special:
            yield host, port


def _twins(server: ServerName) -> Iterator[ServerName]:
    """Yield *server* with each scheme."""
    for scheme, default in DEFAULT_PORTS.items():
        yield ServerName(scheme, server.host, default if _is_default(server) else server.port)


def _is_default(server: ServerName) -> bool:
    return DEFAULT_PORTS[server.scheme] == server.port


def _host_and_port(text: str) -> tuple[str, int | None]:
    """Return host and port of an entry's host; only a command line gives ports."""
    name = text.partition("/")[0].lower().strip("[]")
    host, _, port = name.rpartition(":")
    has_port = host and ":" not in host and port.isascii() and port.isdecimal()
    return (host, int(port[:6])) if has_port else (name, None)


def _is_ours(url: str, server: ServerName, ours: Iterable[OwnAddress]) -> bool:
    path = "/" + url.partition("://")[2].partition("/")[2]
    return any(server == own.server and path.startswith(own.path) for own in ours)


def _lower_case(url: str) -> str:
    """Return *url* with scheme and host in lower case."""
    end = url.index("://") + 3
    end += len(url[end:].partition("/")[0].partition("?")[0].partition("#")[0])
    return url if url[:end].islower() else url[:end].lower() + url[end:]
