"""Asks other resolvers by THTTP (RFC 2169), for series and days that are delegated to them.

A resolver is queried as an archive is: at its own address only, politely, within bounds.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, NamedTuple

from archives.errors import ArchiveError, Unreachable
from archives.model import ArchiveEntry
from archives.registry.entry import entry_from
from archives.source import Fetcher, Request
from timegate.config import Config
from timegate.series import Delegation
from timegate.upstream.stack import UpstreamEnvironment, UpstreamSettings, open_fetchers

_TIMEOUT: Final = 20.0
_MOST_OCTETS: Final = 64 << 20
_WEB: Final = ("http://", "https://")
PASSED: Final = (
    *("content-type", "content-location", "location", "link", "etag", "last-modified"),
    *("memento-precision", "content-language", "vary"),
)
"""Fields of its answer that are passed on."""


class ResolverAnswer(NamedTuple):
    """The answer of another resolver."""

    status: int
    headers: Mapping[str, str]
    """Those in `PASSED`, in lower case."""
    body: bytes


class Resolvers:
    """Asks resolvers, by their addresses."""

    def __init__(self, fetchers: Mapping[str, Fetcher]) -> None:
        self._fetchers = fetchers

    async def ask(self, delegation: Delegation, address: str) -> ResolverAnswer:
        """Return the answer of the resolver at *address*, its own. Raises ArchiveError."""
        name = delegation.resolver
        fetch = self._fetchers.get(name)
        if fetch is None:
            raise ArchiveError(name, address, "is not in use with this configuration")
        try:
            async with (
                asyncio.timeout(_TIMEOUT),
                fetch(Request("GET", address, "memento")) as reply,
            ):
                body = bytearray()
                async for chunk in reply.chunks():
                    body += chunk
                    if len(body) > _MOST_OCTETS:
                        raise ArchiveError(name, address, "sends too many octets")
                fields = {n: v for n, v in reply.headers.items() if n in PASSED}
                if not fields.get("location", "http://").lower().startswith(_WEB):
                    raise ArchiveError(name, address, "redirects to no web address")
                return ResolverAnswer(reply.status, fields, bytes(body))
        except TimeoutError as error:
            raise Unreachable(name, address, "did not answer in time") from error


def resolver_entries(config: Config) -> dict[str, ArchiveEntry]:
    """Return an entry for each resolver that is asked, by its address."""
    asked = dict.fromkeys(
        each.resolver
        for series in config.series
        for each in series.delegations
        if each.how == "ask"
    )
    return {
        address: entry_from(
            {
                "id": f"resolver-{number}",
                "name": address,
                "kind": "memento",
                "timegate": f"{address}/uri-res/",
                "because": "a resolver of a series",
            },
            f"series: {address}",
        )
        for number, address in enumerate(asked, start=1)
    }


@asynccontextmanager
async def open_resolvers(
    config: Config, settings: UpstreamSettings, environment: UpstreamEnvironment | None = None
) -> AsyncIterator[Resolvers]:
    """Open the resolvers of all delegations; connections are closed at the end of the block."""
    entries = resolver_entries(config)
    if not entries:
        yield Resolvers({})
        return
    # The operator has named their addresses, which may be private.
    own = replace(settings, allow_private=frozenset(e.id for e in entries.values()))
    async with open_fetchers(list(entries.values()), own, environment) as fetchers:
        yield Resolvers({address: fetchers[entry.id] for address, entry in entries.items()})
