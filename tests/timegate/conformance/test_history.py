"""The history of checks: limited, complete after a crash, safe for several writers."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.timegate.conformance.archive import an_archive
from tests.timegate.conformance.checking import NOW, checked
from timegate.conformance.history import KEPT, MOST_ARCHIVES, BadHistory, History
from timegate.conformance.report import Report
from timegate.conformance.subject import Subject


def an_empty_report(name: str = "a") -> Report:
    return Report(Subject(name, name.title(), "timegate", f"http://{name}.example/"), (), 3)


async def test_a_record_has_the_violations(tmp_path: Path) -> None:
    history = History(tmp_path / "deep" / "checks.jsonl")
    async with an_archive("vary-missing") as archive:
        report = await checked(archive)

    history.add([report], NOW)

    [past] = history.read()["mine"]
    assert past.checked == NOW
    assert past.requests == report.requests
    assert past.counts["fail"] == 1
    assert [(each.check, each.verdict) for each in past.wrong] == [
        ("vary-names-accept-datetime", "fail"),
        ("refusals-are-a-timegates", "warn"),
    ]


def test_there_are_no_records_before_the_first(tmp_path: Path) -> None:
    assert History(tmp_path / "none").read() == {}


def test_only_the_last_records_are_kept(tmp_path: Path) -> None:
    history = History(tmp_path / "checks.jsonl")
    for number in range(KEPT + 3):
        history.add([an_empty_report()], f"202611160500{number:02}")

    kept = history.read()["a"]

    assert len(kept) == KEPT
    assert kept[-1].checked == f"202611160500{KEPT + 2}"


def test_of_too_many_archives_the_longest_unchecked_is_dropped(tmp_path: Path) -> None:
    history = History(tmp_path / "checks.jsonl")
    history.add([an_empty_report("old")], "20200101000000")

    history.add([an_empty_report(f"a{n}") for n in range(MOST_ARCHIVES)], NOW)

    assert len(history.read()) == MOST_ARCHIVES
    assert "old" not in history.read()


def test_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "checks.jsonl"

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: History(path).add([an_empty_report(f"a{n}")], NOW), range(16)))

    assert len(History(path).read()) == 16


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    history = History(tmp_path / "checks.jsonl")

    history.add([an_empty_report()], NOW)

    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "checks.jsonl",
        "checks.jsonl.lock",
    ]


def test_another_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_text("precious\n")

    with pytest.raises(BadHistory, match="line 1"):
        History(path).add([an_empty_report()], NOW)

    assert path.read_text() == "precious\n"


async def test_text_sent_by_an_archive_is_escaped_and_shortened(tmp_path: Path) -> None:
    history = History(tmp_path / "checks.jsonl")
    async with an_archive("vary-missing") as archive:
        report = await checked(archive)
    evil = replace(report.results[0].finding, verdict="fail", why="\x1b[31m\ud800" + "x" * 9999)

    history.add([replace(report, results=(replace(report.results[0], finding=evil),))], NOW)

    [wrong] = history.read()["mine"][0].wrong
    assert wrong.why.isprintable()
    assert len(wrong.why) == 300
