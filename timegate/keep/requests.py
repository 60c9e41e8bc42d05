"""Keeps references that clients send to a store, within limits of their own."""

import asyncio
from typing import Final

from msgspec import structs

from timegate.batch.model import Item
from timegate.batch.run import Waits
from timegate.core import Core
from timegate.endpoints.store import KeepCapture
from timegate.keep.model import KeptReference
from timegate.keep.opening import open_keeper
from timegate.keep.run import KeepOptions, LivePages
from timegate.parts.composite import PartLimits
from timegate.resolution.context import Budget, RequestContext
from timegate.resolution.model import Preferences
from timegate.resolution.preferences import LONGEST_WAIT
from timegate.store import KeepRequest, KeptCapture, RevisionWriter, StoreBusy

_AT_ONCE: Final = 4
"""References of one store that are being kept."""
_LONGEST: Final = 120.0
"""Seconds for one reference."""
_LIMITS: Final = PartLimits(seconds=60.0)
_WAITS: Final = Waits(LONGEST_WAIT, LONGEST_WAIT)


def keep_requests(core: Core, writer: RevisionWriter, live: LivePages | None) -> KeepCapture:
    """Return what keeps references in the store of *writer*. It raises StoreError."""
    places = asyncio.Semaphore(_AT_ONCE)

    async def keep(wanted: KeepRequest, context: RequestContext) -> KeptCapture:
        if places.locked():
            raise StoreBusy("too many references are being kept")
        keeper = open_keeper(
            core,
            writer,
            Preferences(verify="head"),
            KeepOptions(pages=wanted.pages),
            structs.replace(context, budget=Budget()),
            _WAITS,
            live=live if wanted.live else None,
            limits=_LIMITS,
        )
        text = wanted.reference
        async with places:
            try:
                async with asyncio.timeout(_LONGEST):
                    kept = await keeper.keep(Item(0, text, (text,)))
            except TimeoutError:
                why = f"it was not kept within {_LONGEST:g} s"
                return KeptCapture(None, text, is_new=False, code=4, why=why, report={})
        return _captured(kept)

    return keep


def _captured(kept: KeptReference) -> KeptCapture:
    if not kept.is_kept or kept.memento is None:
        text = kept.item.text
        return KeptCapture(None, text, False, kept.code, kept.why, kept.described)  # noqa: FBT003
    return KeptCapture(
        kept.memento.stamp,
        kept.memento.original,
        kept.outcome == "kept",
        kept.code,
        kept.why,
        kept.described,
    )
