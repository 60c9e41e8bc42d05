"""The boundary where foreign errors become ours; what sockets, TLS and llhttp say ends here.

Unreachable: nothing was said. Misbehaved: something was, and it is no HTTP. Queued: it is we
who could not ask. Each says why in words for the person who reads "who did not answer".
"""

import errno
import os
import ssl
from typing import Final

from archives.errors import ArchiveError, Misbehaved, Queued, Unreachable
from timegate.upstream.dns import UnknownName
from timegate.upstream.http1 import BrokenResponse, ConnectionDropped

FOREIGN: Final = (BrokenResponse, OSError)
"""All that may go wrong between us and an archive; TLS and timeouts are OSErrors."""
_OURS: Final = frozenset(
    (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL)
)
"""No descriptor, memory or port is left here. Taken for faults of the archives, these would put
all of them to rest at once, for 30 s."""
_MOMENT: Final = 1.0


class ForbiddenAddress(OSError):
    """Raised before connecting: the name of an archive leads where we must not go."""


def explained(archive: str, url: str, error: Exception) -> ArchiveError:
    """Return what it means that *error* came before an answer."""
    match error:
        case BrokenResponse():
            return Misbehaved(archive, url, f"broken HTTP: {_first_line(error)}")
        case ForbiddenAddress():
            return Misbehaved(archive, url, f"its name leads where we must not go: {error}")
        case OSError(errno=int(number)) if number in _OURS:
            return Queued(
                archive, url, f"no room for a connection: {os.strerror(number)}", _MOMENT
            )
        case _:
            return Unreachable(archive, url, _why_unreachable(error))


def explained_in_body(archive: str, url: str, error: Exception) -> ArchiveError:
    """Return what it means that *error* came while the body was read.

    Silence is Unreachable; a connection that ends too soon is Misbehaved, because part of an
    answer must never be taken for the whole.
    """
    if isinstance(error, TimeoutError):
        return Unreachable(archive, url, _timeout(error))
    return Misbehaved(archive, url, f"body breaks off: {_first_line(error)}")


def _why_unreachable(error: Exception) -> str:
    match error:
        case UnknownName():
            return f"its name cannot be resolved: {_first_line(error.strerror or error)}"
        case ssl.SSLError():
            return f"TLS: {_why_untrusted(error)}"
        case TimeoutError():
            return _timeout(error)
        case ConnectionDropped():
            return _first_line(error)
        case OSError(errno=int(number)) if number > 0:
            return f"cannot connect: {os.strerror(number)}"
        case _:
            return f"no connection: {_first_line(error)}"


def _why_untrusted(error: ssl.SSLError) -> str:
    """Say what OpenSSL said: "certificate has expired", "unsupported protocol"."""
    match error:
        case ssl.SSLCertVerificationError(verify_message=str(message)):
            return message.rstrip(".")
        case ssl.SSLError(reason=str(reason)):
            return reason.lower().replace("_", " ")
        case _:
            return _first_line(error)


def _timeout(error: TimeoutError) -> str:
    # The kernel's own, after minutes of lost packets, has a number instead of our words.
    if error.errno is not None:
        return f"connection lost: {os.strerror(error.errno)}"
    return _first_line(str(error) or "took too long in all")


def _first_line(error: object) -> str:
    """Return what *error* says, fit for one line: it may quote what the archive sent."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:199] + "…"
