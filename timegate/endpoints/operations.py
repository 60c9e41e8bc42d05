"""Operations: archives and their state, health, readiness, metrics, events, ``/robots.txt``."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from archives.errors import ArchiveError
from archives.kinds import KINDS
from archives.model import ArchiveEntry, Closest
from archives.registry import Registry
from timegate.access.networks import PUBLIC_FACTS
from timegate.endpoints import (
    EVENTS_CONTENT,
    HTML_CONTENT,
    STATIC,
    TEXT_CONTENT,
    AnswerDescription,
    PathDescription,
    answered,
)
from timegate.resolution.model import Attempt
from timegate.responses.model import (
    NO_NEGOTIATION,
    ClientRequest,
    Handler,
    Response,
    StreamingResponse,
)
from timegate.responses.problems import problem

_ARCHIVE_KINDS: Final = "; ".join(f"{kind}: {kind.description}" for kind in KINDS.values())
PATHS: Final = {
    "/archives": PathDescription(
        "All archives with their state",
        answered("The archives", {"application/json": "Archives", **HTML_CONTENT}, "Vary"),
        description=f"Kinds of archives: {_ARCHIVE_KINDS}",
        problems=STATIC,
    ),
    "/archives/{id}": PathDescription(
        "One archive with its state",
        answered("The archive", {"application/json": "Archive", **HTML_CONTENT}, "Vary"),
        ("id",),
        problems=("404",),
    ),
    "/about": PathDescription(
        "Name, version and contact of this server",
        answered("This server", {"application/json": "About", **HTML_CONTENT}, "Vary"),
        problems=STATIC,
    ),
    "/healthz": PathDescription(
        "Whether the process responds", answered("It does", TEXT_CONTENT), problems=STATIC
    ),
    "/readyz": PathDescription(
        "Whether the server is ready for requests",
        {
            **answered("It is", {"application/json": "Readiness"}),
            "503": AnswerDescription("It is not", {"application/json": "Readiness"}),
        },
        problems=STATIC,
    ),
    "/metrics": PathDescription(
        "Metrics for Prometheus", answered("The metrics", TEXT_CONTENT), problems=STATIC
    ),
    "/monitor": PathDescription(
        "Outcomes of requests to archives, as server-sent events",
        answered("A stream without end", EVENTS_CONTENT),
        problems=STATIC,
    ),
    "/robots.txt": PathDescription(
        "What crawlers may request", answered("The rules", TEXT_CONTENT), problems=STATIC
    ),
}
State = Callable[[str], Mapping[str, object]]
"""Returns the state of an archive by its id."""


class Condition(NamedTuple):
    """The condition of the process."""

    overloaded: bool = False
    draining: bool = False
    reload: str | None = None
    """Why the last reload of the configuration failed; None if it succeeded."""
    lists_full: bool = False
    """Whether lists are rejected, because the limit of streaming responses is reached."""


class CacheState(NamedTuple):
    """How the cache works."""

    trouble: str | None = None
    dropped_writes: int = 0
    """Values that were not written since the start."""


class Operations:
    """Answers requests about the service itself."""

    def __init__(  # noqa: PLR0913, PLR0917 -- the sources of its reports
        self,
        registry: Registry,
        state: State,
        cache: Callable[[], CacheState],
        metrics: Callable[[], CollectorRegistry],
        contact: str | None,
        condition: Callable[[], Condition] = Condition,
    ) -> None:
        self._registry = registry
        self.state = state
        self._cache = cache
        self._metrics = metrics
        self._contact = contact
        self._condition = condition

    async def archives(self, request: ClientRequest) -> Response:
        """List all archives with their state."""
        entries = sorted(self._registry.entries, key=lambda entry: (not entry.use, entry.id))
        hidden = request.context.hidden
        return _json([self._described(entry, hidden) for entry in entries])

    async def archive(self, request: ClientRequest) -> Response:
        """Describe one archive."""
        name = request.rest.partition("?")[0]
        entry = self._registry.by_id(name)
        if entry is None:
            detail = "there is no archive with this id; /archives lists all"
            return problem(404, "not-found", detail)
        return _json(self._described(entry, request.context.hidden))

    async def about(self, request: ClientRequest) -> Response:
        """Describe the server."""
        return _json(
            {
                "name": "timegate",
                "version": version("timegate-proxy"),
                "contact": self._contact,
                "archives": self._in_use(request.context.hidden),
                "specifications": ["RFC 7089", "draft-pwid-urn-specification-08"],
            }
        )

    async def health(self, _: ClientRequest) -> Response:
        """Respond: the process is alive."""
        return Response(
            200, {"Content-Type": "text/plain", "Cache-Control": "no-store"}, b"ok\n"
        )

    async def readiness(self, request: ClientRequest) -> Response:
        """Report whether the server is ready for requests, and the state of its parts.

        Some troubles are reported, but do not make the server unready. No archive can be
        queried: it would be the same on another server. The cache fails. A new configuration is
        faulty. Lists are rejected while everything else is answered: otherwise a few hundred
        slow readers could take the server out of service. Details are only in the log, because
        they name files and hosts, and this endpoint is public.
        """
        condition, cache = self._condition(), self._cache()
        ready = not (condition.overloaded or condition.draining)
        report = {
            "ready": ready,
            "overloaded": condition.overloaded,
            "draining": condition.draining,
            "lists": "full" if condition.lists_full else "ok",
            "cache": "ok" if cache.trouble is None else "in trouble, see the log",
            "cache_writes_dropped": cache.dropped_writes,
            "configuration": "ok"
            if condition.reload is None
            else "not taken over, see the log",
            "archives": self._reachable(request.context.hidden),
        }
        response = _json(report)
        return response if ready else replace(response, status=503)

    def _in_use(self, hidden: frozenset[str]) -> list[str]:
        """Return the archives that are queried, as the page of archives counts them."""
        used = (entry.id for entry in self._registry.used if entry.id not in hidden)
        return [name for name in used if self.state(name).get("asked")]

    def _reachable(self, hidden: frozenset[str]) -> dict[str, object]:
        """Return how many archives are in use, and those whose breaker is open."""
        states = {name: self.state(name) for name in self._in_use(hidden)}
        resting = [name for name, state in states.items() if state.get("breaker") == "open"]
        return {"asked": len(states), "resting": resting}

    async def metrics(self, request: ClientRequest) -> Response:
        """Write the metrics for Prometheus."""
        headers = {"Content-Type": CONTENT_TYPE_LATEST, "Cache-Control": "no-store"}
        visible = _VisibleMetrics(self._metrics(), request.context.hidden)
        return Response(200, headers, generate_latest(visible))

    def _described(self, entry: ArchiveEntry, hidden: frozenset[str]) -> dict[str, object]:
        facts = asdict(entry)
        if entry.id in hidden:
            return {**{name: facts[name] for name in PUBLIC_FACTS}, "state": {}}
        # Paths of files are not published; the canaries are in the state.
        for internal in ("forms", "path", "index", "origin", "canary"):
            facts.pop(internal)
        return {**facts, "state": dict(self.state(entry.id))}


class _VisibleMetrics(CollectorRegistry):
    """The metrics in *registry*, without those of hidden archives."""

    def __init__(self, registry: CollectorRegistry, hidden: frozenset[str]) -> None:
        super().__init__()
        self._all = registry
        self._hidden = hidden

    def collect(self) -> Iterator[Metric]:
        """Yield each metric without the samples that name a hidden archive."""
        for metric in self._all.collect():
            metric.samples = [
                sample
                for sample in metric.samples
                if sample.labels.get("archive") not in self._hidden
            ]
            yield metric


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
"""Events that wait for one client."""
_HEARTBEAT: Final = 15.0
"""Seconds after which a comment is sent if there are no events."""
_HEADERS: Final = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}


class Monitor:
    """Sends the outcome of every attempt to its clients; slow readers miss some."""

    def __init__(
        self,
        heartbeat: float = _HEARTBEAT,
        subscriptions: set[Callable[[Attempt], None]] | None = None,
    ) -> None:
        """Subscribe in *subscriptions* while there are clients."""
        self._heartbeat = heartbeat
        self._subscriptions = set() if subscriptions is None else subscriptions
        self._watchers: dict[asyncio.Queue[bytes], frozenset[str]] = {}
        """The queue of each client, and the archives that are hidden from it."""

    def observe(self, attempt: Attempt) -> None:
        """Send *attempt* to the clients."""
        event = _event(attempt)
        for queue, hidden in self._watchers.items():
            if attempt.archive not in hidden and not queue.full():
                queue.put_nowait(event)

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Send events until the client leaves."""
        if len(self._watchers) >= _MOST_WATCHERS:
            detail = f"there are already {_MOST_WATCHERS} clients; try again later"
            return problem(503, "too-busy", detail, headers={"Retry-After": "60"})
        return StreamingResponse(200, _HEADERS, self._events(request.context.hidden))

    async def _events(self, hidden: frozenset[str]) -> AsyncGenerator[bytes, None]:
        queue: asyncio.Queue[bytes] = asyncio.Queue(_BACKLOG)
        self._watchers[queue] = hidden
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
            self._watchers.pop(queue, None)
            if not self._watchers:
                self._subscriptions.discard(self.observe)


def _event(attempt: Attempt) -> bytes:
    data: dict[str, object] = {
        "archive": attempt.archive,
        "outcome": "absent",
        "milliseconds": round(attempt.seconds * 1000),
    }
    if isinstance(attempt.outcome, Closest):
        data["outcome"] = "found"
    elif isinstance(attempt.outcome, ArchiveError):
        data |= {"outcome": "unknown", "kind": type(attempt.outcome).__name__.lower()}
    return f"event: archive\ndata: {json.dumps(data)}\n\n".encode()


# Without endings that are also top-level domains: do, map, md, mov, pl, py, sh, zip.
_FILE_ENDINGS: Final = (
    *(".asp", ".aspx", ".axd", ".cgi", ".jsp", ".php"),
    *(".css", ".gif", ".ico", ".jpeg", ".jpg", ".js", ".png", ".svg", ".webp", ".woff2"),
    *(".csv", ".htm", ".html", ".json", ".txt", ".webmanifest", ".xml", ".yaml", ".yml"),
    *(".bak", ".cfg", ".conf", ".env", ".gz", ".ini", ".log", ".rar", ".sql", ".tar", ".tgz"),
)
_ROBOTS: Final = b"""\
# Every response may cost requests to archives, which limit them.
User-agent: *
Allow: /$
Disallow: /
"""


async def robots(_: ClientRequest) -> Response:
    """Allow crawlers the page at ``/`` and nothing else (RFC 9309)."""
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "Cache-Control": "max-age=86400",
    }
    return Response(200, headers, _ROBOTS)


def without_files(handler: Handler) -> Handler:
    """Return *handler*, but with 404 for names of files that are no hosts.

    Browsers, crawlers and scanners request such names from every server. ``robots.txt`` can be
    read as the host of a URL, and was queried in every archive; archives ban clients that
    query them for nothing.
    """

    async def handled(request: ClientRequest) -> Response | StreamingResponse:
        name = request.rest.partition("?")[0]
        if not _is_file_name(name):
            return await handler(request)
        detail = f"there is no such file; if it is a host name, write http://{name}/"
        return problem(404, "not-found", detail)

    return handled


def _is_file_name(name: str) -> bool:
    return name.lower().endswith(_FILE_ENDINGS) and not set(name) & {"/", ":"}
