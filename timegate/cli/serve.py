"""``timegate serve``: the HTTP endpoint, in one process or in several on one port."""

import asyncio
import gc
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import click
import msgspec

from archives.model import ArchiveEntry, Limits
from timegate.app import askable, running
from timegate.cli.options import (
    archives_option,
    check_contact,
    config_option,
    configured,
    demo_option,
)
from timegate.collections.opening import is_local
from timegate.config import BadConfig, Config, load_config
from timegate.observability.logs import event, set_up
from timegate.observability.tracing import TracingNotInstalled
from timegate.pages.rendering import prepare
from timegate.server.listener import bound, serving
from timegate.server.middleware import Dispatch
from timegate.server.process_state import ProcessState
from timegate.server.reload import Reloading
from timegate.server.workers import (
    Reload,
    Workers,
    obey,
    orders_by_signal,
    ready_file,
    reserved,
)
from timegate.upstream.worker_rate_limits import create_rate_limits_file


@click.command("serve")
@config_option
@archives_option
@click.option("--host", help="Address to listen at; 127.0.0.1 unless configured.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port; 1208 unless configured. 0 picks a free one.",
)
@click.option("--workers", type=click.IntRange(1, 64), help="Processes that share the port.")
@demo_option
@click.option("--ledgers", type=click.Path(path_type=Path), hidden=True)
def serve_command(  # noqa: PLR0913 -- one parameter for each option
    *,
    config: Path | None,
    archives: Path | None,
    host: str | None,
    port: int | None,
    workers: int | None,
    demo: bool,
    ledgers: Path | None,
) -> None:
    r"""Answer over HTTP: a Memento TimeGate, and a resolver for every identifier.

    \b
    Examples:
      timegate serve --demo
      timegate serve --config timegate.toml
      curl -i -H 'Accept-Datetime: Fri, 22 Jan 2016 11:20:29 GMT' \
        http://127.0.0.1:1208/timegate/http://www.dr.dk
    """

    def reread() -> Config:
        if demo:
            raise BadConfig("the demo has no configuration to read again")
        return _with_options(load_config(config, archives), host, port, workers)

    with configured(config, archives, demo=demo) as basis:
        settings = _with_options(basis, host, port, 1 if demo else workers)
        check_contact(settings)
        if ledgers is not None or settings.listen.workers == 1:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(_serve(settings, ledgers, reread))
        else:
            files = {"--config": config, "--archives": archives}
            options = [str(o) for pair in files.items() if pair[1] is not None for o in pair]
            set_up(settings.log)
            sys.exit(_supervise(settings, options, reread))


def _with_options(
    config: Config, host: str | None, port: int | None, workers: int | None
) -> Config:
    listen = config.listen
    chosen = msgspec.structs.replace(
        listen,
        host=host or listen.host,
        port=listen.port if port is None else port,
        workers=workers or listen.workers,
    )
    return replace(config, listen=chosen)


async def _serve(config: Config, ledgers: Path | None, reread: Callable[[], Config]) -> None:
    """Serve until a signal says stop; a worker shares its port and its manners."""
    # What was built at the start stays; looking at it again and again costs a tenth.
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
    set_up(config.log)
    orders = orders_by_signal()
    place = _place(config, shared=ledgers is not None)
    prepare()
    address = _address(config.listen.host, int(place.getsockname()[1]))

    @asynccontextmanager
    async def opening(settings: Config) -> AsyncIterator[Dispatch]:
        base_url = settings.base_url or address
        async with running(settings, base_url, ledgers, lasting=lasting) as app:
            yield app.dispatch

    with place:
        async with (
            ProcessState() as lasting,
            Reloading(opening, lambda: orders.put_nowait("stop")) as answering,
        ):
            try:
                await answering.open(config)
            except TracingNotInstalled as error:
                raise click.UsageError(str(error)) from error
            lasting.make_room(config)
            async with (
                serving(answering, place, room=lasting.room),
                lasting.metrics.refreshed() if ledgers is not None else nullcontext(),
            ):
                if ledgers is not None:
                    ready_file(ledgers.parent, os.getpid()).touch()
                _say_listening(config, address, worker=ledgers is not None)
                await obey(orders, Reload(answering, lasting, config, reread))
                lasting.draining = True
    event("stop", address=address)


def _place(config: Config, *, shared: bool) -> socket.socket:
    try:
        return bound(config.listen.host, config.listen.port, shared=shared)
    except OSError as error:
        where = _address(config.listen.host, config.listen.port)
        raise click.ClickException(f"cannot listen at {where}: {error.strerror}") from error


def _say_listening(config: Config, address: str, *, worker: bool) -> None:
    if config.log.format == "json":
        event("start", address=address, archives=len(askable(config)))
    elif not worker:
        click.echo(f"listening at {address}/", err=True)


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _supervise(config: Config, options: Sequence[str], reread: Callable[[], Config]) -> int:
    """Run the workers until told to stop; return the exit code."""
    listen = config.listen
    with (
        tempfile.TemporaryDirectory(prefix="timegate-") as folder,
        reserved(listen.host, listen.port) as port,
    ):
        ledgers = Path(folder) / "ledgers"
        place = ["--host", listen.host, "--port", str(port), "--ledgers", str(ledgers)]

        renew_ledgers = _Renewal(ledgers, _remote(config), lambda: _remote(reread()))
        command = ["serve", *place, *options]
        workers = Workers(listen.workers, command, Path(folder), renew_ledgers)
        workers.wait_until_listening()
        _say_listening(config, _address(listen.host, port), worker=False)
        return workers.watch()


class _Renewal:
    """Makes a new file of ledgers where other archives are asked; workers open it anew."""

    def __init__(
        self,
        path: Path,
        entries: Sequence[ArchiveEntry],
        reread: Callable[[], Sequence[ArchiveEntry]],
    ) -> None:
        self._path = path
        self._shape = _shape(entries)
        self._reread = reread
        create_rate_limits_file(path, entries)

    def __call__(self) -> None:
        # What is wrong with it, the workers say.
        with suppress(BadConfig):
            entries = self._reread()
            if _shape(entries) != self._shape:
                new = self._path.with_suffix(".new")
                create_rate_limits_file(new, entries)
                new.replace(self._path)
                self._shape = _shape(entries)


def _remote(config: Config) -> list[ArchiveEntry]:
    """Return the archives whose ledgers workers share."""
    return [entry for entry in askable(config) if not is_local(entry)]


def _shape(entries: Sequence[ArchiveEntry]) -> list[tuple[str, Limits]]:
    return [(entry.id, entry.limits) for entry in entries]


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's where it is installed: less CPU for each request."""
    try:
        import uvloop  # noqa: PLC0415 -- an extra
    except ImportError:
        return None
    return uvloop.new_event_loop
