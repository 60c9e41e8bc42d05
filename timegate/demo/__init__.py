"""The demo: three small archives made for it, which show every kind of answer offline.

Here are its configuration, the artificial delay of one archive, and the captures, which `write`
stores as WARC files.
"""

import asyncio
import sys
import uuid
import zlib
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING, Final

from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.registry import Registry
from archives.source import Source, WantedCaptures
from archives.warc_index.building import index_collection
from timegate.config import Config, load_config

if TYPE_CHECKING:
    from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

SLOW: Final = {"lantern": 3.0}
"""Seconds: more than the soft deadline, less than the hard one."""


def demo_config(folder: Path) -> Config:
    """Return the configuration of the demo; its indexes are created in *folder*.

    The folder of the package may be read-only.
    """
    config = load_config(Path(__file__).with_name("demo.toml"))
    entries = tuple(_indexed(entry, folder) for entry in config.registry.entries)
    return replace(config, registry=Registry(entries, shared_hosts=True), delays=SLOW)


def _indexed(entry: ArchiveEntry, folder: Path) -> ArchiveEntry:
    if not entry.kind.is_local or entry.path is None:
        return entry
    index = folder / f"{entry.id}.sqlite"
    index_collection(Path(entry.path), index)
    return replace(entry, index=str(index))


class DelayedSource:
    """A `Source` that answers *seconds* late; the demo has one."""

    def __init__(self, source: Source, seconds: float) -> None:
        self._source = source
        self._seconds = seconds

    @property
    def entry(self) -> ArchiveEntry:
        """The archive."""
        return self._source.entry

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        """Wait, then query the archive."""
        await asyncio.sleep(self._seconds)
        return await self._source.closest(original, at)

    async def mementos(
        self, original: str, *, detailed: bool = False, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[Memento], None]:
        """Wait, then list the captures."""
        await asyncio.sleep(self._seconds)
        batches = self._source.mementos(original, detailed=detailed, wanted=wanted)
        async with aclosing(batches):
            async for batch in batches:
                yield batch


SITE: Final = "http://museum.example/"
HOURS: Final = f"{SITE}opening-hours"
LOGO: Final = f"{SITE}logo.png"
MOVED: Final = f"{SITE}visit"
GONE: Final = f"{SITE}exhibitions/1987"
MEMBERS: Final = f"{SITE}members"
GALLERY: Final = f"{SITE}gallery"


@dataclass(frozen=True, slots=True)
class DemoCapture:
    """One capture."""

    url: str
    date: str
    body: bytes
    type: str = "text/html; charset=utf-8"
    status: str = "200 OK"
    location: str | None = None
    modified: str | None = None
    """Last-Modified."""


def _html(title: str, *paragraphs: str) -> bytes:
    text = "".join(f"<p>{paragraph}</p>\n" for paragraph in paragraphs)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        "<style>body { font: 1.1rem/1.5 serif; max-width: 40rem; margin: 3rem auto }</style>\n"
        f"<h1>{title}</h1>\n{text}</html>\n"
    ).encode()


def _home(date: str, news: str) -> DemoCapture:
    return DemoCapture(SITE, date, _html("The Lighthouse Museum", news, "Open all year."))


def _hours(date: str, hours: str, url: str = HOURS) -> DemoCapture:
    return DemoCapture(url, date, _html("Opening hours", hours))


def _logo() -> bytes:
    """Return a PNG of a lighthouse, 8 by 8 pixels in one bit of grey."""
    rows = (0x18, 0x3C, 0x18, 0x18, 0x3C, 0x3C, 0x3C, 0xFF)
    pixels = zlib.compress(b"".join(bytes((0, row)) for row in rows), 9)
    head = pack(">IIBBBBB", 8, 8, 1, 0, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


_SHEET: Final = (
    b"html { min-height: 100%; background: url(waves.png) repeat-x bottom / 2rem }\n"
    b"h1 { color: navy }\nimg { width: 8rem; image-rendering: pixelated }\n"
)
_PHOTOS: Final = (
    '<link rel="stylesheet" href="/gallery.css"><img src="/logo.png" alt="The lighthouse">',
    '<img src="/keeper.png" srcset="/keeper-large.png 2x" alt="A keeper">',
    '<img src="/boat.png" alt="The supply boat">',
)
HARBOUR: Final = (
    _home("2008-03-01T09:00:00Z", "The lamp room is closed for repairs."),
    _home("2009-06-15T18:30:12Z", "The lamp room is open again."),
    _hours("2009-06-15T18:30:20Z", "Daily from 10 to 17."),
    _home("2010-11-05T10:15:00Z", "New: the fog horn, on Sundays at noon."),
    _hours("2010-11-05T10:15:09.250Z", "Daily from 10 to 16. Closed on Mondays."),
    DemoCapture(LOGO, "2010-11-05T10:15:11Z", _logo(), "image/png"),
    # A page with parts: a later stylesheet that had not changed, a later image that had,
    # one that only another archive holds, and one that is nowhere.
    DemoCapture(GALLERY, "2010-11-05T10:15:15Z", _html("Gallery", *_PHOTOS)),
    DemoCapture(
        f"{SITE}gallery.css",
        "2010-11-05T10:15:16Z",
        _SHEET,
        "text/css",
        modified="Mon, 01 Mar 2010 08:00:00 GMT",
    ),
    DemoCapture(
        f"{SITE}waves.png",
        "2019-08-20T07:45:50Z",
        _logo(),
        "image/png",
        modified="Fri, 01 Mar 2019 08:00:00 GMT",
    ),
    # Nothing for nine years, so that some answers are far from the time asked for.
    _home("2019-08-20T07:45:30Z", "We are on the new pier now."),
    _hours("2019-08-20T07:45:41Z", "Daily from 9 to 18.", f"https://www.{HOURS[7:]}"),
    DemoCapture(
        MOVED, "2019-08-20T07:46:00Z", b"", status="301 Moved Permanently", location=HOURS
    ),
    DemoCapture(
        GONE,
        "2019-08-20T07:46:10Z",
        _html("Not found", "This exhibition has left no page behind."),
        status="404 Not Found",
    ),
)
LANTERN: Final = (
    _home("2012-05-09T12:00:00Z", "Two keepers tell their stories."),
    DemoCapture(f"{SITE}keeper.png", "2012-05-09T12:00:04Z", _logo(), "image/png"),
    _home("2014-02-28T23:59:59Z", "The museum is closed in March."),
    _hours("2014-02-28T23:59:58Z", "Closed in March."),
    _home("2016-01-22T11:20:29Z", "The great storm of January: all lamps held."),
)
VAULT: Final = (
    _home("2013-09-01T00:00:00Z", "Members' evening on Friday."),
    DemoCapture(
        MEMBERS, "2013-09-01T00:00:05Z", _html("Members", "A page that was never public.")
    ),
)
COLLECTIONS: Final = {"harbour": HARBOUR, "lantern": LANTERN, "vault": VAULT}


def write(folder: Path) -> None:
    """Write every collection as a WARC file into a folder of its name."""
    from warcio.warcwriter import WARCWriter  # noqa: PLC0415 -- the demo only reads

    for name, pages in COLLECTIONS.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        with (folder / name / f"{name}.warc.gz").open("wb") as file:
            writer = WARCWriter(file, gzip=True, warc_version="1.1")
            for page in pages:
                _write(writer, name, page)


def _write(writer: "WARCWriter", collection: str, page: DemoCapture) -> None:
    from warcio.statusandheaders import (  # type: ignore[import-untyped]  # noqa: PLC0415
        StatusAndHeaders,
    )

    http = StatusAndHeaders(page.status, list(_headers(page)), protocol="HTTP/1.1")
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"{collection} {page.date} {page.url}")
    record = writer.create_warc_record(
        page.url,
        "response",
        payload=BytesIO(page.body),
        http_headers=http,
        warc_headers_dict={"WARC-Date": page.date, "WARC-Record-ID": f"<urn:uuid:{name}>"},
    )
    writer.write_record(record)
    # warcio 1.8.1 copies the payload into a temporary file for its digest, and never closes it.
    record.raw_stream.close()


def _headers(page: DemoCapture) -> Iterator[tuple[str, str]]:
    yield "Content-Type", page.type
    yield "Content-Length", str(len(page.body))
    yield "Server", "lighthouse/1.0"
    if page.modified is not None:
        yield "Last-Modified", page.modified
    if page.location is not None:
        yield "Location", page.location


if __name__ == "__main__":
    write(Path(sys.argv[1]))
