"""A whole server, from a configuration to a listening port, as ``timegate serve`` builds it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from timegate.app import CoreState, build_core, build_server
from timegate.config import Config
from timegate.server.listener import listening
from timegate.server.process_state import ProcessState


@asynccontextmanager
async def running_server(
    config: Config, base_url: str = "http://gate.example", rate_limits: Path | None = None
) -> AsyncIterator[int]:
    """Serve *config* on a free port, and yield the port."""
    async with (
        CoreState() as state,
        build_core(
            config, base_url, state=state, rate_limits=rate_limits, serving=True
        ) as core,
        build_server(core, ProcessState(state.metrics)) as dispatch,
        listening(dispatch, "127.0.0.1", 0) as port,
    ):
        yield port
