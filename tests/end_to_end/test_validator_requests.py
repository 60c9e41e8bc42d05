"""The requests of LANL's memento-validator (2021), and what its four pipelines demand.

It is on no package index, so these tests send what its source sends: HEAD with a browser's
headers and a ``?`` behind every address. Two of its demands are its own errors, and left out:
that the TimeGate links its own address as the chosen memento, and that an original has a
Memento-Datetime (RFC 7089 4.2 forbids it).
"""

import re
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from archives.formats.linkformat import Link, LinkReader, parse_header
from tests.end_to_end import pywb as held
from tests.end_to_end.pywb import running_pywb
from tests.end_to_end.server import running_timegate
from tests.end_to_end.test_store import a_store, persist

DATE = "Thu, 01 Apr 2010 12:00:00 GMT"
PAST, FUTURE, BROKEN = (
    "Mon, 01 Jan 1990 00:00:00 GMT",
    "Mon, 01 Jan 2035 00:00:00 GMT",
    "broken",
)
ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class Answer(NamedTuple):
    status: int
    headers: HTTPMessage
    body: bytes

    @property
    def links(self) -> list[Link]:
        return list(parse_header(self.headers["Link"] or ""))

    def linked(self, relation: str) -> list[Link]:
        return [link for link in self.links if relation in link.rels]


def ask(uri: str, date: str = DATE, method: str = "HEAD", mark: str = "?") -> Answer:
    """Send a request as the validator does: with a question *mark* behind the address."""
    parts = urlsplit(uri)
    connection = HTTPConnection(parts.netloc, timeout=60)
    headers = {
        "Accept-Datetime": date,
        "Accept": ACCEPT,
        "Accept-Language": "en-us,en;q=0.5",
        "Proxy-Connection": "keep-alive",
        "User-Agent": "Mozilla/5.0",
    }
    connection.request(method, f"{parts.path}{mark}", headers=headers)
    response = connection.getresponse()
    answer = Answer(response.status, response.headers, response.read())
    connection.close()
    return answer


class Addresses(NamedTuple):
    timegate: str
    timemap: str
    first: str
    last: str


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Addresses]]:
    """A page of a store that is its own TimeGate, and the addresses of another page."""
    with a_store(tmp_path_factory.mktemp("store")) as server:
        page, other = f"{server.url}/store/notes/resource", "http://example.org/x"
        for year in (2009, 2018, 2020):
            asserted = f"Timegate-Datetime: {year}-01-01T00:00:00Z"
            persist(page, f"state of {year}", asserted)
            persist(f"{server.url}/store/notes/{other}", f"state of {year}", asserted)
        base = f"{server.url}/collections/notes"
        yield (
            page,
            Addresses(
                f"{base}/timegate/{other}",
                f"{base}/timemap/link/{other}",
                f"{base}/20090101000000/{other}",
                f"{base}/20200101000000/{other}",
            ),
        )


def timegate_passes(uri: str, first: str, last: str) -> None:
    """Demand what the pipeline for TimeGates demands."""
    answer = ask(uri)
    assert answer.status in (200, 302)
    assert answer.headers["Location"] or answer.headers["Content-Location"]
    assert "accept-datetime" in answer.headers["Vary"].lower()
    assert answer.linked("original")
    assert all(link.params.get("type") for link in answer.linked("timemap"))
    assert all(link.params.get("datetime") for link in answer.linked("memento"))
    for date, status, target in (("", 302, last), (PAST, 302, first), (FUTURE, 302, last)):
        answer = ask(uri, date)
        assert (answer.status, answer.headers["Location"]) == (status, target)
    assert ask(uri, BROKEN).status == 400


def test_the_pipeline_for_timegates_passes(own: tuple[str, Addresses]) -> None:
    _, at = own

    timegate_passes(at.timegate, at.first, at.last)


def test_the_pipeline_for_timemaps_passes(own: tuple[str, Addresses]) -> None:
    _, at = own

    answer = ask(at.timemap, method="GET")

    reader = LinkReader()
    links = [*reader.feed(answer.body), *reader.close()]
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("application/link-format")
    assert sum("memento" in link.rels for link in links) == 3


def test_the_pipeline_for_mementos_passes(own: tuple[str, Addresses]) -> None:
    _, at = own

    answer = ask(at.first)
    if answer.status == 302:
        # The address with "?" is another one, from which a redirect leads to the memento.
        answer = ask(answer.headers["Location"], mark="")

    assert answer.status == 200
    assert answer.headers["Memento-Datetime"] == "Thu, 01 Jan 2009 00:00:00 GMT"
    assert answer.linked("original")
    assert all(link.params.get("datetime") for link in answer.linked("memento"))
    assert all(link.params.get("type") for link in answer.linked("timemap"))
    assert answer.linked("timegate")


def test_the_pipeline_for_originals_passes(own: tuple[str, Addresses]) -> None:
    page, _ = own

    answer = ask(page)

    assert answer.linked("timegate")
    assert all(link.params.get("type") for link in answer.linked("timemap"))
    assert answer.linked("timemap")


def test_a_run_over_pywb_costs_it_few_requests(tmp_path: Path) -> None:
    root, folder = tmp_path / "pywb", tmp_path / "server"
    root.mkdir()
    folder.mkdir()
    with (
        running_pywb("plain", root) as pywb,
        running_timegate(folder, {"mine": pywb.url}) as server,
    ):
        before = requests_in(root)
        first, last = (
            f"{pywb.url}{stamp}/{held.OFTEN}"
            for stamp in (held.OFTEN_STAMPS[0], held.OFTEN_STAMPS[-1])
        )
        timegate_passes(f"{server.url}/timegate/{held.OFTEN}", first, last)
        assert ask(f"{server.url}/timemap/link/{held.OFTEN}", method="GET").status == 200
        sent = requests_in(root) - before

    assert 0 < sent <= 40


def requests_in(root: Path) -> int:
    """Return how many requests pywb has logged."""
    return len(re.findall(rb'"(?:GET|HEAD) /demo/', (root / "wayback.log").read_bytes()))
