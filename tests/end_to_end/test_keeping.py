"""Keeping over archives and sites in processes of their own, also killed in the middle."""

import hashlib
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

from archives.warc.captures import Capture, captures_in
from tests.end_to_end.pywb import running_pywb_over_wacz
from tests.end_to_end.server import running_demo, serving
from tests.end_to_end.test_extraction import validated
from tests.end_to_end.test_store import PAGE, a_store, persist

LIST = """\
duri:2010-11-05T10:15:00Z:http://museum.example/
http://museum.example/logo.png 2010
http://museum.example/visit
http://museum.example/exhibitions/1987
http://museum.example/opening-hours 2010-11-05
"""


def configured(folder: Path, demo: str) -> Path:
    """Write the configuration of a store and of two archives of the demo, over HTTP."""
    archives = "".join(
        f'[[archive]]\nid = "{name}"\nkind = "memento"\npwid = ["{name}.example"]\n'
        f'timegate = "{demo}/collections/{name}/timegate/"\n'
        f'timemap = "{demo}/collections/{name}/timemap/link/"\n'
        f'replay = "{demo}/collections/{name}/{{time14}}/{{uri}}"\n'
        f'raw = "{demo}/collections/{name}/{{time14}}id_/{{uri}}"\n'
        for name in ("harbour", "vault")
    )
    folder.mkdir(exist_ok=True)
    path = folder / "timegate.toml"
    store = '[[store]]\nid = "notes"\npath = "notes"\nfree_megabytes = 0\n'
    path.write_text(f"[archives]\nuse = []\n{archives}{store}")
    (folder / "list.txt").write_text(LIST)
    return path


def command(folder: Path) -> list[str]:
    config, given = str(folder / "timegate.toml"), str(folder / "list.txt")
    words = ["keep", "--config", config, "--store", "notes", "--ensure", "2", "--json", given]
    return [sys.executable, "-m", "timegate", *words]


def keep(folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command(folder), check=False, capture_output=True, text=True)  # noqa: S603 -- ourselves


def captures(folder: Path) -> list[tuple[str, str, str | None, int | None]]:
    found = []
    for path in (folder / "notes").glob("*.warc.gz"):
        with path.open("rb") as file:
            each = [one for one in captures_in(file) if isinstance(one, Capture)]
            found += [(one.url, one.stamp, one.digest, one.status) for one in each]
    return sorted(found, key=str)


def test_the_store_and_the_archive_are_two_copies_and_a_second_run_changes_nothing(
    tmp_path: Path,
) -> None:
    with running_demo() as demo:
        configured(tmp_path, demo.url)
        first = keep(tmp_path)
        before = captures(tmp_path)
        second = keep(tmp_path)

    reports = [json.loads(line) for line in first.stdout.splitlines()]
    assert [report["outcome"] for report in reports] == ["kept"] * 5
    assert [report["independent"] for report in reports] == [2] * 5, first.stdout
    assert captures(tmp_path) == before
    assert "5 kept (0 now, 5 before)" in second.stderr
    assert second.returncode == first.returncode == 1
    checked = subprocess.run(  # noqa: S603 -- ourselves
        [Path(sys.executable).with_name("warcio"), "check", *(tmp_path / "notes").glob("*.gz")],
        check=False,
        capture_output=True,
    )
    assert checked.returncode == 0, checked.stdout


def test_a_copy_in_the_store_of_another_server_makes_two_copies(tmp_path: Path) -> None:
    other, own = tmp_path / "other", tmp_path / "own"
    other.mkdir()
    own.mkdir()
    with a_store(other) as server:
        stated = "Timegate-Datetime: 2020-06-01T00:00:00Z"
        assert " 201 " in persist(f"{server.url}/store/notes/{PAGE}", "the page", stated)
        there = f"{server.url}/collections/notes"
        (own / "timegate.toml").write_text(
            "[archives]\nuse = []\n"
            '[[archive]]\nid = "other"\nkind = "memento"\n'
            f'timegate = "{there}/timegate/"\ntimemap = "{there}/timemap/link/"\n'
            f'replay = "{there}/{{time14}}/{{uri}}"\nraw = "{there}/{{time14}}id_/{{uri}}"\n'
            '[[store]]\nid = "notes"\npath = "notes"\nfree_megabytes = 0\n'
        )
        (own / "list.txt").write_text(f"duri:2020-06-01T00:00:00Z:{PAGE}\n")
        runs = [keep(own), keep(own)]
    alone = keep(own)

    reports = [json.loads(run.stdout) for run in (*runs, alone)]
    assert [(r["outcome"], r["independent"], r["ensured"]) for r in reports] == [
        ("kept", 2, True),
        ("already", 2, True),
        ("already", 1, False),
    ]
    assert [run.returncode for run in (*runs, alone)] == [0, 0, 4]
    assert len(captures(own)) == 1


def test_a_run_that_was_killed_ends_like_one_that_was_not(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    with running_demo() as demo:
        configured(whole, demo.url)
        keep(whole)
        configured(killed, demo.url)
        for _ in range(3):
            with subprocess.Popen(command(killed), stdout=subprocess.PIPE) as process:  # noqa: S603 -- ourselves
                assert process.stdout is not None
                process.stdout.readline()
                process.send_signal(signal.SIGKILL)
        keep(killed)

    assert captures(killed) == captures(whole) != []


PAGES = {
    "/": ("text/html", b"<link rel=stylesheet href=a.css><img src=/private/x.png>"),
    "/a.css": ("text/css", b"body { background: url(bg.png) }"),
    "/bg.png": ("image/png", b"bytes"),
    "/private/x.png": ("image/png", b"not for programs"),
    "/program": ("application/x-msdownload", b"MZ"),
    "/robots.txt": ("text/plain", b"User-agent: *\nDisallow: /private/\n"),
}
REDIRECTS = {
    "/old": "/",
    "/inside": "http://127.0.0.1:9/",
    "/metadata": "http://169.254.169.254/",
}


class _SiteHandler(BaseHTTPRequestHandler):
    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(self.path)
        if self.path in REDIRECTS:
            self.send_response(302)
            self.send_header("Location", REDIRECTS[self.path])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        kind, body = PAGES.get(self.path, ("text/plain", b"not here"))
        self.send_response(200 if self.path in PAGES else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Set-Cookie", "secret=1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 -- its name
        pass


@contextmanager
def a_site() -> Iterator[tuple[int, list[str]]]:
    """Serve `PAGES`; yield the port, and the paths that are requested."""
    seen: list[str] = []
    handler = type("Handler", (_SiteHandler,), {"seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1], seen
        finally:
            server.shutdown()


def with_site(folder: Path, port: int, *, keep_mode: str = "no") -> Path:
    token = hashlib.sha256(b"token").hexdigest()
    path = folder / "timegate.toml"
    path.write_text(
        'contact = "mailto:a@example.org"\n[archives]\nuse = []\n'
        f'[live]\nhosts = ["127.0.0.1:{port}"]\n'
        '[[store]]\nid = "notes"\npath = "notes"\nfree_megabytes = 0\n'
        f'keep = "{keep_mode}"\ntokens = ["sha256:{token}"]\n'
    )
    return path


def keep_live(config: Path, *given: str, trace: Path | None = None) -> list[dict[str, object]]:
    words = ["keep", "--config", str(config), "--store", "notes", "--live", "--json", *given]
    command = [sys.executable, "-m", "timegate", *words]
    if trace is not None:
        command = ["strace", "-f", "-qq", "-e", "trace=connect", "-o", str(trace), *command]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 -- ourselves
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_a_live_page_is_kept_with_its_parts_once(tmp_path: Path) -> None:
    with a_site() as (port, seen):
        site = f"http://127.0.0.1:{port}"
        config = with_site(tmp_path, port)
        (first,) = keep_live(config, f"{site}/old")
        requested = list(seen)
        (second,) = keep_live(config, f"{site}/old")

    assert (first["outcome"], second["outcome"]) == ("kept", "already")
    assert first["parts"] == {"parts": 3, "saved": 2}
    assert "/private/x.png" not in requested
    assert seen == requested
    kept = {(url.removeprefix(site), status) for url, _, _, status in captures(tmp_path)}
    assert kept == {("/old", 302), ("/", 200), ("/a.css", 200), ("/bg.png", 200)}
    octets = b"".join(path.read_bytes() for path in (tmp_path / "notes").glob("*.gz"))
    assert b"secret" not in octets


def test_what_may_not_be_fetched_is_not_connected_to(tmp_path: Path) -> None:
    trace = tmp_path / "trace" if shutil.which("strace") else None
    with a_site() as (port, seen):
        site = f"http://127.0.0.1:{port}"
        config = with_site(tmp_path, port)
        paths = ("inside", "metadata", "program", "private/x.png", "missing")
        given = [f"{site}/{path}" for path in paths]
        others = ["http://169.254.169.254/", "http://10.0.0.1/", "http://localhost:22/"]
        reports = keep_live(config, *given, *others, trace=trace)

    assert {report["outcome"] for report in reports} == {"missing"}
    assert "/private/x.png" not in seen
    words = [str(report["why"]) for report in reports]
    for why, said in zip(
        words,
        ["is not requested", "is not requested", "type", "robots.txt", "answers 404"],
        strict=False,
    ):
        assert said in why
    assert captures(tmp_path) == []
    if trace is not None:
        connected = trace.read_text()
        assert f"htons({port})" in connected
        for address in ("169.254.169.254", "10.0.0.1", "htons(22)", "htons(9)"):
            assert address not in connected


def post(url: str, document: object) -> tuple[int, dict[str, str]]:
    request = Request(  # noqa: S310 -- our own server
        f"{url}/store/notes",
        json.dumps(document).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer token"},
        method="POST",
    )
    with urlopen(request) as answer:  # noqa: S310 -- our own server
        return answer.status, dict(answer.headers)


def test_a_reference_is_kept_over_http_and_the_package_is_replayed_by_pywb(
    tmp_path: Path,
) -> None:
    with a_site() as (port, _):
        page = f"http://127.0.0.1:{port}/"
        config = with_site(tmp_path, port, keep_mode="live")
        with serving("--config", str(config)) as server:
            status, headers = post(server.url, {"url": page, "live": True, "parts": True})
            again, _ = post(server.url, {"url": page, "live": True})
            with urlopen(headers["Location"].replace("/http", "id_/http", 1)) as raw:  # noqa: S310 -- our own server
                assert raw.read() == PAGES["/"][1]
            output = tmp_path / "notes.wacz"
            words = ["export", "--config", str(config), "--store", "notes", "-o", str(output)]
            command = [sys.executable, "-m", "timegate", *words]
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603 -- ourselves

    assert (status, again) == (201, 200)
    assert headers["Memento-Datetime"]
    assert 'rel="cite-as"' in headers["Link"]
    assert headers["Repr-Digest"].startswith("sha-256=:")
    validated(output)
    (tmp_path / "pywb").mkdir()
    with running_pywb_over_wacz(tmp_path / "pywb", output) as pywb:
        stamp = headers["Timegate-Datetime"][:19].translate(str.maketrans("", "", "-:T"))
        with urlopen(f"{pywb.url}{stamp}id_/{page}") as replayed:  # noqa: S310 -- pywb
            assert replayed.read() == PAGES["/"][1]
