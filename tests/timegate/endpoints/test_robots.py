"""Browsers, crawlers and scanners ask for files; no archive hears of it."""

import json

import pytest

from timegate.endpoints.robots import robots, unbidden
from timegate.responses.model import ClientRequest, Response


def call(rest: str) -> ClientRequest:
    return ClientRequest("GET", rest, {})


class Resolver:
    """Notes what would be asked for in archives."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, asked: ClientRequest) -> Response:
        self.asked.append(asked.rest)
        return Response(302)


async def test_crawlers_may_read_the_front_page_only() -> None:
    answer = await robots(call(""))

    assert answer.headers["Content-Type"].startswith("text/plain")
    rules = [line for line in answer.body.decode().splitlines() if not line.startswith("#")]
    assert rules == ["User-agent: *", "Allow: /$", "Disallow: /"]


@pytest.mark.parametrize(
    "rest", ["favicon.ico", "apple-touch-icon.PNG", "wp-login.php", "index.php?s=a.example/x"]
)
async def test_a_file_that_stands_alone_is_asked_of_nobody(rest: str) -> None:
    resolver = Resolver()

    answer = await unbidden(resolver)(call(rest))

    assert isinstance(answer, Response)
    assert (answer.status, resolver.asked) == (404, [])
    assert f"http://{rest.partition('?')[0]}/" in json.loads(answer.body)["detail"]


@pytest.mark.parametrize(
    "rest",
    [
        "www.dr.dk",
        "ipt.py",
        "http://robots.txt",
        "a.example/robots.txt",
        "duri:2001:http://a.js",
    ],
)
async def test_what_may_be_a_page_is_looked_for(rest: str) -> None:
    resolver = Resolver()

    await unbidden(resolver)(call(rest))

    assert resolver.asked == [rest]
