"""A ledger that several workers on one machine share: a small file mapped into each of them.

The limit of an archive holds for the sum of all workers. Each archive has one record, changed
under a lock on its bytes; the clock is the machine's monotonic one, the same for all processes.
"""

import fcntl
import mmap
import os
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from archives.model import ArchiveEntry, Limits, Rate
from archives.source import Purpose

_RECORD: Final = struct.Struct("<5d")
"""Tokens and their time for mementos, the same for the index, and until when to rest."""
_DUST: Final = 1e-6


class _State(NamedTuple):
    memento: float
    memento_at: float
    lookup: float
    lookup_at: float
    rests_until: float


def create_ledgers(path: Path, entries: Sequence[ArchiveEntry]) -> None:
    """Write the file with full buckets for *entries*; before any worker opens it."""
    now = time.monotonic()
    with path.open("wb") as file:
        for entry in entries:
            limits = entry.limits
            file.write(_RECORD.pack(limits.memento.burst, now, limits.index.burst, now, now))


class SharedLedgers:
    """The open file; gives each archive its ledger."""

    def __init__(self, path: Path, entries: Sequence[ArchiveEntry]) -> None:
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), 0)
        self._places = {entry.id: number for number, entry in enumerate(entries)}

    def of(self, entry: ArchiveEntry) -> "SharedLedger":
        """Return the ledger of *entry*."""
        place = self._places[entry.id] * _RECORD.size
        return SharedLedger(self._map, self._file.fileno(), place, entry.limits)

    def close(self) -> None:
        """Let go of the file."""
        self._map.close()
        self._file.close()


class SharedLedger:
    """A `Ledger` over one record. Blocking: a few microseconds under a lock."""

    def __init__(self, mapped: mmap.mmap, descriptor: int, place: int, limits: Limits) -> None:
        self._map = mapped
        self._descriptor = descriptor
        self._place = place
        self._rates: dict[Purpose, Rate] = {"memento": limits.memento, "index": limits.index}

    async def outlook(self, purpose: Purpose, ahead: int) -> float:
        state = self._read()
        return _wait(self._tokens(state, purpose), self._rates[purpose], ahead)

    async def take(self, purpose: Purpose) -> float:
        with self._locked():
            state = self._read()
            tokens = self._tokens(state, purpose)
            wait = _wait(tokens, self._rates[purpose], 0)
            if wait == 0.0:
                self._write(_dripped(state, purpose, tokens - 1))
            return wait

    async def rest(self, seconds: float) -> None:
        with self._locked():
            state = self._read()
            until = max(state.rests_until, time.monotonic() + seconds)
            self._write(state._replace(rests_until=until))

    async def resting(self) -> float:
        return max(0.0, self._read().rests_until - time.monotonic())

    def _tokens(self, state: _State, purpose: Purpose) -> float:
        rate = self._rates[purpose]
        tokens, at = (
            (state.memento, state.memento_at)
            if purpose == "memento"
            else (state.lookup, state.lookup_at)
        )
        elapsed = max(0.0, time.monotonic() - at)
        return min(float(rate.burst), tokens + elapsed * rate.requests / rate.seconds)

    def _read(self) -> _State:
        return _State(*_RECORD.unpack_from(self._map, self._place))

    def _write(self, state: _State) -> None:
        _RECORD.pack_into(self._map, self._place, *state)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX, _RECORD.size, self._place, os.SEEK_SET)
        try:
            yield
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, _RECORD.size, self._place, os.SEEK_SET)


def _wait(tokens: float, rate: Rate, ahead: int) -> float:
    missing = ahead + 1 - tokens
    return missing / (rate.requests / rate.seconds) if missing > _DUST else 0.0


def _dripped(state: _State, purpose: Purpose, tokens: float) -> _State:
    now = time.monotonic()
    if purpose == "memento":
        return state._replace(memento=tokens, memento_at=now)
    return state._replace(lookup=tokens, lookup_at=now)
