"""The same WARCs in a real pywb and in our own collection: both must answer the same.

What differs on purpose stands at `archived_headers`. A second pywb has no index of its own: it
reads ours over HTTP, and our files.
"""

import gzip
import http.client
import json
import shutil
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import Message
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

import pytest
from memento_client import MementoClient  # type: ignore[import-untyped]

from archives.adapters import source_for
from archives.moment import Moment
from tests import warcs
from tests.end_to_end import pywb as held
from tests.end_to_end.collecting import running_collection
from tests.end_to_end.pywb import (
    COLLECTION,
    CONFIGURATIONS,
    make_warcs,
    running_pywb,
    running_wayback,
)
from tests.end_to_end.test_serving import an_original, ask
from tests.fakes import an_entry
from timegate.upstream.stack import UpstreamSettings, open_fetchers

SITE: Final = "http://kinds.example/"
CODED: Final = gzip.compress(warcs.PAGE, mtime=0)
MOVED: Final = warcs.answer(b"", "302 Found", location="/elsewhere?a=b")


def _recorded(name: str, block: bytes, **fields: str) -> bytes:
    return warcs.record(block, url=SITE + name, **fields)


KINDS: Final[dict[str, bytes]] = {
    "page": _recorded("page", warcs.answer()),
    "chunked": _recorded(
        "chunked", warcs.answer(warcs.chunked(warcs.PAGE), transfer_encoding="chunked")
    ),
    "chunked-in-name": _recorded("chunked-in-name", warcs.answer(transfer_encoding="chunked")),
    "gzip": _recorded("gzip", warcs.answer(CODED, content_encoding="gzip")),
    "gzip-chunked": _recorded(
        "gzip-chunked",
        warcs.answer(
            warcs.chunked(CODED), content_encoding="gzip", transfer_encoding="chunked"
        ),
    ),
    "brotli": _recorded("brotli", warcs.answer(warcs.BROTLI, content_encoding="br")),
    "redirect": _recorded("redirect", MOVED),
    "missing": _recorded("missing", warcs.answer(b"gone", "404 Not Found")),
    "headers": _recorded(
        "headers",
        warcs.answer(b"x", mime="text/plain", server="Apache", x_powered_by="PHP/5", age="3"),
    ),
    "image": _recorded("image", warcs.answer(b"\x89PNG", mime="image/png")),
    "text": warcs.record(b"text", "resource", SITE + "text", mime="text/plain"),
    "wget": warcs.record(warcs.answer(), url=f"<{SITE}wget>"),
    "subsecond": _recorded(
        "subsecond", warcs.answer(), date="2020-02-20T20:20:20.123456Z", version="1.1"
    ),
}
TWICE: Final = b"Content-Length: 9999\r\nContent-Length: 3\r\n"
LENGTHS: Final[dict[str, bytes]] = {
    "too-large": warcs.answer(content_length="9999"),
    "too-small": warcs.answer(content_length="3"),
    "zero": warcs.answer(content_length="0"),
    "huge": warcs.answer(content_length="9" * 15),
    "negative": warcs.answer(content_length="-3"),
    "garbage": warcs.answer(content_length="many"),
    "empty": warcs.answer(content_length=""),
    "twice": warcs.answer(x="1").replace(b"X: 1\r\n", TWICE),
    "with-chunked": warcs.answer(
        warcs.chunked(warcs.PAGE), transfer_encoding="chunked", content_length="3"
    ),
    "of-an-error": warcs.answer(b"gone", "404 Not Found", content_length="9999"),
}
"""Archived responses whose Content-Length is wrong."""
LENGTHS_SITE: Final = "http://lengths.example/"


def write_all(folder: Path) -> None:
    """Write pages, revisits, and one record of every kind in every layout."""
    make_warcs(folder)
    (folder / "kinds.warc.gz").write_bytes(warcs.gzipped(*KINDS.values()))
    lengths = [warcs.record(b, url=LENGTHS_SITE + name) for name, b in LENGTHS.items()]
    (folder / "lengths.warc.gz").write_bytes(warcs.gzipped(*lengths))
    (folder / "plain.warc").write_bytes(warcs.plain(warcs.response("http://plain.example/")))
    arc = [warcs.arc_header(), warcs.arc_record("http://arc.example/")]
    (folder / "one.arc.gz").write_bytes(warcs.gzipped(*arc))
    (folder / "other.arc").write_bytes(
        warcs.plain(warcs.arc_header(), warcs.arc_record("http://arc.example/plain"))
    )


class Both(NamedTuple):
    """A pywb and our server, over the same files."""

    theirs: str
    ours: str
    files: Path


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    root, folder = tmp_path_factory.mktemp("theirs"), tmp_path_factory.mktemp("ours")
    write_all(folder)

    def copy(theirs: Path) -> None:
        shutil.copytree(folder, theirs, dirs_exist_ok=True)

    with running_pywb("exact", root, copy) as pywb, running_collection(folder) as ours:
        yield Both(pywb.url, f"{ours.url}/", folder)


SITES: Final = ("example.org", "example.net", "kinds.example", "plain.example", "arc.example")
SAME_FIELDS: Final = (
    *("urlkey", "timestamp", "url", "mime", "status", "digest"),
    *("length", "offset", "filename"),
)


def cdx(base: str, **pairs: str) -> list[dict[str, str]]:
    asked = "&".join(f"{name}={quote(value)}" for name, value in pairs.items())
    status, _, body = ask(f"{base}cdx?{asked}&output=json")
    assert status == 200, body
    return [json.loads(line) for line in body.splitlines()]


def rows_of(base: str, site: str) -> list[dict[str, str]]:
    """Return the rows of a site; the status of revisits apart.

    pywb 2.10 leaves it out; cdxj-indexer 1.5 and we tell it where the revisit has a head.
    """
    found = cdx(base, url=site, matchType="domain")
    rows = [{name: row.get(name, "-") for name in SAME_FIELDS} for row in found]
    return [{**row, "status": "-"} if row["mime"] == "warc/revisit" else row for row in rows]


@pytest.mark.parametrize("site", SITES)
def test_both_list_the_same_rows(both: Both, site: str) -> None:
    assert rows_of(both.ours, site) == rows_of(both.theirs, site)


@pytest.mark.parametrize(
    "pairs",
    [
        {"url": held.FIFTY},
        {"url": held.FIFTY, "limit": "7"},
        {"url": held.FIFTY, "from": "20120110", "to": "20120120"},
        {"url": held.FIFTY, "sort": "reverse", "limit": "5"},
        {"url": held.FIFTY, "sort": "closest", "closest": "20120125120000", "limit": "9"},
        {"url": held.OFTEN, "filter": "=status:200"},
        {"url": "http://example.org/*", "filter": "=status:404"},
        {"url": "http://example.org/", "matchType": "prefix", "filter": "~status:[45].."},
        {"url": "example.org", "matchType": "host", "limit": "20"},
        {"url": "https://www.example.net"},
    ],
)
def test_both_select_the_same_rows(both: Both, pairs: dict[str, str]) -> None:
    def seen(base: str) -> list[tuple[str, str]]:
        return [(row["timestamp"], row["url"]) for row in cdx(base, **pairs)]

    assert seen(both.ours) == seen(both.theirs)


PAGES: Final = (
    *((page.stamp, page.url) for page in held.PAGES if page.url != held.FIFTY),
    (held.FIFTY_STAMPS[7], held.FIFTY),
    (held.FIRST_SEEN.stamp, held.UNCHANGED),
    (held.SEEN_AGAIN, held.UNCHANGED),
    *(("20200220202020", SITE + name) for name in KINDS if name != "subsecond"),
    ("20200220202020", "http://plain.example/"),
    ("20140216050221", "http://arc.example/"),
    ("20140216050221", "http://arc.example/plain"),
)
"""All that is held, by what pywb calls it: it knows whole seconds only."""


def raw(base: str, stamp: str, url: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Request the bytes as they were archived, in any content coding."""
    split = urlsplit(base)
    connection = http.client.HTTPConnection(split.netloc, timeout=20)
    target = f"{split.path}{stamp}id_/{url}"
    try:
        connection.request("GET", target, headers={"Accept-Encoding": "gzip, br"})
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()
    finally:
        connection.close()


ASIDE: Final = "x-archive-orig-"
# Of whoever sends it, and not archived.
OF_THE_SERVER: Final = frozenset(
    {
        *("link", "memento-datetime", "date", "connection", "server", "content-length"),
        *("transfer-encoding", "cache-control", "etag", "accept-ranges", "vary"),
        *("content-security-policy", "x-content-type-options", "referrer-policy"),
        *("content-disposition", "cross-origin-resource-policy", "content-location"),
        *("access-control-allow-origin", "access-control-expose-headers", "preference-applied"),
        *("x-archive-orig-transfer-encoding", "x-archive-orig-location", "location"),
    }
)


def archived_headers(headers: Message) -> set[tuple[str, str]]:
    """Return what an answer tells of the archived headers, by their own names.

    Differences that are meant: pywb sends what it does not know under its own name, we send
    nothing under its own name but what describes the bytes (R-9); where a redirect led, pywb
    tells as it was written, we lead on to our own copy; we tell nothing of transfer codings.
    """
    lowered = ((name.lower(), value) for name, value in headers.items())
    return {(n.removeprefix(ASIDE), v) for n, v in lowered if n not in OF_THE_SERVER}


@pytest.mark.parametrize(("stamp", "url"), PAGES)
def test_both_replay_the_same(both: Both, stamp: str, url: str) -> None:
    their_status, theirs, their_body = raw(both.theirs, stamp, url)
    status, ours, body = raw(both.ours, stamp, url)

    assert (status, body) == (their_status, their_body)
    assert ours["Memento-Datetime"] == theirs["Memento-Datetime"]
    assert archived_headers(ours) == archived_headers(theirs)


def on_the_wire(base: str, stamp: str, url: str) -> bytes:
    """Return all that is sent after the head, whatever its Content-Length is."""
    split = urlsplit(base)
    target = f"{split.path}{stamp}id_/{url}"
    with socket.create_connection((split.hostname or "", split.port or 80), 20) as connection:
        # HTTP/1.0: the body has no chunks.
        connection.sendall(f"GET {target} HTTP/1.0\r\nHost: {split.netloc}\r\n\r\n".encode())
        sent = b"".join(iter(lambda: connection.recv(65536), b""))
    return sent.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("name", LENGTHS)
def test_both_send_the_whole_payload_whatever_its_content_length_says(
    both: Both, name: str
) -> None:
    page = ("20200220202020", LENGTHS_SITE + name)
    _, ours, body = raw(both.ours, *page)

    assert body == on_the_wire(both.theirs, *page) == on_the_wire(both.ours, *page)
    # pywb passes the archived field on, so that clients wait for more or take less.
    assert ours["Content-Length"] == str(len(body))
    assert ours["Timegate-Diagnosis"].startswith("content-length-")


def test_an_archived_redirect_leads_to_our_own_memento(both: Both) -> None:
    _, headers, _ = raw(both.ours, "20130303030300", held.MOVED)
    assert headers["Location"] == f"{both.ours}20130303030300id_/{held.ONCE}"

    led = ask(headers["Location"])
    assert led[1]["Location"] == f"{both.ours}20130303030303id_/{held.ONCE}"


def listed(base: str, url: str) -> list[str]:
    _, _, body = ask(f"{base}timemap/link/{url}")
    lines = body.decode().split(",\n")
    return [line.partition(base)[2].partition(">")[0] for line in lines if "memento" in line]


@pytest.mark.parametrize("url", [held.OFTEN, held.FIFTY, held.UNCHANGED, held.VARIANTS[1]])
def test_both_list_the_same_mementos(both: Both, url: str) -> None:
    assert listed(both.ours, url) == listed(both.theirs, url)


@pytest.mark.parametrize(
    "at", ["Sun, 15 Jan 2012 00:00:01 GMT", "Mon, 01 Jan 2001 00:00:00 GMT", None]
)
def test_both_timegates_lead_to_the_same_memento(both: Both, at: str | None) -> None:
    _, theirs, _ = ask(f"{both.theirs}{held.FIFTY}", at)
    _, ours, _ = ask(f"{both.ours}{held.FIFTY}", at)

    there = theirs["Location"].partition(both.theirs)[2].replace("mp_", "")
    assert ours["Location"].partition(both.ours)[2] == there


def test_a_pywb_replays_from_our_index_and_our_files(both: Both, tmp_path: Path) -> None:
    index = f"cdx+{both.ours}cdx"
    (tmp_path / "config.yaml").write_text(
        f"{CONFIGURATIONS['exact']}collections:\n  {COLLECTION}:\n    index: {index}\n"
        f"    archive_paths: {both.files}/\n"
    )

    with running_wayback(tmp_path) as pywb:
        seen = [raw(f"{pywb}{COLLECTION}/", stamp, url) for stamp, url in PAGES]

    assert [(status, body) for status, _, body in seen] == [
        (status, body) for status, _, body in (raw(both.theirs, *page) for page in PAGES)
    ]


async def test_our_memento_adapter_works_with_a_collection(both: Both) -> None:
    entry = an_entry(
        "memento",
        timegate=f"{both.ours}timegate/",
        timemaps={"link": f"{both.ours}timemap/link/"},
    )
    async with open_fetchers([entry], UpstreamSettings("mailto:test@example.org")) as fetchers:
        source = source_for(entry, fetchers[entry.id], lambda: datetime.now(UTC))
        closest = await source.closest(held.FIFTY, Moment("20120120"))
        captures = [one async for batch in source.mementos(held.FIFTY) for one in batch]

    assert closest is not None
    assert closest.doubts == ()
    assert closest.memento.stamp == "20120120120000"
    assert [capture.stamp for capture in captures] == [*held.FIFTY_STAMPS]


def test_memento_client_works_with_a_collection(tmp_path: Path) -> None:
    with an_original() as original:
        dates = ("2010-01-01T00:00:00Z", "2011-01-01T00:00:00Z", "2012-01-01T00:00:00Z")
        records = [warcs.response(original, date) for date in dates]
        (tmp_path / "one.warc.gz").write_bytes(warcs.gzipped(*records))
        with running_collection(tmp_path) as ours:
            client = MementoClient(
                timegate_uri=f"{ours.url}/timegate/", check_native_timegate=False
            )
            info = client.get_memento_info(original, datetime(2011, 2, 1, tzinfo=UTC))

    closest = info["mementos"]["closest"]
    assert closest["datetime"].year == 2011
    assert closest["uri"] == [f"{ours.url}/20110101000000/{original}"]
