"""Certificates of an authority of our own: a right one, and every wrong one.

Nothing but the TLS faults needs `trustme`, so it is imported when one is asked for.
"""

import importlib
import ssl
import warnings
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

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
