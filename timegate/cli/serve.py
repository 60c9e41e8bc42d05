"""``timegate serve``: runs the HTTP server in one or several processes."""

import asyncio
import gc
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import msgspec

from timegate.cli.options import (
    archives_option,
    config_option,
    configured,
    contact_option,
    demo_option,
    with_contact,
)
from timegate.config import BadConfig, Config, load_config


@click.command("serve")
@config_option
@archives_option
@click.option("--host", help="Address to listen on; default 127.0.0.1.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen on; default 1208, 0 picks a free one.",
)
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Number of processes that share the port."
)
@contact_option
@demo_option
@click.option("--rate-limits", type=click.Path(path_type=Path), hidden=True)
def serve_command(  # noqa: PLR0913 -- one parameter for each option
    *,
    config: Path | None,
    archives: Path | None,
    host: str | None,
    port: int | None,
    workers: int | None,
    contact: str | None,
    demo: bool,
    rate_limits: Path | None,
) -> None:
    r"""Run the HTTP server: a Memento TimeGate, and a resolver for all identifiers.

    \b
    Examples:
      timegate serve --demo
      timegate serve --contact mailto:you@example.org
      timegate serve --config timegate.toml
      curl -i -H 'Accept-Datetime: Fri, 22 Jan 2016 11:20:29 GMT' \
        http://127.0.0.1:1208/timegate/http://www.dr.dk
    """

    def reread() -> Config:
        if demo:
            raise BadConfig("the demo has no configuration to reload")
        changed = _with_options(load_config(config, archives), host, port, workers)
        return changed if contact is None else replace(changed, contact=contact)

    with configured(config, archives, demo=demo) as basis:
        settings = _with_options(basis, host, port, 1 if demo else workers)
        settings = with_contact(settings, contact)
        if rate_limits is not None or settings.listen.workers == 1:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(_serve(settings, rate_limits, reread))
        else:
            files = {"--config": config, "--archives": archives}
            given: dict[str, object] = {**files, "--contact": contact}
            options = [str(o) for pair in given.items() if pair[1] is not None for o in pair]
            from timegate.app import supervise  # noqa: PLC0415

            sys.exit(supervise(settings, options, reread))


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


async def _serve(
    config: Config, rate_limits: Path | None, reread: Callable[[], Config]
) -> None:
    # Nothing is garbage until the handler is built; `run_server` collects again from then on.
    gc.disable()
    from timegate.app import serve  # noqa: PLC0415 -- the web server is slow to import
    from timegate.observability.tracing import TracingNotInstalled  # noqa: PLC0415

    try:
        await serve(config, reread, rate_limits)
    except TracingNotInstalled as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise click.ClickException(str(error)) from error
    finally:
        gc.enable()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the loop factory of uvloop if it is installed: it needs less CPU per request."""
    try:
        import uvloop  # noqa: PLC0415 -- an extra
    except ImportError:
        return None
    return uvloop.new_event_loop
