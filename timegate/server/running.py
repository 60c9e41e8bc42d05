"""Running the server in one process: listening, signals, configuration reload, stopping.

After a reload, new requests go to the new handler; the old one finishes its requests and is
then closed.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Final, Generic, Literal, Self, TypeVar

from aiohttp.web import BaseRequest, StreamResponse

from timegate.config import BadConfig, Config, check_contact
from timegate.observability.logs import Unforeseen, event, set_up
from timegate.pages.rendering import prepare
from timegate.server.listener import bound, serving
from timegate.server.middleware import Dispatch
from timegate.server.process_state import ProcessState
from timegate.server.workers import ready_file

Order = Literal["stop", "reload"]
Orders = asyncio.Queue[Order]
OpenServer = Callable[[Config, str], AbstractAsyncContextManager[Dispatch]]
"""Builds the handler of a configuration, at a base URL."""
_COLLECTED_AFTER: Final = (2_000, 10, 100)
"""New objects before a collection of the youngest, and collections before one of older ones.
With 20,000, a collection under load took 20 to 46 ms, in which nothing is served; now 14."""
_REFRESH: Final = 5.0
"""Seconds between two updates of the metrics that workers share."""
_PREPARED_AFTER: Final = 0.5
"""Seconds in which the first requests have the processor for themselves."""
_PREPARED: Final = (
    "timegate.references.formats",
    "timegate.endpoints.cite",
    "timegate.endpoints.changes",
    "timegate.endpoints.diff",
    "timegate.endpoints.openapi",
    "timegate.endpoints.parts",
    "timegate.endpoints.replay",
    "timegate.extract.titles",
    "timegate.pages.captures",
    "timegate.pages.documentation",
)
"""What handlers import for their first request: see `routes`."""
_REQUESTS_END_WITHIN: Final = 60.0
"""Seconds in which requests to an old handler have to end; a TimeMap takes no longer."""
C = TypeVar("C")
"""The configuration of a handler."""
Q = TypeVar("Q")
"""Requests."""
A = TypeVar("A")
"""Responses."""


class CannotListen(OSError):
    """The configured address cannot be bound; the message says why."""


async def run_server(
    config: Config,
    reread: Callable[[], Config],
    open_server: OpenServer,
    state: ProcessState,
    rate_limits: Path | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT. Raises CannotListen, and the errors of *open_server*.

    A worker process has the file *rate_limits*, and shares its port with the other workers.
    """
    worker = rate_limits is not None
    set_up(config.log)
    orders = orders_by_signal()
    listener = _bound(config, shared=worker)
    address = address_of(config.listen.host, int(listener.getsockname()[1]))

    @asynccontextmanager
    async def opening(settings: Config) -> AsyncIterator[Dispatch]:
        async with open_server(settings, settings.base_url or address) as dispatch:
            yield dispatch

    with listener:
        async with Reloading(opening, lambda: orders.put_nowait("stop")) as reloading:
            await reloading.open(config)
            # What is there now lives for ever, unless the configuration is reloaded: scanning
            # it in every collection costs a tenth, and while it is built, 15 ms.
            gc.freeze()
            gc.set_threshold(*_COLLECTED_AFTER)
            gc.enable()
            state.limit_connections(config)
            async with (
                serving(reloading, listener, connections=state.connections),
                state.metrics.refreshed() if worker else nullcontext(),
            ):
                if rate_limits is not None:
                    ready_file(rate_limits.parent, os.getpid()).touch()
                announce(config, address, worker=worker)
                async with asyncio.TaskGroup() as group:
                    preparing = group.create_task(_prepared())
                    await obey(orders, Reload(reloading, state, config, reread))
                    preparing.cancel()
                state.draining = True
    event("stop", address=address)


async def _prepared() -> None:
    """Import and compile, in a thread, what few of the first requests need: it takes long."""
    await asyncio.sleep(_PREPARED_AFTER)
    await asyncio.to_thread(prepare)
    for module in _PREPARED:
        await asyncio.to_thread(import_module, module)
    gc.freeze()


def announce(config: Config, address: str, *, worker: bool) -> None:
    """Write that the server is listening: to the log, or to standard error."""
    if config.log.format == "json":
        event("start", address=address, archives=len(config.askable))
    elif not worker:
        os.write(2, f"listening at {address}/\n".encode())


def address_of(host: str, port: int) -> str:
    """Return the URL of a listener."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bound(config: Config, *, shared: bool) -> socket.socket:
    try:
        return bound(config.listen.host, config.listen.port, shared=shared)
    except OSError as error:
        address = address_of(config.listen.host, config.listen.port)
        raise CannotListen(f"cannot listen at {address}: {error.strerror}") from error


def orders_by_signal() -> Orders:
    """Return a queue of the orders that arrive as signals from now on."""
    orders: Orders = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, orders.put_nowait, "stop")
    loop.add_signal_handler(signal.SIGHUP, orders.put_nowait, "reload")
    return orders


async def obey(orders: Orders, reload: "Reload") -> None:
    """Reload on every ``reload``, and return on ``stop``."""
    while True:
        try:
            order = await asyncio.wait_for(orders.get(), _REFRESH)
        except TimeoutError:
            # The worker that serves /metrics adds up the files that the others wrote last.
            reload.state.metrics.refresh()
            continue
        if order == "stop":
            return
        await reload()


class _Generation(Generic[Q, A]):
    """One handler, and the number of its requests in progress."""

    def __init__(self) -> None:
        self.handle: Callable[[Q], Awaitable[A]]
        self.requests = 0
        self.retired = asyncio.Event()
        self.idle = asyncio.Event()
        """Set when a retired generation has answered its last request."""


class Reloading(Generic[C, Q, A]):
    """Passes requests to the newest handler; older ones are closed when they are idle.

    Each generation lives in its own task, because a context must be left in the task that
    entered it. A handler that cannot be opened changes nothing.
    """

    def __init__(
        self,
        opening: Callable[[C], AbstractAsyncContextManager[Callable[[Q], Awaitable[A]]]],
        broken: Callable[[], None] = lambda: None,
        patience: float = _REQUESTS_END_WITHIN,
    ) -> None:
        """Call *broken* if a handler ends by itself; its error is raised at the end."""
        self._opening = opening
        self._broken = broken
        self._patience = patience
        self._current: _Generation[Q, A] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._current is not None:
            self._current.retired.set()
        tasks = list(self._tasks)
        failures = await asyncio.gather(*tasks, return_exceptions=True)
        for failure in failures:
            if failure is not None and error is None:
                raise failure

    async def __call__(self, request: Q) -> A:
        """Answer *request*."""
        generation = self._current
        if generation is None:
            raise RuntimeError("no handler is open yet")
        generation.requests += 1
        try:
            return await generation.handle(request)
        finally:
            generation.requests -= 1
            if not generation.requests and generation.retired.is_set():
                generation.idle.set()

    async def open(self, config: C) -> None:
        """Open a handler for *config* and use it from now on.

        Raises the error of a handler that cannot be opened; the current one stays in use.
        """
        generation = _Generation[Q, A]()
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        task = loop.create_task(self._live(config, generation, ready))
        self._tasks.add(task)
        task.add_done_callback(lambda task: self._ended(task, generation))
        await ready
        old, self._current = self._current, generation
        if old is not None:
            old.retired.set()

    async def _live(
        self, config: C, generation: _Generation[Q, A], ready: "asyncio.Future[None]"
    ) -> None:
        try:
            async with self._opening(config) as generation.handle:
                ready.set_result(None)
                await generation.retired.wait()
                if generation.requests:
                    # Responses that still take longer are aborted, which their clients see.
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self._patience):
                            await generation.idle.wait()
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    def _ended(self, task: "asyncio.Task[None]", generation: _Generation[Q, A]) -> None:
        if generation is self._current and not generation.retired.is_set():
            self._broken()
            return
        if task.cancelled() or task.exception() is None:
            self._tasks.discard(task)


@dataclass(slots=True)
class Reload:
    """Reads the configuration again and applies it; a faulty one changes nothing.

    Whatever goes wrong: the server goes on with the configuration that it has.
    """

    reloading: Reloading[Config, BaseRequest, StreamResponse]
    state: ProcessState
    config: Config
    """The configuration at the start; its listening address cannot be changed later."""
    reread: Callable[[], Config]
    unforeseen: Unforeseen = field(default_factory=lambda: Unforeseen("reload-internal-error"))

    async def __call__(self) -> None:
        """Reload once; the outcome is logged."""
        try:
            config = await asyncio.to_thread(self.reread)
            check_contact(config)
            await self.reloading.open(config)
            self.state.limit_connections(config)
            set_up(config.log)
        except (BadConfig, OSError, ValueError, LookupError) as error:
            self._failed(str(error))
            return
        except Exception as error:  # noqa: BLE001 -- the boundary around a reload
            self.unforeseen("configuration", error)
            self._failed(f"unforeseen {type(error).__name__}")
            return
        self.state.reload_trouble = None
        moved = config.listen != self.config.listen
        event("reload", taken=True, archives=len(config.askable), needs_restart=moved)

    def _failed(self, why: str) -> None:
        self.state.reload_trouble = f"not taken over: {why}"
        event("reload", logging.ERROR, taken=False, why=why)
