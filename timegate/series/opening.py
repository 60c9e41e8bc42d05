"""Opens the series of a configuration."""

import logging
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from archives.warc_index.database import IndexInUse
from timegate.config import Config
from timegate.config.series import Days, SeriesConfig
from timegate.series import Delegation, Interval, Minter, SeriesSettings, is_within
from timegate.series.catalogue import Catalogue
from timegate.series.minting import SeriesJournal
from timegate.series.resolvers import Resolvers
from timegate.store import JournalWriter
from timegate.store.opening import store_settings

_LOG: Final = logging.getLogger("timegate.series")


@dataclass(frozen=True, slots=True)
class OpenSeries:
    """One series: its settings, its catalogue, and what writes to it."""

    settings: SeriesSettings
    catalogue: Catalogue
    largest: int
    """Octets of the largest document."""
    per_minute: int
    """Writes of one token."""
    writer: JournalWriter | None = None
    """None where this process does not write."""


@dataclass(frozen=True, slots=True)
class AllSeries:
    """The series that this server answers for, by name."""

    by_name: Mapping[str, OpenSeries]
    resolvers: Resolvers

    def __bool__(self) -> bool:
        return bool(self.by_name)

    def get(self, series: str) -> OpenSeries | None:
        """Return the series *series*; of a delegated subseries, the one that delegates it."""
        found = self.by_name.get(series)
        if found is not None:
            return found
        for each in self.by_name.values():
            below = (d.subseries for d in each.settings.delegations if d.subseries is not None)
            if any(is_within(series, name) for name in below):
                return each
        return None


def series_settings(config: SeriesConfig) -> SeriesSettings:
    """Return the settings of one series."""
    return SeriesSettings(
        config.name,
        config.store,
        tuple(Minter(digest, name) for digest, name in config.minters),
        _interval(config.days),
        tuple(
            Delegation(each.resolver, each.how, each.series, _interval(each.days))
            for each in config.delegations
        ),
    )


def open_journals(config: Config) -> dict[str, SeriesJournal]:
    """Return the journal of each store that has a series, with its catalogue up to date.

    A store that cannot be written keeps the catalogue that it has. It reads files, so it is
    for threads.
    """
    wanted = {each.store for each in config.series}
    journals = {}
    for settings in store_settings(config):
        if settings.id in wanted:
            journal = journals[settings.id] = SeriesJournal(settings.path)
            try:
                journal.refresh()
            except (OSError, sqlite3.Error, IndexInUse) as error:
                _LOG.error("store %s: the catalogue is not current: %s", settings.id, error)
    return journals


def open_series(
    config: Config, writers: Mapping[str, JournalWriter], resolvers: Resolvers
) -> AllSeries:
    """Return all series; *writers* are the stores that this process writes."""
    stores = {settings.id: settings for settings in store_settings(config)}
    found = {}
    for each in config.series:
        store = stores[each.store]
        found[each.name] = OpenSeries(
            series_settings(each),
            Catalogue(Path(store.path)),
            store.largest_revision,
            store.writes_per_minute,
            writers.get(each.store),
        )
    return AllSeries(found, resolvers)


def _interval(days: Days) -> Interval:
    return Interval(*days)
