"""TimeMaps: the lists of many archives, merged in order of time and written while they come."""

from timegate.timemap.body import told, written
from timegate.timemap.lists import ArchiveLists, ListCache
from timegate.timemap.merge import Merge, MergeDeadlines, merged
from timegate.timemap.writing import (
    FORMATS,
    LINK,
    LINKSET,
    Ends,
    LinksetWriter,
    TimeMapLinks,
    TimeMapWriter,
)

__all__ = [
    "FORMATS",
    "LINK",
    "LINKSET",
    "ArchiveLists",
    "Ends",
    "LinksetWriter",
    "ListCache",
    "Merge",
    "MergeDeadlines",
    "TimeMapLinks",
    "TimeMapWriter",
    "merged",
    "told",
    "written",
]
