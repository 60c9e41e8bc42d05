"""Draws worlds of lying archives, references into them, and the ways in which they are asked.

The same seed and round draw the same again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, NamedTuple

from archives.model import ArchiveEntry
from tests.fakes import an_entry
from tests.truth.world import OPTIONS, LyingArchive, World
from timegate.misbehave import FAULTS, Archive, FakeCapture
from timegate.misbehave.faults.fault import Fault
from timegate.misbehave.site import ReplayQuestion, http_date, stamp
from timegate.resolution.preferences import PARAMETERS

PAGES: Final = (
    "http://page.example/",
    "http://www.page.example/news/2016",
    "https://page.example/a?b=c",
    "http://page.example/dir/",
    "http://page.example/file.html",
)
OTHER_PAGE: Final = "http://other.example/"
_SECONDS: Final = (0, 0, 0, 1, 1, 59, 3_600, 40_000, 86_400, 864_000, 4_000_000, 40_000_000)
"""Distances of captures from the time around which a world is drawn."""
_STATUSES: Final = (404, 500, 301, 302, 302, 403)

# Faults that change no claim, and those of broken HTTP, are drawn less often.
MEMENTO_FAULTS: Final = (
    *("memento-lost", "memento-500", "memento-403", "memento-429", "memento-503"),
    *("memento-hang", "memento-redated", "memento-other-original", "block-page"),
    *("memento-to-last", "memento-to-login", "memento-to-home", "memento-to-live"),
    *("memento-elsewhere", "memento-no-original", "memento-alone", "head-405", "head-undated"),
    *("archived-301", "archived-404", "datetime-wrong", "datetime-future"),
    *("datetime-missing", "datetime-unparsable", "raw-another", "memento-gone"),
    *("memento-negotiates", "server-error", "slow", "frame-repeats"),
)
CHOICE_FAULTS: Final = (
    *("looks-back", "always-newest", "always-oldest", "second-nearest", "false-next"),
    *("promises-everything", "location-wrong", "content-location-wrong", "echo-asked"),
    *("wrong-closest", "claims-everything", "chosen-unlinked", "chain-three"),
    *("datetime-on-redirect", "stamp-differs", "other-original", "no-content-location"),
    *("prev-next-swapped", "first-last-chosen", "holds-nothing", "before-first-404"),
    *("after-last-404", "list-false", "list-misses-one", "unstable", "redirect-307"),
)
REQUESTED: Final = tuple(sorted(set(FAULTS) - {"none"}))


class Reference(NamedTuple):
    """A reference: its text, and what it refers to."""

    kind: str
    text: str
    """The identifier; for a URL with a time, the URL."""
    url: str
    digits: str
    """The time asked for: 4 to 17 digits; empty for the newest."""
    archive: str | None = None
    """The archive-id that it names."""
    precision: str | None = None
    """``page`` or ``part``, if it says so."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round: a world, a reference, preferences, and the ways to ask, in order."""

    seed: int
    number: int
    world: World
    reference: Reference
    preferences: Mapping[str, str]
    ways: Sequence[str]


IDENTIFIER_WAYS: Final = (
    *("resolve", "resolve", "json", "root", "html", "batch", "library"),
    *("verify-none", "verify-head"),
)
"""Ways to ask for an identifier."""
TIMEGATE_WAYS: Final = ("timegate", "timegate", "memento", "api")
"""Ways to ask for a URL and a time."""


def drawn_round(seed: int, number: int, *, honest: bool = False) -> Round:
    """Draw round *number* of *seed*; with *honest*, the same without any fault."""
    chance = Random(f"{seed}:{number}")
    page, at = chance.choice(PAGES), _time(chance)
    domain = f"s{seed}r{number}.example"
    world = World(
        [
            _archive(chance, n, domain, page, at)
            for n in range(chance.choice((2, 2, 3, 3, 4, 5)))
        ]
    )
    if honest:
        for archive in world.archives.values():
            archive.faults, archive.marred = (), {}
    reference = _reference(chance, world, page, at)
    preferences = _preferences(chance, world)
    return Round(seed, number, world, reference, preferences, _ways(chance, reference))


def _time(chance: Random) -> datetime:
    at = datetime(2008, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.randrange(378_000_000))
    return at.replace(hour=0, minute=0, second=0) if chance.random() < 0.1 else at


# Archives


def _archive(chance: Random, number: int, domain: str, page: str, at: datetime) -> LyingArchive:
    host, faults = f"a{number}.{domain}", _faults(chance)
    scheme = "https" if any(fault.tls for fault in faults) else "http"
    padded = chance.random() < 0.05
    captures = _captures(chance, page, at, padded=padded)
    archive = Archive(captures, options=replace(OPTIONS, timegate=chance.choice(_STYLES)))
    archive.url = f"{scheme}://{host}"
    marred = _marred(chance, captures)
    frames = _repeats((*faults, *(fault for each in marred.values() for fault in each)))
    entry = replace(
        _entry(chance, archive.url, raw=frames),
        id=f"a{number}",
        pwid=(f"a{number}.example",),
        hosts=(host,),
        padded=padded,
    )
    return LyingArchive(entry, archive, faults, marred, chance.choice(_DELAYS))


_STYLES: Final = ("302", "302", "302", "200")
_DELAYS: Final = (0.0, 0.0, 0.01, 0.1, 0.3, 0.3, 0.3, 0.8, 0.8, 1.7)


def _repeats(faults: Sequence[Fault]) -> bool:
    """Whether frames repeat the digits of addresses: only a raw view shows that."""
    return any(fault.name == "frame-repeats" for fault in faults)


def _entry(chance: Random, url: str, *, raw: bool) -> ArchiveEntry:
    replay = f"{url}/web/{{time14}}/{{uri}}"
    timemaps = {"link": f"{url}/timemap/link/"}
    raws = {"raw": f"{url}/web/{{time14}}id_/{{uri}}"} if raw or chance.random() < 0.4 else {}
    kind = chance.choice(("memento", "memento", "memento", "memento", "wayback", "cdx"))
    dialect, path = chance.choice((("pywb-cdxj", "/cdx"), ("wayback-cdx", "/cdx/search/cdx")))
    index = {"cdx": f"{url}{path}", "dialect": dialect}
    if kind == "wayback":
        return an_entry(kind, replay=replay, timemaps=timemaps, **raws)
    if kind == "cdx":
        return an_entry(kind, replay=replay, **index, **raws)
    known: dict[str, object] = {}
    if raws or chance.random() < 0.6:
        known["replay"] = replay
    if "replay" in known and chance.random() < 0.3:
        known |= index
    if chance.random() < 0.8:
        known["timemaps"] = timemaps
    return an_entry(kind, timegate=f"{url}/timegate/", **known, **raws)


def _captures(
    chance: Random, page: str, at: datetime, *, padded: bool
) -> tuple[FakeCapture, ...]:
    if chance.random() < 0.15:
        return (FakeCapture(OTHER_PAGE, at),)
    original = _spelling(chance, page)
    times = {
        at + chance.choice((1, -1)) * timedelta(seconds=chance.choice(_SECONDS))
        for _ in range(chance.choice((1, 1, 2, 3, 5, 8)))
    }
    if padded:
        times = {time.replace(hour=0, minute=0, second=0) for time in times}
    return tuple(_capture(chance, original, time) for time in sorted(times))


def _spelling(chance: Random, page: str) -> str:
    """Return the page as an archive writes it: mostly as it is, else a variant."""
    if chance.random() > 0.15:
        return page
    scheme, _, rest = page.partition("://")
    variants = (
        f"{'http' if scheme == 'https' else 'https'}://{rest}",
        f"{scheme}://{rest.removeprefix('www.') if rest.startswith('www.') else f'www.{rest}'}",
        f"{scheme.upper()}://{rest}",
    )
    return chance.choice(variants)


def _capture(chance: Random, original: str, at: datetime) -> FakeCapture:
    status = chance.choice(_STATUSES) if chance.random() < 0.12 else 200
    location = "http://page.example/" if status in (301, 302) else None
    return FakeCapture(original, at, status, location=location)


def _faults(chance: Random) -> tuple[Fault, ...]:
    """Draw how an archive lies: not at all, in one way, or in two."""
    number = chance.choice((0, 0, 0, 1, 1, 1, 1, 2))
    pools = (MEMENTO_FAULTS, CHOICE_FAULTS, CHOICE_FAULTS, REQUESTED)
    names = [chance.choice(chance.choice(pools)) for _ in range(number)]
    return tuple(FAULTS[name] for name in dict.fromkeys(names))


def _marred(chance: Random, captures: Sequence[FakeCapture]) -> dict[str, tuple[Fault, ...]]:
    """Draw mementos that are wrong by themselves."""
    if chance.random() < 0.5:
        return {}
    share = chance.choice((0.2, 0.5, 1.0))
    return {
        capture.stamp: (FAULTS[chance.choice(MEMENTO_FAULTS)],)
        for capture in captures
        if chance.random() < share
    }


def counterparts() -> dict[str, int]:
    """Return how many ways there are to draw each fault."""
    pools = (MEMENTO_FAULTS, CHOICE_FAULTS, REQUESTED)
    return {name: sum(name in pool for pool in pools) for name in FAULTS if name != "none"}


def marring() -> set[str]:
    """Return the faults of single mementos that change nothing there."""
    return {name for name in MEMENTO_FAULTS if ReplayQuestion not in FAULTS[name].applies_to}


# References


def _reference(chance: Random, world: World, page: str, at: datetime) -> Reference:
    kind = chance.choice(
        (
            "pwid",
            "pwid",
            "pwid",
            "pwid-day",
            "pwid-fraction",
            "duri",
            "duri",
            "link",
            "url",
            "at",
        )
    )
    held = [
        capture.at
        for archive in world.archives.values()
        for capture in archive.archive.holdings.of(page)
    ]
    moment = chance.choice(held) if held and chance.random() < 0.6 else at
    named = chance.choice([*(f"{name}.example" for name in world.archives), "unknown.example"])
    return _DRAWN[kind](chance, world, page, moment, named)


def _rfc3339(digits: str) -> str:
    text = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
    if len(digits) == 8:
        return text
    text += f"T{digits[8:10]}:{digits[10:12]}:{digits[12:14]}"
    return text + (f".{digits[14:]}" if digits[14:] else "")


def _pwid(
    chance: Random, _world: World, page: str, at: datetime, named: str, more: str = ""
) -> Reference:
    digits, extent = stamp(at) + more, chance.choice(("page", "page", "part"))
    text = f"urn:pwid:{named}:{_rfc3339(digits)}Z:{extent}:{_encoded(page)}"
    return Reference("pwid", text, page, digits, named, extent)


def _encoded(page: str) -> str:
    return page.replace("?", "%3F")


def _pwid_day(chance: Random, _world: World, page: str, at: datetime, named: str) -> Reference:
    digits, extent = stamp(at)[:8], chance.choice(("page", "part"))
    text = f"urn:pwid:{named}:{_rfc3339(digits)}Z:{extent}:{_encoded(page)}"
    return Reference("pwid", text, page, digits, named, extent)


def _pwid_fraction(
    chance: Random, world: World, page: str, at: datetime, named: str
) -> Reference:
    return _pwid(chance, world, page, at, named, chance.choice(("2", "25", "250")))


def _duri(chance: Random, _world: World, page: str, at: datetime, _named: str) -> Reference:
    digits = stamp(at)[: chance.choice((4, 8, 14, 14))]
    time = digits if len(digits) == 4 else _rfc3339(digits)
    zone = "Z" if len(digits) == 14 else ""
    return Reference("duri", f"duri:{time}{zone}:{page}", page, digits)


def _link(chance: Random, world: World, page: str, at: datetime, named: str) -> Reference:
    """Return a link into an archive with a replay address; a duri where none has one."""
    replaying = [each for each in world.archives.values() if each.entry.replay]
    if not replaying:
        return _duri(chance, world, page, at, named)
    archive, digits = chance.choice(replaying), stamp(at)
    text = f"{archive.base}/web/{digits}/{page}"
    return Reference("link", text, page, digits, archive.entry.pwid[0])


def _url(_chance: Random, _world: World, page: str, _at: datetime, _named: str) -> Reference:
    return Reference("url", page, page, "")


def _at(_chance: Random, _world: World, page: str, at: datetime, _named: str) -> Reference:
    return Reference("at", page, page, stamp(at))


_DRAWN: Final = {
    "pwid": _pwid,
    "pwid-day": _pwid_day,
    "pwid-fraction": _pwid_fraction,
    "duri": _duri,
    "link": _link,
    "url": _url,
    "at": _at,
}


# Preferences and ways


def _preferences(chance: Random, world: World) -> dict[str, str]:
    if chance.random() < 0.7:
        return {}
    some = ",".join(sorted(chance.sample([*world.archives], k=2)))
    drawn = {
        "precision": chance.choice(("exact", "archive", "day", "any")),
        "tolerance": chance.choice(("0s", "1h", "30d", "P1Y")),
        "direction": chance.choice(("before", "after", "closest")),
        "archives": some,
        "exclude": chance.choice([*world.archives]),
        "status": chance.choice(("any", "2xx")),
    }
    known = {parameter.name for parameter in PARAMETERS}
    names = chance.sample(sorted(known & drawn.keys()), k=chance.choice((1, 1, 2)))
    return {name: drawn[name] for name in names}


def _ways(chance: Random, reference: Reference) -> list[str]:
    """Draw ways to ask; TimeGates take seconds, or nothing for the newest."""
    at_timegate = list(TIMEGATE_WAYS) if len(reference.digits) >= 14 else ["memento"]
    if not reference.digits:
        at_timegate = ["timegate"]
    if reference.kind == "at":
        return list(dict.fromkeys((*chance.sample(at_timegate, k=2), "library")))
    ways = chance.sample(IDENTIFIER_WAYS, k=2)
    if chance.random() < 0.5:
        ways.insert(chance.randrange(3), chance.choice(at_timegate))
    return list(dict.fromkeys(ways))


def accept_datetime(reference: Reference) -> str | None:
    """Return the time of a reference for a TimeGate; None for the newest."""
    if not reference.digits:
        return None
    moment = datetime.strptime(f"{reference.digits[:14]}+0000", "%Y%m%d%H%M%S%z")
    return http_date(moment.astimezone(UTC))
