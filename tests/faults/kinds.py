"""The kinds of exchanges, the world of a case, and all cases."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, Literal, NamedTuple

from archives.model import ArchiveEntry
from tests.fakes import an_entry
from tests.faults.octets import FAULTS, FRAMINGS
from tests.faults.world import WireArchive, WireWorld
from tests.truth.world import OPTIONS
from timegate.misbehave import FAULTS as MISBEHAVIOURS
from timegate.misbehave import Archive, FakeCapture
from timegate.misbehave.site import stamp
from timegate.misbehave.wire import WireRequest

PAGE: Final = "http://page.example/a?b=c"
AT: Final = datetime(2016, 1, 22, 11, 20, 29, tzinfo=UTC)
NEAR: Final = AT + timedelta(hours=1)
"""The copy of the first healthy archive."""
FAR: Final = AT - timedelta(days=40)
"""The copy of the second."""
BROKEN, _HEALTHY, _INDEX = "x", "h", "i"


class Kind(NamedTuple):
    """A kind of exchange with the broken archive, and the ways of asking that need it."""

    entry: Callable[[str], ArchiveEntry]
    hits: re.Pattern[str]
    """The start of the requests whose responses have the fault: method and target."""
    ways: tuple[str, ...]
    framings: tuple[str, ...] = ("length",)
    timegate: Literal["302", "200"] = "302"
    heads: bool = True
    """Whether the archive answers HEAD; else every answer has its body."""
    beside: timedelta = timedelta()
    """From the copy to the time asked for; without a copy of that time, archives negotiate."""


def _memento(url: str, **more: object) -> ArchiveEntry:
    known: dict[str, object] = {
        "timegate": f"{url}/timegate/",
        "timemaps": {"link": f"{url}/timemap/link/"},
        "replay": f"{url}/web/{{time14}}/{{uri}}",
    }
    return an_entry("memento", **(known | more))


def _wayback(url: str, form: str = "link") -> ArchiveEntry:
    replay = f"{url}/web/{{time14}}/{{uri}}"
    return an_entry("wayback", replay=replay, timemaps={form: f"{url}/timemap/{form}/"})


def _cdx(url: str, dialect: str = "pywb-cdxj") -> ArchiveEntry:
    path = "/cdx" if dialect == "pywb-cdxj" else "/cdx/search/cdx"
    replay = f"{url}/web/{{time14}}/{{uri}}"
    return an_entry("cdx", replay=replay, cdx=f"{url}{path}", dialect=dialect)


_CLAIMS: Final = ("resolve", "json", "timegate", "batch", "verify-none", "html", "memento")
_LOOKING: Final = ("resolve", "json", "batch", "html", "root")
LISTS: Final = ("timemap/link", "timemap/json", "timemap/cdxj", "cdx", "list")
_BODIES: Final = tuple(FRAMINGS)
_BESIDE: Final = timedelta(minutes=5)
_TIMEGATE: Final = re.compile("(HEAD|GET) /timegate/")
KINDS: Final[Mapping[str, Kind]] = {
    "TimeGate 302": Kind(_memento, _TIMEGATE, _CLAIMS, beside=_BESIDE),
    "TimeGate 200": Kind(
        _memento, _TIMEGATE, _CLAIMS, _BODIES, "200", heads=False, beside=_BESIDE
    ),
    "memento HEAD": Kind(_memento, re.compile("HEAD /web/"), _LOOKING),
    "memento after negotiation": Kind(
        _memento, re.compile("HEAD /web/"), _LOOKING, beside=_BESIDE
    ),
    "memento GET": Kind(_memento, re.compile("GET /web/"), _CLAIMS, _BODIES, heads=False),
    "TimeMap link": Kind(_memento, re.compile("GET /timemap/link/"), LISTS, _BODIES),
    "TimeMap JSON": Kind(
        lambda url: _memento(url, timemaps={"json": f"{url}/timemap/json/"}),
        re.compile("GET /timemap/json/"),
        LISTS,
        _BODIES,
    ),
    "CDX pywb": Kind(_cdx, re.compile("GET /cdx"), (*LISTS, *_CLAIMS), _BODIES, beside=_BESIDE),
    "CDX Wayback": Kind(
        lambda url: _cdx(url, "wayback-cdx"),
        re.compile("GET /cdx"),
        (*LISTS, *_CLAIMS),
        _BODIES,
        beside=_BESIDE,
    ),
    "replay": Kind(_wayback, re.compile("(HEAD|GET) /web/"), _CLAIMS),
    "replay beside": Kind(_wayback, re.compile("(HEAD|GET) /web/"), _CLAIMS, beside=_BESIDE),
    "raw bytes": Kind(
        lambda url: _memento(url, raw=f"{url}/web/{{time14}}id_/{{uri}}"),
        re.compile("GET /web/[0-9]+id_/"),
        ("raw",),
        _BODIES,
    ),
}


class Case(NamedTuple):
    """One exchange with a fault."""

    kind: str
    framing: str
    way: str
    fault: str
    position: int

    def __str__(self) -> str:
        return f"{self.kind} ({self.framing}), {self.way}: {self.fault} at {self.position}"


# The world of a case


def world_of(case: Case) -> WireWorld:
    """Return the broken archive and two healthy ones."""
    kind = KINDS[case.kind]
    broken = _archive(BROKEN, kind.entry, AT, kind.timegate)
    broken.framing, broken.fault, broken.position = (
        case.framing,
        FAULTS[case.fault],
        case.position,
    )
    broken.hits = lambda request: bool(kind.hits.match(f"{request.method} {request.target}"))
    if not kind.heads:
        broken.archive.faults = (MISBEHAVIOURS["head-405"],)
    healthy = _archive(_HEALTHY, _memento, NEAR)
    return WireWorld([broken, healthy, _archive(_INDEX, _cdx, FAR)])


def _archive(
    name: str,
    entry: Callable[[str], ArchiveEntry],
    at: datetime,
    style: Literal["302", "200"] = "302",
) -> WireArchive:
    captures = [FakeCapture(PAGE, at + timedelta(days=300 * n)) for n in (-1, 0, 1)]
    archive = Archive(captures, options=replace(OPTIONS, timegate=style))
    archive.url = f"http://{name}.example"
    built = replace(
        entry(archive.url), id=name, pwid=(f"{name}.example",), hosts=(f"{name}.example",)
    )
    return WireArchive(built, archive, ())


def length_of(kind: str, framing: str) -> int:
    """Return the octets of the longest response of a kind: the positions to walk."""
    world = world_of(Case(kind, framing, "", "bit", 0))
    archive = world.archives[BROKEN]
    assert isinstance(archive, WireArchive)
    return max(len(archive.octets(request)) for request in _requests(kind))


def _requests(kind: str) -> Iterator[WireRequest]:
    targets = (
        f"/timegate/{PAGE}",
        f"/web/{stamp(AT)}/{PAGE}",
        f"/web/{stamp(AT)}id_/{PAGE}",
        f"/timemap/link/{PAGE}",
        f"/timemap/json/{PAGE}",
        f"/cdx?url={PAGE}&output=json",
        f"/cdx/search/cdx?url={PAGE}&output=json",
    )
    fields = (("accept-datetime", "Fri, 22 Jan 2016 11:20:29 GMT"),)
    dialect = "/cdx/search/" if kind == "CDX Wayback" else "/cdx?"
    for method in ("HEAD", "GET"):
        for target in targets:
            wrong_index = target.startswith("/cdx") and not target.startswith(dialect)
            if KINDS[kind].hits.match(f"{method} {target}") and not wrong_index:
                yield WireRequest(method, target, fields)


def cases(kinds: Iterable[str] = KINDS) -> Iterator[Case]:
    """Yield every case: kind, framing, fault, position; the ways take turns."""
    turn = 0
    for kind in kinds:
        for framing in KINDS[kind].framings:
            for position in range(length_of(kind, framing) + 1):
                for fault in FAULTS:
                    ways = KINDS[kind].ways
                    yield Case(kind, framing, ways[turn % len(ways)], fault, position)
                    turn += 1


def drawn_cases(seed: int, number: int) -> list[Case]:
    """Draw cases, the same for the same seed; as many of each kind, framing and fault."""
    chance, drawn = Random(f"faults {seed}"), list[Case]()
    framed = [(kind, framing) for kind in KINDS for framing in KINDS[kind].framings]
    lengths = {pair: length_of(*pair) for pair in framed}
    while len(drawn) < number:
        for pair in framed:
            way, fault = chance.choice(KINDS[pair[0]].ways), chance.choice(list(FAULTS))
            drawn.append(Case(*pair, way, fault, chance.randrange(lengths[pair] + 1)))
    return drawn[:number]
