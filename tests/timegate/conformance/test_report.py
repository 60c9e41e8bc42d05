"""Reports as text, JSON and HTML; nothing that an archive sends can break them."""

import json

from tests.timegate.conformance.archive import Archive, an_archive
from tests.timegate.conformance.checking import NOW, checked
from timegate.conformance.catalogue import Finding
from timegate.conformance.checks import CHECKS
from timegate.conformance.facts import Facts
from timegate.conformance.probes import memento
from timegate.conformance.report import (
    CheckResult,
    Report,
    as_html,
    as_json,
    lines,
)
from timegate.conformance.session import RecordedExchange
from timegate.conformance.subject import Subject

EVIL = '<script>alert(1)</script>"\x1b[2J\x00&\ud800'


def an_evil_report() -> Report:
    subject = Subject("evil", "Evil", "timegate", "http://evil.example/", (EVIL,))
    exchange = RecordedExchange(memento(f"http://evil.example/{EVIL}"), 200, {"link": EVIL})
    results = [
        CheckResult(check, EVIL, Finding("fail", EVIL, EVIL, (exchange,)))
        for check in CHECKS.values()
    ]
    return Report(subject, tuple(results), 1)


async def report_on(fault: str) -> Report:
    async with an_archive(fault) as archive:
        assert isinstance(archive, Archive)
        return await checked(archive)


async def test_json_has_every_result_with_its_trace() -> None:
    report = await report_on("vary-missing")

    document = json.loads(as_json([report], NOW, 1, {}))

    results = {each["check"]: each for each in document["archives"][0]["results"]}
    assert results.keys() == CHECKS.keys()
    assert results["vary-names-accept-datetime"]["verdict"] == "fail"
    assert results["vary-names-accept-datetime"]["expected"] == "Vary: accept-datetime"
    assert results["vary-names-accept-datetime"]["trace"][0]["status"] == 302


async def test_the_html_page_is_a_matrix_with_a_trace_for_each_cell() -> None:
    page = as_html([await report_on("none"), await report_on("vary-missing")], NOW)

    assert page.count("<tr id=") == len(CHECKS)
    assert page.count("<details id=") == 2 * len(CHECKS)
    assert '<td class="fail"><a href="#a1-vary-names-accept-datetime">' in page
    assert '<details id="a1-vary-names-accept-datetime" open>' in page
    assert "2026-11-16 05:00 UTC" in page
    assert "<script" not in page


def test_hostile_text_breaks_no_report() -> None:
    report = an_evil_report()

    page = as_html([report], NOW)
    text = "\n".join(lines(report, verbose=True))

    assert "<script" not in page
    assert "\x1b" not in page + text
    assert "\x00" not in page + text
    page.encode()
    text.encode()
    json.loads(as_json([report], NOW, 1, {}))


def test_text_hides_checks_that_do_not_apply_unless_verbose() -> None:
    subject = Subject("x", "X", "original", "http://x.example/", ("http://x.example/",))
    facts = Facts(subject, "http://x.example/", NOW)
    report = Report(
        subject,
        tuple(CheckResult(check, facts.sample, check(facts)) for check in CHECKS.values()),
        0,
    )

    brief = list(lines(report, verbose=False))
    full = list(lines(report, verbose=True))

    assert len(full) - len(brief) == report.counts["skip"]


def test_every_check_has_a_sentence_and_a_section() -> None:
    for check in CHECKS.values():
        assert check.sentence.endswith("."), check.name
        assert check.section, check.name
