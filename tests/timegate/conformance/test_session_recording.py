"""Recordings: judged again with the same result, and resumed without loss."""

from pathlib import Path

import pytest

from tests.timegate.conformance.archive import an_archive
from tests.timegate.conformance.checking import NOW, job_for, settings_for
from timegate.conformance.report import Report
from timegate.conformance.run import run_again, run_live
from timegate.conformance.session import (
    BadRecording,
    RecordedRun,
    read_recording,
    read_run,
    write_run,
)


def verdicts(reports: list[Report]) -> list[tuple[str, str, str]]:
    return [
        (r.check.name, r.finding.verdict, r.finding.why)
        for report in reports
        for r in report.results
    ]


@pytest.mark.parametrize("fault", ["none", "wrong-closest", "forbidden", "truncated-length"])
async def test_a_recording_is_judged_like_the_archive(fault: str, tmp_path: Path) -> None:
    async with an_archive(fault) as archive:
        job = job_for(archive)
        live = await run_live([job], settings_for(archive), NOW, lambda _: None, tmp_path)

    again = await run_again([job.subject], NOW, lambda _: None, tmp_path)

    assert verdicts(again) == verdicts(live)
    assert again[0].requests == live[0].requests


async def test_a_run_resumes_where_it_was_killed(tmp_path: Path) -> None:
    async with an_archive() as archive:
        job = job_for(archive)
        whole = await run_live([job], settings_for(archive), NOW, lambda _: None, tmp_path)
        writer = tmp_path / "mine.jsonl"
        lines = writer.read_bytes().splitlines(keepends=True)
        writer.write_bytes(b"".join(lines[:10]) + lines[10][:40])
        asked = archive.journal.request_count

        again = await run_live([job], settings_for(archive), NOW, lambda _: None, tmp_path)

        assert archive.journal.request_count - asked == asked - 10
    assert [v[:2] for v in verdicts(again)] == [v[:2] for v in verdicts(whole)]
    assert len(read_recording(tmp_path, "mine", failed=True)) == asked


async def test_requests_without_a_response_are_sent_again(tmp_path: Path) -> None:
    async with an_archive("reset") as archive:
        job = job_for(archive)
        await run_live([job], settings_for(archive), NOW, lambda _: None, tmp_path)

    assert read_recording(tmp_path, "mine", failed=True)
    assert read_recording(tmp_path, "mine", failed=False) == {}


async def test_the_subjects_of_a_run_are_recorded(tmp_path: Path) -> None:
    async with an_archive() as archive:
        run = RecordedRun(NOW, (job_for(archive).subject,))

    write_run(tmp_path / "new", run)

    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700

    assert read_run(tmp_path / "new") == run


@pytest.mark.parametrize(
    "content", [None, "{", '{"now": 1}', '{"now":"1","subjects":[],"format":9}']
)
def test_a_folder_that_is_not_a_recording_is_rejected(
    content: str | None, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)

    with pytest.raises(BadRecording, match=r"run\.json"):
        read_run(tmp_path)
