"""A Memento archive that is right by default and wrong on demand, one named fault at a time.

async with misbehaving_archive(captures, fault="loop-self") as archive:
    archive.url, archive.addresses.timegate(url), archive.journal.requests
"""

from timegate.misbehave.archive import Archive
from timegate.misbehave.faults import FAULTS
from timegate.misbehave.server import misbehaving_archive, served
from timegate.misbehave.site import EXAMPLE, FakeCapture, Manner, captures_of

__all__ = [
    "EXAMPLE",
    "FAULTS",
    "Archive",
    "FakeCapture",
    "Manner",
    "captures_of",
    "misbehaving_archive",
    "served",
]
