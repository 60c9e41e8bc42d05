"""`timegate check`: output for people, programs and build servers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from tests.timegate.conformance.archive import PAGE, Archive, an_archive, running
from tests.timegate.conformance.checking import checked
from timegate.cli.check import check_command, show
from timegate.cli.terminal import Terminal
from timegate.conformance.history import History


def check(*arguments: str) -> Result:
    return CliRunner().invoke(check_command, arguments)


@pytest.fixture(scope="module")
def right() -> Iterator[Archive]:
    """An archive that breaks no rule."""
    with running() as archive:
        yield archive


@pytest.fixture(scope="module")
def wrong() -> Iterator[Archive]:
    """An archive whose TimeGate has no Vary."""
    with running("vary-missing") as archive:
        yield archive


def test_a_conforming_timegate_passes(right: Archive) -> None:
    result = check(f"{right.url}/timegate/", "--sample", PAGE, "--strict")

    assert result.exit_code == 0
    assert "pass    M-4  must     vary-names-accept-datetime" in result.stdout
    assert "fail" not in result.stdout
    assert "warn" not in result.stdout
    assert "checking 1 archive: up to 40 requests" in result.stderr
    assert "[1/1]" in result.stderr


def test_a_failure_is_shown_with_its_trace(wrong: Archive) -> None:
    result = check(f"{wrong.url}/timegate/", "--sample", PAGE)

    assert result.exit_code == 1
    assert "fail    M-4  must     vary-names-accept-datetime: Vary is missing" in result.stdout
    assert "RFC 7089 2.1.2" in result.stdout
    assert f"> GET {wrong.url}/timegate/{PAGE}" in result.stdout
    assert "< 302" in result.stdout
    assert "expected: Vary: accept-datetime" in result.stdout
    assert "\x1b" not in result.stdout


def test_an_archive_that_does_not_answer_fails() -> None:
    with running("forbidden") as archive:
        result = check(f"{archive.url}/timegate/", "--sample", PAGE)

    assert result.exit_code == 1
    assert "refused with 403" in result.stdout
    assert "fails: most requirements could not be judged" in result.stderr


def test_an_archive_that_answers_most_requests_is_partly_unknown() -> None:
    with running("memento-403") as archive:
        result = check(f"{archive.url}/timegate/", "--sample", PAGE)

    assert result.exit_code == 4


def test_every_kind_of_report_is_written(right: Archive, tmp_path: Path) -> None:
    names = ("--junit", "--sarif", "--html", "--badge", "--write-baseline")
    files = [word for name in names for word in (name, str(tmp_path / name.strip("-")))]

    result = check(f"{right.url}/timegate/", "--sample", PAGE, *files)

    assert result.exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {name.strip("-") for name in names}
    assert (tmp_path / "badge").read_text().startswith("<svg")


def test_a_baseline_allows_known_failures_only(tmp_path: Path) -> None:
    known = str(tmp_path / "known.json")
    with running("vary-missing") as archive:
        url = f"{archive.url}/timegate/"
        first = check(url, "--sample", PAGE, "--write-baseline", known)
        second = check(url, "--sample", PAGE, "--baseline", known)
        strict = check(url, "--sample", PAGE, "--baseline", known, "--profile", "practice")
    with running("none") as archive:
        mended = check(f"{archive.url}/timegate/", "--sample", PAGE, "--baseline", known)

    assert (first.exit_code, second.exit_code, strict.exit_code) == (1, 0, 1)
    assert "fails the profile practice: refusals-are-a-timegates" in strict.stderr
    assert mended.exit_code == 0


def test_a_bad_baseline_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text("{}")

    result = check("http://127.0.0.1:9/", "--baseline", str(tmp_path / "known.json"))

    assert result.exit_code == 2
    assert "known.json" in result.stderr


def test_a_violated_should_fails_only_on_request() -> None:
    with running("redirect-307") as archive:
        lenient = check(f"{archive.url}/timegate/{PAGE}")
        strict = check(f"{archive.url}/timegate/{PAGE}", "--strict")

    assert (lenient.exit_code, strict.exit_code) == (0, 1)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (f"/timegate/{PAGE}", "timegate"),
        (f"/timemap/link/{PAGE}", "timemap"),
        (f"/web/20130615083000/{PAGE}", "memento"),
        ("/timegate/", "timegate"),
    ],
)
def test_the_kind_of_an_address_is_found_by_requests(
    right: Archive, path: str, kind: str
) -> None:
    result = check(f"{right.url}{path}", "--json")

    [report] = json.loads(result.stdout)["archives"]
    assert report["kind"] == kind
    # Behind a bare prefix a page is only guessed.
    assert result.exit_code == (4 if path == "/timegate/" else 0)


def test_a_timegate_without_a_held_page_is_not_called_conforming(right: Archive) -> None:
    guessed = check(f"{right.url}/timegate/")
    named = check(f"{right.url}/timegate/", "--sample", "http://elsewhere.example/")

    assert guessed.exit_code == 4
    assert "give a page that the archive holds with --sample" in guessed.stdout
    assert named.exit_code == 1
    assert "404 for http://elsewhere.example/, which --sample says" in named.stdout


def test_an_original_is_judged_by_its_links(right: Archive) -> None:
    """The TimeMap of the archive serves as a page without links."""
    result = check(f"{right.url}/timemap/link/{PAGE}", "--kind", "original", "--json")

    [report] = json.loads(result.stdout)["archives"]
    verdicts = {each["check"]: each["verdict"] for each in report["results"]}
    assert verdicts["original-links-a-timegate"] == "warn"
    assert verdicts["vary-names-accept-datetime"] == "skip"


def test_reports_are_written_in_every_format(wrong: Archive, tmp_path: Path) -> None:
    page, xml = tmp_path / "report.html", tmp_path / "report.xml"
    forms = ("--html", str(page), "--junit", str(xml), "--json")

    result = check(f"{wrong.url}/timegate/", "--sample", PAGE, *forms)

    assert json.loads(result.stdout)["exit_code"] == result.exit_code == 1
    assert '<td class="fail">' in page.read_text()
    assert ET.parse(xml).getroot().tag == "testsuites"  # noqa: S314 -- our own


def test_a_recording_gives_the_same_report_without_the_archive(tmp_path: Path) -> None:
    folder = str(tmp_path / "recording")
    with running("wrong-closest") as archive:
        live = check(f"{archive.url}/timegate/", "--sample", PAGE, "--record", folder, "--json")

    again = check("--replay", folder, "--json")

    assert again.exit_code == live.exit_code == 1
    assert json.loads(again.stdout) == json.loads(live.stdout)


def test_a_recording_is_not_mixed_with_another(right: Archive, tmp_path: Path) -> None:
    folder = str(tmp_path)
    check(f"{right.url}/timegate/", "--sample", PAGE, "--record", folder)
    asked = right.journal.request_count

    same = check(
        f"{right.url}/timegate/", "--kind", "timegate", "--sample", PAGE, "--record", folder
    )
    other = check(f"{right.url}/timegate/", "--sample", "http://b.example/", "--record", folder)

    assert same.exit_code == 0
    assert right.journal.request_count == asked + 1  # What the other one is.
    assert other.exit_code == 2
    assert "a recording of something else" in other.stderr


def test_archives_of_the_configuration_are_checked_by_id(
    right: Archive, wrong: Archive, tmp_path: Path
) -> None:
    config = tmp_path / "timegate.toml"
    config.write_text(
        "[archives]\nuse = []\n"
        f'[[archive]]\nid = "right"\nkind = "memento"\ntimegate = "{right.url}/timegate/"\n'
        f'[[archive]]\nid = "wrong"\nkind = "memento"\ntimegate = "{wrong.url}/timegate/"\n'
    )
    common = ("--config", str(config), "--sample", PAGE, "--json")

    one = check("--archive", "right", *common)
    both = check("--all", *common)

    assert one.exit_code == 0
    assert both.exit_code == 1
    reports = json.loads(both.stdout)["archives"]
    assert [report["id"] for report in reports] == ["right", "wrong"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "give a URL"),
        (["--archive", "nope"], "unknown archive 'nope'"),
        (["--archive", "netarkivet-dk"], "no TimeGate"),
        (["--archive", "arquivo-pt"], "who is asking"),
        (["--all"], "who is asking"),
        (["https://archive.example/"], "who is asking"),
        (["ftp://archive.example/"], "ftp"),
        (["http://127.0.0.1/", "--also", "nowhere"], "--also"),
        (["--replay", "/nowhere"], "run.json"),
        (["http://127.0.0.1/", "--kind", "thing"], "'thing'"),
    ],
)
def test_bad_usage_is_explained(arguments: list[str], why: str) -> None:
    result = check(*arguments)

    assert result.exit_code == 2
    assert why in result.stderr


async def test_the_table_fits_the_terminal() -> None:
    async with an_archive("vary-missing") as archive:
        report = await checked(archive)

    for width in (80, 120):
        console = Terminal(file=StringIO(), width=width, force_terminal=True, color_system=None)
        show(report, console, verbose=False)
        text = console.file.getvalue() if isinstance(console.file, StringIO) else ""
        table, _, traces = text.partition("fail vary-names-accept-datetime (RFC 7089 2.1.2)")
        rows = [
            line for line in table.splitlines() if line.startswith(("pass", "fail", "warn"))
        ]
        assert len(rows) == sum(report.counts[v] for v in ("pass", "fail", "warn"))
        assert all(len(line) <= width for line in table.splitlines())
        assert "> GET" in traces
        assert "expected: Vary: accept-datetime" in traces
        assert traces.rstrip().endswith(f"({report.requests} requests)")


async def test_text_from_an_archive_is_not_interpreted_as_markup() -> None:
    async with an_archive() as archive:
        report = await checked(archive)
    evil = replace(report.results[0].finding, verdict="fail", why="[red]\x1b[31m[/nothing]")
    evil_report = replace(report, results=(replace(report.results[0], finding=evil),))
    console = Terminal(file=StringIO(), width=120, force_terminal=True, color_system=None)

    show(evil_report, console, verbose=False)

    assert isinstance(console.file, StringIO)
    assert "[red]\\u001b[31m[/nothing]" in console.file.getvalue()


def test_the_history_has_live_checks_and_no_replays(wrong: Archive, tmp_path: Path) -> None:
    file, folder = tmp_path / "checks.jsonl", str(tmp_path / "recording")
    common = (f"{wrong.url}/timegate/", "--sample", PAGE, "--history", str(file))

    check(*common, "--record", folder)
    check(*common)
    check("--replay", folder, "--history", str(file))

    [pasts] = History(file).read().values()
    assert [past.counts["fail"] for past in pasts] == [1, 1]


def test_a_file_that_is_no_history_is_left_alone(right: Archive, tmp_path: Path) -> None:
    file = tmp_path / "thesis.txt"
    file.write_text("precious")

    result = check(f"{right.url}/timegate/", "--sample", PAGE, "--history", str(file))

    assert result.exit_code == 2
    assert "--history" in result.stderr
    assert file.read_text() == "precious"


def test_an_address_that_does_not_answer_is_said_in_one_line() -> None:
    result = check("http://127.0.0.1:9/")
    verbose = check("http://127.0.0.1:9/", "-v")

    assert result.stdout.splitlines()[:2] == [
        "127.0.0.1-9: timegate http://127.0.0.1:9/",
        "  nothing could be judged: cannot connect: Connection refused",
    ]
    assert len(result.stdout.splitlines()) == 3
    assert len(verbose.stdout.splitlines()) > 50
    assert result.exit_code == 1
