"""Whether this computer has no network: said once, with what to do, by all commands."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from archives.errors import Resting, Unreachable
from archives.registry import Registry
from timegate.cli.output import echo_lines
from timegate.resolution.model import Attempt
from timegate.responses.problems import Failure, no_network

if TYPE_CHECKING:
    from timegate.core import Core


def failure_lines(lacking: Failure) -> Iterator[str]:
    """Yield why there is nothing and, without a network, what to do.

    The words are for someone at this computer, rather than at a server.
    """
    yield f"{here(lacking.title)}: {lacking.detail}"
    if lacking.kind == "no-network":
        yield here(lacking.next_step)


def here(words: str) -> str:
    """Return *words* of the server as words of a command."""
    return words.replace("This server", "This computer").replace("this server", "this computer")


class NetworkWatch:
    """Sees the attempts of a command: whether one on the network was reached."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._failed: set[str] = set()
        self._why = ""
        self._reached = False

    def __call__(self, attempt: Attempt) -> None:
        """Note *attempt*."""
        entry, outcome = self._registry.by_id(attempt.archive), attempt.outcome
        if attempt.age is not None or (entry is not None and entry.kind.is_local):
            return
        if isinstance(outcome, Unreachable) and outcome.no_network:
            self._failed.add(attempt.archive)
            self._why = self._why or outcome.why.partition(";")[0]
        elif isinstance(outcome, Resting):
            self._failed.add(attempt.archive)
        else:
            self._reached = True

    @property
    def lines(self) -> list[str]:
        """What to say; nothing if an archive was reached, or only one was tried."""
        if self._reached or not self._why or len(self._failed) < 2:
            return []
        reason = self._why.replace("its name cannot", "their names cannot", 1)
        detail = f"none of the {len(self._failed)} archives could be reached ({reason})"
        return [*failure_lines(no_network(detail))]


@contextmanager
def watched_network(core: "Core") -> Iterator[NetworkWatch]:
    """Watch the attempts of *core* in the block."""
    watch = NetworkWatch(core.registry)
    core.observer.watchers.add(watch)
    try:
        yield watch
    finally:
        core.observer.watchers.discard(watch)


@contextmanager
def saying_without_network(core: "Core") -> Iterator[None]:
    """Say at the end of the block, on standard error, that there is no network."""
    with watched_network(core) as watch:
        yield
    echo_lines(watch.lines, err=True)
