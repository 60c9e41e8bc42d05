"""A Memento archive for tests that is correct by default and has named faults on demand.

async with misbehaving_archive(captures, fault="loop-self") as archive:
    archive.url, archive.addresses.timegate(url), archive.journal.requests
"""

from timegate.misbehave.archive import Archive
from timegate.misbehave.faults import FAULTS
from timegate.misbehave.server import misbehaving_archive, served
from timegate.misbehave.site import EXAMPLE, ArchiveOptions, FakeCapture, captures_of

__all__ = [
    "EXAMPLE",
    "FAULTS",
    "Archive",
    "ArchiveOptions",
    "FakeCapture",
    "captures_of",
    "misbehaving_archive",
    "served",
]
