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
from timegate.cdx.range_lists import RangeLists
from timegate.cdx.ranges import RangeMerge
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
    "RangeLists",
    "RangeMerge",
    "Selection",
    "WaybackArray",
    "WaybackLines",
    "moment_of",
    "parameters_in",
    "query_from",
    "timestamp",
]
