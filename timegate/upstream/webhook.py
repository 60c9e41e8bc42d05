"""Webhook: sends JSON to one address of the operator, by the egress rules for archives.

Requests go to that endpoint only, redirects are not followed, and a host name must not resolve
to a private address. An IP address in the URL itself may be private: the operator wrote it.
"""

import socket
from collections.abc import Mapping
from ipaddress import ip_address
from types import TracebackType
from typing import Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from archives.addresses import server_of
from timegate.upstream.egress import Address, Egress, target

_TIMEOUT: Final = 15.0
"""Seconds for everything."""
_ACCEPTED: Final = range(200, 300)


class WebhookFailed(Exception):
    """The webhook did not take the message; the text says why."""


class Webhook:
    """A webhook. Use it as a context manager."""

    def __init__(
        self, url: str, user_agent: str, resolver: AbstractResolver | None = None
    ) -> None:
        """Check *url*. Raises ValueError if clients do not all read it alike."""
        parts = target(url)
        if parts is None or server_of(url) is None:
            raise ValueError("a webhook is an http or https URL, with a plain host name")
        self._url = url
        literals = frozenset(_literals(parts.endpoint.host))
        self._egress = Egress("webhook", frozenset({parts.endpoint}), literals)
        self._user_agent = user_agent
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        inner = self._resolver or aiohttp.DefaultResolver()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(resolver=_PublicAddresses(inner, self._egress)),
            timeout=aiohttp.ClientTimeout(total=_TIMEOUT),
            headers={"User-Agent": self._user_agent},
            # Neither proxies nor passwords of the environment.
            trust_env=False,
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(self, body: bytes, fields: Mapping[str, str]) -> None:
        """Send JSON; return once it is accepted. Raises WebhookFailed."""
        if self._session is None:
            raise WebhookFailed("the webhook is not open")
        headers = {**fields, "Content-Type": "application/json"}
        try:
            async with self._session.post(
                self._url, data=body, headers=headers, allow_redirects=False
            ) as response:
                status = response.status
        except TimeoutError as error:
            raise WebhookFailed(f"no answer within {_TIMEOUT:.0f} s") from error
        except aiohttp.ClientConnectorError as error:
            raise WebhookFailed(str(error.os_error)) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise WebhookFailed(str(error) or type(error).__name__) from error
        if status not in _ACCEPTED:
            raise WebhookFailed(f"it answered {status}")


class _PublicAddresses(AbstractResolver):
    """Resolves names, and refuses those that lead to forbidden addresses."""

    def __init__(self, inner: AbstractResolver, egress: Egress) -> None:
        self._inner = inner
        self._egress = egress

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        refusals = [self._egress.refusal(each["host"]) for each in found]
        refusal = next(filter(None, refusals), None)
        if refusal is not None:
            raise OSError(f"{host} resolves to a forbidden address: {refusal}")
        return found

    async def close(self) -> None:
        await self._inner.close()


def _literals(host: str) -> list[Address]:
    try:
        return [ip_address(host)]
    except ValueError:
        return []
