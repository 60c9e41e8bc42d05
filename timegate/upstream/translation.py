"""The boundary where foreign errors become ours; what aiohttp raises ends here.

Unreachable: nothing was said. Misbehaved: something was, and it is no HTTP. Each says why in
words for the person who reads "who did not answer".
"""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from archives.errors import ArchiveError, Misbehaved, Unreachable


class ForbiddenAddress(OSError):
    """Raised at the socket: the name of an archive leads where we must not connect."""


@contextmanager
def translated(archive: str, url: str) -> Iterator[None]:
    """Turn what fails before an answer has arrived into an ArchiveError."""
    try:
        yield
    except (aiohttp.ClientError, HttpProcessingError, OSError, TimeoutError) as error:
        raise _explained(archive, url, error) from error


@contextmanager
def translated_body(archive: str, url: str) -> Iterator[None]:
    """Turn what fails while the body is read into an ArchiveError.

    Silence is Unreachable; a connection that ends too soon is Misbehaved, because part of an
    answer must never be taken for the whole.
    """
    try:
        yield
    except TimeoutError as error:
        raise Unreachable(archive, url, _timeout(error)) from error
    except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
        why = f"body breaks off: {_first_line(error)}"
        raise Misbehaved(archive, url, why) from error


def _explained(archive: str, url: str, error: Exception) -> ArchiveError:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    match error:
        case _ if isinstance(cause, ForbiddenAddress):
            return Misbehaved(archive, url, f"its name leads where we must not go: {cause}")
        case aiohttp.ClientResponseError():
            why = f"broken HTTP: {_first_line(error.message or type(error).__name__)}"
            return Misbehaved(archive, url, why)
        case HttpProcessingError() | aiohttp.ClientPayloadError():
            return Misbehaved(archive, url, f"broken HTTP: {_first_line(error)}")
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return Misbehaved(archive, url, "leads to an address that is no http(s) URL")
        case _:
            return Unreachable(archive, url, _why_unreachable(error))


def _why_unreachable(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorDNSError():
            cause = error.os_error.strerror or error.os_error
            return f"its name cannot be resolved: {_first_line(cause)}"
        case ssl.SSLError() | aiohttp.ServerFingerprintMismatch():
            return f"TLS: {_why_untrusted(error)}"
        case TimeoutError():
            return _timeout(error)
        case aiohttp.ServerDisconnectedError():
            return "closed the connection without an answer"
        case OSError(errno=int(number)) if number > 0:
            return f"cannot connect: {os.strerror(number)}"
        case _:
            return f"no connection: {_first_line(error)}"


def _why_untrusted(error: Exception) -> str:
    """Say what OpenSSL said: "certificate has expired", "unsupported protocol"."""
    match error.__cause__ or error:
        case ssl.SSLCertVerificationError(verify_message=str(message)):
            return message.rstrip(".")
        case ssl.SSLError(reason=str(reason)):
            return reason.lower().replace("_", " ")
        case cause:
            return _first_line(cause)


def _timeout(error: Exception) -> str:
    match error:
        case aiohttp.ConnectionTimeoutError():
            return "no connection in time (TCP and TLS)"
        case aiohttp.SocketTimeoutError():
            return "fell silent"
        case _:
            return str(error) or "took too long in all"


def _first_line(error: object) -> str:
    """Return what *error* says, fit for one line: it may quote what the archive sent."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"
