"""The schema of ``timegate.toml``: each section with its keys and defaults.

`timegate.config.loading` reads and checks it. docs/configuration.md is generated from the
docstrings here; a test compares them.
"""

import os
from typing import Annotated, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


class Listen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the server listens."""

    host: str = "127.0.0.1"
    """Address; `0.0.0.0` or `::` for all addresses of this machine."""
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 1208
    """Port; the default is that of MemGator, so that it can be replaced. 0 picks a free one."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=64)] = 1
    """Number of processes that share the port."""


class Deadline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long a search for a copy may take."""

    soft: str = "2s"
    """After this time the best copy so far is the answer: `500ms`, `2s` or `1m`."""
    hard: str = "5s"
    """After this time the search ends in any case."""


class CacheSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where answers of archives are cached: in memory, in a file, or in Redis."""

    url: str = "memory:"
    """`memory:`, `sqlite:PATH`, `redis://HOST`, `rediss://HOST`, Sentinels or a Cluster."""
    megabytes: Count | None = None
    """Size limit; by default 64 in memory and 1024 in a file. The limit in memory is for each
    worker, that of a file for all of them. Redis has its own `maxmemory`."""
    replicas: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    """Number of servers that share a Redis; by default they are counted."""


class ArchivesSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which of the known archives are queried."""

    use: list[str] | None = None
    """Ids of known archives; by default all that programs may query."""
    mementomaps: dict[str, str] = {}
    """MementoMap files, which list the holdings of an archive, by archive id."""


class Compatibility(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Behaviour of older services, for clients that depend on it."""

    redirect_if_none: bool = False
    """Where there is no copy, redirect from /memento/ and /api/json/ to the list page, as Time
    Travel did, instead of 404."""
    partial_stamps: Literal["start", "middle"] = "start"
    """What a stamp of less than 14 digits asks for on /memento/, /api/ and /list/: the copy
    closest to its first second, as at MemGator and Time Travel, or one within the interval, as
    everywhere else (T-11)."""


class LimitsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits for requests and connections, in all and for each client.

    A client is an IPv4 address or an IPv6 network of 64 bits.
    """

    in_flight: Count = 256
    """Requests that are processed at once; one client gets at most three quarters. As many
    long responses may be sent at once, and as many requests may wait for one archive, twice as
    many for all."""
    queue: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 64
    """Requests that wait in the queue; clients with the fewest requests under way come
    first."""
    queue_wait: str = "500ms"
    """How long a request waits before it is refused: with 503, or with 429 where the client has
    too many requests."""
    connections: Count = 10_000
    """Connections in all; fewer where the limit of open files is lower."""
    connections_per_client: Count = 32
    """Connections of one client; those of trusted proxies are not counted."""
    cold_per_minute: Count = 30
    """Questions of one client for which public archives must be queried. Answers from the cache
    and from your own archives do not count; beyond the limit only these are given, or 429. The
    lines of a POST wait instead."""
    cold_burst: Count = 10
    """How many such questions may come at once."""
    trusted_proxies: list[str] = []
    """Networks (CIDR) of reverse proxies that state the address of the client."""
    client_header: Literal["X-Forwarded-For", "Forwarded"] = "X-Forwarded-For"
    """The header in which they state it. The other one is ignored: clients can send it."""
    exempt: list[str] = msgspec.field(default_factory=lambda: ["127.0.0.1", "::1"])
    """Networks (CIDR) of clients without limits of their own; by default this machine."""


class LogSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The log on standard error."""

    format: Literal["text", "json"] = "text"
    """Lines of text, or one JSON object a line."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level that is written."""
    access: bool = False
    """Write a line for each request, with a hash in place of the URL and the client's network
    in place of its address (/24 or /48)."""
    lines_per_second: Count = 100
    """Lines beyond this number are dropped and counted; the count is written."""


class Deny(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The blocklist: pages whose copies the server neither finds nor serves.

    URLs are compared as in the index of an archive: without scheme, `www`, default port and
    case.
    """

    urls: list[str] = []
    """Pages with all pages below them; with `*` at the end, all URLs with this beginning."""
    hosts: list[str] = []
    """Host names with all their subdomains."""
    status: Literal[451, 404] = 451
    """The status of the response: unavailable for legal reasons (RFC 7725), or not found."""


class ReplaySection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The origin of archived bytes."""

    base_url: str | None = None
    """Another origin of this server, preferably of another domain. Local collections,
    /memento/proxy/, /web/{stamp}id_/ and the documents inside /view/ and /reconstruct/ are then
    served at this origin only; without it at the same origin as everything else, in a
    sandbox."""


class ReconstructSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whole pages from the parts that any archive holds, at /reconstruct/.

    A page costs at most 60 requests to archives, and 20 MB.
    """

    enabled: bool = False
    """Whether pages are put together; otherwise such requests get 404."""


class LiveSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requests to the originals themselves: by `timegate keep --live`, stores, and these keys.

    They go to public addresses at the ports 80 and 443 only, to a host one at a time and one a
    second, for each worker; for `enabled` and `timegates` up to four in a row.
    """

    enabled: bool = False
    """Whether `duri::URL`, with an empty timestamp, means the page as it is now: one HEAD (GET
    where a server has none) asks whether the original answers. If it does, the client is
    redirected to it; otherwise to the newest memento. The verdict says which one it is. By
    default it is the newest memento, and the original is not requested."""
    timegates: bool = False
    """Whether originals are queried like an archive, under the id `original`: those that are
    their own TimeGate, or link one (`rel="timegate"`), such as wikis."""
    hosts: list[str] = []
    """Hosts of your own network that may be requested although their addresses are private,
    with the port: `wiki.intranet.example:8080`."""


class ForwardProxy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Forward proxy for Memento clients that are configured with a proxy.

    A GET or HEAD with an absolute URL is answered as by a TimeGate: with a redirect to the copy
    nearest to `Accept-Datetime`, or to the newest copy without that header. The live web is
    never fetched, and nothing is tunnelled: CONNECT and all other methods get 405.
    """

    enabled: bool = False
    """Whether such requests are answered; otherwise they get 400."""


class ChecksSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Checks of archives against RFC 7089, on their pages."""

    history: str | None = None
    """The file that `timegate check --history` writes; without it the pages show no checks."""
    run: bool = False
    """Whether visitors may start a check of an archive on its page."""


class CanariesSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Questions with known answers, which show that an archive broke silently.

    Off unless `every` is given. Each archive in use is then asked for a page that cannot exist,
    and, where one is known, for a page that it must have.
    """

    every: str | None = None
    """The interval between two such questions: `10m` to `7d`, such as `6h`; by default
    never."""
    pages: dict[str, dict[str, object]] = {}
    """`[canaries.pages.ID]` with `has`, `at` and `lacks` replaces the `canary` of an archive's
    entry."""


class ChangesSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Changes: which archives are followed at `/changes/`, and how often they are queried.

    Stores and collections of local files are always followed.
    """

    every: str | None = None
    """The least interval between two queries to an archive about a page: `10m` to `7d`, such as
    `6h`; by default only your own files are followed."""
    path: str | None = None
    """The file in which changes are kept over restarts; by default `.timegate/changes.sqlite`
    in the folder of the first store. Without a store it is a temporary file of each worker."""
    pages: Count = 1000
    """Pages that are followed; those requested longest ago are dropped."""


class Telemetry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """OpenTelemetry, from the extra `otel`: a span for each request and question to an archive.

    Spans contain no URL and no client.
    """

    endpoint: str | None = None
    """URL to which spans are sent, OTLP over HTTP: `http://127.0.0.1:4318/v1/traces`."""


class StoreSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Memento store: a folder of WARC files to which clients with a token write revisions.

    It is served as the collection `/collections/{id}/`, and queried like any archive. See
    [the store](store.md).
    """

    id: str
    """The id of the store, and of its collection."""
    path: str
    """The folder; it is created if it does not exist. Only the server writes into it."""
    tokens: list[str] = []
    """`sha256:` and the SHA-256 of each token that may write, in hex; without tokens nothing
    can be written."""
    pwid: list[str] = []
    """Its archive-ids in PWIDs."""
    name: str | None = None
    """The name for people; by default the id."""
    revision_megabytes: Annotated[int, msgspec.Meta(ge=1, le=512)] = 16
    """The largest body of one revision."""
    megabytes: Count | None = None
    """The size of all files, beyond which writes get 507; by default the disk is the limit."""
    writes_per_minute: Count = 600
    """How many revisions one token may write; for each worker."""
    file_megabytes: Count = 1024
    """The size after which the next revision begins a new file."""
    free_megabytes: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 512
    """How much of the disk stays free; beyond it, writes get 507."""
    keep: Literal["no", "archives", "live"] = "no"
    """Whether `POST /store/{id}` with `{"url": ...}` copies what is found in other `archives`
    into the store, for those who have a token; `live` allows fetching originals as well."""


class DelegateSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Documents of a series for which another resolver answers: a subseries, or some days.

    The first one that fits counts.
    """

    resolver: str
    """The address of a server that answers `/uri-res/N2R?urn:pdi://...` (RFC 2169)."""
    series: str | None = None
    """A series below this one; it and all below it are delegated."""
    since: str | None = None
    """The first day, `YYYY-MM-DD`."""
    until: str | None = None
    """The last day."""
    how: Literal["redirect", "ask"] = "redirect"
    """`redirect` sends the client there; `ask` passes its answer on."""


class SeriesSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A series of documents with persistent identifiers, in a store. See [PDIs](pdi.md)."""

    name: str
    """Its name in PDIs: like a domain name, with a country at its end."""
    store: str
    """The id of a `[[store]]`."""
    tokens: list[str] = []
    """`sha256:` and the SHA-256 of each token that may mint, in hex. A name before it, as in
    `alice sha256:...`, is recorded with what it mints and asserts."""
    since: str | None = None
    """The first day for which this server answers, `YYYY-MM-DD`."""
    until: str | None = None
    """The last day."""
    delegate: list[DelegateSection] = []
    """`[[series.delegate]]`: what another resolver answers for."""


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The configuration file."""

    contact: str | None = None
    """URL or address in the User-Agent; required where public archives are queried."""
    base_url: str | None = None
    """The base of links in responses; by default the address of the server."""
    listen: Listen = Listen()
    deadline: Deadline = Deadline()
    cache: CacheSection = CacheSection()
    limits: LimitsSection = LimitsSection()
    log: LogSection = LogSection()
    checks: ChecksSection = ChecksSection()
    canaries: CanariesSection = CanariesSection()
    changes: ChangesSection = ChangesSection()
    deny: Deny = Deny()
    replay: ReplaySection = ReplaySection()
    reconstruct: ReconstructSection = ReconstructSection()
    live: LiveSection = LiveSection()
    forward_proxy: ForwardProxy = ForwardProxy()
    telemetry: Telemetry = Telemetry()
    compatibility: Compatibility = Compatibility()
    archives: ArchivesSection = ArchivesSection()
    archive: list[dict[str, object]] = []
    store: list[StoreSection] = []
    series: list[SeriesSection] = []


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
    """An invalid configuration; the message names the file, the key and the allowed values."""


def bad(where: str, key: str, why: str) -> BadConfig:
    variable = f"TIMEGATE_{key.replace('.', '_')}".upper()
    place = f"{variable} in the environment" if variable in os.environ else f"{where}: {key}"
    return BadConfig(f"{place}: {why}")
