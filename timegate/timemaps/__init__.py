"""TimeMaps: the lists of many archives, merged in order of time and streamed."""

from timegate.timemaps.formats import (
    FORMATS,
    LINK,
    LINKSET,
    Ends,
    LinksetWriter,
    TimeMapLinks,
    TimeMapWriter,
    merge_summary,
    written,
)
from timegate.timemaps.lists import ArchiveLists
from timegate.timemaps.merge import Merge, MergeDeadlines, merged

__all__ = [
    "FORMATS",
    "LINK",
    "LINKSET",
    "ArchiveLists",
    "Ends",
    "LinksetWriter",
    "Merge",
    "MergeDeadlines",
    "TimeMapLinks",
    "TimeMapWriter",
    "merge_summary",
    "merged",
    "written",
]
