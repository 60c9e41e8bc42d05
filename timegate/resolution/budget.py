"""What one resolution may cost, however it comes about: requests and bytes (R11).

Paging, variants and retries all draw on it. It travels in the context, so that no signature on
the way has to know it.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Final, Generic, TypeVar

from archives.errors import Resting
from archives.source import Fetcher, Reply, Request

T = TypeVar("T")


class During(Generic[T]):
    """Sets *variable* to *value* until the block ends, and hands out *value*.

    A class, as `contextmanager` takes three times as long, and each request needs several.
    """

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> T:
        self._token: Token[T] = self._variable.set(self._value)
        return self._value

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._variable.reset(self._token)


MOST_REQUESTS: Final = 200
"""Unbound's number for one client query, after one query was made to cost 1,620 packets."""
MOST_OCTETS: Final = 64 * 1024 * 1024


class Budget:
    """What is left."""

    __slots__ = ("octets", "requests")

    def __init__(self, requests: int = MOST_REQUESTS, octets: int = MOST_OCTETS) -> None:
        self.requests = requests
        self.octets = octets


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def spending(budget: Budget) -> During[Budget | None]:
    """Let everything that is started in this block draw on *budget*."""
    return During(_current, budget)


def budgeted(fetch: Fetcher, archive: str) -> Fetcher:
    """Return a `Fetcher` that draws on the budget of the resolution it serves."""

    def drawing(request: Request) -> AbstractAsyncContextManager[Reply]:
        budget = _current.get()
        if budget is None:
            return fetch(request)
        budget.requests -= 1
        if budget.requests < 0:
            raise Resting(archive, request.url, "the request has cost enough already", 1.0)
        # Only lists have bodies that are read.
        return fetch(request) if request.purpose == "memento" else _counting(fetch(request))

    @asynccontextmanager
    async def _counting(
        opening: AbstractAsyncContextManager[Reply],
    ) -> AsyncGenerator[Reply]:
        budget = _current.get() or Budget()
        async with opening as reply:
            yield _Counted(reply, budget, archive)

    return drawing


class _Counted:
    """A reply whose body is counted."""

    def __init__(self, reply: Reply, budget: Budget, archive: str) -> None:
        self._reply = reply
        self._budget = budget
        self._archive = archive

    @property
    def url(self) -> str:
        return self._reply.url

    @property
    def status(self) -> int:
        return self._reply.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._reply.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._reply.chunks():
            self._budget.octets -= len(chunk)
            if self._budget.octets < 0:
                raise Resting(
                    self._archive, self.url, "the request has read enough already", 1.0
                )
            yield chunk
