"""Where the histories of canaries are: in the cache, where replicas and workers share it.

What the cache has lost is still known to who asked; what is damaged, or was written by another
version, is begun anew.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

import msgspec

from timegate.cache.store import LONGEST, Store
from timegate.canaries.history import CanaryRecord
from timegate.canaries.questions import CanaryQuestion

_NEW: Final = CanaryRecord()


class CanaryStore:
    """All histories, as they were when they were last looked at."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._records: dict[CanaryQuestion, CanaryRecord] = {}

    @property
    def records(self) -> Mapping[CanaryQuestion, CanaryRecord]:
        """What is known here, without looking again."""
        return self._records

    async def look(self, question: CanaryQuestion) -> CanaryRecord:
        """Return what is known of *question*, by whomever it was asked."""
        record = self._records.get(question, _NEW)
        stored = await self._store.get(_key(question))
        if stored is not None:
            # Of two that were asked at the same time, ours is from before the answer.
            record = max(_read(stored.value), record, key=lambda one: one.asked or 0.0)
        self._records[question] = record
        return record

    async def put(self, question: CanaryQuestion, record: CanaryRecord) -> None:
        """Let all know it."""
        self._records[question] = record
        await self._store.put(_key(question), msgspec.json.encode(record), LONGEST, 0.0)


def _read(stored: bytes) -> CanaryRecord:
    try:
        return msgspec.json.decode(bytes(stored), type=CanaryRecord)
    except msgspec.MsgspecError:
        return _NEW


def _key(question: CanaryQuestion) -> str:
    """Return a name that another page, or another time of it, does not have."""
    at = "" if question.at is None else question.at.digits
    asked = f"{question.archive} {question.side} {at} {question.url}"
    return f"canary:1:{blake2b(asked.encode(), digest_size=16).hexdigest()}"
