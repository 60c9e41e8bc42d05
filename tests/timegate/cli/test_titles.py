"""Fetchers for titles and bytes of mementos."""

import ssl
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from archives.registry import Registry
from archives.source import Request
from tests.timegate.upstream.raw_server import OK, entry, serving
from timegate.cli.titles import opened_fetchers
from timegate.config import load_config
from timegate.config.secrets import Secret


async def test_the_bytes_of_a_restricted_archive_are_fetched_with_its_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    async with serving(OK, tls=tls) as server:
        archive = entry(server, "https")
        config = replace(
            load_config(None),
            registry=Registry([archive]),
            private=frozenset([archive.id]),
            authorizations={archive.id: Secret("Bearer hush-hush")},
        )
        async with (
            opened_fetchers(config, "http://127.0.0.1:1208") as fetchers,
            fetchers[archive.id](Request("GET", server.url("/", "https"), "memento")) as reply,
        ):
            assert reply.status == 200

    (head,) = server.heads
    assert b"Authorization: Bearer hush-hush\r\n" in head
