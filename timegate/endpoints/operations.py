"""For those who run it: archives and their state, about, health, readiness, metrics."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from archives.errors import ArchiveError
from archives.model import Closest
from archives.registry import Registry
from timegate.resolution.model import Attempt
from timegate.responses.model import NO_NEGOTIATION, ClientRequest, Response, StreamingResponse
from timegate.responses.problems import problem

# RFC 7089 4.5.8: not subject to datetime negotiation.
State = Callable[[str], Mapping[str, object]]


class Condition(NamedTuple):
    """How the process is."""

    overloaded: bool = False
    draining: bool = False
    reload: str | None = None
    """Why the last change of the configuration was not taken over; None if all is well."""
    lists_full: bool = False
    """Whether all places for long answers are held, so that lists are refused."""


class Operations:
    """Answers about the service itself."""

    def __init__(  # noqa: PLR0913, PLR0917 -- one for each thing there is to tell
        self,
        registry: Registry,
        state: State,
        trouble: Callable[[], str | None],
        metrics: Callable[[], CollectorRegistry],
        contact: str | None,
        condition: Callable[[], Condition] = Condition,
    ) -> None:
        self._registry = registry
        self.state = state
        self._trouble = trouble
        self._metrics = metrics
        self._contact = contact
        self._condition = condition

    async def archives(self, _: ClientRequest) -> Response:
        """List every archive with its state."""
        entries = sorted(self._registry.entries, key=lambda entry: (not entry.use, entry.id))
        return _json([self._described(entry.id) for entry in entries])

    async def archive(self, request: ClientRequest) -> Response:
        """Describe one archive."""
        name = request.rest.partition("?")[0]
        if self._registry.by_id(name) is None:
            return problem(404, "not-found", "no such archive; /archives lists them")
        return _json(self._described(name))

    async def about(self, _: ClientRequest) -> Response:
        """Say what this is."""
        return _json(
            {
                "name": "timegate",
                "version": version("timegate-proxy"),
                "contact": self._contact,
                "archives": [entry.id for entry in self._registry.used],
                "specifications": ["RFC 7089", "draft-pwid-urn-specification-08"],
            }
        )

    async def health(self, _: ClientRequest) -> Response:
        """Say that the process answers."""
        return Response(
            200, {"Content-Type": "text/plain", "Cache-Control": "no-store"}, b"ok\n"
        )

    async def readiness(self, _: ClientRequest) -> Response:
        """Say whether to send requests here, and how the parts are that we could do without.

        A process that is well has no power over archives: that none can be asked is said, and
        is no reason to send people elsewhere, where it would be the same. Nor is a cache in
        trouble, or a new configuration that was wrong, or that lists are refused while all else
        is answered: a few hundred slow readers would take the whole server out. What is wrong
        is in the log: it names files and hosts of ours, and anybody may ask here.
        """
        condition = self._condition()
        ready = not (condition.overloaded or condition.draining)
        told = {
            "ready": ready,
            "overloaded": condition.overloaded,
            "draining": condition.draining,
            "lists": "full" if condition.lists_full else "ok",
            "cache": "ok" if self._trouble() is None else "in trouble, see the log",
            "configuration": "ok"
            if condition.reload is None
            else "not taken over, see the log",
            "archives": self._reachable(),
        }
        answer = _json(told)
        return answer if ready else replace(answer, status=503)

    def _reachable(self) -> dict[str, object]:
        """Return how many archives may be asked just now, as far as was seen."""
        states = {entry.id: self.state(entry.id) for entry in self._registry.used}
        resting = [name for name, state in states.items() if state.get("breaker") == "open"]
        return {"asked": len(states), "resting": resting}

    async def metrics(self, _: ClientRequest) -> Response:
        """Write the metrics for Prometheus."""
        headers = {"Content-Type": CONTENT_TYPE_LATEST, "Cache-Control": "no-store"}
        return Response(200, headers, generate_latest(self._metrics()))

    def _described(self, name: str) -> dict[str, object]:
        entry = self._registry.by_id(name)
        if entry is None:
            return {"id": name}
        facts = asdict(entry)
        # Where files lie on our disk is nobody's business; what canaries ask is in the state.
        for inner in ("forms", "path", "index", "origin", "canary"):
            facts.pop(inner)
        return {**facts, "state": dict(self.state(name))}


def _json(value: object) -> Response:
    headers = {
        "Content-Type": "application/json",
        "Cache-Control": "no-cache",
        "Link": NO_NEGOTIATION,
        "Vary": "accept",
    }
    return Response(200, headers, json.dumps(value).encode())


_MOST_WATCHERS: Final = 16
_BACKLOG: Final = 100
_HEARTBEAT: Final = 15.0
_HEADERS: Final = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}


class Monitor:
    """Sends every attempt to its clients; one that reads slowly misses some."""

    def __init__(
        self,
        heartbeat: float = _HEARTBEAT,
        subscriptions: set[Callable[[Attempt], None]] | None = None,
    ) -> None:
        """Subscribe in *subscriptions* while there are clients."""
        self._heartbeat = heartbeat
        self._subscriptions = set() if subscriptions is None else subscriptions
        self._watchers: set[asyncio.Queue[bytes]] = set()

    def observe(self, attempt: Attempt) -> None:
        """Send *attempt* to the clients."""
        event = _event(attempt)
        for queue in self._watchers:
            if not queue.full():
                queue.put_nowait(event)

    async def __call__(self, _: ClientRequest) -> Response | StreamingResponse:
        """Send events until the client leaves."""
        if len(self._watchers) >= _MOST_WATCHERS:
            detail = f"{_MOST_WATCHERS} watch already; try again later"
            return problem(503, "too-busy", detail, headers={"Retry-After": "60"})
        return StreamingResponse(200, _HEADERS, self._events())

    async def _events(self) -> AsyncGenerator[bytes, None]:
        queue: asyncio.Queue[bytes] = asyncio.Queue(_BACKLOG)
        self._watchers.add(queue)
        self._subscriptions.add(self.observe)
        try:
            yield b": watching\n\n"
            while True:
                try:
                    async with asyncio.timeout(self._heartbeat):
                        event = await queue.get()
                except TimeoutError:
                    event = b": nothing happens\n\n"
                yield event
        finally:
            self._watchers.discard(queue)
            if not self._watchers:
                self._subscriptions.discard(self.observe)


def _event(attempt: Attempt) -> bytes:
    told: dict[str, object] = {
        "archive": attempt.archive,
        "outcome": "absent",
        "milliseconds": round(attempt.seconds * 1000),
    }
    if isinstance(attempt.outcome, Closest):
        told["outcome"] = "found"
    elif isinstance(attempt.outcome, ArchiveError):
        told |= {"outcome": "unknown", "kind": type(attempt.outcome).__name__.lower()}
    return f"event: archive\ndata: {json.dumps(told)}\n\n".encode()
