"""The server as a process over real pywbs, queried by real clients."""

import http.server
import json
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.message import Message
from os import kill
from pathlib import Path

import pytest
from click.testing import CliRunner
from memento_client import MementoClient  # type: ignore[import-untyped]

from archives.formats.linkformat import parse_header
from tests.end_to_end import pywb as held
from tests.end_to_end.capturing import pywb_with
from tests.end_to_end.pywb import Pywb
from tests.end_to_end.server import Running, running_timegate
from timegate.cli import main

PAIR = "Tue, 30 Jun 2015 23:59:58 GMT"
LATER = "Wed, 01 Jul 2015 10:00:00 GMT"


class _Still(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def ask(url: str, accept_datetime: str | None = None) -> tuple[int, Message, bytes]:
    """Send one request, without following redirects."""
    opener = urllib.request.build_opener(_Still, urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url)  # noqa: S310 -- loopback
    if accept_datetime:
        request.add_header("Accept-Datetime", accept_datetime)
    try:
        with opener.open(request, timeout=20) as reply:
            return reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


@pytest.fixture(scope="module")
def server(
    plain_pywb: Pywb,
    exact_pywb: Pywb,
    framed_pywb: Pywb,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Running]:
    """Our server over pywb in its three modes."""
    archives = {"plain": plain_pywb.url, "exact": exact_pywb.url, "framed": framed_pywb.url}
    with running_timegate(tmp_path_factory.mktemp("server"), archives) as running:
        yield running


def test_a_timegate_over_real_pywbs(server: Running) -> None:
    status, headers, body = ask(f"{server.url}/timegate/{held.OFTEN}", PAIR)

    assert status == 302
    assert "20150630235958" in headers["Location"]
    assert headers["Memento-Precision"].startswith(
        "match=exact, evidence=promised, archive=any"
    )
    assert json.loads(body)["time"]["delta"] == 0


@pytest.mark.parametrize("archive", ["plain", "exact", "framed"])
def test_a_pwid_is_answered_by_the_archive_it_names(server: Running, archive: str) -> None:
    pwid = f"urn:pwid:{archive}.example:2015-06-30T23:59:58Z:page:{held.OFTEN}"

    status, _, body = ask(f"{server.url}/resolve/{pwid}?as=json")

    report = json.loads(body)
    assert status == 200
    assert (report["match"]["value"], report["memento"]["archive"]) == ("exact", archive)
    assert report["cite"]["pwid"] == pwid


def test_an_absent_page_is_404_and_a_dead_archive_makes_it_unknown(
    server: Running, plain_pywb: Pywb, tmp_path: Path
) -> None:
    status, _, _ = ask(f"{server.url}/timegate/{held.UNKNOWN}", PAIR)
    archives = {"plain": plain_pywb.url, "dead": "http://127.0.0.1:9/"}
    with running_timegate(tmp_path, archives) as partial:
        unknown, headers, body = ask(f"{partial.url}/timegate/{held.UNKNOWN}", PAIR)
        found, verdict, _ = ask(f"{partial.url}/timegate/{held.OFTEN}", LATER)

    assert status == 404
    assert unknown == 504
    assert int(headers["Retry-After"]) > 0
    assert "dead" in json.loads(body)["detail"]
    assert found == 302
    assert "sources=partial;asked=2;failed=1" in verdict["Memento-Precision"]


def test_a_timemap_merges_the_captures_of_all_archives(server: Running) -> None:
    status, headers, body = ask(f"{server.url}/timemap/link/{held.OFTEN}")

    links = parse_header(body.decode().replace("\n", " "))
    mementos = [link for link in links if "memento" in link.rels]
    assert status == 200
    assert headers["Content-Type"] == "application/link-format"
    assert len(mementos) == 3 * len(held.OFTEN_STAMPS)


@contextmanager
def an_original() -> Iterator[str]:
    """Serve an original page: memento-client requests it before it looks for mementos."""
    handler = http.server.SimpleHTTPRequestHandler
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def test_memento_client_steps_from_memento_to_memento(tmp_path: Path) -> None:
    """PyPI's memento-client gets first, prev, closest, next and last from us."""
    stamps = ["20100101000000", "20110101000000", "20120101000000", "20130101000000"]
    with (
        an_original() as original,
        pywb_with(tmp_path, [(original, stamp) for stamp in stamps]) as archive,
        running_timegate(tmp_path, {"mine": archive}) as running,
    ):
        client = MementoClient(
            timegate_uri=f"{running.url}/timegate/", check_native_timegate=False
        )
        info = client.get_memento_info(original, datetime(2011, 2, 1, tzinfo=UTC))

    found = {name: one["datetime"].year for name, one in info["mementos"].items()}
    assert found == {"first": 2010, "prev": 2010, "closest": 2011, "next": 2012, "last": 2013}


def test_workers_share_a_port_and_end_together(plain_pywb: Pywb, tmp_path: Path) -> None:
    with running_timegate(tmp_path, {"plain": plain_pywb.url}, "--workers", "2") as running:
        statuses = {ask(f"{running.url}/timegate/{held.OFTEN}", PAIR)[0] for _ in range(20)}
        _, _, metrics = ask(f"{running.url}/metrics")

    assert statuses == {302}
    assert b'timegate_answers_total{route="/timegate/",status="302"}' in metrics


def test_answers_survive_a_restart_with_sqlite(plain_pywb: Pywb, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    original = f"{held.FIFTY}"
    at = "Tue, 03 Jan 2012 12:00:00 GMT"
    environment = {"TIMEGATE_CACHE_URL": f"sqlite:{tmp_path / 'cache.db'}"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        with running_timegate(tmp_path, {"plain": plain_pywb.url}) as running:
            first = ask(f"{running.url}/timegate/{original}", at)
        with running_timegate(tmp_path, {"plain": plain_pywb.url}) as running:
            again = ask(f"{running.url}/resolve/duri:2012-01-03T12:00:00Z:{original}?as=json")

    attempts = json.loads(again[2])["attempts"]
    assert first[0] == 302
    assert attempts[0]["cached"] is True


def test_a_killed_server_leaves_a_cache_that_opens(plain_pywb: Pywb, tmp_path: Path) -> None:
    cache = tmp_path / "cache.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIMEGATE_CACHE_URL", f"sqlite:{cache}")
        with running_timegate(tmp_path, {"plain": plain_pywb.url}, killed=True) as running:
            ask(f"{running.url}/timegate/{held.OFTEN}", PAIR)
            kill(running.pid, signal.SIGKILL)
        with running_timegate(tmp_path, {"plain": plain_pywb.url}) as running:
            status, _, _ = ask(f"{running.url}/timegate/{held.OFTEN}", PAIR)

    assert status == 302


def test_the_command_line_resolves_too(plain_pywb: Pywb, tmp_path: Path) -> None:
    config = tmp_path / "timegate.toml"
    config.write_text(
        f'[archives]\nuse = []\n[[archive]]\nid = "plain"\nkind = "memento"\n'
        f'timegate = "{plain_pywb.url}"\npwid = ["plain.example"]\n'
    )
    exact = f"urn:pwid:plain.example:2013-03-03T03:03:03Z:page:{held.ONCE}"
    off = exact.replace("2013-03-03", "2013-03-04")
    unknown = f"duri:2013:{held.UNKNOWN}"

    def run(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["resolve", *words, "--config", str(config)])
        return result.exit_code, result.output

    assert run(exact)[0] == 0
    assert "captured 2013-03-03T03:03:03Z, in plain" in run(exact)[1]
    assert run(off)[0] == 1
    assert run("nonsense")[0] == 2
    assert run(unknown)[0] == 3
    assert json.loads(run(off, "--json")[1])["time"]["delta"] == -86_400


def test_the_command_line_prints_a_timemap(plain_pywb: Pywb, tmp_path: Path) -> None:
    config = tmp_path / "timegate.toml"
    config.write_text(
        f'[archives]\nuse = []\n[[archive]]\nid = "plain"\nkind = "memento"\n'
        f'timegate = "{plain_pywb.url}"\ntimemap = "{plain_pywb.url}timemap/link/"\n'
    )

    def run(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["timemap", *words, "--config", str(config)])
        return result.exit_code, result.stdout

    code, printed = run(held.FIFTY)
    assert code == 0
    assert len([link for link in parse_header(printed) if "memento" in link.rels]) == 50
    assert json.loads(run(held.OFTEN, "--format", "json")[1])["original_uri"] == held.OFTEN
    assert run(held.UNKNOWN)[0] == 3
    assert run("nonsense")[0] == 2


def test_every_documented_address_is_served(server: Running) -> None:
    described = json.loads(ask(f"{server.url}/openapi.json")[2])
    # The first never ends; the second is there where a series is configured.
    left_out = ("/monitor", "/series")
    plain = [path for path in described["paths"] if "{" not in path and path not in left_out]

    answers = {path: ask(f"{server.url}{path}") for path in plain}

    unknown = [path for path, (_, _, body) in answers.items() if b"no identifier" in body]
    assert unknown == []
    assert {path for path, (status, _, _) in answers.items() if status == 404} == set()
