"""CDX: the captures of a URL as rows, in the dialects of the Wayback Machine and of pywb."""

from timegate.cdx.formats import (
    FILED,
    UNKNOWN,
    Capture,
    CdxFormat,
    Cdxj,
    Filed,
    PywbObjects,
    WaybackArray,
    WaybackLines,
    timestamp,
)
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
    "Capture",
    "CdxFormat",
    "CdxQuery",
    "Cdxj",
    "Dialect",
    "Filed",
    "Parameters",
    "PywbObjects",
    "Selection",
    "WaybackArray",
    "WaybackLines",
    "moment_of",
    "parameters_in",
    "query_from",
    "timestamp",
]
