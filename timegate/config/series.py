"""The series of documents in the configuration, checked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

from timegate.config.loading import web_address
from timegate.config.schema import DelegateSection, File, SeriesSection, bad

Days = tuple[date | None, date | None]
"""The first and the last day; None is open."""


@dataclass(frozen=True, slots=True)
class DelegateConfig:
    """What another resolver answers for."""

    resolver: str
    how: Literal["redirect", "ask"]
    series: str | None
    days: Days


@dataclass(frozen=True, slots=True)
class SeriesConfig:
    """One series."""

    name: str
    store: str
    minters: tuple[tuple[bytes, str], ...]
    """The digests of tokens, and the names of their holders."""
    days: Days
    delegations: tuple[DelegateConfig, ...]


_MINTER: Final = re.compile(r"(?:([A-Za-z0-9._@-]{1,64}) )?sha256:([0-9A-Fa-f]{64})")
_SERIES: Final = re.compile(r"(?:[a-z0-9-]{1,63}\.){1,20}[a-z]{2,63}")


def series_of(file: File, where: str) -> tuple[SeriesConfig, ...]:
    """Check the series, and read their tokens and days."""
    stores = {store.id for store in file.store}
    found: dict[str, SeriesConfig] = {}
    for number, section in enumerate(file.series, start=1):
        key = f"series[{number}]"
        name = section.name.lower()
        if not _SERIES.fullmatch(name):
            why = "must be like a domain name, with a country at its end: reports.example.us"
            raise bad(where, f"{key}.name", why)
        if name in found:
            raise bad(where, f"{key}.name", f"{name!r} is the name of another series")
        if section.store not in stores:
            raise bad(where, f"{key}.store", f"{section.store!r} is not the id of a [[store]]")
        found[name] = SeriesConfig(
            name,
            section.store,
            _minters(section.tokens, where, f"{key}.tokens"),
            _days(section, where, key),
            tuple(
                _delegation(name, each, where, f"{key}.delegate[{place}]")
                for place, each in enumerate(section.delegate, start=1)
            ),
        )
    return tuple(found.values())


def _minters(tokens: Sequence[str], where: str, key: str) -> tuple[tuple[bytes, str], ...]:
    stated = [_MINTER.fullmatch(token) for token in tokens]
    if None in stated:
        why = "must be sha256: and 64 hexadecimal digits, never the token itself"
        raise bad(where, key, why)
    return tuple((bytes.fromhex(each[2]), each[1] or "") for each in stated if each)


def _days(section: SeriesSection | DelegateSection, where: str, key: str) -> Days:
    days = []
    for name, text in (("since", section.since), ("until", section.until)):
        try:
            days.append(None if text is None else date.fromisoformat(text))
        except ValueError:
            raise bad(where, f"{key}.{name}", "must be a day, YYYY-MM-DD") from None
    return days[0], days[1]


def _delegation(name: str, section: DelegateSection, where: str, key: str) -> DelegateConfig:
    below = None if section.series is None else section.series.lower()
    if below is not None and not below.endswith(f".{name}"):
        raise bad(where, f"{key}.series", f"must be a series below {name}")
    if below is None and section.since is None and section.until is None:
        raise bad(where, key, "needs series, since or until")
    resolver = web_address(section.resolver, where, f"{key}.resolver").rstrip("/")
    return DelegateConfig(resolver, section.how, below, _days(section, where, key))
