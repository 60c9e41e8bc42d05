"""State that replicas share in Redis or Valkey: cache, rate limits, locks and breakers.

Every request can be answered without it. The client library is an extra: it is not imported
before `open_shared` is called.
"""

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from timegate.redis.address import is_shared, parse_address

if TYPE_CHECKING:
    from timegate.redis.opening import SharedState

__all__ = ["is_shared", "open_shared"]


def open_shared(
    url: str, replicas: int | None = None
) -> "AbstractAsyncContextManager[SharedState]":
    """Return a context manager for the state shared at *url*. Raises ValueError.

    *replicas* is the least number of replicas; None to count them.
    """
    try:
        from timegate.redis.opening import opened  # noqa: PLC0415 -- needs the extra
    except ModuleNotFoundError as error:
        raise ValueError(
            "a cache in Redis or Valkey needs the extra: pip install 'timegate-proxy[redis]'"
        ) from error
    parse_address(url)
    return opened(url, replicas)
