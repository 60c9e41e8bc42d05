"""TimeMaps: the lists of many archives, merged in order of time and written while they come."""

from timegate.timemap.body import told, written
from timegate.timemap.lists import ListMemory, Lists
from timegate.timemap.merge import Merge, Pace, merged
from timegate.timemap.writing import FORMATS, LINK, LINKSET, Ends, LinksetWriter, Names, Writer

__all__ = [
    "FORMATS",
    "LINK",
    "LINKSET",
    "Ends",
    "LinksetWriter",
    "ListMemory",
    "Lists",
    "Merge",
    "Names",
    "Pace",
    "Writer",
    "merged",
    "told",
    "written",
]
