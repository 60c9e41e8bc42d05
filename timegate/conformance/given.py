"""An archive that nobody has described yet: an address of the command line as an entry."""

from collections.abc import Sequence
from dataclasses import replace

from archives.model import ArchiveEntry
from archives.registry import BadEntry, entry_from
from timegate.config import HOME_LIMITS, is_public
from timegate.conformance.subject import embedded, origin_of


def entry_for(url: str, also: Sequence[str]) -> ArchiveEntry:
    """Return an entry for *url*: its host may be asked, and those of *also*.

    Raises ValueError for what is no http(s) URL.
    """
    prefix = (embedded(url) or (url, ""))[0]
    table = {"id": _name(prefix), "kind": "memento", "timegate": prefix}
    try:
        entry = entry_from(table, "command line")
    except BadEntry as error:
        raise ValueError(f"{url}: {error}") from error
    hosts = [origin_of(each) for each in also]
    if not all(hosts):
        raise ValueError(f"--also takes an http(s) URL, not {also[hosts.index('')]!r}")
    entry = replace(entry, hosts=(*entry.hosts, *hosts))
    return entry if is_foreign(entry) else replace(entry, limits=HOME_LIMITS)


def _name(prefix: str) -> str:
    """Make an id of an address: it names the file of a recording."""
    words = prefix.partition("://")[2].strip("/").lower().encode("ascii", "replace").decode()
    return "".join(c if c.isalnum() or c == "." else "-" for c in words) or "given"


def is_foreign(entry: ArchiveEntry) -> bool:
    """Whether somebody else runs it; hosts of the command line may have ports."""
    bare = tuple(h.partition(":")[0] if h.count(":") == 1 else h for h in entry.hosts)
    return is_public(replace(entry, hosts=bare))
