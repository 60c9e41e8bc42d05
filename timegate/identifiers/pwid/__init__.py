"""Readers of the PWID in its three notations: URN, ``pwid:`` URI, and HTTP interface."""

from timegate.identifiers.pwid.uri import read_pwid_http, read_pwid_uri
from timegate.identifiers.pwid.urn import read_common_urn, read_pwid_urn

__all__ = ["read_common_urn", "read_pwid_http", "read_pwid_uri", "read_pwid_urn"]
