"""A Memento archive that is right by default and wrong on demand, one named fault at a time.

async with hostile_archive(captures, fault="loop-self") as archive:
    archive.url, archive.addresses.timegate(url), archive.journal.requests
"""

from tests.hostile.captures import EXAMPLE, Capture, captures_of
from tests.hostile.faults import FAULTS
from tests.hostile.server import Archive, hostile_archive, served
from tests.hostile.site import Manner

__all__ = [
    "EXAMPLE",
    "FAULTS",
    "Archive",
    "Capture",
    "Manner",
    "captures_of",
    "hostile_archive",
    "served",
]
