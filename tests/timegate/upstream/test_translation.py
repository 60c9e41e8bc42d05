import ssl
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import aiohttp
import aiohttp.http_exceptions as http
import pytest
from aiohttp.client_exceptions import UnixClientConnectorError
from aiohttp.client_reqrep import ConnectionKey, RequestInfo
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from archives.errors import ArchiveError, Misbehaved, Unreachable
from timegate.upstream.connection import _Dropped
from timegate.upstream.translation import ForbiddenAddress, translated, translated_body

KEY = cast(ConnectionKey, SimpleNamespace(host="a.example", port=443, ssl=True, is_ssl=True))
HERE = URL("https://a.example/")
INFO = RequestInfo(HERE, "GET", CIMultiDictProxy(CIMultiDict()), HERE)
REFUSED = ConnectionRefusedError(111, "Connect call failed ('192.0.2.1', 443)")
TLS = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number")

# One of each kind aiohttp has, and what becomes of it.
BECOME: dict[type[ArchiveError], list[Exception]] = {
    Unreachable: [
        aiohttp.ClientError("?"),
        aiohttp.ClientConnectionError("?"),
        aiohttp.ClientConnectionResetError("?"),
        aiohttp.ClientOSError(104, "reset"),
        aiohttp.ClientConnectorError(KEY, REFUSED),
        aiohttp.ClientConnectorDNSError(KEY, OSError(None, "no such name")),
        aiohttp.ClientProxyConnectionError(KEY, REFUSED),
        aiohttp.ClientSSLError(KEY, TLS),
        aiohttp.ClientConnectorSSLError(KEY, TLS),
        aiohttp.ClientConnectorCertificateError(KEY, ssl.CertificateError("expired")),
        UnixClientConnectorError("/socket", KEY, REFUSED),
        aiohttp.ServerConnectionError("?"),
        aiohttp.ServerDisconnectedError(),
        aiohttp.ServerTimeoutError(),
        aiohttp.ConnectionTimeoutError(),
        aiohttp.SocketTimeoutError(),
        aiohttp.ServerFingerprintMismatch(b"a", b"b", "a.example", 443),
        aiohttp.UploadAbortedError(),
        aiohttp.RedirectClientError(),
        _Dropped("closed the connection without an answer"),
    ],
    Misbehaved: [
        aiohttp.ClientResponseError(INFO, (), status=400, message="Bad status line"),
        aiohttp.ContentTypeError(INFO, ()),
        aiohttp.WSServerHandshakeError(INFO, ()),
        aiohttp.ClientHttpProxyError(INFO, ()),
        aiohttp.TooManyRedirects(INFO, ()),
        aiohttp.ClientPayloadError("?"),
        aiohttp.InvalidURL("x"),
        aiohttp.InvalidUrlClientError("x"),
        aiohttp.InvalidUrlRedirectClientError("x"),
        aiohttp.NonHttpUrlClientError("x"),
        aiohttp.NonHttpUrlRedirectClientError("x"),
        http.HttpProcessingError(),
        http.BadHttpMessage("?"),
        http.HttpBadRequest("?"),
        http.PayloadEncodingError("?"),
        http.ContentEncodingError("?"),
        http.TransferEncodingError("?"),
        http.ContentLengthError("?"),
        http.DecompressSizeError("?"),
        http.LineTooLong("x" * 5000),
        http.InvalidHeader("x"),
        http.BadStatusLine("x"),
        http.BadHttpMethod("x"),
        http.InvalidURLError("x"),
    ],
}
ERRORS: dict[type[BaseException], tuple[Exception, type[ArchiveError]]] = {
    type(error): (error, becomes) for becomes, errors in BECOME.items() for error in errors
}


def kinds(of: type[BaseException]) -> Iterator[type[BaseException]]:
    yield of
    for kind in of.__subclasses__():
        yield from kinds(kind)


def test_no_kind_of_error_that_aiohttp_has_is_forgotten() -> None:
    existing = {*kinds(aiohttp.ClientError), *kinds(http.HttpProcessingError)}

    assert existing == ERRORS.keys()


@pytest.mark.parametrize(("error", "becomes"), ERRORS.values())
def test_every_error_of_aiohttp_becomes_one_of_ours(
    error: Exception, becomes: type[ArchiveError]
) -> None:
    with pytest.raises(ArchiveError) as caught, translated("a", "https://a.example/"):
        raise error

    assert type(caught.value) is becomes
    assert caught.value.__cause__ is error
    assert caught.value.why
    assert len(caught.value.why) < 300
    assert "\n" not in caught.value.why


@pytest.mark.parametrize(("error", "becomes"), ERRORS.values())
def test_in_a_body_only_silence_is_unreachable(
    error: Exception, becomes: type[ArchiveError]
) -> None:
    del becomes
    with pytest.raises(ArchiveError) as caught, translated_body("a", "https://a.example/"):
        raise error

    assert isinstance(caught.value, Unreachable) == isinstance(error, TimeoutError)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (REFUSED, "cannot connect: Connection refused"),
        (OSError(101, "?"), "cannot connect: Network is unreachable"),
        (TimeoutError(), "took too long in all"),
        (TLS, "TLS: [SSL: WRONG_VERSION_NUMBER] wrong version number"),
        (aiohttp.ServerDisconnectedError(), "closed the connection without an answer"),
        (
            aiohttp.ClientConnectorDNSError(KEY, OSError(None, "Domain name not found")),
            "its name cannot be resolved: Domain name not found",
        ),
        (
            aiohttp.ClientConnectorError(
                KEY, ForbiddenAddress("127.0.0.1 is a private address")
            ),
            "its name leads where we must not go: 127.0.0.1 is a private address",
        ),
    ],
)
def test_the_reason_is_one_that_a_person_understands(error: Exception, why: str) -> None:
    with pytest.raises(ArchiveError) as caught, translated("a", "https://a.example/"):
        raise error

    assert caught.value.why == why


def test_a_bug_of_ours_stays_a_bug() -> None:
    with pytest.raises(KeyError), translated("a", ""):
        raise KeyError
    with pytest.raises(KeyError), translated_body("a", ""):
        raise KeyError
