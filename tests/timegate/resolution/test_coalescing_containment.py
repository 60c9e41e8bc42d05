"""An unforeseen exception during a question is a failure of that archive alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from prometheus_client import generate_latest

from archives.errors import Internal, Unreachable
from archives.registry import Registry
from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import Site
from tests.timegate.upstream.raw_server import RawServer, entry
from tests.timegate.upstream.raw_server import serving as saying
from tests.whole_server import running_server
from timegate.app import build_core
from timegate.config import Config
from timegate.resolution.coalescing import Contained, Containment

PAGE = "http://example.org/"
STAMP = "20160122112029"
DATE = b"Fri, 22 Jan 2016 11:20:29 GMT"
ABSURD = b"Thu, 31 May 2007 20:353535353535:00 GMT"
REFUSED = b"HTTP/1.1 %d No\r\nRetry-After: " + ABSURD + b"\r\nContent-Length: 0\r\n\r\n"
FINE = (
    b"HTTP/1.1 200 OK\r\nVary: accept-datetime\r\nMemento-Datetime: " + DATE + b"\r\n"
    b"Content-Location: /%s/%s\r\nContent-Length: 0\r\n\r\n" % (STAMP.encode(), PAGE.encode())
)


@asynccontextmanager
async def served(bad: RawServer, good: RawServer) -> AsyncIterator[Site]:
    """Serve two archives at raw servers; the bad one is queried first."""
    registry = Registry(
        [entry(bad, id="bad"), entry(good, id="good")],
        shared_hosts=True,
    )
    config = Config(registry, private=frozenset({"bad", "good"}))
    async with running_server(config) as port:
        yield Site(port, World())


@pytest.mark.parametrize("said", [REFUSED % 429, REFUSED % 503], ids=["429", "503"])
async def test_an_unreadable_answer_does_not_affect_other_archives(
    said: bytes,
) -> None:
    async with saying(said) as bad, saying(FINE) as good, served(bad, good) as site:
        seen = [
            await site.ask(f"/timegate/{PAGE}{n}", ("Accept-Datetime", DATE.decode()))
            for n in range(3)
        ]
        rows = await site.ask(
            "/resolve", method="POST", body=f"{PAGE}a\n{PAGE}b\n{PAGE}c".encode()
        )

    assert [one.status for one in seen] == [302] * 3
    assert all(f":{good.port}/" in one.headers["Location"] for one in seen)
    assert rows.body.count(b'"status": 200, "identifier"') == 3


async def test_after_a_429_with_an_absurd_retry_after_the_archive_rests() -> None:
    async with saying(REFUSED % 429) as bad, saying(FINE) as good, served(bad, good) as site:
        for number in range(5):
            await site.ask(f"/timegate/{PAGE}{number}", ("Accept-Datetime", DATE.decode()))

    assert len(bad.heads) == 1


async def test_an_archive_with_internal_errors_opens_its_breaker_and_is_counted() -> None:
    async with saying(FINE) as bad:
        registry = Registry([entry(bad, id="bad")])
        config = Config(registry, private=frozenset({"bad"}))
        async with build_core(config, "http://127.0.0.1:1208") as core:
            before = core.planner.state("bad")["breaker"]
            for _ in range(5):
                with pytest.raises(Internal), core.containment.around("bad", PAGE):
                    raise KeyError("unforeseen")
            after = core.planner.state("bad")["breaker"]
            metrics = generate_latest(core.metrics.registry()).decode()

    assert (before, after) == ("closed", "open")
    assert 'timegate_archive_internal_errors_total{archive="bad"} 5.0' in metrics


async def test_a_contained_source_raises_only_archive_errors() -> None:
    failed: list[str] = []
    source = Contained(FakeArchive("a", 0.0, bug=KeyError("x")), Containment(failed.append))

    with pytest.raises(Internal) as caught:
        await source.closest(PAGE, None)
    with pytest.raises(Internal):
        [batch async for batch in source.mementos(PAGE)]

    assert caught.value.archive == "a"
    assert failed == ["a", "a"]


async def test_archive_errors_and_cancellations_pass_unchanged() -> None:
    failed: list[str] = []
    containment = Containment(failed.append)

    with pytest.raises(Unreachable), containment.around("a", PAGE):
        raise Unreachable("a", PAGE, "down")
    with pytest.raises(asyncio.CancelledError), containment.around("a", PAGE):
        raise asyncio.CancelledError

    assert failed == []


ELSEWHERE = (
    b"HTTP/1.1 200 OK\r\nVary: accept-datetime\r\nMemento-Datetime: " + DATE + b"\r\n"
    b'Link: <%s>; rel="original", <http://evil.example/phish>; rel="memento"; '
    b'datetime="%s"\r\nContent-Length: 0\r\n\r\n' % (PAGE.encode(), DATE)
)


@pytest.mark.parametrize("path", [f"/timegate/{PAGE}", f"/web/{STAMP}/{PAGE}"])
async def test_no_archive_redirects_to_a_host_that_is_not_its_own(path: str) -> None:
    async with saying(ELSEWHERE) as bad, saying(ELSEWHERE) as good, served(bad, good) as site:
        seen = await site.ask(path, ("Accept-Datetime", DATE.decode()))

    assert seen.headers["Location"].startswith("http://127.0.0.1:")
    assert "evil.example" not in seen.headers.get("Link", "")
