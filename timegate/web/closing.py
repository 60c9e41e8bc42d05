"""A body that ends what it reads from with it, also if nobody ever read of it.

A generator that was not begun has no ``finally`` to run when it is closed: a HEAD request.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from types import TracebackType


class ClosingBody(AsyncGenerator[bytes, None]):
    """Chunks, and what is to be ended after the last of them."""

    def __init__(self, chunks: AsyncGenerator[bytes, None], stack: AsyncExitStack) -> None:
        self._chunks = chunks
        self._stack = stack

    async def asend(self, value: None) -> bytes:
        """Return the next piece."""
        return await self._chunks.asend(value)

    async def athrow(
        self,
        kind: type[BaseException] | BaseException,
        error: BaseException | object = None,
        trace: TracebackType | None = None,
    ) -> bytes:
        """Raise in the body."""
        del error, trace
        return await self._chunks.athrow(kind() if isinstance(kind, type) else kind)

    async def aclose(self) -> None:
        """End it, and what it reads from."""
        await self._chunks.aclose()
        await self._stack.aclose()
