"""HTTP/1.1 messages as bytes, which may be invalid on purpose, and TLS certificates."""

import asyncio
import importlib
import ssl
import warnings
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

MAX_HEAD: Final = 65_536
Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request as the client wrote it."""

    method: str
    target: str
    """Path and query, not decoded."""
    headers: Fields = ()
    """Names in lower case, in the order sent, with repetitions."""

    def values(self, name: str) -> list[str]:
        """Return the value of every field line called *name*."""
        return [value for field, value in self.headers if field == name.lower()]


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """An answer that the server writes correctly: length, HEAD, keep-alive."""

    status: int
    headers: Fields = ()
    body: bytes = b""
    delay: float = 0.0
    """Seconds before the first byte."""

    def value(self, name: str) -> str | None:
        """Return the first field called *name*."""
        return next((v for field, v in self.headers if field.lower() == name.lower()), None)

    def without(self, name: str) -> "WholeAnswer":
        """Return the same answer with no field called *name*."""
        others = tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        return replace(self, headers=others)

    def having(self, name: str, value: str) -> "WholeAnswer":
        """Return the same answer with one field called *name*."""
        others = self.without(name).headers
        return replace(self, headers=(*others, (name, value)))


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """Bytes that are sent unchanged; an empty piece only tests for the client's presence."""

    pieces: AsyncIterator[bytes]
    keeps_alive: bool = False
    """Whether the connection stays open for another request."""
    resets: bool = False
    """Whether it ends with a TCP reset."""


Reply = WholeAnswer | RawAnswer


def head(status: int, fields: Fields) -> bytes:
    """Return the status line, the header fields and the empty line."""
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        reason = "Whatever"
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in fields)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def written(answer: WholeAnswer, method: str) -> bytes:
    """Return the bytes of an answer to a request with *method*."""
    fields = answer.headers
    if answer.status not in (204, 304):
        fields = (*fields, ("Content-Length", str(len(answer.body))))
    return head(answer.status, fields) + (b"" if method == "HEAD" else answer.body)


async def stream(*pieces: bytes) -> AsyncIterator[bytes]:
    """Yield *pieces*, one after the other."""
    for piece in pieces:
        yield piece


def chunk(data: bytes) -> bytes:
    """Return *data* as one chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


async def read_request(reader: asyncio.StreamReader) -> WireRequest | None:
    """Read the header of a request; None if the client left or did not send HTTP.

    Raises LimitOverrunError past `MAX_HEAD` bytes.
    """
    try:
        text = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    request_line, *lines = text[:-4].split("\r\n")
    words = request_line.split(" ")
    if len(words) != 3:
        return None
    pairs = (line.partition(":") for line in lines)
    fields = tuple((name.strip().lower(), value.strip()) for name, _, value in pairs)
    return WireRequest(words[0], words[1], fields)


if TYPE_CHECKING:
    import trustme

HOST: Final = "127.0.0.1"


class MissingLibrary(RuntimeError):
    """A fault needs a library that is not installed; says how to install it."""


def _new_authority() -> "trustme.CA":
    try:
        library = importlib.import_module("trustme")
    except ImportError as error:
        why = "TLS faults need the library trustme: pip install trustme"
        raise MissingLibrary(why) from error
    return cast("trustme.CA", library.CA())


class Authority:
    """Issues certificates that only `client` trusts."""

    @cached_property
    def _ca(self) -> "trustme.CA":
        return _new_authority()

    def certificate(self) -> bytes:
        """Return the certificate of the authority as PEM."""
        return self._ca.cert_pem.bytes()

    def client(self) -> ssl.SSLContext:
        """Return the context of a client that trusts this authority."""
        context = ssl.create_default_context()
        self._ca.configure_trust(context)
        return context

    def valid(self) -> ssl.SSLContext:
        """Return the context of a server with a valid certificate."""
        return _server(self._ca.issue_cert(HOST))

    def expired(self) -> ssl.SSLContext:
        """Return the context of a server whose certificate expired in 2001."""
        old, end = datetime(2000, 1, 1, tzinfo=UTC), datetime(2001, 1, 1, tzinfo=UTC)
        return _server(self._ca.issue_cert(HOST, not_before=old, not_after=end))

    def wrong_host(self) -> ssl.SSLContext:
        """Return the context of a server whose certificate is for another host."""
        return _server(self._ca.issue_cert("archive.example"))

    def outdated(self) -> ssl.SSLContext:
        """Return the context of a server that supports nothing newer than TLS 1.0."""
        context = self.valid()
        with warnings.catch_warnings():
            # Python warns of this version, which is wanted here.
            warnings.simplefilter("ignore", DeprecationWarning)
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1
        return context

    def self_signed(self) -> ssl.SSLContext:
        """Return the context of a server with a self-signed certificate."""
        root = _new_authority()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with root.cert_pem.tempfile() as certificate, root.private_key_pem.tempfile() as key:
            context.load_cert_chain(certificate, key)
        return context


def _server(certificate: "trustme.LeafCert") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context
