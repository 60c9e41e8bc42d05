"""Readers of the PWID in its three notations: URN, ``pwid:`` URI, and HTTP interface."""

from timegate.identifiers.pwid.uri import PWID_HTTP, PWID_URI
from timegate.identifiers.pwid.urn import PWID_URN

__all__ = ["PWID_HTTP", "PWID_URI", "PWID_URN"]
