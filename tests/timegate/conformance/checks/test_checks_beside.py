"""Links to the neighbours of a memento, where several are of one second."""

from typing import Final

import pytest

from archives.source import Request
from timegate.conformance.checks import CHECKS
from timegate.conformance.facts import Facts, TimeMapFacts
from timegate.conformance.parsed_response import ParsedResponse, ParsedTimeMap
from timegate.conformance.session import RecordedExchange
from timegate.conformance.subject import Subject

PAGE: Final = "http://example.org/"
GATE: Final = "http://archive.example/"
DATES: Final = {
    "20200101000000": "Wed, 01 Jan 2020 00:00:00 GMT",
    "20200101000000500": "Wed, 01 Jan 2020 00:00:00 GMT",
    "20210101000000": "Fri, 01 Jan 2021 00:00:00 GMT",
    "20220101000000": "Sat, 01 Jan 2022 00:00:00 GMT",
}


def link(stamp: str, rel: str = "memento") -> str:
    return f'<{GATE}{stamp}/{PAGE}>; rel="{rel}"; datetime="{DATES[stamp]}"'


def response(url: str, status: int, headers: dict[str, str], body: str = "") -> ParsedResponse:
    return ParsedResponse(
        RecordedExchange(Request("GET", url, "index"), status, headers, body.encode())
    )


def verdict_on(following: str) -> str:
    """Return the verdict on a TimeGate that chose the first and calls *following* next."""
    chosen, *_ = DATES
    timemap = response(f"{GATE}timemap/{PAGE}", 200, {}, ",\n".join(map(link, DATES)))
    links = f"{link(chosen)}, {link(following, 'next memento')}"
    headers = {"location": f"{GATE}{chosen}/{PAGE}", "link": links}
    subject = Subject("a", "A", "timegate", f"{GATE}timegate/", (PAGE,))
    facts = Facts(
        subject,
        PAGE,
        "20261116000000",
        timemap=TimeMapFacts(ParsedTimeMap(timemap)),
        responses=(response(f"{GATE}timegate/{PAGE}", 302, headers),),
    )
    return CHECKS["prev-and-next-are-right"](facts).verdict


@pytest.mark.parametrize("following", ["20200101000000500", "20210101000000"])
def test_the_next_memento_may_be_of_the_same_second(following: str) -> None:
    assert verdict_on(following) == "pass"


@pytest.mark.parametrize("following", ["20200101000000", "20220101000000"])
def test_the_next_is_not_the_chosen_one_and_skips_none(following: str) -> None:
    assert verdict_on(following) == "warn"
