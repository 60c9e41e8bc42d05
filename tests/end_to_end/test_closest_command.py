"""`timegate closest` against real archives: text and JSON output."""

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.end_to_end import pywb as held
from tests.end_to_end.pywb import Pywb
from timegate.cli import main


def asked(folder: Path, timegate: str, *arguments: str) -> Result:
    config = folder / "timegate.toml"
    config.write_text(f'[[archive]]\nid = "mine"\nkind = "memento"\ntimegate = "{timegate}"\n')
    return CliRunner().invoke(main, ["closest", "mine", *arguments, "--config", str(config)])


@pytest.mark.parametrize("mode", ["plain_pywb", "exact_pywb", "framed_pywb"])
def test_the_memento_and_every_redirect_are_shown(
    mode: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    pywb: Pywb = request.getfixturevalue(mode)

    result = asked(tmp_path, pywb.url, held.OFTEN, "2015-06-30T23:59:58Z")

    assert result.exit_code == 0
    assert "> Accept-Datetime: Tue, 30 Jun 2015 23:59:58 GMT" in result.output
    assert "captured 2015-06-30T23:59:58Z, within the requested time" in result.output


def test_json_has_the_distance_in_time(plain_pywb: Pywb, tmp_path: Path) -> None:
    result = asked(tmp_path, plain_pywb.url, held.ONCE, "20130303030300", "--json")

    report = json.loads(result.output)
    assert report["outcome"] == "found"
    assert report["delta"] == 3
    assert report["memento"]["datetime"] == "2013-03-03T03:03:03Z"
    assert report["memento"]["status"] == 200
    assert [exchange["status"] for exchange in report["exchanges"]] == [200]


def test_a_clear_no_exits_with_3(plain_pywb: Pywb, tmp_path: Path) -> None:
    result = asked(tmp_path, plain_pywb.url, held.UNKNOWN, "2013")

    assert result.exit_code == 3
    assert "absent: the archive has no copy" in result.output


def test_no_answer_exits_with_4_and_is_not_reported_as_absent(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]

    result = asked(tmp_path, f"http://127.0.0.1:{port}/", held.OFTEN, "2013")
    machine = asked(tmp_path, f"http://127.0.0.1:{port}/", held.OFTEN, "2013", "--json")

    assert result.exit_code == 4
    assert "unknown: " in result.output
    assert json.loads(machine.output)["error"]["kind"] == "unreachable"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nope", "http://x.org/"], "unknown archive 'nope'"),
        (["netarkivet-dk", "http://x.org/"], "cannot be queried by programs"),
        (["internet-archive", "http://x.org/"], "who is asking"),
        (["internet-archive", "ftp://x.org/"], "http and https URLs, not ftp"),
        (["internet-archive", "http://x.org/", "01/02/2016"], "ambiguous"),
    ],
)
def test_bad_usage_is_explained(arguments: list[str], why: str) -> None:
    result = CliRunner().invoke(main, ["closest", *arguments])

    assert result.exit_code == 2
    assert why in result.stderr
