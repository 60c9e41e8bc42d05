"""What ``timegate.toml`` may hold: each section as it is written, with its defaults.

`timegate.config` reads it, looks for nonsense, and says so. docs/configuration.md is made of
what stands here; a test compares them.
"""

import os
from typing import Annotated, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


class Listen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the server listens."""

    host: str = "127.0.0.1"
    """Address; `0.0.0.0` or `::` for all of this machine."""
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 1208
    """MemGator's port, so that we can take its place. 0 picks a free one."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    """Processes that share the port."""


class Deadline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When an answer is given with what there is, and when in any case."""

    soft: str = "2s"
    """When the best so far is the answer: `500ms`, `2s` or `1m`."""
    hard: str = "5s"
    """When there is an answer in any case."""


class CacheSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where answers are remembered: ``memory:``, ``sqlite:PATH``, or shared in Redis."""

    url: str = "memory:"
    """`memory:`, `sqlite:PATH`, `redis://HOST`, `rediss://` or a cluster of them."""
    megabytes: Count | None = None
    """How large it may become; None for 64 in memory and 1024 in a file. For each worker in
    memory, for all of them in a file. Redis has its own `maxmemory`."""
    replicas: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    """How many servers share it; None to count those that are seen there."""


class ArchivesSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which of the known archives are asked."""

    use: list[str] | None = None
    """Ids of known archives; None for those that answer programs."""
    mementomaps: dict[str, str] = {}
    """Files that say what an archive holds, by archive id."""


class Compatibility(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Habits of those whose place we take, where ours are better."""

    redirect_if_none: bool = False
    """Lead from /memento/ and /api/json/ to the page of copies where there is none, as Time
    Travel did, instead of saying 404."""


class LimitsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much the server takes on, from everybody and from one client.

    A client is an IPv4 address or an IPv6 network of 64 bits.
    """

    in_flight: Count = 256
    """Requests that are worked on at once; no client alone gets more than three quarters."""
    queue: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 64
    """Requests that wait for a place; those of who has fewest under way come first."""
    queue_wait: str = "500ms"
    """How long they wait before they are refused: with 503, or 429 who has too much."""
    connections: Count = 10_000
    """Connections in all; fewer where the limit of open files demands it."""
    connections_per_client: Count = 32
    """Connections of one client; those of trusted proxies are not counted."""
    cold_per_minute: Count = 30
    """Questions of one client that public archives must be asked for. Remembered answers and
    those of your own archives are free; beyond it only these are given, or 429. The lines of a
    POST wait their turn instead."""
    cold_burst: Count = 10
    """How many of them at once."""
    trusted_proxies: list[str] = []
    """Networks (CIDR) of reverse proxies that say who the client is."""
    client_header: Literal["X-Forwarded-For", "Forwarded"] = "X-Forwarded-For"
    """Where they say it. Only there: the other header may have come from the client itself."""
    exempt: list[str] = msgspec.field(default_factory=lambda: ["127.0.0.1", "::1"])
    """Networks (CIDR) of clients that have no share of their own to keep to: this machine."""


class LogSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is written to standard error."""

    format: Literal["text", "json"] = "text"
    """Lines for people, or one JSON object a line."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least that is written."""
    access: bool = False
    """Write a line for each request, with a hash in place of the URL and the client's network
    in place of its address (/24 or /48)."""
    lines_per_second: Count = 100
    """What is more is counted, and the count is written."""


class Deny(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Addresses that the server leads nobody to.

    They are compared as archives file them: without scheme, `www`, default port and case.
    """

    urls: list[str] = []
    """Pages with all below them; with `*` at the end, whatever begins so."""
    hosts: list[str] = []
    """Host names with all below them."""
    status: Literal[451, 404] = 451
    """What is answered: unavailable for legal reasons (RFC 7725), or not found."""


class ReplaySection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where archived bytes are served."""

    base_url: str | None = None
    """Another origin that leads to this server, best of another domain. Local collections and
    /memento/proxy/ are then served there only; without it, beside all else, in a sandbox."""


class ForwardProxy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For Memento clients that are set up with a proxy.

    A GET or HEAD with an absolute URL is answered as by a TimeGate: with a redirect to the copy
    nearest to `Accept-Datetime`, or to the newest where there is none. The live web is never
    fetched, and nothing is tunnelled: CONNECT and all else get 405.
    """

    enabled: bool = False
    """Whether to answer; otherwise such a request gets 400."""


class ChecksSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checks of archives against RFC 7089, on their pages."""

    history: str | None = None
    """The file that `timegate check --history` writes; None: the pages say nothing of it."""
    run: bool = False
    """Whether visitors may check an archive from its page."""


class CanariesSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Questions whose answers are known, so that an archive that broke silently is noticed.

    Off unless `every` is given. Each archive that is asked at all is then asked for a page that
    nobody can have, and where one is known, for a page that it must have.
    """

    every: str | None = None
    """How long between two questions of a kind: `10m` to `7d`, such as `6h`; None for never."""
    pages: dict[str, dict[str, object]] = {}
    """`[canaries.pages.ID]` with `has`, `at` and `lacks`, for an archive whose entry has no
    `canary` or another one."""


class Telemetry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """OpenTelemetry, from the extra `otel`: a span for each request and question to an archive.

    No URL and no client is in them.
    """

    endpoint: str | None = None
    """Where spans go, OTLP over HTTP: `http://127.0.0.1:4318/v1/traces`."""


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file as it is written."""

    contact: str | None = None
    """URL or address in the User-Agent; needed before public archives are asked."""
    base_url: str | None = None
    """What links in answers are built from; None for where the server listens."""
    listen: Listen = Listen()
    deadline: Deadline = Deadline()
    cache: CacheSection = CacheSection()
    limits: LimitsSection = LimitsSection()
    log: LogSection = LogSection()
    checks: ChecksSection = ChecksSection()
    canaries: CanariesSection = CanariesSection()
    deny: Deny = Deny()
    replay: ReplaySection = ReplaySection()
    forward_proxy: ForwardProxy = ForwardProxy()
    telemetry: Telemetry = Telemetry()
    compatibility: Compatibility = Compatibility()
    archives: ArchivesSection = ArchivesSection()
    archive: list[dict[str, object]] = []


def sections() -> dict[str, type[msgspec.Struct]]:
    """Return the sections by their names."""
    fields = msgspec.structs.fields(File)
    kinds = {field.encode_name: field.type for field in fields}
    return {
        name: kind
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    }


class BadConfig(ValueError):
    """A configuration that cannot be used; says which file, which key, and what is allowed."""


def bad(where: str, key: str, why: str) -> BadConfig:
    variable = f"TIMEGATE_{key.replace('.', '_')}".upper()
    place = f"{variable} in the environment" if variable in os.environ else f"{where}: {key}"
    return BadConfig(f"{place}: {why}")
