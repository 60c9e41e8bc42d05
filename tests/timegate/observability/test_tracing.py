"""Tracing: names and attributes of spans, and what they must not contain."""

import asyncio
import http.server
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from archives.errors import Unreachable
from tests.scenario import FakeArchive
from timegate.observability.tracing import Mark, TracedSource, TracingNotInstalled, tracing

PAGE = "http://example.org/"


class Spans:
    """Remembers spans."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str | int]]] = []

    @contextmanager
    def __call__(self, name: str) -> Iterator[Mark]:
        attributes: dict[str, str | int] = {}
        yield attributes.__setitem__
        self.seen.append((name, attributes))


@pytest.mark.parametrize(
    ("stamps", "outcome"), [(("20160101000000",), "found"), ((), "absent")]
)
async def test_a_question_is_a_span_without_its_url(
    stamps: tuple[str, ...], outcome: str
) -> None:
    spans = Spans()
    source = TracedSource(FakeArchive("a", 0.0, stamps), spans)

    await source.closest(PAGE, None)

    assert spans.seen == [("archive closest", {"archive": "a", "outcome": outcome})]


async def test_a_failure_is_recorded_without_its_message() -> None:
    marks: dict[str, str | int] = {}

    @contextmanager
    def trace(_: str) -> Iterator[Mark]:
        yield marks.__setitem__

    source = TracedSource(FakeArchive("a", 0.0, error=True), trace)

    with pytest.raises(Unreachable):
        await source.closest(PAGE, None)
    assert marks == {"archive": "a", "outcome": "unreachable"}


async def test_a_list_is_passed_on_whole() -> None:
    spans = Spans()
    archive = FakeArchive("a", 0.0, ("20150101000000", "20160101000000"))

    batches = [batch async for batch in TracedSource(archive, spans).mementos(PAGE)]

    assert sum(map(len, batches)) == 2
    assert spans.seen == [("archive list", {"archive": "a"})]


async def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)

    with pytest.raises(TracingNotInstalled, match="otel"):
        async with tracing("http://127.0.0.1:9/v1/traces"):
            pass


@contextmanager
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """Take what is sent to it."""
    received: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/traces", received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_spans_arrive_at_a_collector() -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    with collector() as (endpoint, received):
        async with tracing(endpoint) as trace:
            with trace("GET /timegate/") as mark:
                mark("http.route", "/timegate/")
                await TracedSource(FakeArchive("a", 0.0), trace).closest(PAGE, None)
            await asyncio.sleep(0)

    sent = b"".join(received)
    assert b"GET /timegate/" in sent
    assert b"archive closest" in sent
    assert b"example.org" not in sent
