"""`timegate keep` over archives in processes of their own, and killed in the middle."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from archives.warc.captures import Capture, captures_in
from tests.end_to_end.server import running_demo

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
