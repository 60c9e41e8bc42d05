"""Fetchers behind a guard of which only one part matters."""

import time
from collections.abc import Callable

from archives.source import Fetcher
from tests.fakes import UNLIMITED as NO_LIMITS
from timegate.resolution.context import UNLIMITED, RequestContext
from timegate.upstream.breaker import Breakers
from timegate.upstream.rate_limit import LocalRateLimiter, RequestQueue
from timegate.upstream.stack import Guard, GuardedFetcher


def breaking(
    fetch: Fetcher, archive: str, breakers: Breakers, clock: Callable[[], float]
) -> Fetcher:
    """Return *fetch* behind the breaker of *archive*, without rate limits."""
    queue = RequestQueue(LocalRateLimiter(NO_LIMITS, clock), NO_LIMITS.at_once)
    guard = Guard(fetch, archive, breakers, queue, 0.0, clock)
    return GuardedFetcher(guard, UNLIMITED)


def rate_limited(fetch: Fetcher, archive: str, queue: RequestQueue, patience: float) -> Fetcher:
    """Return *fetch* behind *queue*."""
    return within_budget(fetch, archive, UNLIMITED, queue, patience)


def within_budget(
    fetch: Fetcher,
    archive: str,
    context: RequestContext,
    queue: RequestQueue | None = None,
    patience: float = 0.0,
) -> Fetcher:
    """Return *fetch* within the budget of *context*."""
    clock = time.monotonic
    breakers = Breakers([archive], clock, lambda: 0.0)
    queue = queue or RequestQueue(LocalRateLimiter(NO_LIMITS, clock), NO_LIMITS.at_once)
    guard = Guard(fetch, archive, breakers, queue, patience, clock)
    return GuardedFetcher(guard, context)
