"""``timegate mcp``: tools for programs with language models, over stdio or loopback HTTP."""

import asyncio
import hmac
import os
import secrets
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from timegate.cli.options import (
    BASE_URL,
    archives_option,
    config_option,
    configured,
    contact_option,
    demo_option,
    open_core,
    with_contact,
)
from timegate.cli.output import echo
from timegate.config import Config

if TYPE_CHECKING:
    from mcp.server import MCPServer

_TOKEN: Final = "TIMEGATE_MCP_TOKEN"  # noqa: S105 -- the name of a variable
_SHORTEST_TOKEN: Final = 16
_MISSING: Final = "timegate mcp needs an extra: pip install 'timegate-proxy[mcp,content]'"

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


async def run_mcp(config: Config, address: tuple[str, int] | None, token: str) -> None:
    """Serve the tools over stdio, or over HTTP at *address* to clients with *token*."""
    # The SDK is an extra, and slow to import.
    from timegate.cli.mcp_tools import mcp_server  # noqa: PLC0415
    from timegate.library import Gate  # noqa: PLC0415

    async with open_core(config, config.base_url or BASE_URL) as core:
        server = mcp_server(Gate(core))
        if address is None:
            await server.run_stdio_async()
        else:
            await _serve_http(server, *address, token)


async def _serve_http(server: "MCPServer[object]", host: str, port: int, token: str) -> None:
    import uvicorn  # noqa: PLC0415 -- as above

    app = guarded(http_app(server, host, port), token)
    log_level = "warning"
    await uvicorn.Server(
        uvicorn.Config(app, host=host, port=port, log_level=log_level, server_header=False)
    ).serve()


def http_app(server: "MCPServer[object]", host: str, port: int) -> AsgiApp:
    """Return the HTTP side of *server*: only requests whose Host and Origin are *host* pass."""
    from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415

    name = f"[{host}]" if ":" in host else host
    own = [f"{name}:{port}", f"localhost:{port}"]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=own,
        allowed_origins=[f"http://{each}" for each in own],
    )
    return server.streamable_http_app(
        host=host, json_response=True, stateless_http=True, transport_security=security
    )


def guarded(app: AsgiApp, token: str) -> AsgiApp:
    """Return *app*, which only answers requests that have *token*."""
    expected = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, expected):
                await _refuse(send)
                return
        await app(scope, receive, send)

    return checked


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    body = b"this server needs the token that it printed when it was started\n"
    await send({"type": "http.response.body", "body": body})


def read_address(text: str) -> tuple[str, int]:
    """Return host and port of *text*. Raises UsageError if it is not on loopback."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    try:
        is_loopback = ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise click.UsageError("--http must be on loopback, such as 127.0.0.1:1209")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65_536):
        raise click.UsageError("--http must end with a port, such as 127.0.0.1:1209")
    return host, int(port)


def _token() -> str:
    """Return the token of the environment, or a new one, which is printed."""
    given = os.environ.get(_TOKEN, "")
    if given:
        if len(given) < _SHORTEST_TOKEN or not (given.isascii() and given.isprintable()):
            raise click.UsageError(
                f"{_TOKEN} must have at least {_SHORTEST_TOKEN} printable ASCII characters"
            )
        return given
    made = secrets.token_urlsafe(24)
    echo(f"token: {made}", err=True)
    return made


@click.command("mcp")
@click.option(
    "--http",
    "address",
    metavar="HOST:PORT",
    help="Serve over HTTP on loopback, with a token, instead of stdio.",
)
@contact_option
@config_option
@archives_option
@demo_option
def mcp_command(
    *,
    address: str | None,
    contact: str | None,
    config: Path | None,
    archives: Path | None,
    demo: bool,
) -> None:
    r"""Serve the Model Context Protocol: web archives as tools for language models.

    The tools are resolve, read, check_quote, audit and captures. Every answer says whether a
    copy was seen, is absent from all archives, or is unknown because one did not answer, and
    how to cite it. Without --http, the protocol is spoken over standard input and output. With
    it, clients need the token in TIMEGATE_MCP_TOKEN, or the one that is printed.

    \b
    Examples:
      timegate mcp --demo
      timegate mcp --contact mailto:you@example.org --http 127.0.0.1:1209
    """
    place = None if address is None else read_address(address)
    try:
        import mcp  # noqa: F401, PLC0415 -- an extra
    except ImportError as error:
        raise click.UsageError(_MISSING) from error
    with configured(config, archives, demo=demo) as basis:
        settings = with_contact(basis, contact)
        token = "" if place is None else _token()
        if place is not None:
            echo(f"http://{address}/mcp", err=True)
        asyncio.run(run_mcp(settings, place, token))
        sys.exit(0)
