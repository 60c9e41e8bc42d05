"""Requests to originals: `[live]` for an empty date, and originals as their own TimeGates."""

import hashlib
import http.client
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.end_to_end.server import serving

YEARS: Final = (2015, 2018, 2021)
JULY_2018: Final = "Sun, 01 Jul 2018 00:00:00 GMT"


@dataclass(slots=True)
class Wiki:
    """A wiki whose pages negotiate datetimes by the pattern that begins their path."""

    port: int = 0
    elsewhere: str = ""
    """The TimeGate that pages below /linked/ name."""
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(  # noqa: C901, PLR0911 -- one case for each pattern
        self, path: str, asked: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        page = path.partition("?")[0]
        pattern = page.split("/")[1]
        original = f'<{self.url}{page}>; rel="original"'
        year = _nearest(asked)
        dated = {"Memento-Datetime": _date(year)}
        version = f"{self.url}/version/{year}{page}"
        match pattern:
            case "1.1":
                fields = {"Vary": "accept-datetime", "Location": version, "Link": original}
                return (302, fields, b"") if asked else (200, fields, b"now")
            case "1.2":
                fields = {"Vary": "accept-datetime", "Link": original}
                if asked:
                    fields |= {"Content-Location": version, **dated}
                return 200, fields, str(year).encode()
            case "1.3":
                fields = {"Vary": "accept-datetime", "Link": original}
                return 200, fields | (dated if asked else {}), str(year).encode()
            case "2.1" | "linked":
                gate = self.elsewhere or f"{self.url}/gate{page}"
                maps = f'<{self.url}/map{page}>; rel="timemap"; type="application/link-format"'
                return 200, {"Link": f'<{gate}>; rel="timegate", {maps}'}, b"now"
            case "gate":
                named = page.removeprefix("/gate")
                link = f'<{self.url}{named}>; rel="original"'
                to = f"{self.url}/version/{year}{named}"
                return 302, {"Vary": "accept-datetime", "Location": to, "Link": link}, b""
            case "map":
                return 200, {"Content-Type": "application/link-format"}, self._map(page)
            case "version":
                named = "/" + page.split("/", 3)[3]
                stated = int(page.split("/")[2])
                link = f'<{self.url}{named}>; rel="original"'
                return 200, {"Memento-Datetime": _date(stated), "Link": link}, b"old"
            case "gone":
                return 404, {}, b"gone"
            case "moved":
                return 302, {"Location": f"{self.url}/plain/"}, b""
            case "inside":
                return 302, {"Location": "http://127.0.0.1:1/admin"}, b""
            case "excluded":
                term = "<http://mementoweb.org/terms/donotnegotiate>"
                return 200, {"Link": f'{term}; rel="type"', "Vary": "accept-datetime"}, b"now"
        return 200, {}, b"now"

    def _map(self, path: str) -> bytes:
        page = path.removeprefix("/map")
        lines = [f'<{self.url}{page}>; rel="original"']
        lines += [
            f'<{self.url}/version/{y}{page}>; rel="memento"; datetime="{_date(y)}"'
            for y in YEARS
        ]
        return ",\n".join(lines).encode()


def _date(year: int) -> str:
    days = {2015: "Thu", 2018: "Mon", 2021: "Fri"}
    return f"{days[year]}, 01 Jan {year} 00:00:00 GMT"


def _nearest(asked: str | None) -> int:
    if asked is None:
        return YEARS[-1]
    moment = parsedate_to_datetime(asked)
    return min(YEARS, key=lambda year: abs(moment.year + moment.month / 12 - year))


@contextmanager
def a_wiki() -> Iterator[Wiki]:
    wiki = Wiki()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = self.headers.get("Accept-Datetime")
            wiki.requests.append((self.command, self.path, asked))
            status, fields, body = wiki.answer(self.path, asked)
            self.send_response(status)
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 -- the name that the library wants

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    wiki.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield wiki
    finally:
        server.shutdown()
        server.server_close()


def configured(folder: Path, wiki: Wiki, keys: str, more: str = "") -> Path:
    file = folder / "timegate.toml"
    file.write_text(
        'contact = "mailto:operator@example.org"\n[archives]\nuse = []\n'
        f'[live]\nhosts = ["127.0.0.1:{wiki.port}"]\n{keys}\n{more}'
    )
    return file


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


def get(url: str, headers: Mapping[str, str] | None = None) -> Answer:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    target = url.partition(parts.netloc)[2]
    with closing(connection):
        connection.request("GET", target, headers=dict(headers or {}))
        reply = connection.getresponse()
        fields = {name.lower(): value for name, value in reply.getheaders()}
        return Answer(reply.status, fields, reply.read())


def put(url: str, body: bytes, at: str) -> int:
    parts = urlsplit(url)
    headers = {"Authorization": "Bearer token", "Timegate-Datetime": at}
    with closing(http.client.HTTPConnection(parts.netloc, timeout=30)) as connection:
        connection.request("PUT", url.partition(parts.netloc)[2], body, headers)
        return connection.getresponse().status


STORE: Final = '[[store]]\nid = "notes"\npath = "notes"\nfree_megabytes = 0\n'


def test_an_empty_date_leads_to_the_original_where_it_answers(tmp_path: Path) -> None:
    with a_wiki() as wiki:
        config = configured(tmp_path, wiki, "enabled = true")
        with serving("--config", str(config)) as server:
            original = f"{wiki.url}/plain/page?x=1"
            found = get(f"{server.url}/duri::{original}")
            report = get(f"{server.url}/duri::{original}", {"Accept": "application/json"})
            page = get(f"{server.url}/resolve/duri::{original}?as=html")
            form = get(f"{server.url}/?q=duri::{wiki.url}/plain/", {"Accept": "text/html"})

    assert (found.status, found.headers["location"]) == (302, original)
    precision = found.headers["memento-precision"]
    assert precision.startswith("match=live, evidence=original;status=200, time=current;got=")
    assert "live=answered" in precision
    assert 'rel="memento"' not in found.headers["link"]
    assert "cite-as" not in found.headers["link"]
    assert "memento-datetime" not in found.headers
    assert found.headers["cache-control"] == "no-cache"
    document = json.loads(report.body)
    assert document["memento"] is None
    assert document["live"]["answers"] is True
    assert document["live"]["status"] == 200
    assert document["live"]["requested"].endswith("Z")
    assert document["headline"] == "The original itself, as it is now"
    assert "no copy" in document["words"]
    assert b"Open the original: it is no copy" in page.body
    assert b"Open the original: it is no copy" in form.body
    # What was seen is kept for some seconds; no body was requested.
    assert [r for r in wiki.requests if "x=1" in r[1]] == [("HEAD", "/plain/page?x=1", None)]


@pytest.mark.parametrize("path", ["/gone/", "/inside/"])
def test_the_problem_says_that_the_original_did_not_answer_either(
    tmp_path: Path, path: str
) -> None:
    with a_wiki() as wiki:
        config = configured(tmp_path, wiki, "enabled = true\ntimegates = true")
        with serving("--config", str(config)) as server:
            missing = get(
                f"{server.url}/duri::{wiki.url}{path}", {"Accept": "application/json"}
            )
    document = json.loads(missing.body)
    assert missing.status == 404
    assert "match=none" in missing.headers["memento-precision"]
    assert document["type"].endswith("/no-memento")
    assert document["live"]["answers"] is False


def test_the_command_says_whether_the_original_answered(tmp_path: Path) -> None:
    with a_wiki() as wiki:
        demo = subprocess.run(  # noqa: S603 -- our own words
            [
                *(sys.executable, "-m", "timegate", "resolve", "--json", "--config"),
                str(configured(tmp_path, wiki, "enabled = true\ntimegates = true")),
                *(f"duri::{wiki.url}/plain/", f"duri::{wiki.url}/gone/"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
    lines = [json.loads(line) for line in demo.stdout.splitlines()]
    assert [line["code"] for line in lines] == [0, 3]
    assert lines[0]["match"]["value"] == "live"
    assert lines[1]["live"]["reason"] == "answers 404"


def test_the_newest_memento_says_that_the_original_did_not_answer(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"token").hexdigest()
    with a_wiki() as wiki:
        store = f'{STORE}tokens = ["sha256:{digest}"]\n'
        config = configured(tmp_path, wiki, "enabled = true", store)
        with serving("--config", str(config)) as server:
            address = f"{server.url}/store/notes/{wiki.url}/gone/"
            written = put(address, b"the last state", "2020-01-01T00:00:00Z")
            found = get(f"{server.url}/duri::{wiki.url}/gone/")
            report = get(f"{server.url}/duri::{wiki.url}/gone/", {"Accept": "application/json"})

    assert written == 201
    assert found.status == 302
    assert found.headers["location"].startswith(f"{server.url}/collections/notes/2020")
    assert "time=latest" in found.headers["memento-precision"]
    assert "live=no-answer" in found.headers["memento-precision"]
    document = json.loads(report.body)
    assert document["memento"]["datetime"] == "2020-01-01T00:00:00Z"
    assert document["live"]["answers"] is False
    assert document["live"]["reason"] == "answers 404"
    assert "the original itself did not answer" in document["words"]


def test_without_the_key_no_original_is_requested(tmp_path: Path) -> None:
    with a_wiki() as wiki:
        config = configured(tmp_path, wiki, "", STORE)
        with serving("--config", str(config)) as server:
            found = get(f"{server.url}/duri::{wiki.url}/plain/")
            gate = get(f"{server.url}/timegate/{wiki.url}/1.1/page")

    assert (found.status, gate.status) == (404, 404)
    assert wiki.requests == []


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/1.1/page", "/version/2018/1.1/page"),
        ("/1.2/page", "/version/2018/1.2/page"),
        ("/1.3/page", "/1.3/page"),
        ("/2.1/page", "/version/2018/2.1/page"),
    ],
)
def test_an_original_is_queried_as_its_own_timegate(
    tmp_path: Path, path: str, uri: str
) -> None:
    with a_wiki() as wiki:
        config = configured(tmp_path, wiki, "timegates = true")
        with serving("--config", str(config)) as server:
            original = wiki.url + path
            found = get(f"{server.url}/timegate/{original}", {"Accept-Datetime": JULY_2018})
            report = get(
                f"{server.url}/duri:2018-01-01T00:00:00Z:{original}",
                {"Accept": "application/json"},
            )

    assert (found.status, found.headers["location"]) == (302, wiki.url + uri)
    document = json.loads(report.body)
    assert document["memento"]["archive"] == "original"
    assert document["memento"]["datetime"] == "2018-01-01T00:00:00Z"
    assert document["attempts"][0]["archive"] == "original"
    assert document["archive"]["got"] == "original"


def test_the_timemap_of_an_original_is_part_of_the_merged_one(tmp_path: Path) -> None:
    with a_wiki() as wiki:
        config = configured(tmp_path, wiki, "timegates = true")
        with serving("--config", str(config)) as server:
            listed = get(f"{server.url}/timemap/link/{wiki.url}/2.1/page")

    assert [f"/version/{year}/2.1/page" in listed.body.decode() for year in YEARS] == [True] * 3


@pytest.mark.parametrize("path", ["/plain/", "/excluded/", "/moved/"])
def test_an_original_without_memento_has_no_mementos(tmp_path: Path, path: str) -> None:
    with a_wiki() as wiki:
        config = configured(tmp_path, wiki, "timegates = true")
        with serving("--config", str(config)) as server:
            found = get(f"{server.url}/timegate/{wiki.url}{path}")

    assert found.status == 404


def test_a_timegate_at_a_private_address_is_not_requested(tmp_path: Path) -> None:
    with a_wiki() as wiki, a_wiki() as other:
        wiki.elsewhere = f"{other.url}/gate/linked/page"
        config = configured(tmp_path, wiki, "timegates = true")
        with serving("--config", str(config)) as server:
            found = get(f"{server.url}/timegate/{wiki.url}/linked/page")

    assert found.status in {502, 504}
    assert other.requests == []


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("http://10.1.2.3/", "10.1.2.3 is a private address"),
        ("http://printer/", "printer is a name of a local network"),
        ("http://example.org:8080/", "port 8080 is not requested"),
    ],
)
def test_an_original_that_must_not_be_requested_leaves_a_complete_404(
    tmp_path: Path, page: str, reason: str
) -> None:
    store = f'[[store]]\nid = "notes"\npath = "{tmp_path}/notes"\n'
    with a_wiki() as wiki:
        config = configured(tmp_path, wiki, "timegates = true", store)
        with serving("--config", str(config)) as server:
            found = get(f"{server.url}/timegate/{page}")
            again = get(f"{server.url}/resolve/duri:2018:{page}?as=json")
            alone = get(f"{server.url}/resolve/duri:2018:{page}?as=json&archives=original")

    problem = json.loads(found.body)
    assert (found.status, again.status, alone.status) == (404, 404, 400)
    assert f"original was not queried: {reason}" in problem["detail"]
    assert [attempt["archive"] for attempt in problem["archives"]] == ["notes"]
    assert reason in json.loads(alone.body)["detail"]


def test_an_original_that_is_dead_leaves_it_unknown_whether_there_is_a_copy(
    tmp_path: Path,
) -> None:
    store = f'[[store]]\nid = "notes"\npath = "{tmp_path}/notes"\n'
    with a_wiki() as wiki:
        config = configured(tmp_path, wiki, "timegates = true", store)
        url = wiki.url
    with serving("--config", str(config)) as server:
        found = get(f"{server.url}/timegate/{url}/plain/")

    assert found.status in {502, 504}
    outcomes = {a["archive"]: a["outcome"] for a in json.loads(found.body)["archives"]}
    assert outcomes == {"notes": "absent", "original": "unknown"}


def test_no_connection_is_made_to_what_strangers_name_inside_the_network(
    tmp_path: Path,
) -> None:
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    with a_wiki() as wiki:
        wiki.elsewhere = "http://10.11.12.13/gate"
        config = configured(tmp_path, wiki, "enabled = true\ntimegates = true")
        ended = subprocess.run(  # noqa: S603 -- our own words
            [
                *(strace, "-f", "-qq", "-e", "trace=connect", "-o", str(trace)),
                *(sys.executable, "-m", "timegate", "resolve", "--json"),
                *("--config", str(config)),
                f"duri::{wiki.url}/inside/",
                f"duri:2018:{wiki.url}/linked/page",
                "duri::http://169.254.169.254/latest/meta-data",
                "duri:2018:http://10.1.2.3/",
                "duri::http://[::1]:22/",
            ],
            capture_output=True,
            text=True,
            check=False,
        )

    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line["memento"] for line in lines] == [None] * 5
    connected = trace.read_text()
    assert f"htons({wiki.port})" in connected
    for address in ("10.11.12.13", "169.254", "10.1.2.3", "htons(22)", "htons(1)"):
        assert address not in connected


def test_a_linked_timegate_at_this_server_or_at_an_archive_is_not_requested(
    tmp_path: Path,
) -> None:
    with a_wiki() as wiki:
        config = configured(tmp_path, wiki, "timegates = true")
        with serving("--config", str(config)) as server:
            wiki.elsewhere = f"{server.url}/timegate/{wiki.url}/linked/a"
            ours = get(f"{server.url}/timegate/{wiki.url}/linked/a")
            wiki.elsewhere = f"https://web.archive.org/web/{wiki.url}/linked/b"
            archive = get(f"{server.url}/timegate/{wiki.url}/linked/b")

    assert (ours.status, archive.status) == (404, 404)


def test_a_foreign_timegate_that_the_operator_allows_is_named_in_the_result(
    tmp_path: Path,
) -> None:
    with a_wiki() as wiki, a_wiki() as other:
        wiki.elsewhere = f"{other.url}/gate/linked/page"
        file = configured(tmp_path, wiki, "timegates = true")
        file.write_text(
            file.read_text().replace(
                f'"127.0.0.1:{wiki.port}"',
                f'"127.0.0.1:{wiki.port}", "127.0.0.1:{other.port}"',
            )
        )
        with serving("--config", str(file)) as server:
            found = get(
                f"{server.url}/resolve/duri:2018:{wiki.url}/linked/page?as=json&verify=none"
            )

    document = json.loads(found.body)
    assert document["memento"]["uri"].startswith(other.url)


def test_requests_to_originals_require_a_contact(tmp_path: Path) -> None:
    file = tmp_path / "timegate.toml"
    file.write_text("[archives]\nuse = []\n[live]\nenabled = true\n")
    ended = subprocess.run(  # noqa: S603 -- our own words
        [sys.executable, "-m", "timegate", "serve", "--config", str(file), "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode != 0
    assert "contact" in ended.stderr
