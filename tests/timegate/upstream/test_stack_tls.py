import asyncio
import ssl
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from archives.errors import Unreachable
from archives.source import Request
from tests.timegate.upstream.raw_server import OK, RawServer, entry, fetching, serving, silence
from timegate.upstream.http_client import Timeouts

HASTY = Timeouts(connect=0.2, tls=0.2, first_byte=0.2)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def server_side(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def client_side(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def ask(server: RawServer, tls: ssl.SSLContext | None) -> int:
    async with (
        fetching(entry(server, "https"), timeouts=HASTY, tls=tls) as fetch,
        fetch(Request("GET", server.url("/", "https"), "memento")) as reply,
    ):
        return reply.status


async def test_a_valid_certificate_is_accepted(authority: trustme.CA) -> None:
    tls = server_side(authority.issue_cert("127.0.0.1"))
    async with serving(OK, tls=tls) as server:
        assert await ask(server, client_side(authority)) == 200


async def test_an_expired_certificate_is_rejected_for_that_reason(
    authority: trustme.CA,
) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    tls = server_side(authority.issue_cert("127.0.0.1", not_after=yesterday))
    async with serving(OK, tls=tls) as server:
        with pytest.raises(Unreachable, match="TLS: certificate has expired"):
            await ask(server, client_side(authority))

    assert server.heads == []


async def test_a_certificate_for_another_host_is_rejected(authority: trustme.CA) -> None:
    tls = server_side(authority.issue_cert("other.example"))
    async with serving(OK, tls=tls) as server:
        with pytest.raises(Unreachable, match=r"TLS: .*not valid for '127\.0\.0\.1'"):
            await ask(server, client_side(authority))

    assert server.heads == []


async def test_a_certificate_of_an_unknown_authority_is_rejected(authority: trustme.CA) -> None:
    tls = server_side(authority.issue_cert("127.0.0.1"))
    async with serving(OK, tls=tls) as server:
        with pytest.raises(Unreachable, match=r"TLS: .*certificate"):
            await ask(server, None)

    assert server.heads == []


async def test_a_server_without_tls_is_unreachable_and_not_tried_without_it() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        seen.append(await reader.read())

    seen: list[bytes] = []
    async with serving(greeting=plain) as server:
        with pytest.raises(Unreachable, match="TLS: "):
            await ask(server, None)

    assert not any(b"GET" in each for each in seen)


async def test_a_handshake_that_hangs_is_given_up() -> None:
    async with serving(greeting=silence) as server:
        with pytest.raises(Unreachable, match="no connection in time"):
            await ask(server, None)
