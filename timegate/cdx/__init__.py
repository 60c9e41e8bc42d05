"""CDX: the captures of a URL as rows, in the dialects of the Wayback Machine and of pywb."""

from timegate.cdx.fields import FILED, UNKNOWN, Capture, Filed, timestamp
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
    "FILED",
    "UNKNOWN",
    "Array",
    "Capture",
    "CdxQuery",
    "Cdxj",
    "Dialect",
    "Filed",
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
