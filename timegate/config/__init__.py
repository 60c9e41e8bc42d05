"""Configuration: ``timegate.toml`` and the environment. Errors name the file and the key."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from archives.model import ArchiveEntry
from archives.registry import Registry
from timegate.config import archives, loading
from timegate.config.archives import HOME_LIMITS, is_local, is_public
from timegate.config.loading import read_file
from timegate.config.schema import (
    BadConfig,
    ChecksSection,
    Deny,
    LimitsSection,
    Listen,
    LiveSection,
    LogSection,
    StoreSection,
)
from timegate.config.secrets import Secret
from timegate.config.series import SeriesConfig, series_of

__all__ = [
    "HOME_LIMITS",
    "BadConfig",
    "Config",
    "check_contact",
    "is_local",
    "is_public",
    "load_config",
]


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of a server or a command."""

    registry: Registry
    contact: str | None = None
    """URL or address in the User-Agent; required where public archives are queried."""
    base_url: str | None = None
    """Base of the links in responses; None for the address of the server."""
    listen: Listen = field(default_factory=Listen)
    soft: float = 2.0
    hard: float = 5.0
    cache: str = "memory:"
    cache_limit: int | None = None
    """Bytes; None for the default of the kind of cache."""
    replicas: int | None = None
    """Number of servers that share the cache and the rate limits; None to count them."""
    mementomaps: Mapping[str, str] = field(default_factory=dict)
    private: frozenset[str] = frozenset()
    """Ids of the operator's own archives: only these may be at private addresses."""
    delays: Mapping[str, float] = field(default_factory=dict)
    """Seconds by which an archive of the demo answers late; not settable in a file."""
    old_redirects: bool = False
    partial_stamps: Literal["start", "middle"] = "start"
    """Whether to redirect to the list page where there is no copy, as Time Travel did."""
    limits: LimitsSection = field(default_factory=LimitsSection)
    queue_wait: float = 0.5
    log: LogSection = field(default_factory=LogSection)
    checks: ChecksSection = field(default_factory=ChecksSection)
    canaries_every: float | None = None
    """Seconds between two questions of a canary; None for none. The pages are in the
    entries."""
    changes_every: float | None = None
    """Seconds between two queries to an archive about a followed page; None for none."""
    changes_file: Path | None = None
    """Where changes are kept; None for the default."""
    changes_pages: int = 1000
    deny: Deny = field(default_factory=Deny)
    forward_proxy: bool = False
    telemetry: str | None = None
    """URL to which OpenTelemetry spans are sent; None for none."""
    replay_url: str | None = None
    """The origin of archived bytes; None where it is that of the server."""
    reconstruct: bool = False
    live: LiveSection = field(default_factory=LiveSection)
    """Whether pages are put together from the parts that any archive holds."""
    restricted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The networks whose clients may see an archive's holdings, by its id."""
    authorizations: Mapping[str, Secret] = field(default_factory=dict)
    """The Authorization field that is sent to an archive, by its id."""

    stores: tuple[StoreSection, ...] = ()
    """The stores; their entries in the registry have their folders."""
    store_tokens: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    """SHA-256 digests of the tokens that may write, by the id of the store."""
    series: tuple[SeriesConfig, ...] = ()
    """The series of documents."""

    @property
    def askable(self) -> list[ArchiveEntry]:
        """The archives that are queried, in the order of the registry."""
        return [e for e in self.registry.used if is_local(e) or e.kind.is_remote]

    @property
    def remote(self) -> list[ArchiveEntry]:
        """The archives that are queried over the network."""
        return [entry for entry in self.askable if not is_local(entry)]


def check_contact(config: Config) -> None:
    """Raise BadConfig where public archives are queried and no contact is given (R-14)."""
    public = [entry.id for entry in config.askable if is_public(entry)]
    if config.contact is None and (config.live.enabled or config.live.timegates):
        raise BadConfig(
            "[live] has originals requested, which requires a contact: set contact in the "
            "configuration or TIMEGATE_CONTACT"
        )
    if public and config.contact is None:
        raise BadConfig(
            f"{len(public)} public archives would be queried, which requires a contact: "
            "set contact in the configuration or TIMEGATE_CONTACT, or choose with archives.use"
        )


def load_config(path: Path | None, memgator_list: Path | None = None) -> Config:
    """Return the configuration in *path*, *memgator_list* and the environment.

    Raises BadConfig.
    """
    where = "the environment" if path is None else str(path)
    file = read_file(path, where)
    folder = Path() if path is None else path.parent
    own = (
        *archives.own_archives(file, where, folder.absolute()),
        *archives.store_archives(file, where, folder.absolute()),
        *archives.memgator(memgator_list),
    )
    known = archives.used(file, where)
    if memgator_list is not None and file.archives.use is None:
        # As with MemGator, only the archives of the list are queried.
        known = tuple(archives.switched(entry, on=False) for entry in known)
    return Config(
        archives.with_canaries(
            archives.joined(known, (*own, *archives.originals(file, where, own))), file, where
        ),
        loading.contact(file, where),
        loading.base_url(file, where),
        file.listen,
        *loading.deadlines(file, where),
        file.cache.url,
        loading.cache_limit(file, where),
        file.cache.replicas,
        file.archives.mementomaps,
        frozenset(entry.id for entry in own),
        old_redirects=file.compatibility.redirect_if_none,
        partial_stamps=file.compatibility.partial_stamps,
        limits=loading.limits(file, where),
        queue_wait=loading.seconds(file.limits.queue_wait, where, "limits.queue_wait"),
        log=file.log,
        checks=loading.checks(file, where, folder.absolute()),
        canaries_every=loading.every(file.canaries.every, where, "canaries.every"),
        changes_every=loading.every(file.changes.every, where, "changes.every"),
        changes_file=loading.changes_file(file, folder.absolute()),
        changes_pages=file.changes.pages,
        deny=loading.deny(file, where),
        forward_proxy=file.forward_proxy.enabled,
        replay_url=loading.replay_url(file, where),
        reconstruct=file.reconstruct.enabled,
        live=loading.live(file, where),
        telemetry=loading.telemetry(file, where),
        restricted=archives.restricted(file, where),
        authorizations=archives.authorizations(file, where, own, folder.absolute()),
        stores=tuple(file.store),
        store_tokens=loading.token_digests(file, where),
        series=series_of(file, where),
    )
