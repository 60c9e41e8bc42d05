"""A whole server with a store, and requests that write to it."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.scenario import World
from tests.timegate.endpoints.served import Seen, Site
from tests.whole_server import running_server
from timegate.config import load_config

TOKEN = "open sesame"  # noqa: S105 -- of a test
BASE = "http://gate.example"
PAGE = "http://example.org/page"
BEARER = ("Authorization", f"Bearer {TOKEN}")
CONFIG = """
base_url = "http://gate.example"
[archives]
use = []
{more}
[[store]]
id = "notes"
path = "notes"
tokens = ["sha256:{token}"]
pwid = ["store.example.org"]
free_megabytes = 0
{settings}
"""


@dataclass(frozen=True, slots=True)
class StoreClient:
    """A client of the store `notes`."""

    site: Site

    async def put(
        self,
        body: bytes | str,
        *headers: tuple[str, str],
        page: str = PAGE,
        token: tuple[str, str] | None = BEARER,
        method: str = "PUT",
        store: str = "notes",
    ) -> Seen:
        octets = body.encode() if isinstance(body, str) else body
        fields = headers if token is None else (token, *headers)
        return await self.site.ask(
            f"/store/{store}/{page}", *fields, method=method, body=octets
        )

    async def get(self, target: str, *headers: tuple[str, str], method: str = "GET") -> Seen:
        return await self.site.ask(target.removeprefix(BASE), *headers, method=method)


@asynccontextmanager
async def serving_store(
    folder: Path, settings: str = "", more: str = "", base_url: str = BASE
) -> AsyncIterator[StoreClient]:
    """Serve a store in *folder*."""
    token = hashlib.sha256(TOKEN.encode()).hexdigest()
    file = folder / "timegate.toml"
    file.write_text(CONFIG.format(token=token, settings=settings, more=more))
    async with running_server(load_config(file), base_url) as port:
        yield StoreClient(Site(port, cast("World", None)))
