"""A whole server with series, and requests for PDIs."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import msgspec

from tests.scenario import World
from tests.timegate.endpoints.served import Seen, Site
from tests.whole_server import running_server
from timegate.config import Config, load_config
from timegate.series import Content, Minted, PlaceRequest
from timegate.series.catalogue import document_name, name_in
from timegate.series.opening import open_journals
from timegate.series.requests import content_of
from timegate.store.opening import open_stores

TOKEN = "open sesame"  # noqa: S105 -- of a test
BASE = "http://gate.example"
SERIES = "oma.eop.gov.us"
BEARER = ("Authorization", f"Bearer {TOKEN}")
CONFIG = """
base_url = "http://gate.example"
[archives]
use = []
[[store]]
id = "papers"
path = "papers"
free_megabytes = 0
"""
SERIES_CONFIG = """
[[series]]
name = "{name}"
store = "papers"
tokens = ["alice sha256:{token}"]
"""


@dataclass(frozen=True, slots=True)
class SeriesClient:
    """A client of a server with series."""

    site: Site

    async def ask(
        self, target: str, *headers: tuple[str, str], method: str = "GET", body: bytes = b""
    ) -> Seen:
        path = target.removeprefix(BASE)
        path = path if path.startswith("/") else f"/{path}"
        return await self.site.ask(path, *headers, method=method, body=body)

    async def mint(
        self, body: bytes | str, form: str | None = "text", series: str = SERIES, **more: str
    ) -> str:
        """Mint a document; return its PDI."""
        parameters = {**({} if form is None else {"format": form}), **more}
        seen = await self.put(f"pdi://{series}/", body, parameters)
        assert seen.status == 201, seen.body
        pdi = json_of(seen)["pdi"]
        assert seen.headers["Content-Location"] == pdi
        return str(pdi)

    async def put(
        self,
        pdi: str,
        body: bytes | str,
        parameters: Mapping[str, str] | None = None,
        *headers: tuple[str, str],
        method: str = "PUT",
    ) -> Seen:
        octets = body.encode() if isinstance(body, str) else body
        query = f"?{urlencode(parameters)}" if parameters else ""
        return await self.ask(pdi + query, BEARER, *headers, method=method, body=octets)


def json_of(seen: Seen) -> Any:
    return msgspec.json.decode(seen.body)


def today() -> str:
    return f"{datetime.now(UTC):%Y/%m/%d}"


def write_config(folder: Path, *series: str, more: str = "") -> Config:
    """Write a configuration with *series* in *folder*."""
    token = hashlib.sha256(TOKEN.encode()).hexdigest()
    names = series or (SERIES,)
    sections = "".join(SERIES_CONFIG.format(name=name, token=token) for name in names)
    file = folder / "timegate.toml"
    file.write_text(CONFIG + sections + more)
    return load_config(file)


async def put_in_place(config: Config, documents: Mapping[str, bytes | Content]) -> None:
    """Put documents in place, by their fully qualified PDIs."""
    async with open_stores(config, journals=open_journals(config)) as stores:
        for pdi, given in documents.items():
            name = name_in(pdi)
            assert name is not None
            assert name.format is not None
            content = (
                given
                if isinstance(given, Content)
                else content_of({"format": name.format}, None, given)
            )
            request = PlaceRequest(
                document_name(name), int(name.version or 1), content, "operator"
            )
            assert isinstance(await stores["papers"].record(request, 1), Minted)


@asynccontextmanager
async def serving_series(
    folder: Path,
    *series: str,
    documents: Mapping[str, bytes | Content] | None = None,
    more: str = "",
) -> AsyncIterator[SeriesClient]:
    """Serve series in *folder*, with *documents* in place."""
    config = write_config(folder, *series, more=more)
    if documents:
        await put_in_place(config, documents)
    async with running_server(config, BASE) as port:
        yield SeriesClient(Site(port, cast("World", None)))
