"""Checks of originals: links to TimeGate and TimeMap, and frozen originals."""

import pytest

from archives.source import Request
from tests.timegate.conformance.checking import NOW
from timegate.conformance.probes import memento
from timegate.conformance.report import Report
from timegate.conformance.run import check_subject
from timegate.conformance.session import ExchangeTrouble, RecordedExchange, Session, key_of
from timegate.conformance.subject import Role, Subject, origin_of

PAGE = "http://page.example/"
LINKED = '<http://gate.example/tg/http://page.example/>; rel="timegate"'
FROZEN = {"memento-datetime": "Fri, 01 Jan 2010 12:00:00 GMT"}


def a_session(url: str, **headers: str) -> Session:
    request = memento(url)
    return Session(None, {key_of(request, 0): RecordedExchange(request, 200, headers)})


async def report_on(role: Role, url: str, session: Session) -> Report:
    subject = Subject("x", "X", role, url, (url,), origins=(origin_of(url),))
    return await check_subject(subject, session, NOW)


def verdicts(report: Report) -> dict[str, str]:
    return {
        r.check.name: r.finding.verdict
        for r in report.results
        if r.check.name.startswith("original-") and r.finding.verdict != "skip"
    }


async def test_an_original_with_links_passes() -> None:
    both = f'{LINKED}, <http://gate.example/tm/{PAGE}>; rel="timemap"'

    report = await report_on("original", PAGE, a_session(PAGE, link=both))

    assert verdicts(report) == {
        "original-is-no-memento": "pass",
        "original-links-a-timegate": "pass",
        "original-links-a-timemap": "pass",
    }


async def test_an_original_without_links_is_a_warning() -> None:
    report = await report_on("original", PAGE, a_session(PAGE))

    assert verdicts(report) == {
        "original-is-no-memento": "pass",
        "original-links-a-timegate": "warn",
        "original-links-a-timemap": "warn",
    }


@pytest.mark.parametrize(
    ("link", "verdict"), [(f'<{PAGE}>; rel="original"', "pass"), (LINKED, "fail")]
)
async def test_a_frozen_original_links_to_itself(link: str, verdict: str) -> None:
    session = a_session(PAGE, link=link, **FROZEN)

    report = await report_on("original", PAGE, session)

    assert verdicts(report)["original-is-frozen-if-it-says-so"] == verdict


async def test_an_original_that_declines_negotiation_is_skipped() -> None:
    link = '<http://mementoweb.org/terms/donotnegotiate>; rel="type"'

    report = await report_on("original", PAGE, a_session(PAGE, link=link))

    assert verdicts(report) == {}


async def test_an_original_that_does_not_answer_is_unknown() -> None:
    request = Request("GET", PAGE, "memento")
    silent = RecordedExchange(request, trouble=ExchangeTrouble("unreachable", "too slow"))

    report = await report_on("original", PAGE, Session(None, {key_of(request, 0): silent}))

    assert set(verdicts(report).values()) == {"unknown"}
