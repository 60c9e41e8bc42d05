"""What a running server is told by signals: to stop, or to read its configuration again."""

import asyncio
import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import click
from aiohttp.web import BaseRequest, StreamResponse

from timegate.app import askable
from timegate.cli.options import check_contact
from timegate.config import BadConfig, Config
from timegate.lasting import ProcessState
from timegate.logs import event, set_up
from timegate.reloading import Reloading

Order = Literal["stop", "reload"]
Orders = asyncio.Queue[Order]
_LOOK: Final = 5.0
"""Seconds between two looks at what is under way."""


def orders_by_signal() -> Orders:
    """Return the orders that come in as signals from now on."""
    orders: Orders = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, orders.put_nowait, "stop")
    loop.add_signal_handler(signal.SIGHUP, orders.put_nowait, "reload")
    return orders


async def obey(orders: Orders, reload: "Reload") -> None:
    """Reload as often as it is ordered, until it is time to stop."""
    while True:
        try:
            order = await asyncio.wait_for(orders.get(), _LOOK)
        except TimeoutError:
            # Whichever worker is asked for the metrics tells what the others noted last.
            reload.lasting.metrics.refresh()
            continue
        if order == "stop":
            return
        await reload()


@dataclass(slots=True)
class Reload:
    """Takes a changed configuration over; a wrong one changes nothing but what is said."""

    answering: Reloading[Config, BaseRequest, StreamResponse]
    lasting: ProcessState
    config: Config
    """That with which we began: where we listen cannot be changed."""
    reread: Callable[[], Config]

    async def __call__(self) -> None:
        """Read it again."""
        try:
            config = await asyncio.to_thread(self.reread)
            check_contact(config)
            await self.answering.open(config)
        except (BadConfig, click.UsageError, OSError, ValueError, LookupError) as error:
            self.lasting.reload_trouble = f"not taken over: {error}"
            event("reload", logging.ERROR, taken=False, why=str(error))
            return
        self.lasting.reload_trouble = None
        self.lasting.make_room(config)
        set_up(config.log)
        moved = config.listen != self.config.listen
        event("reload", taken=True, archives=len(askable(config)), needs_restart=moved)
