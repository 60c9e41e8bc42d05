"""The subject of a check: an archive or one of its addresses, with sample pages."""

import re
import string
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Literal
from urllib.parse import quote, unquote, urlsplit

from archives.addresses import downgrades, server_of
from archives.evidence import address_of, same_key
from archives.model import ArchiveEntry, Selection
from archives.registry import BadEntry, entry_from
from timegate.config import HOME_LIMITS, is_public

Role = Literal["timegate", "timemap", "memento", "original"]
ROLES: Final[tuple[Role, ...]] = ("timegate", "timemap", "memento", "original")
DEFAULT_SAMPLE: Final = "http://example.com/"
"""Held by nearly every archive: IANA has served this page since 1999."""
NEVER_CAPTURED: Final = "http://never-captured.invalid/"
"""A host that cannot have been crawled (RFC 2606)."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One archive under test; part of a recording."""

    id: str
    name: str
    role: Role
    url: str
    """The prefix of the TimeGate, or the address of a TimeMap, memento or original."""
    samples: tuple[str, ...] = (DEFAULT_SAMPLE,)
    timemaps: Mapping[str, str] = field(default_factory=dict)
    """Prefixes by format, where the registry has them."""
    raw: str | None = None
    """Address template of the unaltered bytes."""
    selection: Selection = "nearest"
    origins: tuple[str, ...] = ()
    """``host:port`` that requests may be sent to, without default ports."""
    detected: str = ""
    """Why the address was taken for what `role` says; empty where the user declared it."""

    def owns(self, url: str) -> bool:
        """Whether *url* is on a host of this archive, and https if the subject is."""
        is_plain = server_of(url) is not None and not downgrades(self.url, url)
        return is_plain and origin_of(url) in self.origins


def subject_of(entry: ArchiveEntry, samples: tuple[str, ...]) -> Subject | None:
    """Return the subject for an entry of the registry; None if it has no TimeGate."""
    if entry.timegate is None:
        return None
    urls = (entry.timegate, *entry.timemaps.values(), entry.replay, entry.raw)
    named = (origin_of(url) for url in urls if url and "{" not in url.partition("//")[2][:1])
    hosts = (host.partition("/")[0].lower() for host in entry.hosts)
    origins = tuple(dict.fromkeys((*filter(None, named), *hosts)))
    return Subject(
        entry.id,
        entry.name,
        "timegate",
        entry.timegate,
        samples,
        entry.timemaps,
        entry.raw,
        entry.selection,
        origins,
    )


def origin_of(url: str) -> str:
    """Return host and port of an http(s) URL, without a default port; empty for others."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return ""
    usual = port is None or port == (443 if parts.scheme == "https" else 80)
    return parts.hostname if usual else f"{parts.hostname}:{port}"


def embedded(url: str) -> tuple[str, str] | None:
    """Split the address of a TimeGate, TimeMap or memento into prefix and original."""
    start = url.find("://")
    at = min(
        (i for s in ("http://", "https://") if (i := url.find(s, start + 3)) > 0), default=0
    )
    return (url[:at], url[at:]) if start > 0 and at else None


def same_original(one: str, other: str) -> bool:
    """Whether two URLs name the same original.

    Only http and https, www, a default port, a last slash and needless escapes make no
    difference: paths and queries are case sensitive (RFC 3986 6.2.2).
    """
    return original_key(one) == original_key(other)


def original_key(url: str) -> str:
    """Return what spellings of one original have in common; other schemes stay apart."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in ("http", "https") or not host:
        return url
    with suppress(UnicodeError):
        host = host.encode("idna").decode()
    own_port = "" if port in (None, 80, 443) else f":{port}"
    query = f"?{_plain(parts.query)}" if parts.query else ""
    path = _plain(parts.path).removesuffix("/")
    return f"{host.removeprefix('www.')}{own_port}{path}{query}"


_TRIPLET: Final = re.compile("%([0-9A-Fa-f]{2})")
_NEEDLESSLY_ESCAPED: Final = frozenset(f"{string.ascii_letters}{string.digits}-._~!$'()*,;:@")
_WRITTEN_PLAINLY: Final = "!#$%&'()*+,/:;=?@[]~"


def _plain(text: str) -> str:
    """Return *text* with the escapes that it needs, in capitals (RFC 3986 6.2.2)."""

    def plain(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return character if character in _NEEDLESSLY_ESCAPED else found[0].upper()

    escaped = quote(text, safe=_WRITTEN_PLAINLY, errors="surrogatepass")
    return _TRIPLET.sub(plain, escaped)


_ADDRESS_SCHEME: Final = re.compile(r"^https?+:/++", re.IGNORECASE)
"""The address of a memento may omit the scheme of its original, or one of its slashes."""


def memento_key(uri: str) -> str:
    """Return what spellings of one URI-M have in common: scheme and modifier are ignored."""
    address = address_of(uri)
    if address is None:
        return unquote(uri.partition("://")[2]).removesuffix("?")
    before = uri.partition("://")[2].partition(f"/{address.stamp}")[0]
    page = f"http://{_ADDRESS_SCHEME.sub('', unquote(address.original))}"
    return f"{before}/{address.stamp} {original_key(page).lower()}"


def is_of_another(uri: str, page: str) -> bool:
    """Whether the address of a memento has another page in it; False for opaque ones.

    Addresses are compared as archives index them.
    """
    address = address_of(uri)
    return address is not None and not same_key(unquote(address.original), unquote(page))


def entry_for(url: str, also: Sequence[str]) -> ArchiveEntry:
    """Return an entry that allows requests to the host of *url* and the hosts of *also*.

    Raises ValueError if one of them is not an http(s) URL.
    """
    if not origin_of(url):
        raise ValueError(
            f"{url!r} is not an http or https URL; an archive is named with --archive {url}, "
            "and `timegate archives` lists them"
        )
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
    """Derive an id from an address; it is also the file name in a recording."""
    words = prefix.partition("://")[2].strip("/").lower().encode("ascii", "replace").decode()
    return "".join(c if c.isalnum() or c == "." else "-" for c in words) or "given"


def is_foreign(entry: ArchiveEntry) -> bool:
    """Whether it is a public archive; hosts from the command line may have ports."""
    bare = tuple(h.partition(":")[0] if h.count(":") == 1 else h for h in entry.hosts)
    return is_public(replace(entry, hosts=bare))
