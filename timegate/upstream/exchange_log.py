"""Exchange log: hands every request to an archive and its outcome to the command line."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import TracebackType

from archives.errors import ArchiveError, Refused
from archives.source import Fetcher, Reply, Request


@dataclass(frozen=True, slots=True)
class UpstreamExchange:
    """One request and its outcome."""

    archive: str
    request: Request
    status: int | None
    """None if no answer arrived."""
    headers: Mapping[str, str] = field(default_factory=dict)
    error: ArchiveError | None = None
    seconds: float = 0.0
    """Until the head of the answer or the failure, including the wait for the rate limit."""


def logged(
    fetch: Fetcher,
    archive: str,
    record: Callable[[UpstreamExchange], None],
    clock: Callable[[], float],
) -> Fetcher:
    """Return *fetch*, which passes each exchange to *record* when it has ended."""

    def recorded(request: Request) -> _Recorded:
        return _Recorded(fetch(request), archive, request, record, clock)

    return recorded


class _Recorded:
    """One request that is recorded when it has ended."""

    __slots__ = ("_archive", "_clock", "_inner", "_record", "_reply", "_request", "_seconds")

    def __init__(
        self,
        inner: AbstractAsyncContextManager[Reply],
        archive: str,
        request: Request,
        record: Callable[[UpstreamExchange], None],
        clock: Callable[[], float],
    ) -> None:
        self._inner = inner
        self._archive = archive
        self._request = request
        self._record = record
        self._clock = clock
        self._reply: Reply | None = None
        self._seconds = 0.0

    async def __aenter__(self) -> Reply:
        began = self._clock()
        try:
            self._reply = reply = await self._inner.__aenter__()
        except BaseException as error:
            self._seconds = self._clock() - began
            self._write(error)
            raise
        self._seconds = self._clock() - began
        return reply

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        try:
            return await self._inner.__aexit__(kind, error, trace)
        finally:
            self._write(error)

    def _write(self, error: BaseException | None) -> None:
        trouble = error if isinstance(error, ArchiveError) else None
        exchange = _exchange(self._archive, self._request, self._reply, trouble, self._seconds)
        self._record(exchange)


def _exchange(
    archive: str,
    request: Request,
    reply: Reply | None,
    error: ArchiveError | None,
    seconds: float,
) -> UpstreamExchange:
    if reply is not None:
        return UpstreamExchange(
            archive, request, reply.status, dict(reply.headers), error, seconds
        )
    status = error.status if isinstance(error, Refused) else None
    return UpstreamExchange(archive, request, status, {}, error, seconds)
