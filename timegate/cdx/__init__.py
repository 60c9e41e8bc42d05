"""CDX: the captures of a URL as rows, in the dialects of the Wayback Machine and of pywb."""

from timegate.cdx.fields import UNKNOWN, timestamp
from timegate.cdx.formats import Array, Cdxj, Format, Lines, Objects
from timegate.cdx.query import (
    CdxQuery,
    Dialect,
    Parameters,
    moment_of,
    parameters_in,
    query_from,
)
from timegate.cdx.selection import Selection

__all__ = [
    "UNKNOWN",
    "Array",
    "CdxQuery",
    "Cdxj",
    "Dialect",
    "Format",
    "Lines",
    "Objects",
    "Parameters",
    "Selection",
    "moment_of",
    "parameters_in",
    "query_from",
    "timestamp",
]
