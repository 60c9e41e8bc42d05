"""``timegate serve``: the HTTP endpoint, in one process or in several on one port."""

import asyncio
import gc
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import msgspec

from timegate.app import askable, running
from timegate.cli.options import (
    archives_option,
    check_contact,
    config_option,
    configured,
    demo_option,
)
from timegate.cli.workers import Workers, reserved
from timegate.config import Config
from timegate.upstream.shared import create_ledgers
from timegate.web.server import bound, serving
from timegate.web.site.pages import prepare


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
    with configured(config, archives, demo=demo) as basis:
        settings = _with_options(basis, host, port, 1 if demo else workers)
        check_contact(settings)
        if ledgers is not None or settings.listen.workers == 1:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(_serve(settings, ledgers))
        else:
            sys.exit(_supervise(settings, config, archives))


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


async def _serve(config: Config, ledgers: Path | None) -> None:
    """Serve until a signal says stop; a worker shares its port and its manners."""
    # What was built at the start stays; looking at it again and again costs a tenth.
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        place = bound(config.listen.host, config.listen.port, shared=ledgers is not None)
    except OSError as error:
        where = _address(config.listen.host, config.listen.port)
        raise click.ClickException(f"cannot listen at {where}: {error.strerror}") from error
    prepare()
    with place:
        address = _address(config.listen.host, int(place.getsockname()[1]))
        async with (
            running(config, config.base_url or address, ledgers, keep=True) as app,
            serving(app.dispatch, place),
        ):
            if ledgers is None:
                click.echo(f"listening at {address}/", err=True)
            await stop.wait()


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _supervise(config: Config, file: Path | None, archives: Path | None) -> int:
    """Run the workers until told to stop; return the exit code."""
    listen = config.listen
    with (
        tempfile.TemporaryDirectory(prefix="timegate-") as folder,
        reserved(listen.host, listen.port) as port,
    ):
        ledgers = Path(folder) / "ledgers"
        create_ledgers(ledgers, askable(config))
        command = [
            "serve",
            "--host",
            listen.host,
            "--port",
            str(port),
            "--ledgers",
            str(ledgers),
        ]
        if file is not None:
            command += ["--config", str(file)]
        if archives is not None:
            command += ["--archives", str(archives)]
        workers = Workers(listen.workers, command, {"PROMETHEUS_MULTIPROC_DIR": folder})
        workers.wait_until_listening(listen.host, port)
        click.echo(f"listening at {_address(listen.host, port)}/", err=True)
        return workers.watch()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's where it is installed: less CPU for each request."""
    try:
        import uvloop  # noqa: PLC0415 -- an extra
    except ImportError:
        return None
    return uvloop.new_event_loop
