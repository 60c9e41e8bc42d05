"""Texts of archived copies: their bytes are fetched, and read within bounds."""

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from archives.errors import ArchiveError
from archives.model import Memento
from archives.registry import Registry
from timegate.content.findings import CopyText, UnreadCopy
from timegate.content.main_text import NotRead, PageText
from timegate.extract.archived_files import ArchivedFiles
from timegate.resolution.context import Budget, RequestContext
from timegate.responses.answer_view import name_of

if TYPE_CHECKING:
    from timegate.content.text_diff import TextDiff

_LARGEST: Final = 2_000_000
"""Octets of a copy that is compared."""
_REQUESTS: Final = 8


class ReadsText(Protocol):
    """Reads the text of a page; see `timegate.content.reading.TextReader`."""

    async def read(self, octets: bytes, content_type: str) -> PageText | NotRead: ...


class CopyTexts:
    """Reads texts of copies. Failures of archives never raise."""

    def __init__(self, files: ArchivedFiles, reader: ReadsText, registry: Registry) -> None:
        self._files = files
        self._reader = reader
        self._registry = registry

    async def of(
        self, memento: Memento, context: RequestContext, budget: Budget, most: int
    ) -> CopyText | UnreadCopy:
        """Return the text of *memento*, whose file has at most *most* octets.

        A text is only returned if the whole file was read.
        """
        try:
            file = await self._files.of(memento, context, budget, most)
        except ArchiveError as error:
            return UnreadCopy(memento, f"{name_of(error.archive, self._registry)} {error.why}")
        if file.redirect is not None:
            return UnreadCopy(memento, "the copy is a redirect")
        if file.status != 200:
            return UnreadCopy(memento, f"the copy is an archived error ({file.status})")
        page = await self._reader.read(file.octets, file.content_type)
        if isinstance(page, NotRead):
            return UnreadCopy(memento, page.detail or page.reason)
        return CopyText(memento, page, file.octets)

    async def diff(
        self, first: Memento, second: Memento, context: RequestContext
    ) -> "TextDiff | UnreadCopy":
        """Return how the text of *second* differs from that of *first*."""
        budget = Budget(_REQUESTS, 2 * _LARGEST, context.quota)
        texts = []
        for memento in (first, second):
            copy = await self.of(memento, context, budget, _LARGEST)
            if isinstance(copy, UnreadCopy):
                return copy
            texts.append(copy.page.text)
        try:
            from timegate.content.text_diff import text_diff  # noqa: PLC0415 -- an extra
        except ImportError:
            return UnreadCopy(first, "needs: pip install 'timegate-proxy[content]'")
        return await asyncio.to_thread(text_diff, texts[0], texts[1])
