"""HTTP/1.1 as bytes: just enough to be right, and open enough to be wrong on purpose."""

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
    """What a client asked, as it wrote it."""

    method: str
    target: str
    """Path and query, not decoded."""
    headers: Fields = ()
    """Names in lower case, in the order sent, repeated where they were."""

    def values(self, name: str) -> list[str]:
        """Return the value of every field line called *name*."""
        return [value for field, value in self.headers if field == name.lower()]


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """A whole answer, which the server writes rightly: length, HEAD, keep-alive."""

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
        kept = tuple(pair for pair in self.headers if pair[0].lower() != name.lower())
        return replace(self, headers=kept)

    def having(self, name: str, value: str) -> "WholeAnswer":
        """Return the same answer with one field called *name*."""
        gone = self.without(name)
        return replace(gone, headers=(*gone.headers, (name, value)))


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """Bytes that go out as they are; an empty piece only asks whether the client is there."""

    pieces: AsyncIterator[bytes]
    stays: bool = False
    """Whether the connection is kept for another request."""
    resets: bool = False
    """Whether it ends with a TCP reset."""


Reply = WholeAnswer | RawAnswer


def head(status: int, fields: Fields) -> bytes:
    """Write a status line and header fields, ended by the empty line."""
    try:
        reason = HTTPStatus(status).phrase
    except ValueError:
        reason = "Whatever"
    lines = [f"HTTP/1.1 {status} {reason}", *(f"{name}: {value}" for name, value in fields)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def written(answer: WholeAnswer, method: str) -> bytes:
    """Write a whole answer to a request with *method*."""
    fields = answer.headers
    if answer.status not in (204, 304):
        fields = (*fields, ("Content-Length", str(len(answer.body))))
    return head(answer.status, fields) + (b"" if method == "HEAD" else answer.body)


async def once(*pieces: bytes) -> AsyncIterator[bytes]:
    """Yield *pieces*, one after the other."""
    for piece in pieces:
        yield piece


def chunk(data: bytes) -> bytes:
    """Write *data* as one chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


async def read_request(reader: asyncio.StreamReader) -> WireRequest | None:
    """Read one request head; None if the client left, or sent no HTTP.

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
    """Raised for a fault whose library is not installed: which one, and how to get it."""


def _new_authority() -> "trustme.CA":
    try:
        library = importlib.import_module("trustme")
    except ImportError as error:
        why = "faults of TLS need the library trustme: pip install trustme"
        raise MissingLibrary(why) from error
    return cast("trustme.CA", library.CA())


class Authority:
    """Issues certificates that only `client` trusts."""

    @cached_property
    def _ca(self) -> "trustme.CA":
        return _new_authority()

    def certificate(self) -> bytes:
        """Return what a client has to trust, as PEM."""
        return self._ca.cert_pem.bytes()

    def client(self) -> ssl.SSLContext:
        """Return the settings of a client that trusts this authority."""
        context = ssl.create_default_context()
        self._ca.configure_trust(context)
        return context

    def right(self) -> ssl.SSLContext:
        """Return the settings of a server with a good certificate."""
        return _server(self._ca.issue_cert(HOST))

    def expired(self) -> ssl.SSLContext:
        """Return those of one whose certificate ran out in 2001."""
        old, end = datetime(2000, 1, 1, tzinfo=UTC), datetime(2001, 1, 1, tzinfo=UTC)
        return _server(self._ca.issue_cert(HOST, not_before=old, not_after=end))

    def wrong_host(self) -> ssl.SSLContext:
        """Return those of one whose certificate is for another host."""
        return _server(self._ca.issue_cert("archive.example"))

    def outdated(self) -> ssl.SSLContext:
        """Return those of one that knows nothing newer than TLS 1.0."""
        context = self.right()
        with warnings.catch_warnings():
            # Python warns of this version, rightly; it is the point.
            warnings.simplefilter("ignore", DeprecationWarning)
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1
        return context

    def self_signed(self) -> ssl.SSLContext:
        """Return those of one that vouches for itself: the certificate of an unknown root."""
        root = _new_authority()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with root.cert_pem.tempfile() as certificate, root.private_key_pem.tempfile() as key:
            context.load_cert_chain(certificate, key)
        return context


def _server(certificate: "trustme.LeafCert") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context
