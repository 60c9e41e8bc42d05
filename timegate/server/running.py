"""Running the server in one process: listening, signals, reloading, stopping."""

import asyncio
import gc
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from aiohttp.web import BaseRequest, StreamResponse

from timegate.config import BadConfig, Config, check_contact
from timegate.observability.logs import event, set_up
from timegate.pages.rendering import prepare
from timegate.server.listener import bound, serving
from timegate.server.middleware import Dispatch
from timegate.server.process_state import ProcessState
from timegate.server.reload import Reloading
from timegate.server.workers import ready_file

Order = Literal["stop", "reload"]
Orders = asyncio.Queue[Order]
OpenServer = Callable[[Config, str], AbstractAsyncContextManager[Dispatch]]
"""Builds the handler of a configuration, at a base URL."""
_REFRESH: Final = 5.0
"""Seconds between two updates of the metrics that workers share."""


class CannotListen(OSError):
    """The address of the configuration cannot be used; says why."""


async def run_server(
    config: Config,
    reread: Callable[[], Config],
    open_server: OpenServer,
    state: ProcessState,
    rate_limits: Path | None = None,
) -> None:
    """Serve until a signal says stop. Raises CannotListen, and what *open_server* raises.

    A worker process has the file *rate_limits*, and shares its port with the other workers.
    """
    worker = rate_limits is not None
    # Objects that were built at the start stay; collecting them again and again costs a tenth.
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
    set_up(config.log)
    orders = orders_by_signal()
    listener = _bound(config, shared=worker)
    prepare()
    address = address_of(config.listen.host, int(listener.getsockname()[1]))

    @asynccontextmanager
    async def opening(settings: Config) -> AsyncIterator[Dispatch]:
        async with open_server(settings, settings.base_url or address) as dispatch:
            yield dispatch

    with listener:
        async with Reloading(opening, lambda: orders.put_nowait("stop")) as reloading:
            await reloading.open(config)
            state.limit_connections(config)
            async with (
                serving(reloading, listener, room=state.connections),
                state.metrics.refreshed() if worker else nullcontext(),
            ):
                if rate_limits is not None:
                    ready_file(rate_limits.parent, os.getpid()).touch()
                announce(config, address, worker=worker)
                await obey(orders, Reload(reloading, state, config, reread))
                state.draining = True
    event("stop", address=address)


def announce(config: Config, address: str, *, worker: bool) -> None:
    """Say that the server is listening."""
    if config.log.format == "json":
        event("start", address=address, archives=len(config.askable))
    elif not worker:
        # To standard error, as all messages of the command line.
        os.write(2, f"listening at {address}/\n".encode())


def address_of(host: str, port: int) -> str:
    """Return the URL of a listener."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bound(config: Config, *, shared: bool) -> socket.socket:
    try:
        return bound(config.listen.host, config.listen.port, shared=shared)
    except OSError as error:
        where = address_of(config.listen.host, config.listen.port)
        raise CannotListen(f"cannot listen at {where}: {error.strerror}") from error


def orders_by_signal() -> Orders:
    """Return the orders that arrive as signals from now on."""
    orders: Orders = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, orders.put_nowait, "stop")
    loop.add_signal_handler(signal.SIGHUP, orders.put_nowait, "reload")
    return orders


async def obey(orders: Orders, reload: "Reload") -> None:
    """Reload on every order to do so, until the order to stop."""
    while True:
        try:
            order = await asyncio.wait_for(orders.get(), _REFRESH)
        except TimeoutError:
            # The worker that is asked for metrics shows what the others wrote last.
            reload.state.metrics.refresh()
            continue
        if order == "stop":
            return
        await reload()


@dataclass(slots=True)
class Reload:
    """Takes over a changed configuration; a broken one changes nothing."""

    reloading: Reloading[Config, BaseRequest, StreamResponse]
    state: ProcessState
    config: Config
    """The first configuration: the address of the listener cannot be changed."""
    reread: Callable[[], Config]

    async def __call__(self) -> None:
        """Read the configuration again, and use it."""
        try:
            config = await asyncio.to_thread(self.reread)
            check_contact(config)
            await self.reloading.open(config)
        except (BadConfig, OSError, ValueError, LookupError) as error:
            self.state.reload_trouble = f"not taken over: {error}"
            event("reload", logging.ERROR, taken=False, why=str(error))
            return
        self.state.reload_trouble = None
        self.state.limit_connections(config)
        set_up(config.log)
        moved = config.listen != self.config.listen
        event("reload", taken=True, archives=len(config.askable), needs_restart=moved)
