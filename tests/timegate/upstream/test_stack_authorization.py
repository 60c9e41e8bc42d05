"""A secret goes to the one origin it is for, over https, and nowhere else (R-26)."""

import ssl
from dataclasses import replace

import trustme

from archives.model import ArchiveEntry
from archives.source import Request
from tests.timegate.upstream.raw_server import OK, RawServer, entry, serving
from timegate.config.secrets import Secret
from timegate.upstream.stack import UpstreamSettings, open_fetchers

SECRET = Secret("Bearer hush-hush")


def certified() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    authority = trustme.CA()
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(theirs)
    ours = ssl.create_default_context()
    authority.configure_trust(ours)
    return theirs, ours


async def ask(archive: ArchiveEntry, url: str, tls: ssl.SSLContext | None) -> None:
    settings = UpstreamSettings(
        "mailto:x@example.org", tls=tls, authorizations={archive.id: SECRET, "other": SECRET}
    )
    async with (
        open_fetchers([archive], settings) as fetchers,
        fetchers[archive.id](Request("GET", url, "memento")),
    ):
        pass


def was_sent_the_secret(server: RawServer) -> bool:
    (head,) = server.heads
    return b"Authorization: Bearer hush-hush\r\n" in head


async def test_the_secret_is_sent_over_https() -> None:
    theirs, ours = certified()
    async with serving(OK, tls=theirs) as server:
        await ask(entry(server, "https"), server.url("/", "https"), ours)

    assert was_sent_the_secret(server)


async def test_the_secret_is_never_sent_over_http() -> None:
    async with serving(OK) as server:
        await ask(entry(server, "http"), server.url("/"), None)

    assert not was_sent_the_secret(server)


async def test_the_secret_is_not_sent_to_another_origin_of_the_archive() -> None:
    theirs, ours = certified()
    async with serving(OK, tls=theirs) as first, serving(OK, tls=theirs) as second:
        both = replace(entry(first, "https"), replay=second.url("/{time14}/{uri}", "https"))
        await ask(both, second.url("/", "https"), ours)

    assert not was_sent_the_secret(second)
    assert first.heads == []


async def test_the_secret_is_not_sent_to_another_archive() -> None:
    theirs, ours = certified()
    async with serving(OK, tls=theirs) as server:
        archive = replace(entry(server, "https"), id="somebody-else")
        settings = UpstreamSettings(
            "mailto:x@y.org", tls=ours, authorizations={"other": SECRET}
        )
        async with (
            open_fetchers([archive], settings) as fetchers,
            fetchers[archive.id](Request("GET", server.url("/", "https"), "memento")),
        ):
            pass

    assert not was_sent_the_secret(server)
