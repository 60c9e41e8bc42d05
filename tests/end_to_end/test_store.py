"""Figure 1 of the paper on duri and Memento: persist a resource, then retrieve it.

With curl and memento-client as clients, and pywb as another reader of the same files.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import urlopen

from memento_client import MementoClient  # type: ignore[import-untyped]

from tests.end_to_end.pywb import COLLECTION, running_pywb
from tests.end_to_end.server import Running, serving

TOKEN = "drawn-token"  # noqa: S105 -- of a test
PAGE = "http://example.org/figure"


@contextmanager
def a_store(folder: Path, *, killed: bool = False) -> Iterator[Running]:
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    config = folder / "timegate.toml"
    config.write_text(
        "[archives]\nuse = []\n"
        f'[[store]]\nid = "notes"\npath = "notes"\ntokens = ["sha256:{digest}"]\n'
        'pwid = ["store.example.org"]\nfree_megabytes = 0\n'
    )
    with serving("--config", str(config), killed=killed) as running:
        yield running


def curl(*words: str) -> str:
    program = shutil.which("curl")
    assert program is not None
    ended = subprocess.run(  # noqa: S603 -- our own words
        [program, "-sS", *words], check=True, capture_output=True, text=True
    )
    return ended.stdout


def persist(url: str, body: str, *headers: str) -> str:
    """PUT *body* with curl; return the head of the response."""
    fields = [f"Authorization: Bearer {TOKEN}", "Content-Type: text/plain", *headers]
    words = [word for field in fields for word in ("-H", field)]
    return curl("-D", "-", "-o", os.devnull, "-X", "PUT", "--data", body, *words, url)


def value(head: str, name: str) -> str:
    lines = (line.partition(": ") for line in head.splitlines())
    return next(text for field, _, text in lines if field.lower() == name.lower())


def test_figure_1_runs_as_it_is_drawn(tmp_path: Path) -> None:
    with a_store(tmp_path) as server:
        own = f"{server.url}/store/notes/resource"
        # Left: persist. The state of the resource at a time becomes a memento, with a duri.
        persist(own, "state 1", "Memento-Datetime: Wed, 01 Jan 2020 00:00:00 GMT")
        head = persist(own, "state 2")
        assert " 201 " in head
        second = value(head, "Timegate-Datetime")
        assert f"<duri:{second}:{own}>" in value(head, "Link")
        # Right: retrieve it from the original, which is its own TimeGate.
        past = "Accept-Datetime: Wed, 01 Jan 2020 00:00:00 GMT"
        assert curl("-L", "-H", past, own) == "state 1"
        assert curl(own) == "state 2"
        assert curl("-L", f"{server.url}/duri:2020-01-01T00:00:00Z:{own}") == "state 1"
        assert curl("-L", f"{server.url}/duri:{second}:{own}") == "state 2"


def test_memento_client_negotiates_with_a_store(tmp_path: Path) -> None:
    with a_store(tmp_path) as server:
        own = f"{server.url}/store/notes/resource"
        for year in (2018, 2019, 2020):
            persist(own, f"{year}", f"Timegate-Datetime: {year}-06-01T00:00:00Z")
        client = MementoClient(
            timegate_uri=f"{server.url}/store/notes/", check_native_timegate=False
        )
        info = client.get_memento_info(own, datetime(2019, 7, 1, tzinfo=UTC))

    closest = info["mementos"]["closest"]
    assert closest["datetime"].year == 2019
    assert closest["uri"] == [f"{server.url}/collections/notes/20190601000000/{own}"]


def test_the_token_is_in_no_log(tmp_path: Path) -> None:
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    config = tmp_path / "timegate.toml"
    config.write_text(
        '[archives]\nuse = []\n[log]\nlevel = "debug"\naccess = true\n'
        f'[[store]]\nid = "notes"\npath = "notes"\ntokens = ["sha256:{digest}"]\n'
        "free_megabytes = 0\n"
    )
    command = [sys.executable, "-m", "timegate", "serve", "--port", "0", "--config"]
    with subprocess.Popen(  # noqa: S603 -- ourselves
        [*command, str(config)], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "listening at" in line)
        server = line.removeprefix("listening at ").rstrip("/\n")
        address = f"{server}/store/notes/{PAGE}"
        heads = [persist(address, "kept"), persist(address, "kept", "Timegate-Datetime: now")]
        wrong = curl(
            "-X", "PUT", "-H", "Authorization: Bearer mistyped", "--data", "x", address
        )
        process.send_signal(signal.SIGTERM)
        log = process.stderr.read()

    assert [head.split()[1] for head in heads] == ["201", "400"]
    assert "token-required" in wrong
    assert log.count("PUT") == 3
    for secret in (TOKEN, "mistyped", digest):
        assert secret not in log


def test_pywb_replays_the_files_of_a_store_that_was_killed(tmp_path: Path) -> None:
    with a_store(tmp_path, killed=True) as server:
        address = f"{server.url}/store/notes/{PAGE}"
        persist(address, "the first", "Timegate-Datetime: 2019-01-01T00:00:00.5Z")
        persist(address, "the second", "Timegate-Datetime: 2020-01-01T00:00:00Z")
        persist(address, "the second", "Timegate-Datetime: 2021-01-01T00:00:00Z")
        os.kill(server.pid, signal.SIGKILL)

    def copy(archive: Path) -> None:
        for file in (tmp_path / "notes").glob("*.warc.gz"):
            shutil.copy(file, archive / file.name)

    pywb = tmp_path / COLLECTION
    pywb.mkdir()
    with running_pywb("exact", pywb, copy) as other:
        bodies = []
        for year in (2019, 2020, 2021):
            with urlopen(f"{other.url}{year}0101000000id_/{PAGE}") as reply:  # noqa: S310 -- loopback
                bodies.append(reply.read().decode())

    assert bodies == ["the first", "the second", "the second"]
