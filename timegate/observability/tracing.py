"""OpenTelemetry spans, where it is installed and an endpoint is configured.

A span for each request and for each question to an archive, by route and by archive. Spans hold
no URL, no client, and no message of an exception, which may quote them (R-24). The library is
not imported where no endpoint is configured.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, aclosing, asynccontextmanager, contextmanager
from importlib import import_module
from typing import Final

from archives.errors import ArchiveError
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import Moment
from archives.source import Source, WantedCaptures

Mark = Callable[[str, str | int], None]
"""Sets an attribute of a span: name and value."""
Trace = Callable[[str], AbstractContextManager[Mark]]
"""Opens a span of this name."""
_SECONDS: Final = 5
_MOST_WAITING: Final = 2048


class TracingNotInstalled(ValueError):
    """OpenTelemetry is configured and not installed."""


@asynccontextmanager
async def tracing(endpoint: str) -> AsyncIterator[Trace]:
    """Send spans to *endpoint* (OTLP over HTTP) until the block ends.

    They are sent by a thread; spans that the endpoint does not accept in time are dropped.
    Raises TracingNotInstalled.
    """
    try:
        trace = import_module("opentelemetry.sdk.trace")
        export = import_module("opentelemetry.sdk.trace.export")
        otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        resources = import_module("opentelemetry.sdk.resources")
    except ImportError as error:
        why = "telemetry.endpoint: OpenTelemetry is missing; install timegate-proxy[otel]"
        raise TracingNotInstalled(why) from error
    sender = otlp.OTLPSpanExporter(endpoint=endpoint, timeout=_SECONDS)
    provider = trace.TracerProvider(
        resource=resources.Resource.create({"service.name": "timegate"}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(export.BatchSpanProcessor(sender, max_queue_size=_MOST_WAITING))
    tracer = provider.get_tracer("timegate")

    @contextmanager
    def span(name: str) -> Iterator[Mark]:
        with tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False
        ) as opened:
            yield opened.set_attribute

    try:
        yield span
    finally:
        await asyncio.to_thread(provider.shutdown)


class TracedSource:
    """A `Source` whose questions are spans."""

    def __init__(self, source: Source, trace: Trace) -> None:
        self._source = source
        self._trace = trace

    @property
    def entry(self) -> ArchiveEntry:
        return self._source.entry

    async def closest(self, original: str, at: Moment | None) -> Closest | None:
        with self._trace("archive closest") as mark:
            mark("archive", self.entry.id)
            try:
                found = await self._source.closest(original, at)
            except ArchiveError as error:
                mark("outcome", type(error).__name__.lower())
                raise
            mark("outcome", "absent" if found is None else "found")
            return found

    async def mementos(
        self, original: str, *, detailed: bool = False, wanted: WantedCaptures | None = None
    ) -> AsyncGenerator[Sequence[Memento], None]:
        # The span ends with the first batch: one that is open over a yield would become the
        # parent of the spans of the reader.
        batches = self._source.mementos(original, detailed=detailed, wanted=wanted)
        async with aclosing(batches):
            first = await self._first(batches)
            if first is not None:
                yield first
            async for batch in batches:
                yield batch

    async def _first(
        self, batches: AsyncGenerator[Sequence[Memento], None]
    ) -> Sequence[Memento] | None:
        with self._trace("archive list") as mark:
            mark("archive", self.entry.id)
            try:
                return await anext(batches, None)
            except ArchiveError as error:
                mark("outcome", type(error).__name__.lower())
                raise
