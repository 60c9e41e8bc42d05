"""Routes: each of them is described by OpenAPI, with its methods."""

import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.timegate.series.serving import CONFIG, SERIES_CONFIG
from timegate.app import CoreState, build_core, build_server
from timegate.config import load_config
from timegate.endpoints.openapi import description
from timegate.server.middleware import Routes
from timegate.server.process_state import ProcessState

BASE = "http://gate.example"
CHECKS = """
[checks]
history = "{folder}/checks.sqlite"
run = true
"""
_VARIABLE = re.compile(r"\{[a-z]+\}")


@pytest.fixture
async def routes(tmp_path: Path) -> AsyncIterator[Routes]:
    """The routes of a server with everything that can be configured."""
    token = hashlib.sha256(b"token").hexdigest()
    series = SERIES_CONFIG.format(name="oma.eop.gov.us", token=token)
    file = tmp_path / "timegate.toml"
    file.write_text(CONFIG + series + CHECKS.format(folder=tmp_path))
    async with (
        CoreState() as state,
        build_core(load_config(file), BASE, state=state, serving=True) as core,
        build_server(core, ProcessState(state.metrics)) as dispatch,
    ):
        yield dispatch.routes


def paths() -> dict[str, set[str]]:
    """The methods of each described path."""
    described = description(BASE)["paths"]
    assert isinstance(described, dict)
    return {path: set(item) for path, item in described.items()}


def below(prefix: str) -> set[str]:
    """The methods of all described paths that begin with *prefix*."""
    return {
        method
        for path, methods in paths().items()
        if path.startswith(prefix) and path != prefix
        for method in methods
    }


async def test_every_route_is_described(routes: Routes) -> None:
    missing = [path for path in routes.exact if "get" not in paths().get(path, ())]
    missing += [
        prefix
        for prefix in routes.prefixes
        # Targets of forward proxying are no paths.
        if prefix.startswith("/") and "get" not in below(prefix) | paths().get(prefix, set())
    ]

    assert missing == []


async def test_every_route_that_takes_a_body_is_described(routes: Routes) -> None:
    assert [path for path in routes.posts if "post" not in paths().get(path, ())] == []
    assert [prefix for prefix in routes.writes if "post" not in below(prefix)] == []
    assert {prefix for prefix in routes.writes if "put" in below(prefix)} == {
        *routes.writes
    } - {"/series/"}


async def test_every_description_is_that_of_a_route(routes: Routes) -> None:
    unrouted = [
        path
        for path in paths()
        if path not in {"/{identifier}", *routes.posts}
        and routes.find(_VARIABLE.sub("x", path))[0] == "/{identifier}"
    ]

    assert unrouted == []
