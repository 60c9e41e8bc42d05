"""The title of an archived page, read from the beginning of the copy itself."""

from typing import Final

from archives.source import Fetcher
from timegate.cite.title import title_in
from timegate.extraction.fetching import archived_status, beginning
from timegate.extraction.held import FoundCopy

_MOST: Final = 128 * 1024
"""Octets. Pages with more than that before their title are made by programs for programs."""


async def archived_title(copy: FoundCopy, fetch: Fetcher) -> str | None:
    """Return what the page called itself; None where it did not, or was an error page.

    Raises ArchiveError where the archive does not give its bytes.
    """
    reply, octets = await beginning(copy, fetch, _MOST)
    if archived_status(reply.status, reply.headers) != 200:
        return None
    return title_in(octets, reply.headers.get("content-type", ""))
