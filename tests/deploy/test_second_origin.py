"""Archived bytes at a second origin behind each proxy: what it serves, and redirects to it."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import as_file, files

import pytest

from tests.deploy.proxies import COPIES, HOST, PROXIES, Proxy, running
from tests.deploy.raw import Place, ask
from tests.end_to_end.server import serving

CONFIG = f"""\
base_url = "https://{HOST}"
[replay]
base_url = "https://{COPIES}"
[archives]
use = []
[[archive]]
id = "harbour"
kind = "warc"
path = "collection"
"""
COPY = "/collections/harbour/2016id_/http://museum.example/"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("server")
    with as_file(files("timegate.demo") / "harbour") as collection:
        shutil.copytree(collection, folder / "collection")
    indexing = [sys.executable, "-m", "timegate", "index", str(folder / "collection")]
    subprocess.run(indexing, check=True, capture_output=True)  # noqa: S603 -- ourselves
    config = folder / "timegate.toml"
    config.write_text(CONFIG.replace('"collection"', f'"{folder}/collection"'))
    with serving("--config", str(config)) as started:
        yield Place(int(started.url.rpartition(":")[2]))


@pytest.fixture(scope="module", params=PROXIES)
def proxy(
    request: pytest.FixtureRequest, server: Place, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    name = str(request.param)
    with running(name, tmp_path_factory.mktemp(name), server.port) as started:
        yield started


def copies(place: Place) -> Place:
    return replace(place, name=COPIES)


def test_archived_bytes_are_at_the_second_origin(proxy: Proxy, server: Place) -> None:
    exact = ask(copies(proxy.tls), COPY).get("location")[0]
    target = exact.removeprefix(f"https://{COPIES}")

    answer = ask(copies(proxy.tls), target)

    assert (answer.status, answer.whole) == (200, True)
    assert answer.body == ask(copies(server), target).body
    assert answer.get("memento-datetime")
    assert "sandbox" in answer.get("content-security-policy")[0]


@pytest.mark.parametrize("target", [COPY, "/memento/proxy/2016/http://museum.example//a%2Fb"])
def test_the_first_origin_redirects_to_the_second(proxy: Proxy, target: str) -> None:
    answer = ask(proxy.tls, target)

    assert answer.status == 307
    assert answer.get("location") == [f"https://{COPIES}{target}"]


@pytest.mark.parametrize("target", ["/", "/about", "/timegate/http://museum.example/"])
def test_the_second_origin_serves_nothing_else(proxy: Proxy, target: str) -> None:
    assert ask(copies(proxy.tls), target).status == 404


def test_a_plain_request_is_redirected_to_https_at_the_same_origin(proxy: Proxy) -> None:
    answer = ask(copies(proxy.plain), COPY)

    assert answer.status == 308
    assert answer.get("location") == [f"https://{COPIES}{COPY}"]
