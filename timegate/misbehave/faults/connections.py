"""Faults before the first byte of HTTP: TLS, and connections that are no use."""

from typing import Final

from timegate.misbehave.faults.fault import Fault
from timegate.misbehave.tls import Authority

tls_right: Final = Fault(
    "tls-right", "No fault: TLS with a good certificate.", tls=Authority.right
)
tls_expired: Final = Fault(
    "tls-expired", "The certificate ran out in 2001.", tls=Authority.expired
)
tls_self_signed: Final = Fault(
    "tls-self-signed", "The certificate vouches for itself.", tls=Authority.self_signed
)
tls_wrong_host: Final = Fault(
    "tls-wrong-host", "The certificate is for archive.example.", tls=Authority.wrong_host
)
tls_outdated: Final = Fault(
    "tls-outdated", "The archive knows nothing newer than TLS 1.0.", tls=Authority.outdated
)
tls_hung: Final = Fault(
    "tls-hung", "The TLS handshake is never answered.", tls=Authority.right, silent=True
)
close_at_once: Final = Fault(
    "close-at-once", "Every connection is closed before a request is read.", hangs_up=True
)
