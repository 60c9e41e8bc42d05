"""Addresses of Redis: one server, a master found by Sentinels, or a Cluster.

    redis://[user:password@]host[:port][/database]         rediss:// for TLS
    redis+sentinel://[user:password@]host:port,host:port/master[/database]
    redis+cluster://[user:password@]host:port,host:port

A password is never shown: not in messages, not in a representation (R-26).
"""

from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import unquote

Kind = Literal["single", "sentinel", "cluster"]

_SCHEMES: Final[dict[str, tuple[Kind, bool]]] = {
    "redis": ("single", False),
    "rediss": ("single", True),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
_PORTS: Final[dict[Kind, int]] = {"single": 6379, "sentinel": 26379, "cluster": 6379}
_MOST_NODES: Final = 64


class RedisPassword:
    """A password; its representation does not show it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "***"

    def reveal(self) -> str:
        """Return the password, to be sent."""
        return self._text

    def hidden_in(self, message: str) -> str:
        """Return *message* without the password."""
        return message.replace(self._text, "***") if self._text else message


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """A parsed URL."""

    kind: Kind
    nodes: tuple[tuple[str, int], ...]
    tls: bool = False
    master: str = ""
    """The name under which Sentinels know the server."""
    database: int = 0
    username: str | None = None
    password: RedisPassword = field(default_factory=lambda: RedisPassword(""))

    def __str__(self) -> str:
        """Return the place for messages, without credentials."""
        nodes = ",".join(f"{host}:{port}" for host, port in self.nodes)
        return f"{self.master} of {nodes}" if self.master else nodes


def is_shared(url: str) -> bool:
    """Whether *url* is one of Redis, which replicas share."""
    scheme, separator, _ = url.partition("://")
    return bool(separator) and scheme in _SCHEMES


def parse_address(url: str) -> RedisAddress:
    """Parse *url*. Raises ValueError, whose message quotes no part of the URL."""
    scheme, _, rest = url.partition("://")
    if scheme not in _SCHEMES:
        raise ValueError(f"the cache is at none of {', '.join(f'{s}://' for s in _SCHEMES)}")
    kind, tls = _SCHEMES[scheme]
    authority, _, path = rest.partition("/")
    credentials, _, hosts = authority.rpartition("@")
    username, _, password = credentials.partition(":")
    master, database = _path(kind, path)
    return RedisAddress(
        kind,
        _nodes(hosts, kind),
        tls,
        master,
        database,
        unquote(username) or None,
        RedisPassword(unquote(password)),
    )


def _path(kind: Kind, path: str) -> tuple[str, int]:
    """Return the master's name and the number of the database."""
    master, _, database = path.partition("/") if kind == "sentinel" else ("", "", path)
    if kind == "sentinel" and not master:
        raise ValueError("the cache's URL lacks the name of the master after the Sentinels")
    if kind == "cluster" and database:
        raise ValueError("a Cluster has one database: nothing may follow its nodes")
    if database and not (database.isdecimal() and len(database) < 6):
        raise ValueError("the database in the cache's URL is no number")
    return unquote(master), int(database or 0)


def _nodes(hosts: str, kind: Kind) -> tuple[tuple[str, int], ...]:
    nodes = tuple(_node(node, _PORTS[kind]) for node in hosts.split(",")[: _MOST_NODES + 1])
    if len(nodes) > (1 if kind == "single" else _MOST_NODES):
        raise ValueError("the cache's URL names too many nodes")
    return nodes


def _node(text: str, default_port: int) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = text, str(default_port)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (port.isdecimal() and len(port) < 6 and 0 < int(port) < 65536):
        raise ValueError("a node in the cache's URL is no host:port")
    return host, int(port)
