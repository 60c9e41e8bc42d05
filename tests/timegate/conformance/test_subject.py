"""What an address is, and what is judged of an original and of a lone memento."""

import pytest

from archives.source import Request
from tests.timegate.conformance.checking import NOW
from timegate.conformance.gather import recognised
from timegate.conformance.questions import timegate
from timegate.conformance.report import Report
from timegate.conformance.run import check_subject
from timegate.conformance.session import ExchangeTrouble, RecordedExchange, Session, key_of
from timegate.conformance.subject import (
    Role,
    Subject,
    embedded,
    entry_for,
    is_foreign,
    origin_of,
)

PAGE = "http://page.example/"
LINKED = '<http://gate.example/tg/http://page.example/>; rel="timegate"'
FROZEN = {"memento-datetime": "Fri, 01 Jan 2010 12:00:00 GMT"}


def a_session(url: str, **headers: str) -> Session:
    request = timegate(url)
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


@pytest.mark.parametrize(
    ("url", "headers", "role"),
    [
        ("http://a.example/tg/", {}, "timegate"),
        ("http://a.example/tg/", {"vary": "Accept-Datetime", "link": LINKED}, "timegate"),
        (PAGE, {"link": LINKED}, "original"),
        (PAGE, FROZEN, "original"),
        (f"http://a.example/tg/{PAGE}", {"vary": "accept-datetime"}, "timegate"),
        (f"http://a.example/tm/{PAGE}", {"content-type": "application/link-format"}, "timemap"),
        (f"http://a.example/web/20100101120000/{PAGE}", FROZEN, "memento"),
        (f"http://a.example/thing/{PAGE}", {}, "timegate"),
    ],
)
async def test_an_address_is_what_answers_there(
    url: str, headers: dict[str, str], role: str
) -> None:
    request = timegate(url)
    session = Session(None, {key_of(request, 0): RecordedExchange(request, 200, headers)})

    found = await recognised(url, (), session)

    assert found.role == role


async def test_the_page_in_an_address_is_the_sample() -> None:
    found = await recognised(f"http://a.example/tg/{PAGE}", (), Session(None))

    assert (found.url, found.samples) == ("http://a.example/tg/", (PAGE,))


async def test_an_original_that_links_is_right() -> None:
    both = f'{LINKED}, <http://gate.example/tm/{PAGE}>; rel="timemap"'

    report = await report_on("original", PAGE, a_session(PAGE, link=both))

    assert verdicts(report) == {
        "original-links-a-timegate": "pass",
        "original-links-a-timemap": "pass",
    }


async def test_an_original_without_links_is_warned_of() -> None:
    report = await report_on("original", PAGE, a_session(PAGE))

    assert verdicts(report) == {
        "original-links-a-timegate": "warn",
        "original-links-a-timemap": "warn",
    }


@pytest.mark.parametrize(
    ("link", "verdict"), [(f'<{PAGE}>; rel="original"', "pass"), (LINKED, "fail")]
)
async def test_a_frozen_original_is_its_own_memento(link: str, verdict: str) -> None:
    session = a_session(PAGE, link=link, **FROZEN)

    report = await report_on("original", PAGE, session)

    assert verdicts(report)["original-is-frozen-if-it-says-so"] == verdict


async def test_an_original_that_asks_not_to_be_negotiated_is_left_alone() -> None:
    link = '<http://mementoweb.org/terms/donotnegotiate>; rel="type"'

    report = await report_on("original", PAGE, a_session(PAGE, link=link))

    assert verdicts(report) == {}


async def test_an_original_that_does_not_answer_is_unknown() -> None:
    request = Request("GET", PAGE, "memento")
    silent = RecordedExchange(request, trouble=ExchangeTrouble("unreachable", "too slow"))

    report = await report_on("original", PAGE, Session(None, {key_of(request, 0): silent}))

    assert set(verdicts(report).values()) == {"unknown"}


@pytest.mark.parametrize(
    ("url", "cut"),
    [
        (
            "http://a.example/tg/http://b.example/",
            ("http://a.example/tg/", "http://b.example/"),
        ),
        ("https://a.example/https://b.example/", ("https://a.example/", "https://b.example/")),
        ("http://a.example/", None),
        ("nothing", None),
    ],
)
def test_an_address_is_cut_before_the_page_in_it(url: str, cut: tuple[str, str] | None) -> None:
    assert embedded(url) == cut


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://A.example:80/x", "a.example"),
        ("https://a.example:443/", "a.example"),
        ("http://a.example:8080/", "a.example:8080"),
        ("http://a.example:99999/", ""),
        ("file:///etc/passwd", ""),
        ("http:///", ""),
    ],
)
def test_an_origin_is_host_and_unusual_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin


def test_an_archive_at_home_is_ours_also_with_a_port() -> None:
    home = entry_for("http://127.0.0.1:8080/x/", ["http://localhost:9090/"])
    abroad = entry_for("http://127.0.0.1:8080/x/", ["https://archive.example/"])

    assert not is_foreign(home)
    assert is_foreign(abroad)
    assert home.id == "127.0.0.1-8080-x"
