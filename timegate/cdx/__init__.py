"""CDX server: captures of a URL as rows, in the dialects of the Wayback Machine and pywb."""

from timegate.cdx.formats import (
    FILED_FIELDS,
    UNKNOWN,
    Capture,
    CdxFormat,
    Cdxj,
    FiledCapture,
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
    "FILED_FIELDS",
    "UNKNOWN",
    "Capture",
    "CdxFormat",
    "CdxQuery",
    "Cdxj",
    "Dialect",
    "FiledCapture",
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
