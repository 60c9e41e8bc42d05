"""Referral: the deduced link to the cited copy, where the named archive gave no answer.

An archive that is known but was not queried (off, gated, on site, closed), or could not answer,
is not an archive without the copy. The address of the copy follows from the pattern of the
archive in the registry. Nothing has checked it, and every answer says so.
"""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from archives.addresses import WITHOUT_SERVER
from archives.errors import ArchiveError, Queued, Refused, Resting
from archives.listing import filled
from archives.model import ArchiveEntry
from archives.moment import Moment
from archives.registry import Registry
from archives.uri import WEB, host_of
from timegate.resolution.model import Cause, Query, Resolution
from timegate.text import masked
from timegate.verdict import header_safe

REFERRAL_RELATION: Final = "https://timegate.example/rel/unchecked"
"""The extension relation type (RFC 8288 2.1.2) of a link that nothing has checked."""
_LONGEST_REASON: Final = 300
_SECOND: Final = 14
_SHIPPED: Final = "archives/known/"
"""How the origin of an entry begins that ships with the package."""
_TOO_MANY_REQUESTS: Final = 429
_BY_ID: Final = "its own id of the cited copy does not say which of its copies that is"

FailureCause = Literal["rate-limited", "paused", "no-answer", "by-id"]
"""Why an archive that is in the plan gave no answer, or none about the copy that is meant."""


class Referral(NamedTuple):
    """The deduced, unchecked link to a copy in the archive that the reference names."""

    archive: str
    name: str
    uri: str | None
    """Safe in headers; None where no pattern gives an address."""
    datetime: str | None
    """The time that the reference states, as precisely as it states it."""
    cause: Cause | FailureCause
    reason: str
    """Why the archive gave no answer, for people."""
    advice: str
    """What one can do, for people."""
    holder: str = ""
    """The name of the archive to which the link leads, if it is another one."""

    def as_json(self) -> dict[str, object]:
        """Return it in plain JSON types, marked as unchecked."""
        members = {**self._asdict(), "checked": False}
        if not self.holder:
            del members["holder"]
        return members

    @property
    def link(self) -> str | None:
        """The link of the header field ``Link``; None without an address."""
        if self.uri is None:
            return None
        return f'<{self.uri}>; rel="alternate {REFERRAL_RELATION}"'


class _Gap(NamedTuple):
    archive: str
    cause: Cause | FailureCause
    reason: str


def referral(resolution: Resolution, registry: Registry) -> Referral | None:
    """Return the referral to the named archive; None if it answered, or may not be shown."""
    gap = _gap(resolution)
    entry = None if gap is None else registry.by_id(gap.archive)
    if gap is None or entry is None or gap.cause == "blocked":
        return None
    query = resolution.query
    uri = _address(query, entry, registry)
    return Referral(
        entry.id,
        entry.name,
        uri,
        None if query.at is None else str(query.at),
        gap.cause,
        gap.reason,
        "; ".join(_advice(gap.cause, entry, uri, registry)),
        _holder(entry, uri, registry),
    )


def _gap(resolution: Resolution) -> _Gap | None:
    """Return why the named archive gave no answer; None if it did, or none is named."""
    skip, named = resolution.unqueried, resolution.query.archive
    if skip is not None:
        return _Gap(skip.archive, skip.cause, skip.reason.rstrip("."))
    if named is None:
        return None
    outcomes = [attempt.outcome for attempt in resolution.attempts if attempt.archive == named]
    failures = [outcome for outcome in outcomes if isinstance(outcome, ArchiveError)]
    if failures and len(failures) == len(outcomes):
        last = failures[-1]
        return _Gap(named, _failure(last), masked(last.why[:_LONGEST_REASON]))
    if not outcomes and named in resolution.unanswered:
        return _Gap(named, "no-answer", "no answer in time")
    if outcomes and resolution.query.by_id:
        return _Gap(named, "by-id", _BY_ID)
    return None


def _failure(error: ArchiveError) -> FailureCause:
    if isinstance(error, Queued):
        return "rate-limited"
    if isinstance(error, Refused) and error.status == _TOO_MANY_REQUESTS:
        return "rate-limited"
    return "paused" if isinstance(error, Resting) else "no-answer"


def _address(query: Query, entry: ArchiveEntry, registry: Registry) -> str | None:
    """Return where the copy should be: the link itself, or by the pattern of the archive.

    A link into a host that is gone is of no use: its new address is returned, if one is known.
    """
    uri = query.link
    moved = None if uri is None else registry.relocated(uri)
    if moved is None and not (uri and WITHOUT_SERVER.of(entry).is_own(uri, "list")):
        # A link with another port or a user name is not handed out.
        uri = _deduced(query, entry)
        moved = None if uri is None else registry.relocated(uri)
    if uri is None or (moved is None and entry.access == "defunct"):
        return None
    address = header_safe(moved or uri)
    return address if address.startswith(WEB) else None


def _deduced(query: Query, entry: ArchiveEntry) -> str | None:
    """Fill the template of *entry*: that of the raw bytes for a part (V-1), else of replay.

    A time is as precise as it was stated: Wayback software redirects from any number of digits
    to the nearest capture (K-6). A collection of this server that is read on site has none.
    """
    template = (query.precision == "part" and entry.raw) or entry.replay
    on_site = entry.kind.is_local and entry.access == "onsite-only"
    if template is None or query.at is None or on_site:
        return None
    return filled(template, _stamp(query.at), query.original)


def _stamp(at: Moment) -> str:
    """Return the digits for an address; a leap second becomes the second before it."""
    whole = len(at.digits) >= _SECOND
    return Moment.of(at.window[0]).digits if whole else at.digits


def _advice(
    cause: Cause | FailureCause, entry: ArchiveEntry, uri: str | None, registry: Registry
) -> Iterator[str]:
    """Yield what one can do."""
    if cause == "on-site":
        what = "read it" if uri is None else "open the unchecked link"
        yield f"{what} on site: {entry.apply or entry.access_note or entry.name}"
        return
    if uri is not None:
        yield _opening(entry, uri, registry)
    elif cause == "defunct":
        yield "the archive is closed, and no new address of its copies is known"
    if entry.apply and cause in ("gated", "not-in-use", "unaskable"):
        yield f"apply for access: {entry.apply}"
    step = _next_step(cause, entry, registry)
    if step:
        yield step


def _holder(entry: ArchiveEntry, uri: str | None, registry: Registry) -> str:
    """Return the name of the successor to which the link leads; empty if there is none."""
    holder = None if uri is None else registry.by_host(host_of(uri))
    return "" if holder is None or holder.id in (entry.id, entry.hosted_by) else holder.name


def _opening(entry: ArchiveEntry, uri: str, registry: Registry) -> str:
    """Return what to do with the link; it may lead to the successor of the archive."""
    holder = _holder(entry, uri, registry)
    if not holder:
        return "open the unchecked link in a browser"
    return f"open the unchecked link: {holder} should have its copies now"


def _next_step(cause: Cause | FailureCause, entry: ArchiveEntry, registry: Registry) -> str:
    """Return how to have the archive queried; empty if nothing helps."""
    match cause:
        case "not-in-use" if is_demo(registry):
            return "this is a demo, which queries no real archive: start it without --demo"
        case "not-in-use":
            return f"the operator can turn it on: {_switched_on(entry, registry)}"
        case "excluded" | "not-chosen":
            return f"allow {entry.id} in the request to have it queried"
        case "only-cached":
            return "repeat the request without only-if-cached"
        case "rate-limited" | "paused" | "no-answer":
            return "try again later"
        case _:
            return ""


def is_demo(registry: Registry) -> bool:
    """Whether these are the archives of the demo: no others have names in ``.example``."""
    harbour = registry.by_pwid("harbour.example")
    return harbour is not None and harbour.use


def _switched_on(entry: ArchiveEntry, registry: Registry) -> str:
    """Return the line of the configuration with which *entry* is queried too.

    The list replaces the default one, so it names all. The operator's own archives need no
    entry in it, and are not revealed by it.
    """
    if not entry.origin.startswith(_SHIPPED):
        return f"use = true in the [[archive]] with the id {entry.id}"
    used = [each.id for each in registry.used if each.origin.startswith(_SHIPPED)]
    names = ", ".join(f'"{name}"' for name in (*used, entry.id))
    return f"use = [{names}] in [archives]"


def named_archive(resolution: Resolution, registry: Registry) -> ArchiveEntry | None:
    """Return the archive that the reference names.

    None if it is not registered, or hidden from the client: the two look the same (R-13).
    """
    named = resolution.query.archive
    involved = {*resolution.unanswered, *resolution.skipped}
    involved.update(attempt.archive for attempt in resolution.attempts)
    visible = named in involved or resolution.named_skip is not None
    return registry.by_id(named) if named is not None and visible else None


def missing_named_archive(resolution: Resolution, registry: Registry) -> str | None:
    """Return why the archive that the reference names did not answer; None if it did.

    Of all archives it is the most likely to have the copy, so its silence is reported.
    """
    written, skip = resolution.query.archive_id, resolution.unqueried
    if written is None:
        return None
    named = named_archive(resolution, registry)
    if named is None:
        return f"the archive that the reference names, {written}, is not registered"
    note = (named.apply or named.access_note or named.access).rstrip(".")
    if skip is None:
        answered = named.id not in resolution.failed
        withheld = named.access != "open" and answered
        return f"{named.name} shows programs no copy ({note})" if withheld else None
    if skip.cause == "on-site":
        return f"{named.name} cannot be queried by programs ({note})"
    reason = skip.reason.rstrip(".")
    return f"{named.name}, the archive that the reference names, was not queried ({reason})"
