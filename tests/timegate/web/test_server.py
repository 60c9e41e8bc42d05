"""The server itself: methods, CORS, operations, slow and hostile clients."""

import asyncio
import json

import pytest

from tests.scenario import FakeArchive
from tests.timegate.web.served import serving

A = FakeArchive("a", 0.0, ("20160122112029",))


async def test_a_preflight_allows_what_memento_clients_send() -> None:
    async with serving(A) as site:
        seen = await site.ask("/timegate/http://x.org/", method="OPTIONS")

    assert seen.status == 204
    assert "Accept-Datetime" in seen.headers["Access-Control-Allow-Headers"]
    assert seen.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "POST"])
async def test_other_methods_are_405(method: str) -> None:
    async with serving(A) as site:
        seen = await site.ask("/timegate/http://x.org/", method=method)

    assert seen.status == 405
    assert seen.headers["Allow"] == "GET, HEAD, OPTIONS"


async def test_every_answer_can_be_read_by_scripts() -> None:
    async with serving(A) as site:
        for target in ("/timegate/http://example.org/", "/nonsense", "/healthz"):
            seen = await site.ask(target)

            assert seen.headers["Access-Control-Allow-Origin"] == "*"
            assert "Memento-Precision" in seen.headers["Access-Control-Expose-Headers"]
            assert seen.headers["X-Content-Type-Options"] == "nosniff"


async def test_operators_see_what_they_need() -> None:
    async with serving(A) as site:
        seen = {
            path: await site.ask(path)
            for path in (
                "/healthz",
                "/readyz",
                "/about",
                "/metrics",
                "/archives",
                "/archives/a",
            )
        }
        unknown = await site.ask("/archives/nope")

    assert {answer.status for answer in seen.values()} == {200}
    assert seen["/healthz"].body == b"ok\n"
    assert json.loads(seen["/about"].body)["archives"] == ["a"]
    assert json.loads(seen["/archives/a"].body)["state"] == {"name": "a"}
    assert "donotnegotiate" in seen["/about"].headers["Link"]
    assert unknown.status == 404


@pytest.mark.parametrize(
    "target",
    ["/timegate/http://x.org/%0d%0aSet-Cookie:x", "/resolve/duri:2016:http://x.org/%00"],
)
async def test_no_header_can_be_smuggled_in(target: str) -> None:
    async with serving(A) as site:
        seen = await site.ask(target)

    assert "Set-Cookie" not in seen.headers


async def test_requests_under_way_are_finished_when_the_server_ends() -> None:
    slow = FakeArchive("slow", 0.15, ("20160122112029",))

    async def later(url: str) -> int:
        return (await site.ask(url)).status

    async with serving(slow) as site, asyncio.TaskGroup() as group:
        waiting = group.create_task(later("/timegate/http://example.org/"))
        await asyncio.sleep(0.05)

    assert waiting.result() == 302
