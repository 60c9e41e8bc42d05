"""Real clients that use our server instead of the Wayback Machine."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import cdx_toolkit  # type: ignore[import-untyped]
import pytest
import wayback  # type: ignore[import-untyped]
from wayback import _client as edgi
from wayback import _utils as edgi_urls
from wayback.exceptions import (  # type: ignore[import-untyped]
    MementoPlaybackError,
    NoMementoError,
)
from waybackpy import WaybackMachineAvailabilityAPI, WaybackMachineCDXServerAPI

from tests.end_to_end import pywb as held
from tests.end_to_end.capturing import pywb_with
from tests.end_to_end.pywb import Pywb, running_wayback
from tests.end_to_end.server import Running, running_timegate
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
NOON = datetime(2012, 1, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("url", "when", "status"),
    [
        (held.FIFTY, NOON, 200),
        (held.QUERY, datetime(2017, 7, 7, 7, 7, 7, tzinfo=UTC), 200),
        (held.GONE, datetime(2014, 4, 4, 4, 4, 4, tzinfo=UTC), 404),
    ],
)
def test_edgis_client_gets_exactly_the_memento_it_requests(
    server: Running,
    edgi_pointed: Callable[[str], None],
    url: str,
    when: datetime,
    status: int,
) -> None:
    edgi_pointed(server.url + PROXY)

    with wayback.WaybackClient() as client:
        memento = client.get_memento(url, when)

    assert (memento.status_code, memento.url, memento.timestamp) == (status, url, when)
    assert memento.ok == (status == 200)


def test_edgis_client_follows_an_archived_redirect_through_us(
    plain_pywb: Pywb, edgi_pointed: Callable[[str], None], tmp_path: Path
) -> None:
    # One archive: two on one host cannot be distinguished in the target of a redirect.
    with (
        running_timegate(tmp_path, {"plain": plain_pywb.url}) as running,
        wayback.WaybackClient() as client,
    ):
        edgi_pointed(running.url + PROXY)
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


def test_edgis_client_is_redirected_to_the_archive_unless_it_wants_an_exact_memento(
    server: Running, edgi_pointed: Callable[[str], None]
) -> None:
    edgi_pointed(server.url + "/web/{timestamp}{mode}/{url}")

    with wayback.WaybackClient() as client:
        memento = client.get_memento(held.FIFTY, NOON, exact=False)
        with pytest.raises(MementoPlaybackError):
            client.get_memento(held.FIFTY, NOON)

    assert memento.timestamp == NOON
    assert not memento.memento_url.startswith(server.url)


def test_pywikibot_finds_a_copy(tmp_path: Path) -> None:
    """As a process: pywikibot reads its configuration when it is imported."""
    program = (
        "import sys, datetime\n"
        "from pywikibot.data.memento import get_closest_memento_url\n"
        "when = datetime.datetime(2011, 2, 1)\n"
        "print(get_closest_memento_url(sys.argv[1], when, sys.argv[2]))"
    )
    stamps = ["20100101000000", "20110101000000", "20130101000000"]
    with (
        an_original() as original,
        pywb_with(tmp_path, [(original, stamp) for stamp in stamps]) as archive,
        running_timegate(tmp_path, {"mine": archive}) as running,
    ):
        printed = subprocess.run(  # noqa: S603 -- our own words
            [sys.executable, "-c", program, original, f"{running.url}/timegate/"],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYWIKIBOT_NO_USER_CONFIG": "2"},
        ).stdout

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
    redirect = ask(f"{server.url}/memento/20120120/{held.FIFTY}")
    described = ask(f"{server.url}/memento/json/20120120/{held.FIFTY}")
    travel = ask(f"{server.url}/api/json/20120120/{held.FIFTY}")

    assert redirect[0] == 302
    assert "20120120120000" in redirect[1]["Location"]
    closest = json.loads(described[2])["mementos"]["closest"]
    assert closest["datetime"] == "2012-01-20T12:00:00Z"
    assert "20120120120000" in json.loads(travel[2])["mementos"]["closest"]["uri"][0]


def test_a_wayback_address_redirects_to_the_best_memento(server: Running) -> None:
    status, headers, _ = ask(f"{server.url}/web/20120120/{held.FIFTY}")

    assert status == 302
    assert "20120120120000" in headers["Location"]
