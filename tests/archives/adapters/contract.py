"""One correct archive of every kind, without sockets, for the contract tests.

The TimeGates and replay servers are those of `timegate.misbehave` without a fault. Its CDX
server supports neither ``sort=reverse`` nor OutbackCDX, so the one here supports every dialect.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import parse_qs, urlsplit

from archives.adapters import source_for
from archives.model import ArchiveEntry, Dialect
from archives.source import Request, Source
from tests.fakes import Canned, FakeFetcher, an_entry, clock
from timegate import misbehave
from timegate.misbehave import wire
from timegate.misbehave.site import FakeHoldings, read_stamp, urlkey

BASE: Final = "http://archive.example"
REPLAY: Final = BASE + "/web/{time14}/{uri}"
_FIELDS: Final = (
    "urlkey",
    "timestamp",
    "original",
    "mimetype",
    "statuscode",
    "digest",
    "length",
)
_PYWB_FIELDS: Final = ("urlkey", "timestamp", "url", "mime", "status", "digest", "length")


@dataclass(frozen=True, slots=True)
class Served:
    """A source over one archive, and the requests that it received."""

    source: Source
    journal: list[Request]


Serve = Callable[[Sequence[misbehave.FakeCapture]], Served]


def _served_by(entry: ArchiveEntry, fetch: FakeFetcher) -> Served:
    return Served(source_for(entry, fetch, clock), fetch.journal)


def _served(
    entry: ArchiveEntry,
    captures: Sequence[misbehave.FakeCapture],
    options: misbehave.ArchiveOptions,
) -> Served:
    archive = misbehave.Archive(captures, options=options)
    archive.url = BASE

    def answer(request: Request) -> Canned:
        fields = tuple((name.lower(), value) for name, value in request.headers.items())
        target = request.url.removeprefix(BASE)
        reply = archive.reply(wire.WireRequest(request.method, target, fields))
        assert isinstance(reply, wire.WholeAnswer)
        return Canned(reply.status, dict(reply.headers), reply.body)

    return _served_by(entry, FakeFetcher(answer))


def memento(style: Literal["302", "200"]) -> Serve:
    def serve(captures: Sequence[misbehave.FakeCapture]) -> Served:
        entry = an_entry(
            "memento",
            timegate=f"{BASE}/timegate/",
            timemaps={"link": f"{BASE}/timemap/link/"},
        )
        return _served(entry, captures, misbehave.ArchiveOptions(timegate=style))

    return serve


def wayback(captures: Sequence[misbehave.FakeCapture]) -> Served:
    entry = an_entry(
        "wayback",
        replay=REPLAY,
        raw=BASE + "/web/{time14}id_/{uri}",
        timemaps={"link": f"{BASE}/timemap/link/"},
    )
    return _served(entry, captures, misbehave.ArchiveOptions())


def cdx(dialect: Dialect) -> Serve:
    def serve(captures: Sequence[misbehave.FakeCapture]) -> Served:
        entry = an_entry("cdx", cdx=f"{BASE}/cdx", dialect=dialect, replay=REPLAY)
        holdings = FakeHoldings(captures)

        def answer(request: Request) -> Canned:
            parameters = {
                name: values[0]
                for name, values in parse_qs(urlsplit(request.url).query).items()
            }
            return Canned(body=_WRITE[dialect](_selected(holdings, parameters)))

        return _served_by(entry, FakeFetcher(answer))

    return serve


KINDS: Final[dict[str, Serve]] = {
    "memento 302": memento("302"),
    "memento 200": memento("200"),
    "wayback": wayback,
    "wayback-cdx": cdx("wayback-cdx"),
    "pywb-cdxj": cdx("pywb-cdxj"),
    "arquivo": cdx("arquivo"),
    "outbackcdx": cdx("outbackcdx"),
}


def _selected(
    holdings: FakeHoldings, parameters: dict[str, str]
) -> list[misbehave.FakeCapture]:
    """Return the requested rows: nearest, newest or oldest first; some or all."""
    found = list(holdings.of(parameters["url"]))
    closest = read_stamp(parameters.get("closest", ""))
    if parameters.get("sort") == "closest" and closest is not None:
        found.sort(key=lambda capture: abs(capture.at - closest))
    if parameters.get("sort") == "reverse":
        found.reverse()
    limit = int(parameters.get("limit", len(found)))
    return found[limit:] if limit < 0 else found[:limit]


def _values(capture: misbehave.FakeCapture) -> tuple[str, ...]:
    return (
        urlkey(capture.original),
        capture.stamp,
        capture.original,
        capture.mime,
        str(capture.status),
        capture.digest,
        "1",
    )


def _array(captures: Sequence[misbehave.FakeCapture]) -> bytes:
    rows = [_FIELDS, *map(_values, captures)] if captures else []
    return json.dumps(rows).encode()


def _json_lines(captures: Sequence[misbehave.FakeCapture]) -> bytes:
    rows = [dict(zip(_PYWB_FIELDS, _values(capture), strict=True)) for capture in captures]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _cdx_lines(captures: Sequence[misbehave.FakeCapture]) -> bytes:
    """Write the eleven fields of OutbackCDX: after the digest redirect, robots, length, ..."""
    tail = "- - 1 0 file.warc.gz"
    rows = [f"{' '.join(_values(capture)[:6])} {tail}\n" for capture in captures]
    return "".join(rows).encode()


_WRITE: Final[dict[Dialect, Callable[[Sequence[misbehave.FakeCapture]], bytes]]] = {
    "wayback-cdx": _array,
    "pywb-cdxj": _json_lines,
    "arquivo": _json_lines,
    "outbackcdx": _cdx_lines,
}
