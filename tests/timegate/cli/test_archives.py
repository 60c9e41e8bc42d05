"""`timegate archives`: the registry on the command line."""

import json
from pathlib import Path

from click.testing import CliRunner

from archives.registry import from_memgator, load_known
from timegate.cli import main


def test_every_archive_is_one_line_with_its_reason() -> None:
    result = CliRunner().invoke(main, ["archives"])

    lines = result.output.splitlines()
    assert len(lines) == len(load_known().entries) + 1
    assert any(line.startswith("archive-today") and " no " in line for line in lines)


def test_json_has_every_field() -> None:
    result = CliRunner().invoke(main, ["archives", "--json"])

    facts = {entry["id"]: entry for entry in map(json.loads, result.output.splitlines())}
    assert facts["internet-archive"]["limits"]["index"]["requests"] == 24
    assert facts["netarkivet-dk"]["access"] == "onsite-only"


def test_a_list_for_memgator_can_be_written_and_read_back(tmp_path: Path) -> None:
    written = CliRunner().invoke(main, ["archives", "--memgator"]).output
    file = tmp_path / "archives.json"
    file.write_text(
        json.dumps(
            [
                {
                    "id": "mine",
                    "name": "Mine",
                    "timegate": "http://x.example/",
                    "timemap": "http://x.example/timemap/link/",
                }
            ]
        )
    )

    read = CliRunner().invoke(main, ["archives", "--json", "--archives", str(file)])

    assert from_memgator(written, "written")
    assert '"id": "mine"' in read.output


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "timegate.toml"
    file.write_text("contact = 3\n")

    result = CliRunner().invoke(main, ["archives", "--config", str(file)])

    assert result.exit_code == 2
    assert f"{file}: contact" in result.stderr
