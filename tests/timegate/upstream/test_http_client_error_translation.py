import errno
import socket
import ssl

import pytest

from archives.errors import ArchiveError, Misbehaved, Queued, Unreachable
from timegate.upstream.connection_pool import ForbiddenAddress
from timegate.upstream.dns import UnknownName
from timegate.upstream.http1 import BrokenOff, BrokenResponse, ConnectionDropped
from timegate.upstream.http_client import FOREIGN, explained, explained_in_body

HERE = "https://a.example/"
EXPIRED = ssl.SSLCertVerificationError(1, "certificate verify failed")
EXPIRED.verify_message = "certificate has expired."
UNTRUSTED = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")

# What goes wrong, what becomes of it, and what a person reads.
CASES: list[tuple[Exception, type[ArchiveError], str]] = [
    (BrokenResponse("Invalid header token"), Misbehaved, "broken HTTP: Invalid header token"),
    (BrokenResponse("a\r\nb" * 500), Misbehaved, "broken HTTP: a ba b"),
    (
        ForbiddenAddress("127.0.0.1 is a private address"),
        Misbehaved,
        "its name resolves to a forbidden address: 127.0.0.1 is a private address",
    ),
    (
        UnknownName(None, "Domain name not found"),
        Unreachable,
        "its name cannot be resolved: Domain name not found",
    ),
    (ConnectionRefusedError(111, "?"), Unreachable, "cannot connect: Connection refused"),
    (OSError(101, "?"), Unreachable, "cannot connect: Network is unreachable"),
    (
        OSError(errno.EMFILE, "?"),
        Queued,
        "no room for a connection: Too many open files, next try in 1 s",
    ),
    (OSError("no number"), Unreachable, "no connection: no number"),
    (ConnectionResetError(), Unreachable, "no connection: ConnectionResetError"),
    (ConnectionDropped("closed the connection"), Unreachable, "closed the connection"),
    (BrokenOff("closed the connection"), Unreachable, "no connection: closed the connection"),
    (TimeoutError("did not answer in time"), Unreachable, "did not answer in time"),
    (TimeoutError(), Unreachable, "took too long in all"),
    (
        TimeoutError(errno.ETIMEDOUT, "?"),
        Unreachable,
        "connection lost: Connection timed out",
    ),
    (EXPIRED, Unreachable, "TLS: certificate has expired"),
    (UNTRUSTED, Unreachable, "TLS: [SSL: WRONG_VERSION_NUMBER] wrong version number"),
    (socket.gaierror(-2, "Name or service not known"), Unreachable, "no connection: "),
]


@pytest.mark.parametrize(("error", "becomes", "why"), CASES)
def test_every_library_error_becomes_an_archive_error_with_a_readable_message(
    error: Exception, becomes: type[ArchiveError], why: str
) -> None:
    ours = explained("a", HERE, error)

    assert isinstance(error, FOREIGN)
    assert type(ours) is becomes
    assert ours.why.startswith(why)
    assert len(ours.why) < 300
    assert "\n" not in ours.why


@pytest.mark.parametrize("error", [error for error, _, _ in CASES])
def test_in_a_body_only_a_timeout_is_unreachable(error: Exception) -> None:
    ours = explained_in_body("a", HERE, error)

    assert isinstance(ours, Unreachable) == isinstance(error, TimeoutError)
    assert isinstance(ours, Misbehaved) != isinstance(error, TimeoutError)
