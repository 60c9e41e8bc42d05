"""Real clients that download from our server instead of the Wayback Machine.

Only their base addresses are changed. What they store is compared with what was captured, over
a real pywb, over a collection of ours, and over both, each with a part of the captures.
"""

import json
import re
import subprocess
import sys
from base64 import b32encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1
from io import BytesIO
from itertools import takewhile
from pathlib import Path
from urllib.parse import urlencode, urljoin, urlsplit

import cdx_toolkit  # type: ignore[import-untyped]
import pytest
import requests
import wayback  # type: ignore[import-untyped]
import waybackpack  # type: ignore[import-untyped]
from cdx_toolkit import myrequests
from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]
from wayback import _client as edgi
from wayback import _utils as edgi_urls
from waybackpack import asset, cdx
from waybackpy import WaybackMachineCDXServerAPI

from archives.warc_index.building import index_collection
from tests.end_to_end.pywb import Pywb, running_pywb
from tests.end_to_end.server import serving

SITE = "http://shop.example"
FRONT = f"{SITE}/"
MOVED = f"{SITE}/old"
SHIFTED = f"{SITE}/shifted"
"""An archived redirect with a relative target."""
GONE = f"{SITE}/gone"
STYLE = f"{SITE}/style.css"
LOGO = f"{SITE}/logo.png"
QUERY = f"{SITE}/list?page=2&sort=%C3%BC"
OTHER = "http://blog.shop.example/post"
BARE = "http://bare.shop.example"
"""Without a slash: pywb redirects to the address with one."""
SECURE = "https://secure.example/in"
PLAIN = "http://secure.example/in"
"""An archived redirect to `SECURE`, which has the same key in an index."""
BINARY = bytes(range(256)) * 40


@dataclass(frozen=True, slots=True)
class Shot:
    """One capture."""

    url: str
    stamp: str
    body: bytes
    type: str = "text/html; charset=utf-8"
    status: str = "200 OK"
    more: tuple[tuple[str, str], ...] = ()

    @property
    def moment(self) -> datetime:
        return datetime.strptime(self.stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)

    @property
    def key(self) -> tuple[str, str]:
        return self.stamp, self.url


def page(text: str) -> bytes:
    return f"<!doctype html>\n<title>{text}</title><a href='/old'>old</a>\n".encode()


SHOTS = (
    Shot(FRONT, "20150101000001", page("first")),
    Shot(FRONT, "20160101000001", page("first")),
    Shot(FRONT, "20170101000001", page("third")),
    Shot(MOVED, "20150101000002", b"", status="301 Moved", more=(("Location", FRONT),)),
    Shot(SHIFTED, "20150101000008", b"moved", status="302 Found", more=(("Location", "/"),)),
    Shot(GONE, "20150101000003", page("gone"), status="404 Not Found"),
    Shot(STYLE, "20150101000004", b"body { background: url(/logo.png) }", "text/css"),
    Shot(LOGO, "20150101000005", BINARY, "image/png"),
    Shot(QUERY, "20150101000006", page("query")),
    Shot(OTHER, "20150101000007", page("blog")),
    Shot(BARE, "20150101000009", page("bare")),
    Shot(
        PLAIN, "20150101000010", b"to https", status="301 Moved", more=(("Location", SECURE),)
    ),
    Shot(GONE, "20150101000011", page("gone again"), status="404 Not Found"),
    Shot(SECURE, "20150101000012", page("secure")),
)
BYTES = {shot.key: shot.body for shot in SHOTS}
FRONTS = [shot.stamp for shot in SHOTS if shot.url == FRONT]
OF_SITE = {shot.key for shot in SHOTS if shot.url.startswith(f"{SITE}/")}
OF_DOMAIN = {shot.key for shot in SHOTS if "shop.example" in shot.url}


def write_warc(folder: Path, shots: Sequence[Shot]) -> None:
    with (folder / "shop.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for shot in shots:
            at = shot.moment
            fields = [("Content-Type", shot.type), ("Server", "shop/1"), *shot.more]
            record = writer.create_warc_record(
                shot.url,
                "response",
                payload=BytesIO(shot.body),
                http_headers=StatusAndHeaders(shot.status, fields, protocol="HTTP/1.1"),
                warc_headers_dict={"WARC-Date": f"{at:%Y-%m-%dT%H:%M:%SZ}"},
            )
            writer.write_record(record)
            record.raw_stream.close()


@contextmanager
def over_pywb(root: Path, shots: Sequence[Shot]) -> Iterator[str]:
    """Run pywb over *shots*; yields its entry in our configuration."""
    root.mkdir()
    with running_pywb("plain", root, lambda folder: write_warc(folder, shots)) as pywb:
        yield entry_of(pywb)


def entry_of(pywb: Pywb) -> str:
    return (
        '[[archive]]\nid = "theirs"\nkind = "memento"\n'
        f'timegate = "{pywb.url}"\ntimemap = "{pywb.url}timemap/link/"\n'
        f'cdx = "{pywb.url}cdx"\ndialect = "pywb-cdxj"\n'
        f'replay = "{pywb.url}{{time14}}/{{uri}}"\n'
        f'raw = "{pywb.url}{{time14}}id_/{{uri}}"\n'
    )


@contextmanager
def over_collection(root: Path, shots: Sequence[Shot]) -> Iterator[str]:
    """Index *shots* as a collection of ours; yields its entry in our configuration."""
    root.mkdir()
    write_warc(root, shots)
    index_collection(root)
    yield f'[[archive]]\nid = "mine"\nkind = "warc"\npath = "{root}"\n'


Archive = Callable[[Path, Sequence[Shot]], AbstractContextManager[str]]
ARCHIVES: dict[str, list[tuple[Archive, Sequence[Shot]]]] = {
    "pywb": [(over_pywb, SHOTS)],
    "ours": [(over_collection, SHOTS)],
    "both": [(over_pywb, SHOTS[::2]), (over_collection, SHOTS[1::2])],
}


@pytest.fixture(scope="module", params=ARCHIVES)
def gate(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of our server over the archives."""
    folder = tmp_path_factory.mktemp("archives")
    with ExitStack() as stack:
        entries = [
            stack.enter_context(archive(folder / f"{number}", shots))
            for number, (archive, shots) in enumerate(ARCHIVES[request.param])
        ]
        config = configured(folder, *entries)
        yield stack.enter_context(serving("--config", str(config))).url


def configured(folder: Path, *entries: str) -> Path:
    config = folder / "timegate.toml"
    config.write_text("[archives]\nuse = []\n" + "".join(entries))
    return config


# waybackpack


@pytest.fixture
def packs(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cdx, "SEARCH_URL", f"{gate}/cdx/search/cdx")
    monkeypatch.setattr(asset, "ARCHIVE_TEMPLATE", f"{gate}/web/{{timestamp}}{{flag}}/{{url}}")


def stored(folder: Path) -> dict[str, bytes]:
    """Return what waybackpack has written, by stamp."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).parts[0]: file.read_bytes() for file in files}


@pytest.mark.usefixtures("packs")
@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("url", [FRONT, "shop.example", "https://www.shop.example/"])
def test_waybackpack_stores_every_version_of_a_page(
    tmp_path: Path, url: str, *, raw: bool
) -> None:
    waybackpack.Pack(url).download_to(str(tmp_path), raw=raw)

    assert stored(tmp_path) == {stamp: BYTES[stamp, FRONT] for stamp in FRONTS}


@pytest.mark.usefixtures("packs")
@pytest.mark.parametrize("url", [LOGO, QUERY, STYLE, BARE])
def test_waybackpack_stores_any_file(tmp_path: Path, url: str) -> None:
    waybackpack.Pack(url).download_to(str(tmp_path), raw=True)

    assert [*stored(tmp_path).values()] == [
        body for key, body in BYTES.items() if key[1] == url
    ]


@pytest.mark.usefixtures("packs")
def test_waybackpack_leaves_out_versions_that_are_the_same(tmp_path: Path) -> None:
    pack = waybackpack.Pack(FRONT, uniques_only=True)
    pack.download_to(str(tmp_path), raw=True)

    assert sorted(stored(tmp_path)) == [FRONTS[0], FRONTS[2]]


def test_the_command_of_waybackpack_does_its_job(gate: str, tmp_path: Path) -> None:
    pointed = (
        "import sys; from waybackpack import asset, cdx, cli\n"
        f"cdx.SEARCH_URL = '{gate}/cdx/search/cdx'\n"
        f"asset.ARCHIVE_TEMPLATE = '{gate}/web/{{timestamp}}{{flag}}/{{url}}'\n"
        "cli.main()"
    )
    options = ["--raw", "--uniques-only", "--from-date", "2016", "-d", str(tmp_path), FRONT]

    subprocess.run([sys.executable, "-c", pointed, *options], check=True, timeout=120)  # noqa: S603 -- our own words

    assert stored(tmp_path) == {
        stamp: BYTES[stamp, FRONT] for stamp in ("20160101000001", "20170101000001")
    }


# waybackpy


@pytest.mark.parametrize("limit", [None, "2"])
def test_waybackpy_lists_all_pages_with_a_prefix(gate: str, limit: str | None) -> None:
    index = WaybackMachineCDXServerAPI(
        f"{SITE}/", "timegate's tests", match_type="prefix", limit=limit
    )
    index.endpoint = f"{gate}/cdx/search/cdx"

    found = [*index.snapshots()]

    assert {(one.timestamp, one.original) for one in found} == OF_SITE
    assert len(found) == len(OF_SITE)
    assert {one.statuscode for one in found} == {"200", "301", "302", "404"}
    assert all(int(one.length) > 0 for one in found)
    urlkeys = [(one.urlkey, one.timestamp) for one in found]
    assert urlkeys == sorted(urlkeys)


@pytest.mark.parametrize(
    ("match_type", "count"), [("host", len(OF_SITE)), ("domain", len(OF_DOMAIN)), ("exact", 3)]
)
def test_waybackpy_lists_a_host_and_a_domain(gate: str, match_type: str, count: int) -> None:
    index = WaybackMachineCDXServerAPI(
        "shop.example", "timegate's tests", match_type=match_type
    )
    index.endpoint = f"{gate}/cdx/search/cdx"

    assert len([*index.snapshots()]) == count


def test_waybackpy_collapses_and_filters_a_prefix(gate: str) -> None:
    index = WaybackMachineCDXServerAPI(
        f"{SITE}/*", "timegate's tests", filters=["statuscode:200"], collapses=["urlkey"]
    )
    index.endpoint = f"{gate}/cdx/search/cdx"

    found = [one.original for one in index.snapshots()]

    assert sorted(found) == sorted([FRONT, STYLE, LOGO, QUERY])


# EDGI's client


@pytest.fixture
def edgi_pointed(gate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edgi, "CDX_SEARCH_URL", f"{gate}/cdx/search/cdx")
    template = f"{gate}/web/{{timestamp}}{{mode}}/{{url}}"
    monkeypatch.setattr(edgi_urls, "MEMENTO_URL_TEMPLATE", template)
    pattern = re.compile(rf"^{re.escape(gate)}/web/(\d+)(\w\w_)?/(.+)$")
    monkeypatch.setattr(edgi_urls, "MEMENTO_URL_PATTERN", pattern)


@pytest.mark.usefixtures("edgi_pointed")
@pytest.mark.parametrize("limit", [2, 1_000])
def test_edgis_client_downloads_all_pages_with_a_prefix(limit: int) -> None:
    with wayback.WaybackClient() as client:
        records = [*client.search(f"{SITE}/", match_type="prefix", limit=limit)]
        plain = [one for one in records if one.statuscode not in (301, 302)]
        mementos = {
            (f"{one.timestamp:%Y%m%d%H%M%S}", one.original): client.get_memento(one).content
            for one in plain
        }

    assert {(f"{one.timestamp:%Y%m%d%H%M%S}", one.original) for one in records} == OF_SITE
    assert mementos == {key: BYTES[key] for key in OF_SITE if key[1] not in (MOVED, SHIFTED)}


@pytest.mark.usefixtures("edgi_pointed")
@pytest.mark.parametrize(("url", "second", "status"), [(MOVED, 2, 301), (SHIFTED, 8, 302)])
def test_edgis_client_follows_an_archived_redirect(
    gate: str, url: str, second: int, status: int
) -> None:
    when = datetime(2015, 1, 1, 0, 0, second, tzinfo=UTC)

    with wayback.WaybackClient() as client:
        memento = client.get_memento(url, when)
        kept = client.get_memento(url, when, follow_redirects=False)

    assert memento.content == BYTES["20150101000001", FRONT]
    assert [one.url for one in memento.history] == [url]
    assert memento.memento_url.startswith(f"{gate}/web/")
    assert kept.status_code == status
    assert urljoin(url, kept.headers["Location"]) == FRONT


@pytest.mark.usefixtures("edgi_pointed")
def test_edgis_client_gets_the_page_behind_a_redirect_to_https() -> None:
    with wayback.WaybackClient() as client:
        memento = client.get_memento(PLAIN, "20150101000010", exact=False)

    assert memento.content == BYTES["20150101000012", SECURE]


@pytest.mark.usefixtures("edgi_pointed")
@pytest.mark.parametrize("mode", [wayback.Mode.view, wayback.Mode.image, wayback.Mode.css])
def test_edgis_client_gets_the_bytes_in_every_mode(mode: wayback.Mode) -> None:
    with wayback.WaybackClient() as client:
        memento = client.get_memento(LOGO, "20150101000005", mode=mode)

    assert memento.content == BINARY


# cdx_toolkit


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cdx_toolkit wait for nothing between its requests."""
    for known in myrequests.retry_info.values():
        monkeypatch.setitem(known, "minimum_interval", 0.0)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("path", ["/cdx", "/cdx/search/cdx"])
@pytest.mark.parametrize(
    ("url", "expected"),
    [(f"{SITE}/*", OF_SITE), ("*.shop.example", OF_DOMAIN), ("shop.example/l*", None)],
)
def test_cdx_toolkit_lists_and_downloads_by_wildcard(
    gate: str, path: str, url: str, expected: set[tuple[str, str]] | None
) -> None:
    expected = expected or {key for key in OF_SITE if key[1] in (LOGO, QUERY)}
    fetcher = cdx_toolkit.CDXFetcher(source=f"{gate}{path}", wb=f"{gate}/web")

    found = [*fetcher.iter(url, limit=100)]

    assert {(one["timestamp"], one["url"]) for one in found} == expected
    assert len(found) == len(expected)
    for one in found:
        record = one.fetch_warc_record()
        try:
            assert record.content_stream().read() == BYTES[one["timestamp"], one["url"]]
            assert record.http_headers.get_statuscode() == one["status"]
        finally:
            record.raw_stream.close()


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("path", ["/cdx", "/cdx/search/cdx"])
def test_cdx_toolkit_estimates_the_size_of_a_range(gate: str, path: str) -> None:
    fetcher = cdx_toolkit.CDXFetcher(source=f"{gate}{path}")

    assert fetcher.get_size_estimate(f"{SITE}/*", as_pages=True) == 1


# wayback-machine-downloader 0.5.0 (npm): lib/downloader.js, getRawListFromApi and
# _download_single. It lists four spellings of the site, each as it is and with a wildcard, page
# by page up to 100 until one is empty or not JSON, keeps the newest capture of each path,
# follows redirects, and stores the body of every 200.


def listed(gate: str, url: str, index: int | None) -> list[list[str]]:
    fields = {"output": "json", "url": url, "fl": "timestamp,original", "collapse": "digest"}
    fields |= {"gzip": "false"} | ({} if index is None else {"page": str(index)})
    reply = requests.get(f"{gate}/cdx/search/xd?{urlencode(fields)}", timeout=60)
    try:
        rows: list[list[str]] = json.loads(reply.text)
    except ValueError:
        return []
    return rows[1:] if rows and rows[0] == ["timestamp", "original"] else rows


def test_wayback_machine_downloader_stores_a_whole_site(gate: str) -> None:
    newest: dict[str, tuple[str, str]] = {}
    for scheme in ("https", "http"):
        for host in ("shop.example", "www.shop.example"):
            base = f"{scheme}://{host}"
            rows = listed(gate, base, None)
            pages = (listed(gate, f"{base}/*", index) for index in range(100))
            batches = [*takewhile(bool, pages)]
            assert len(batches) == 1
            rows += batches[0]
            for stamp, url in rows:
                path = urlsplit(url).path
                newest[path] = max(newest.get(path, ("", "")), (stamp, url))

    replies = {
        url: requests.get(f"{gate}/web/{stamp}id_/{url}", timeout=60)
        for stamp, url in newest.values()
    }

    files = {url: reply.content for url, reply in replies.items() if reply.ok}
    assert files == {
        FRONT: BYTES["20170101000001", FRONT],
        MOVED: BYTES["20150101000001", FRONT],
        SHIFTED: BYTES["20150101000001", FRONT],
        STYLE: BYTES["20150101000004", STYLE],
        LOGO: BINARY,
        QUERY: BYTES["20150101000006", QUERY],
    }
    assert replies[GONE].status_code == 404


# wayback-machine-downloader 2.3.1 (Ruby): archive_api.rb. As the one above, but it requests
# only captures with status 200, and ends with an error at any answer that is none.


def write_revisits(folder: Path) -> None:
    """Write `SHOTS`, and three revisits of the front page, whose status pywb does not state."""
    write_warc(folder, SHOTS)
    with (folder / "again.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for year in (2018, 2019, 2020):
            digest = f"sha1:{b32encode(sha1(SHOTS[0].body).digest()).decode()}"  # noqa: S324 -- that of WARC
            dates = {"WARC-Date": f"{year}-01-01T00:00:01Z"}
            first = f"{SHOTS[0].moment:%Y-%m-%dT%H:%M:%SZ}"
            record = writer.create_revisit_record(
                FRONT, digest, FRONT, first, warc_headers_dict=dates
            )
            writer.write_record(record)


def test_the_pages_of_a_filtered_list_end_without_an_error(tmp_path: Path) -> None:
    fields = {"output": "json", "url": f"{SITE}/*", "fl": "timestamp,original"}
    fields |= {"collapse": "digest", "gzip": "false", "filter": "statuscode:200"}
    replies = []
    with (
        running_pywb("plain", tmp_path, write_revisits) as pywb,
        serving("--config", str(configured(tmp_path, entry_of(pywb)))) as running,
    ):
        for page_index in range(2):
            query = urlencode(fields | {"page": str(page_index)})
            reply = requests.get(f"{running.url}/cdx/search/xd?{query}", timeout=60)
            replies.append((reply.status_code, reply.text, reply.headers["Memento-Sources"]))

    assert [status for status, _, _ in replies] == [200, 200]
    assert {url for _, url in json.loads(replies[0][1])[1:]} == {FRONT, STYLE, LOGO, QUERY}
    assert replies[1][1] == ""
    assert all("unjudged" in sources for _, _, sources in replies)
