"""Second ways over HTTP, with the server as a process over archives that fail."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.end_to_end.server import Running, serving
from tests.end_to_end.test_serving import ask

STAMP = "20150630235958"
AT = "Tue, 30 Jun 2015 23:59:58 GMT"
Answer = tuple[int, Mapping[str, str], bytes]


@dataclass
class Scripted:
    """An archive whose TimeGate and index answer as a test decides."""

    timegate: Callable[[str], Answer]
    index: Callable[[str], Answer] = lambda _: (404, {}, b"")
    pages: list[tuple[str, str]] = field(default_factory=list)
    """What was asked for: the way, and the URL."""
    url: str = ""

    def answer(self, target: str) -> Answer:
        if target.startswith("/cdx?"):
            page = parse_qs(urlsplit(target).query)["url"][0]
            self.pages.append(("cdx", page))
            return self.index(page)
        if target.startswith("/web/"):
            return self.memento(target)
        page = target.removeprefix("/timegate/")
        self.pages.append(("timegate", page))
        return self.timegate(page)

    def memento(self, target: str) -> Answer:
        """Serve a memento, if the TimeGate redirects to it."""
        page = target.removeprefix(f"/web/{STAMP}/")
        held = self.timegate(page)[1].get("Location", "").endswith(target)
        fields = {"Memento-Datetime": AT, "Link": f'<{page}>; rel="original"'}
        return (200, fields, b"copy") if held else (404, {}, b"")

    def held(self, page: str) -> Answer:
        """Redirect to the memento of *page*, as a TimeGate."""
        memento = f"{self.url}/web/{STAMP}/{page}"
        link = f'<{page}>; rel="original", <{memento}>; rel="memento"; datetime="{AT}"'
        return 302, {"Location": memento, "Link": link, "Vary": "accept-datetime"}, b""


def listed(page: str) -> Answer:
    """List the capture of *page*, as an index."""
    row = {"urlkey": "x", "timestamp": STAMP, "url": page, "status": "200", "digest": "A"}
    return 200, {"Content-Type": "text/x-ndjson"}, json.dumps(row).encode() + b"\n"


def failing(status: int) -> Callable[[str], Answer]:
    return lambda _: (status, {"Content-Type": "text/html"}, b"<html>sorry</html>")


@contextmanager
def running_archive(archive: Scripted) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, headers, body = archive.answer(self.path)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 -- the name that http.server calls

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        archive.url = f"http://127.0.0.1:{server.server_address[1]}"
        Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


def described(name: str, archive: Scripted, more: str = "") -> str:
    return (
        f'[[archive]]\nid = "{name}"\nkind = "memento"\ntimegate = "{archive.url}/timegate/"\n'
        f'replay = "{archive.url}/web/{{time14}}/{{uri}}"\n{more}'
    )


def indexed(archive: Scripted) -> str:
    return f'cdx = "{archive.url}/cdx"\ndialect = "pywb-cdxj"\n'


@contextmanager
def running_gate(folder: Path, *archives: str) -> Iterator[Running]:
    config = folder / "timegate.toml"
    config.write_text("[archives]\nuse = []\n" + "".join(archives))
    with serving("--config", str(config)) as running:
        yield running


@pytest.mark.parametrize("status", [500, 403, 200], ids=["500", "403", "bot gate"])
def test_the_index_answers_if_the_timegate_fails(tmp_path: Path, status: int) -> None:
    archive = Scripted(failing(status), listed)
    with (
        running_archive(archive),
        running_gate(tmp_path, described("a", archive, indexed(archive))) as gate,
    ):
        found, headers, _ = ask(f"{gate.url}/timegate/http://example.org/", AT)

    assert found == 302
    assert headers["Location"] == f"{archive.url}/web/{STAMP}/http://example.org/"
    assert "negotiation=cdx" in headers["Memento-Precision"]


def state(gate: Running, archive: str) -> Mapping[str, object]:
    _, _, body = ask(f"{gate.url}/archives?as=json")
    [entry] = [entry for entry in json.loads(body) if entry["id"] == archive]
    found: Mapping[str, object] = entry["state"]
    return found


def test_an_archive_that_refuses_programs_is_left_alone(tmp_path: Path) -> None:
    archive, other = Scripted(failing(403)), Scripted(failing(404))
    with (
        running_archive(archive),
        running_archive(other),
        running_gate(tmp_path, described("a", archive), described("b", other)) as gate,
    ):
        for number in range(8):
            ask(f"{gate.url}/timegate/http://one.example/{number}")
        assert state(gate, "a")["breaker"] == "closed"
        for number in range(9):
            ask(f"{gate.url}/timegate/http://{number}.example/")
        paused = state(gate, "a")

    hosts = {urlsplit(page).hostname for _, page in archive.pages}
    assert hosts == {"one.example", *(f"{number}.example" for number in range(4))}
    assert paused["breaker"] == "open"
    assert paused["breaker_reason"] == "refuses programs, for pages of 5 hosts in a row"


def test_an_archive_is_not_asked_for_pages_that_it_does_not_collect(tmp_path: Path) -> None:
    british, national, other = (Scripted(failing(404)) for _ in range(3))
    with (
        running_archive(british),
        running_archive(national),
        running_archive(other),
        running_gate(
            tmp_path,
            described("british", british, 'domains = [".uk"]\n'),
            described("national", national, 'home = [".uk"]\n'),
            described("other", other),
        ) as gate,
    ):
        for page in ("http://publico.pt/", "http://example.com/", "http://example.co.uk/"):
            ask(f"{gate.url}/timegate/{page}")

    def hosts(archive: Scripted) -> set[str]:
        names = (urlsplit(page).hostname or "" for _, page in archive.pages)
        return {name.removeprefix("www.") for name in names}

    assert hosts(british) == {"example.co.uk"}
    assert hosts(national) == {"example.com", "example.co.uk"}
    assert hosts(other) == {"publico.pt", "example.com", "example.co.uk"}


MOVED = "http://new.example/page?id=1"
ALSO = f"also={quote('http://gone.example/', safe='')}&also={quote(MOVED, safe='')}"


def only(page: str, archive: Scripted) -> Callable[[str], Answer]:
    return lambda asked: archive.held(asked) if asked == page else (404, {}, b"")


def test_equivalent_urls_are_tried_in_order(tmp_path: Path) -> None:
    archive = Scripted(failing(404))
    archive.timegate = only(MOVED, archive)
    with running_archive(archive), running_gate(tmp_path, described("a", archive)) as gate:
        plain, _, _ = ask(f"{gate.url}/timegate/http://old.example/", AT)
        status, headers, _ = ask(f"{gate.url}/timegate/http://old.example/?{ALSO}", AT)
        _, _, body = ask(f"{gate.url}/resolve/duri:2015:http://old.example/?as=json&{ALSO}")
        line = json.dumps({"url": "http://old.example/", "dates": ["2015"], "also": [MOVED]})
        (tmp_path / "list.jsonl").write_text(f"{line}\n")
        batch = _resolved(tmp_path, "--batch", "list.jsonl", "--to", "jsonl")
        single = _resolved(tmp_path, "--also", MOVED, "--at", "2015", "http://old.example/")

    memento = f"{archive.url}/web/{STAMP}/{MOVED}"
    assert plain == 404
    assert (status, headers["Location"]) == (302, memento)
    assert headers["Memento-Precision"].startswith("match=approximate, ")
    assert f'uri=variant;rule=also;got="{MOVED}"' in headers["Memento-Precision"]
    report = json.loads(body)
    assert report["memento"]["uri"] == memento
    also = [attempt["url"] for attempt in report["attempts"] if attempt["variant"] == "also"]
    assert (also[0], also[-1]) == ("http://gone.example/", MOVED)
    assert memento in batch
    assert memento in single


def _resolved(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "timegate", "resolve", "--config", "timegate.toml"]
    done = subprocess.run(  # noqa: S603 -- ourselves
        [*command, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_an_empty_answer_after_a_memento_is_not_believed_at_once(tmp_path: Path) -> None:
    archive = Scripted(failing(404))
    answers = iter([True, False, True])
    archive.timegate = lambda page: archive.held(page) if next(answers) else (404, {}, b"")
    with running_archive(archive), running_gate(tmp_path, described("a", archive)) as gate:
        first, _, _ = ask(f"{gate.url}/timegate/http://example.org/", AT)
        second, _, _ = ask(
            f"{gate.url}/timegate/http://example.org/", "Wed, 01 Jul 2015 10:00:00 GMT"
        )
        _, _, metrics = ask(f"{gate.url}/metrics")

    assert (first, second) == (302, 302)
    assert b'timegate_archive_repeated_questions_total{archive="a"} 1.0' in metrics
