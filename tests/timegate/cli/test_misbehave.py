"""`timegate misbehave`: its addresses, its faults and its summary."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from timegate.cli.misbehave import misbehave_command
from timegate.misbehave import FAULTS
from timegate.misbehave import wire as tls


@contextmanager
def started(*options: str) -> Iterator[tuple[dict[str, str], subprocess.Popen[str]]]:
    """Start the command; yield its description of itself, and the process."""
    program = "from timegate.cli import main; main()"
    command = [sys.executable, "-c", program, "misbehave", "--json", "--seconds", "60"]
    with subprocess.Popen(  # noqa: S603 -- ourselves
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline()), process
        finally:
            process.terminate()


def asked(url: str, **headers: str) -> tuple[int, str | None]:
    """Return the status, and the fault that the response names."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=20)
    try:
        connection.request("GET", parts.path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers["X-Misbehaviour"]
    finally:
        connection.close()


def test_every_printed_address_is_served() -> None:
    with started() as (archive, _):
        statuses = {name: asked(archive[name])[0] for name in ("timegate", "memento", "raw")}
        unknown = asked(archive["unknown"])[0]

    assert statuses == {"timegate": 302, "memento": 200, "raw": 200}
    assert unknown == 404
    assert archive["url"].startswith("http://127.0.0.1:")


def test_a_running_archive_serves_many_requests_and_reports_its_faults() -> None:
    with started() as (archive, process):
        seen = [
            asked(archive["timegate"]),
            asked(archive["timegate"], Prefer="misbehave=redirect-307"),
            asked(archive["timegate"].replace("/timegate/", "/~server-error/timegate/")),
        ]
        assert process.stderr is not None
        lines = [process.stderr.readline().rstrip() for _ in seen]

    assert seen == [(302, None), (307, "redirect-307"), (500, "server-error")]
    assert [line.rpartition(": ")[2] for line in lines] == [
        "no fault",
        "redirect-307",
        "server-error",
    ]


def test_the_same_seed_gives_the_same_faults() -> None:
    def errs() -> list[tuple[int, str | None]]:
        with started("--chance", "0.5", "--seed", "5", *ways) as (archive, _):
            return [asked(archive["timegate"]) for _ in range(12)]

    ways = ("--fault", "redirect-307", "--fault", "vary-missing", "--fault", "forbidden")
    first = errs()

    assert first == errs()
    assert len(set(first)) > 1


def test_the_archive_ends_after_its_lifetime() -> None:
    ended = CliRunner().invoke(misbehave_command, ["--seconds", "0", "--fault", "loop-self"])

    assert ended.exit_code == 0
    assert re.search(r"^TimeGate +http://127\.0\.0\.1:\d+/timegate/http", ended.output)
    assert ended.output.endswith("faults: loop-self\n")


def test_random_faults_print_a_seed_to_repeat_them() -> None:
    ended = CliRunner().invoke(misbehave_command, ["--seconds", "0", "--chance", "0.25"])

    assert re.search(
        r"^faults: any, with chance 0\.25 and seed \d+$", ended.output, re.MULTILINE
    )


def test_all_faults_are_listed_for_people_and_programs() -> None:
    lines = CliRunner().invoke(misbehave_command, ["--list"]).output.splitlines()
    rows = json.loads(CliRunner().invoke(misbehave_command, ["--list", "--json"]).output)

    assert [line.split()[0] for line in lines] == list(FAULTS)
    assert [row["name"] for row in rows] == list(FAULTS)
    assert all(row["sentence"].endswith(".") for row in rows)


def test_an_unknown_fault_is_rejected_with_a_suggestion() -> None:
    ended = CliRunner().invoke(misbehave_command, ["--fault", "loopself"])

    assert ended.exit_code == 2
    assert "Did you mean loop-self" in ended.output


def test_a_port_in_use_is_reported() -> None:
    with started() as (archive, _):
        port = archive["url"].rpartition(":")[2]
        ended = CliRunner().invoke(misbehave_command, ["--port", port, "--seconds", "0"])

    assert ended.exit_code == 1
    assert "address already in use" in ended.output


def test_links_begin_with_the_given_base_url() -> None:
    options = ["--seconds", "0", "--base-url", "https://proxy.example/x/", "--json"]

    archive = json.loads(CliRunner().invoke(misbehave_command, options).output)

    assert archive["timegate"] == "https://proxy.example/x/timegate/http://example.org/"


def test_the_certificate_authority_of_tls_faults_can_be_saved(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    options = ["--seconds", "0", "--fault", "tls-right", "--ca", str(file)]

    ended = CliRunner().invoke(misbehave_command, options)

    assert "https://127.0.0.1" in ended.output
    assert file.read_text().startswith("-----BEGIN CERTIFICATE-----")


def test_a_tls_fault_without_its_library_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "trustme", None)

    with pytest.raises(tls.MissingLibrary, match="pip install trustme"):
        tls.Authority().valid()
    ended = CliRunner().invoke(misbehave_command, ["--seconds", "0", "--fault", "tls-expired"])

    assert ended.exit_code == 1
    assert "pip install trustme" in ended.output
