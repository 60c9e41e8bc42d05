"""What replicas share in Redis or Valkey: answers, manners, questions under way, dead archives.

All of it is optional in every request. The client library is an extra: nothing imports it until
`open_shared` is called.
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
    """Return what is shared at *url*, to be used as a context manager. Raises ValueError.

    *replicas* is how many there are at least; None to count them.
    """
    try:
        from timegate.redis.opening import opened
    except ModuleNotFoundError as error:
        raise ValueError(
            "a cache in Redis or Valkey needs the extra: pip install 'timegate-proxy[redis]'"
        ) from error
    parse_address(url)
    return opened(url, replicas)
