"""Files that browsers, crawlers and scanners request: no archive is queried for them."""

import json

import pytest

from timegate.endpoints.operations import robots, without_files
from timegate.responses.model import ClientRequest, Response


def call(rest: str) -> ClientRequest:
    return ClientRequest("GET", rest, {})


class Resolver:
    """Records the identifiers that would be resolved."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, asked: ClientRequest) -> Response:
        self.asked.append(asked.rest)
        return Response(302)


async def test_robots_txt_allows_the_front_page_only() -> None:
    answer = await robots(call(""))

    assert answer.headers["Content-Type"].startswith("text/plain")
    rules = [line for line in answer.body.decode().splitlines() if not line.startswith("#")]
    assert rules == ["User-agent: *", "Allow: /$", "Disallow: /"]


@pytest.mark.parametrize(
    "rest", ["favicon.ico", "apple-touch-icon.PNG", "wp-login.php", "index.php?s=a.example/x"]
)
async def test_a_bare_file_name_is_404_without_queries(rest: str) -> None:
    resolver = Resolver()

    answer = await without_files(resolver)(call(rest))

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
async def test_anything_that_may_be_a_page_is_resolved(rest: str) -> None:
    resolver = Resolver()

    await without_files(resolver)(call(rest))

    assert resolver.asked == [rest]
