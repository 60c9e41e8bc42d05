"""Our server over other aggregators, which may ask our server again."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.end_to_end import pywb as held
from tests.end_to_end.pywb import Pywb
from tests.end_to_end.sending import send
from tests.end_to_end.server import serving
from tests.end_to_end.test_serving import ask
from timegate.access.loops import name_of

ENTRY = """
[[archive]]
id = "{name}"
kind = "memento"
timegate = "{url}timegate/"
timemap = "{url}timemap/link/"
aggregator = true
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def ring(plain_pywb: Pywb, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Two servers that are aggregators of each other; the second has an archive, too."""
    folder = tmp_path_factory.mktemp("ring")
    ports = [free_port(), free_port()]
    urls = [f"http://127.0.0.1:{port}/" for port in ports]
    archive = (
        f'[[archive]]\nid = "pywb"\nkind = "memento"\ntimegate = "{plain_pywb.url}"\n'
        f'timemap = "{plain_pywb.url}timemap/link/"\n'
    )
    with ExitStack() as stack:
        for number, port in enumerate(ports):
            config = folder / f"{number}.toml"
            other = ENTRY.format(name=f"other{number}", url=urls[1 - number])
            config.write_text(
                '[archives]\nuse = []\n[deadline]\nsoft = "20s"\nhard = "25s"\n'
                + other
                + (archive if number else "")
            )
            stack.enter_context(serving("--config", str(config), "--port", str(port)))
        yield [url.rstrip("/") for url in urls]


def test_a_loop_of_two_aggregators_ends_at_once(ring: list[str]) -> None:
    status, headers, body = ask(f"{ring[0]}/timegate/{held.UNKNOWN}")

    # The second server does not say that there is nothing while the first did not answer.
    assert status in (502, 504)
    # The first has waited for no deadline: the second was told why at once.
    report = json.loads(body)
    assert "did not answer" in report["detail"] or "other0" in report["detail"]
    assert headers["Content-Type"] == "application/problem+json"


def test_an_aggregator_names_mementos_of_its_archives(
    ring: list[str], plain_pywb: Pywb
) -> None:
    status, headers, _ = ask(f"{ring[0]}/web/20120120/{held.FIFTY}")

    assert status == 302
    assert headers["Location"].startswith(plain_pywb.url)
    assert "20120120120000" in headers["Location"]
    assert 'rel="first' not in headers["Link"]


def test_the_list_of_an_aggregator_has_the_addresses_of_its_archives(
    ring: list[str], plain_pywb: Pywb
) -> None:
    status, _, body = ask(f"{ring[0]}/timemap/link/{held.FIFTY}")

    assert status == 200
    assert all(f"{plain_pywb.url}{stamp}".encode() in body for stamp in held.FIFTY_STAMPS)


def test_a_request_that_has_come_back_is_refused_with_its_reason(tmp_path: Path) -> None:
    config = tmp_path / "timegate.toml"
    config.write_text("[archives]\nuse = []\n")
    with serving("--config", str(config)) as server:
        own = name_of(server.url)
        looped = send(f"{server.url}/timegate/{held.ONCE}", {"CDN-Loop": f"a.example, {own}"})
        bad = send(f"{server.url}/timegate/{held.ONCE}", {"CDN-Loop": "no name; at all,"})

    assert looped.status == 508
    assert json.loads(looped.body)["type"].endswith("/loop")
    assert bad.status == 400
