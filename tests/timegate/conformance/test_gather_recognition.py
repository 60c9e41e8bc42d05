"""The role of an address, determined by one request."""

import pytest

from timegate.conformance.probes import memento
from timegate.conformance.recognition import recognised
from timegate.conformance.session import RecordedExchange, Session, key_of

PAGE = "http://page.example/"
LINKED = '<http://gate.example/tg/http://page.example/>; rel="timegate"'
FROZEN = {"memento-datetime": "Fri, 01 Jan 2010 12:00:00 GMT"}


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
async def test_the_role_of_an_address_follows_from_its_response(
    url: str, headers: dict[str, str], role: str
) -> None:
    request = memento(url)
    session = Session(None, {key_of(request, 0): RecordedExchange(request, 200, headers)})

    found = await recognised(url, (), session)

    assert found.role == role


async def test_the_page_in_an_address_is_the_sample() -> None:
    found = await recognised(f"http://a.example/tg/{PAGE}", (), Session(None))

    assert (found.url, found.samples) == ("http://a.example/tg/", (PAGE,))
