"""The requests of tools that cannot be run here, sent and read as in their sources.

Each section names the version that was read. What is imitated is what the tool sends to whom
it takes for its aggregator, and which parts of the answer it needs: nothing else.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
import requests

from tests.end_to_end import pywb as held
from tests.end_to_end.pywb import Pywb
from tests.end_to_end.sending import send
from tests.end_to_end.server import Running, running_timegate

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
DEAD = "http://127.0.0.1:9/"


@pytest.fixture(scope="module")
def server(
    plain_pywb: Pywb, exact_pywb: Pywb, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Our server over two pywbs that hold the same."""
    archives = {"plain": plain_pywb.url, "exact": exact_pywb.url}
    with running_timegate(tmp_path_factory.mktemp("server"), archives) as running:
        yield running


# robustlinks.js 2.0.1 (mementoweb/robustlinks cf77aa2): a link for a browser, the date of the
# attribute data-versiondate in UTC as 14 digits, the original as it stands. robustlinks2.ts
# (d-koding/robustlinks e733b82) puts the same behind its setting timeGate, and without a date
# the original alone.


@pytest.mark.parametrize(
    ("path", "copy"),
    [
        (f"/memento/20120120060000/{held.FIFTY}", f"20120120120000/{held.FIFTY}"),
        (f"/memento/20170101000000/{held.QUERY}", f"20170707070707/{held.QUERY}"),
        (f"/web/20120120/{held.FIFTY}", f"20120120120000/{held.FIFTY}"),
        (f"/web/{held.ONCE}", f"20130303030303/{held.ONCE}"),
    ],
)
def test_a_robust_link_leads_a_browser_to_the_memento(
    server: Running, path: str, copy: str
) -> None:
    reply = send(f"{server.url}{path}", BROWSER)

    assert reply.status == 302
    assert reply.headers["Location"].endswith(copy)


def test_a_robust_link_without_a_readable_date_is_rejected(
    server: Running,
) -> None:
    reply = send(f"{server.url}/memento/Invalid%20date/{held.FIFTY}", BROWSER)

    assert reply.status == 400


# Time Travel's own clients: TimeMaps have numbered pages, descriptions are JSON.


@pytest.mark.parametrize("form", ["link", "json"])
def test_time_travels_first_page_has_everything_and_there_are_no_others(
    server: Running, form: str
) -> None:
    whole = send(f"{server.url}/timemap/{form}/{held.FIFTY}")
    pages = [send(f"{server.url}/timemap/{form}/{page}/{held.FIFTY}") for page in (1, 2, 999)]

    assert [page.status for page in pages] == [200, 404, 404]
    assert pages[0].body.count(b"demo/2012") == whole.body.count(b"demo/2012")
    assert all("json" in page.headers["Content-Type"] for page in pages[1:])


def test_time_travels_description_reports_absence_in_json(server: Running) -> None:
    reply = send(f"{server.url}/api/json/2012/{held.UNKNOWN}")

    assert reply.status == 404
    assert json.loads(reply.body)["status"] == 404


# Mink 3.0.1 (machawk1/Mink 16aec6e): any answer of the aggregator's root means that it lives;
# then the JSON TimeMap. 404 is "no mementos", 504 a broken aggregator; of everything else it
# reads mementos.list and original_uri, and makes a JavaScript Date of each datetime.


def test_mink_finds_the_server_alive_and_counts_the_mementos(server: Running) -> None:
    root = send(server.url)
    timemap = send(f"{server.url}/timemap/json/{held.FIFTY}")

    document = json.loads(timemap.body)
    dates = [datetime.fromisoformat(one["datetime"]) for one in document["mementos"]["list"]]
    assert root.status == 200
    assert timemap.status == 200
    assert document["original_uri"] == held.FIFTY
    assert len(dates) == 2 * len(held.FIFTY_STAMPS)
    assert dates[0] == datetime(2012, 1, 1, 12, tzinfo=UTC)
    assert all(one["uri"].startswith("http") for one in document["mementos"]["list"])


def test_mink_shows_no_mementos_only_if_their_absence_is_known(
    server: Running, plain_pywb: Pywb, tmp_path: Path
) -> None:
    absent = send(f"{server.url}/timemap/json/{held.UNKNOWN}")
    with running_timegate(tmp_path, {"plain": plain_pywb.url, "dead": DEAD}) as partial:
        unknown = send(f"{partial.url}/timemap/json/{held.UNKNOWN}")

    assert absent.status == 404
    assert unknown.status in (502, 504)


# Moment-o7 0.0.3, the Zotero 7 successor of zotero-memento (dawsonmv/zotero-moment-o7 9380836):
# the URL encoded as JavaScript's encodeURIComponent does, JSON read first. Only 200 counts.


@pytest.mark.parametrize("url", [held.FIFTY, held.QUERY, held.SLASHES])
def test_moment_o7_finds_mementos_of_a_completely_encoded_url(
    server: Running, url: str
) -> None:
    encoded = quote(url, safe="!'()*-._~")
    accept = {"Accept": "application/json, application/link-format"}

    reply = send(f"{server.url}/timemap/json/{encoded}", accept)

    document = json.loads(reply.body)
    assert reply.status == 200
    assert document["original_uri"] == url
    assert document["timegate_uri"] == f"{server.url}/timegate/{url}"
    assert all(one["uri"].endswith(url) for one in document["mementos"]["list"])
    assert all(datetime.fromisoformat(one["datetime"]) for one in document["mementos"]["list"])


# MementoEmbed 0.2021.02.22 (PyPI; the same in oduwsdl/MementoEmbed 4d1b2ea): a user gives it
# the URI of a memento. It follows redirects, wants Memento-Datetime and the links of the copy
# at the end, writes id_ and im_ behind 14 digits in the path, and takes the TimeMap from the
# Link header of the first answer: ours.

FOURTEEN_DIGITS = re.compile(r"(/[0-9]{14})/")


@pytest.fixture
def session() -> Iterator[requests.Session]:
    """The client library that MementoEmbed uses, without this machine's proxies."""
    with requests.Session() as session:
        session.trust_env = False
        session.headers["Accept-Encoding"] = "gzip, deflate"
        yield session


@pytest.mark.parametrize("path", ["web", "memento"])
def test_mementoembed_reaches_the_memento_its_raw_form_and_its_images(
    server: Running, session: requests.Session, path: str
) -> None:
    given = f"{server.url}/{path}/20120120120000/{held.FIFTY}"

    shown = session.get(given, timeout=30)
    raw = session.get(FOURTEEN_DIGITS.sub(r"\1id_/", shown.url), timeout=30)
    image = session.get(FOURTEEN_DIGITS.sub(r"\1im_/", given), timeout=30)

    assert shown.headers["Memento-Datetime"] == "Fri, 20 Jan 2012 12:00:00 GMT"
    assert shown.links["original"]["url"] == held.FIFTY
    assert held.FIFTY in shown.links["timegate"]["url"]
    assert (raw.status_code, image.status_code) == (200, 200)
    assert "20120120120000" in raw.text


def test_mementoembed_counts_mementos_in_the_timemap_that_our_redirect_links(
    server: Running, session: requests.Session
) -> None:
    shown = session.get(f"{server.url}/web/20120120120000/{held.FIFTY}", timeout=30)

    first = shown.history[0]
    timemap = session.get(first.links["timemap"]["url"], timeout=30)

    assert first.links["original"]["url"] == held.FIFTY
    assert timemap.headers["Content-Type"] == "application/link-format"
    assert len(dates_of(timemap.text)) == 2 * len(held.FIFTY_STAMPS)


def dates_of(text: str) -> list[datetime]:
    """Read the dates of mementos as its library aiu 0.2.4 does: every value is in quotes."""
    found = re.findall(r'rel="(?:first |last )*+memento"; datetime="([^"]++)"', text)
    form = "%a, %d %b %Y %H:%M:%S GMT"
    return [datetime.strptime(when, form).replace(tzinfo=UTC) for when in found]


# InternetArchiveBot 2.0.9.5 (internetarchive/internetarchivebot 8d0d979, APII.php: isArchived,
# retrieveArchive, CDXQuery): one POST for all links of a page, a line for each as PHP's
# urlencode writes it, the results found again by their tag. First what lies before a date, then
# what lies after it.

WANTED = "statuscodes=200&statuscodes=203&statuscodes=206"
BOT = {
    "Wayback-Api-Version": "2",
    "Content-Type": "application/x-www-form-urlencoded",
    "Accept-Encoding": "gzip",
}


def bot_results(server: Running, lines: dict[str, str]) -> dict[str, object]:
    """Return by tag how the bot reads the answer: a memento, False for none, or None."""
    body = "\n".join(f"{line}&{WANTED}&tag={tag}" for tag, line in lines.items())

    reply = send(f"{server.url}/wayback/available", BOT, body)

    assert reply.status == 200
    found: dict[str, object] = {}
    for result in json.loads(reply.body)["results"]:
        snapshots = result.get("archived_snapshots")
        found[result["tag"]] = None if snapshots is None else snapshots.get("closest", False)
    return found


def test_internetarchivebot_finds_before_a_date_and_after_it(server: Running) -> None:
    known = quote(held.OFTEN, safe="")

    found = bot_results(
        server,
        {
            "0": f"url={known}",
            "1": f"url={known}&timestamp=20120101000000&closest=before",
            "2": f"url={known}&timestamp=20050101000000&closest=before",
            "3": f"url={known}&timestamp=20050101000000&closest=after",
            "4": f"url={quote(held.UNKNOWN, safe='')}",
            "5": f"url={held.ONCE}&timestamp=20130101000000",
        },
    )

    stamps = {
        tag: one["timestamp"] if isinstance(one, dict) else one for tag, one in found.items()
    }
    assert stamps == {
        "0": "20200202020202",
        "1": "20100101120000",
        "2": False,
        "3": "20100101120000",
        "4": False,
        "5": "20130303030303",
    }


def test_internetarchivebot_links_to_no_archived_error(server: Running) -> None:
    found = bot_results(server, {"7": f"url={quote(held.GONE, safe='')}"})

    assert found == {"7": None}


def test_internetarchivebot_notes_no_absence_while_an_archive_is_silent(
    plain_pywb: Pywb, tmp_path: Path
) -> None:
    with running_timegate(tmp_path, {"plain": plain_pywb.url, "dead": DEAD}) as partial:
        found = bot_results(partial, {"7": f"url={quote(held.UNKNOWN, safe='')}"})

    assert found == {"7": None}
