"""Real clients that use our server instead of the Wayback Machine."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import cdx_toolkit  # type: ignore[import-untyped]
import pytest
import requests
import wayback  # type: ignore[import-untyped]
from cdx_toolkit import myrequests
from memento_client import MementoClient  # type: ignore[import-untyped]
from wayback import _client as edgi
from wayback import _utils as edgi_urls
from wayback.exceptions import (  # type: ignore[import-untyped]
    MementoPlaybackError,
    NoMementoError,
    WaybackException,
)
from waybackpy import (
    WaybackMachineAvailabilityAPI,
    WaybackMachineCDXServerAPI,
    cdx_api,
    cdx_snapshot,
)
from waybackpy.exceptions import WaybackError

from archives.formats.httpdate import http_date
from tests.end_to_end import pywb as held
from tests.end_to_end.capturing import pywb_with
from tests.end_to_end.pywb import Pywb, running_wayback
from tests.end_to_end.server import Running, running_timegate, serving
from tests.end_to_end.test_serving import an_original, ask

AGENT = "timegate's tests"


@pytest.fixture(scope="module")
def server(
    plain_pywb: Pywb, exact_pywb: Pywb, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Our server over two pywbs that hold the same."""
    archives = {"plain": plain_pywb.url, "exact": exact_pywb.url}
    with running_timegate(tmp_path_factory.mktemp("server"), archives) as running:
        yield running


def test_waybackpy_lists_and_finds_the_nearest(server: Running) -> None:
    index = WaybackMachineCDXServerAPI(held.FIFTY, AGENT)
    index.endpoint = f"{server.url}/cdx/search/cdx"

    stamps = [snapshot.timestamp for snapshot in index.snapshots()]
    near = index.near(year=2012, month=1, day=20, hour=12, minute=0)

    assert stamps == sorted([*held.FIFTY_STAMPS, *held.FIFTY_STAMPS])
    assert near.timestamp == "20120120120000"


def test_waybackpy_uses_the_availability_api(server: Running) -> None:
    available = WaybackMachineAvailabilityAPI(held.ONCE, AGENT)
    available.endpoint = f"{server.url}/wayback/available"

    newest = available.newest()

    assert newest.timestamp().strftime("%Y%m%d%H%M%S") == "20130303030303"


@pytest.mark.parametrize("path", ["/cdx", "/cdx/search/cdx"])
def test_the_paging_of_cdx_toolkit_ends_without_repeats(server: Running, path: str) -> None:
    fetcher = cdx_toolkit.CDXFetcher(source=f"{server.url}{path}")

    found = [capture["timestamp"] for capture in fetcher.iter(held.FIFTY, limit=1_000)]

    assert sorted(found) == sorted([*held.FIFTY_STAMPS, *held.FIFTY_STAMPS])


def test_edgis_client_pages_by_resume_keys(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgi, "CDX_SEARCH_URL", f"{server.url}/cdx/search/cdx")

    with wayback.WaybackClient() as client:
        found = [f"{r.timestamp:%Y%m%d%H%M%S}" for r in client.search(held.FIFTY, limit=7)]

    # It shows each capture once, whoever holds it.
    assert sorted(set(found)) == sorted(held.FIFTY_STAMPS)


@pytest.fixture
def edgi_pointed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a patch that points EDGI's client at our server; it knows one archive only."""

    def point(template: str) -> None:
        monkeypatch.setattr(edgi_urls, "MEMENTO_URL_TEMPLATE", template)
        whoevers = re.compile(r"^https?://.+?/(\d{14})(\w\w_)?/(.+)$")
        monkeypatch.setattr(edgi_urls, "MEMENTO_URL_PATTERN", whoevers)

    return point


PROXY = "/memento/proxy/{timestamp}/{url}"
WEB = "/web/{timestamp}{mode}/{url}"
NOON = datetime(2012, 1, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize("template", [PROXY, WEB])
@pytest.mark.parametrize(
    ("url", "when", "status"),
    [
        (held.FIFTY, NOON, 200),
        (held.QUERY, datetime(2017, 7, 7, 7, 7, 7, tzinfo=UTC), 200),
        (held.GONE, datetime(2014, 4, 4, 4, 4, 4, tzinfo=UTC), 404),
    ],
)
def test_edgis_client_gets_exactly_the_memento_it_requests(  # noqa: PLR0913, PLR0917
    server: Running,
    edgi_pointed: Callable[[str], None],
    url: str,
    when: datetime,
    status: int,
    template: str,
) -> None:
    edgi_pointed(server.url + template)

    with wayback.WaybackClient() as client:
        memento = client.get_memento(url, when)

    assert (memento.status_code, memento.url, memento.timestamp) == (status, url, when)
    assert memento.ok == (status == 200)


@pytest.mark.parametrize("template", [PROXY, WEB])
def test_edgis_client_follows_an_archived_redirect_through_us(
    plain_pywb: Pywb, edgi_pointed: Callable[[str], None], tmp_path: Path, template: str
) -> None:
    # One archive: two on one host cannot be distinguished in the target of a redirect.
    with (
        running_timegate(tmp_path, {"plain": plain_pywb.url}) as running,
        wayback.WaybackClient() as client,
    ):
        edgi_pointed(running.url + template)
        memento = client.get_memento(held.MOVED, datetime(2013, 3, 3, 3, 3, tzinfo=UTC))

    assert memento.url == held.ONCE
    assert [one.url for one in memento.history] == [held.MOVED]
    assert memento.memento_url.startswith(running.url)


def test_edgis_client_notices_that_the_memento_is_another_one(
    server: Running, edgi_pointed: Callable[[str], None]
) -> None:
    edgi_pointed(server.url + PROXY)
    later = NOON + timedelta(hours=1)

    with wayback.WaybackClient() as client:
        near = client.get_memento(held.FIFTY, later, exact=False)
        with pytest.raises(MementoPlaybackError):
            client.get_memento(held.FIFTY, later)
        with pytest.raises(NoMementoError):
            client.get_memento(held.UNKNOWN, later)

    assert near.timestamp == NOON


def test_edgis_client_is_redirected_to_the_archive_for_the_view_of_people(
    server: Running, edgi_pointed: Callable[[str], None]
) -> None:
    edgi_pointed(server.url + WEB)

    with wayback.WaybackClient() as client:
        memento = client.get_memento(held.FIFTY, NOON, mode=wayback.Mode.view, exact=False)
        with pytest.raises(MementoPlaybackError):
            client.get_memento(held.FIFTY, NOON, mode=wayback.Mode.view)

    assert memento.timestamp == NOON
    assert not memento.memento_url.startswith(server.url)


PYWIKIBOT = (
    "import sys, datetime\n"
    "from pywikibot.data.memento import get_closest_memento_url\n"
    "when = datetime.datetime.strptime(sys.argv[2], '%Y%m%d%H%M%S')\n"
    "print(get_closest_memento_url(sys.argv[1], when, sys.argv[3]))"
)


def asked_by_pywikibot(url: str, when: datetime, gate: str) -> str:
    """Run pywikibot as a process: it reads its configuration when it is imported."""
    return subprocess.run(  # noqa: S603 -- our own words
        [sys.executable, "-c", PYWIKIBOT, url, f"{when:%Y%m%d%H%M%S}", f"{gate}/timegate/"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYWIKIBOT_NO_USER_CONFIG": "2"},
    ).stdout.strip()


def test_pywikibot_finds_a_copy(tmp_path: Path) -> None:
    stamps = ["20100101000000", "20110101000000", "20130101000000"]
    with (
        an_original() as original,
        pywb_with(tmp_path, [(original, stamp) for stamp in stamps]) as archive,
        running_timegate(tmp_path, {"mine": archive}) as running,
    ):
        printed = asked_by_pywikibot(original, datetime(2011, 2, 1, tzinfo=UTC), running.url)

    assert "20110101000000" in printed


@contextmanager
def pywb_over_us(folder: Path, us: Running) -> Iterator[str]:
    """Run a pywb without captures of its own that queries our server for everything."""
    folder.mkdir()
    (folder / "config.yaml").write_text(
        "framed_replay: false\ncollections:\n"
        f"  gate:\n    index: memento+{us.url}/web/\n"
        f"  index:\n    index: cdx+{us.url}/cdx\n    archive_paths: {us.url}/\n"
    )
    with running_wayback(folder) as url:
        yield url


def test_pywb_replays_and_lists_what_we_find(server: Running, tmp_path: Path) -> None:
    with pywb_over_us(tmp_path / "client", server) as url:
        replayed = ask(f"{url}gate/20120120120000id_/{held.FIFTY}")
        listed = ask(f"{url}gate/timemap/link/{held.FIFTY}")
        indexed = ask(f"{url}index/cdx?url={held.FIFTY}&limit=200")

    assert replayed[0] == 200
    assert replayed[1]["Memento-Datetime"] == "Fri, 20 Jan 2012 12:00:00 GMT"
    assert b"20120120120000" in replayed[2]
    assert all(stamp.encode() in listed[2] for stamp in held.FIFTY_STAMPS)
    assert len(indexed[2].splitlines()) == 2 * len(held.FIFTY_STAMPS)


def test_the_addresses_of_memgator_and_time_travel_answer(server: Running) -> None:
    # These services read a partial stamp as its first second.
    redirect = ask(f"{server.url}/memento/2012012013/{held.FIFTY}")
    described = ask(f"{server.url}/memento/json/2012012013/{held.FIFTY}")
    travel = ask(f"{server.url}/api/json/2012012013/{held.FIFTY}")

    assert redirect[0] == 302
    assert "20120120120000" in redirect[1]["Location"]
    closest = json.loads(described[2])["mementos"]["closest"]
    assert closest["datetime"] == "2012-01-20T12:00:00Z"
    assert "20120120120000" in json.loads(travel[2])["mementos"]["closest"]["uri"][0]


def test_a_wayback_address_redirects_to_the_best_memento(server: Running) -> None:
    status, headers, _ = ask(f"{server.url}/web/20120120/{held.FIFTY}")

    assert status == 302
    assert "20120120120000" in headers["Location"]


# Two archives, each with captures that the other does not hold: the Wayback Machine, which has
# a CDX server too, and another one with TimeMaps only.

WAYBACK_MACHINE = "https://web.archive.org/web/"
ELSEWHERE = "http://example.org/only-elsewhere"
FIRST, SECOND, THIRD, FOURTH = (f"{year}0601120000" for year in range(2010, 2014))
KNOWN_TO_WAYBACK = (FIRST, THIRD)
KNOWN_ELSEWHERE = (SECOND, FOURTH)


@dataclass(frozen=True, slots=True)
class Both:
    """Our server over the two archives."""

    gate: str
    """Our address."""
    wayback: str
    """The address of the archive that stands in for the Wayback Machine."""
    page: str
    """A page of which both hold captures; it is online, too."""

    def dereferenced(self, url: str) -> tuple[int, str | None]:
        """Return the status at *url*, and the Memento-Datetime; redirects are followed."""
        url = url.replace(WAYBACK_MACHINE, self.wayback, 1)
        for _ in range(5):
            status, headers, _ = ask(url)
            if status not in (301, 302, 303, 307, 308) or "Memento-Datetime" in headers:
                return status, headers["Memento-Datetime"]
            url = headers["Location"]
        raise AssertionError(f"too many redirects: {url}")

    def holds(self, url: str, stamp: str) -> bool:
        """Whether *url* leads to the memento of *stamp*."""
        return self.dereferenced(url) == (200, http_date(stamp))


ENTRY = """
[[archive]]
id = "{name}"
kind = "memento"
timegate = "{url}"
timemap = "{url}timemap/link/"
replay = "{url}{{time14}}/{{uri}}"
raw = "{url}{{time14}}id_/{{uri}}"
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folders = [tmp_path_factory.mktemp(name) for name in ("wayback", "elsewhere", "gate")]
    with (
        an_original() as page,
        pywb_with(folders[0], [(page, stamp) for stamp in KNOWN_TO_WAYBACK]) as machine,
        pywb_with(
            folders[1], [*((page, stamp) for stamp in KNOWN_ELSEWHERE), (ELSEWHERE, SECOND)]
        ) as other,
    ):
        config = folders[2] / "timegate.toml"
        config.write_text(
            "[archives]\nuse = []\n"
            + ENTRY.format(name="internet-archive", url=machine)
            + f'cdx = "{machine}cdx"\ndialect = "pywb-cdxj"\n'
            + ENTRY.format(name="elsewhere", url=other)
        )
        with serving("--config", str(config)) as running:
            yield Both(running.url, machine, page)


def test_the_addresses_of_other_archives_are_not_at_the_wayback_machine(both: Both) -> None:
    """What the recipes are for: without them, a client builds addresses of nothing."""
    index = WaybackMachineCDXServerAPI(ELSEWHERE, AGENT)
    index.endpoint = f"{both.gate}/cdx/search/cdx"

    (snapshot,) = index.snapshots()

    assert not both.holds(snapshot.archive_url, SECOND)


def test_waybackpy_can_be_limited_to_the_wayback_machine(both: Both) -> None:
    def index(url: str) -> WaybackMachineCDXServerAPI:
        made = WaybackMachineCDXServerAPI(url, AGENT, start_timestamp="2010")
        made.endpoint = f"{both.gate}/cdx/search/cdx?archives=internet-archive&"
        return made

    snapshots = [*index(both.page).snapshots()]
    found = [*snapshots, index(both.page).oldest(), index(both.page).near(year=2011)]

    assert [snapshot.timestamp for snapshot in snapshots] == [*KNOWN_TO_WAYBACK]
    assert all(both.holds(one.archive_url, one.timestamp) for one in found)
    assert [*index(ELSEWHERE).snapshots()] == []


def test_waybackpy_builds_our_addresses_for_captures_of_all_archives(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Snapshot(cdx_snapshot.CDXSnapshot):
        def __init__(self, properties: dict[str, str]) -> None:
            super().__init__(properties)
            self.archive_url = f"{both.gate}/web/{self.timestamp}/{self.original}"

    monkeypatch.setattr(cdx_api, "CDXSnapshot", Snapshot)
    index = WaybackMachineCDXServerAPI(both.page, AGENT)
    index.endpoint = f"{both.gate}/cdx/search/cdx"

    snapshots = [*index.snapshots()]

    assert [one.timestamp for one in snapshots] == [FIRST, SECOND, THIRD, FOURTH]
    assert all(both.holds(one.archive_url, one.timestamp) for one in snapshots)


def test_waybackpy_gets_addresses_that_exist_from_the_availability_api(both: Both) -> None:
    available = WaybackMachineAvailabilityAPI(both.page, AGENT)
    available.endpoint = f"{both.gate}/wayback/available"
    available.api_call_time_gap = 0

    found = [
        (available.near(year=int(stamp[:4]), month=6, day=1).archive_url, stamp)
        for stamp in (FIRST, SECOND, THIRD, FOURTH)
    ]

    assert all(both.holds(url, stamp) for url, stamp in found)


def test_a_filter_that_cannot_be_judged_is_an_error_for_waybackpy(both: Both) -> None:
    def found(url: str) -> list[str]:
        index = WaybackMachineCDXServerAPI(url, AGENT, filters=["statuscode:200"])
        index.endpoint = f"{both.gate}/cdx/search/cdx"
        return [snapshot.timestamp for snapshot in index.snapshots()]

    assert found(both.page) == [*KNOWN_TO_WAYBACK]
    with pytest.raises(WaybackError):
        found(ELSEWHERE)


def test_edgis_client_can_be_limited_to_the_wayback_machine(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{both.gate}/cdx/search/cdx?archives=internet-archive"
    monkeypatch.setattr(edgi, "CDX_SEARCH_URL", address)

    with wayback.WaybackClient() as client:
        records = [*client.search(both.page, skip_malformed_results=False)]

    stamps = [f"{record.timestamp:%Y%m%d%H%M%S}" for record in records]
    assert stamps == [*KNOWN_TO_WAYBACK]
    for record, stamp in zip(records, stamps, strict=True):
        assert both.holds(record.raw_url, stamp)
        assert both.holds(record.view_url, stamp)


def test_edgis_client_builds_our_addresses_for_captures_of_all_archives(
    both: Both, monkeypatch: pytest.MonkeyPatch, edgi_pointed: Callable[[str], None]
) -> None:
    monkeypatch.setattr(edgi, "CDX_SEARCH_URL", f"{both.gate}/cdx/search/cdx")
    edgi_pointed(both.gate + WEB)

    with wayback.WaybackClient() as client:
        records = [*client.search(both.page, skip_malformed_results=False)]
        mementos = [client.get_memento(record) for record in records]

    stamps = [f"{record.timestamp:%Y%m%d%H%M%S}" for record in records]
    assert stamps == [FIRST, SECOND, THIRD, FOURTH]
    assert [one.timestamp for one in mementos] == [one.timestamp for one in records]
    assert all(one.ok and b"a page" in one.content for one in mementos)
    for record, stamp in zip(records, stamps, strict=True):
        assert both.holds(record.raw_url, stamp)
        assert both.holds(record.view_url, stamp)


def test_a_filter_that_cannot_be_judged_is_an_error_for_edgis_client(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgi, "CDX_SEARCH_URL", f"{both.gate}/cdx/search/cdx")

    with wayback.WaybackClient() as client, pytest.raises(WaybackException):
        [*client.search(ELSEWHERE, filter_field="statuscode:200")]


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let cdx_toolkit wait for nothing between its requests."""
    monkeypatch.setitem(myrequests.retry_info["default"], "minimum_interval", 0.0)
    for known in myrequests.retry_info.values():
        monkeypatch.setitem(known, "minimum_interval", 0.0)


def downloaded(capture: cdx_toolkit.CaptureObject) -> bytes:
    """Return the bytes; warcio leaves the temporary file of a record open."""
    record = capture.fetch_warc_record()
    try:
        return bytes(record.content_stream().read())
    finally:
        record.raw_stream.close()


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("path", ["/cdx", "/cdx/search/cdx"])
def test_cdx_toolkit_can_be_limited_to_the_wayback_machine(both: Both, path: str) -> None:
    source = f"{both.gate}{path}?archives=internet-archive"
    fetcher = cdx_toolkit.CDXFetcher(source=source, wb=both.wayback.rstrip("/"))

    found = [*fetcher.iter(both.page, limit=10)]

    assert [capture["timestamp"] for capture in found] == [*KNOWN_TO_WAYBACK]
    assert all(b"a page" in downloaded(capture) for capture in found)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("path", ["/cdx", "/cdx/search/cdx"])
def test_cdx_toolkit_downloads_captures_of_all_archives_from_us(both: Both, path: str) -> None:
    fetcher = cdx_toolkit.CDXFetcher(source=f"{both.gate}{path}", wb=f"{both.gate}/web")

    found = [*fetcher.iter(both.page, limit=10)]

    assert [capture["timestamp"] for capture in found] == [FIRST, SECOND, THIRD, FOURTH]
    assert all(b"a page" in downloaded(capture) for capture in found)
    assert all(both.holds(capture["url_m"], capture["timestamp"]) for capture in found)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("path", ["/cdx", "/cdx/search/cdx"])
def test_a_filter_that_cannot_be_judged_is_an_error_for_cdx_toolkit(
    both: Both, path: str
) -> None:
    fetcher = cdx_toolkit.CDXFetcher(source=f"{both.gate}{path}")

    found = [capture["timestamp"] for capture in fetcher.get(both.page, filter="=status:200")]

    assert found == [*KNOWN_TO_WAYBACK]
    with pytest.raises(requests.HTTPError, match="422"):
        fetcher.get(ELSEWHERE, filter="=status:200")


def test_memento_client_gets_addresses_that_exist(both: Both) -> None:
    client = MementoClient(timegate_uri=f"{both.gate}/timegate/", check_native_timegate=False)

    for stamp in (FIRST, SECOND, THIRD, FOURTH):
        when = datetime.strptime(stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        mementos = client.get_memento_info(both.page, when)["mementos"]
        assert both.holds(mementos["closest"]["uri"][0], stamp)
        for one in mementos.values():
            assert both.holds(one["uri"][0], f"{one['datetime']:%Y%m%d%H%M%S}")


def test_pywikibot_gets_addresses_that_exist(both: Both) -> None:
    for stamp in (FIRST, SECOND):
        when = datetime.strptime(stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        assert both.holds(asked_by_pywikibot(both.page, when, both.gate), stamp)
