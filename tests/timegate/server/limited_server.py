"""Servers for the tests of limits: over one handler, and over a whole configuration."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.scenario import World
from tests.timegate.endpoints.served import Site
from timegate.app import CoreState, build_core, build_server
from timegate.config import Config
from timegate.observability.logs import Access
from timegate.responses.model import ClientRequest, Handler, Response
from timegate.server.client_quota import ClientLimits
from timegate.server.connection_limit import ConnectionLimit
from timegate.server.listener import bound, listening, serving
from timegate.server.middleware import Dispatch, Routes
from timegate.server.process_state import ProcessState


async def ok(request: ClientRequest) -> Response:
    """Answer any request at once."""
    del request
    return Response(200, {}, b"ok")


class Slow:
    """A handler that answers once `may_answer` is set."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.started = asyncio.Semaphore(0)

    async def __call__(self, call: ClientRequest) -> Response:
        self.started.release()
        await self.may_answer.wait()
        return Response(200, {}, call.rest.encode())


async def until(true: Callable[[], bool]) -> None:
    """Wait until *true* holds."""
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 -- connections do not report this
            await asyncio.sleep(0)


@asynccontextmanager
async def limited(
    handler: Handler,
    limits: ClientLimits,
    connections: ConnectionLimit | None = None,
    log: list[Access] | None = None,
) -> AsyncIterator[Site]:
    """Serve *handler* at ``/slow/`` and everywhere but at ``/healthz``."""
    routes = Routes({"/healthz": ok}, {"/slow/": handler}, handler)
    dispatch = Dispatch(routes, limits, log=None if log is None else log.append)
    with bound("127.0.0.1", 0) as place:
        async with serving(dispatch, place, connections=connections):
            yield Site(place.getsockname()[1], World())


@asynccontextmanager
async def configured(config: Config, base_url: str) -> AsyncIterator[tuple[Site, ProcessState]]:
    """Serve *config* as `timegate.app.serve` does, at a free port."""
    async with CoreState() as state:
        process = ProcessState(state.metrics)
        async with (
            build_core(config, base_url, state=state, serving=True) as core,
            build_server(core, process) as dispatch,
            listening(dispatch, "127.0.0.1", 0) as port,
        ):
            yield Site(port, World()), process
