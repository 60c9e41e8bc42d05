"""The members of a verdict: time, archive, sources, content, coverage and URI (X-3 to X-9).

Each compares what was asked for with what was found, and claims no more than is known.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from archives.evidence import same_key
from archives.listing import filled
from archives.model import ArchiveEntry, Closest, Memento
from archives.moment import GRANULARITIES, Moment, second_of
from archives.registry import Registry
from archives.surt import surt
from timegate.content.bracketing import (
    DatedCapture,
    bracket,
    corroborating,
    described_best,
    is_same_capture,
)
from timegate.content.comparison import Comparison
from timegate.content.digests import payload_digest
from timegate.resolution.model import Attempt, LiveOriginal, Query, Resolution, Syntax
from timegate.resolution.query import STRIPPED_FRAGMENT, STRIPPED_USER
from timegate.resolution.ranking import is_other_page
from timegate.verdict.comparison import comparison_member
from timegate.verdict.header import Member, Parameter, Verdict, matched, plain
from timegate.verdict.parts import part_members

_LONGEST_DOUBT: Final = 300
_SECOND: Final = 14
_NO_TIME: Final = timedelta()
_DAY: Final = 8


def asked_time(
    query: Query,
    memento: Memento,
    entry: ArchiveEntry | None,
    original: LiveOriginal | None = None,
) -> Member:
    """Return whether the capture lies in the interval asked for, before or after it.

    *original* is the request to the original, which did not answer.
    """
    basis = basis_of(memento, minted=query.minted)
    if query.at is not None:
        return asked_at(query.at, memento, entry, basis)
    live = "not-tried" if original is None else "no-answer"
    live = live if query.is_undated else ""
    return Member("latest", {"got": str(memento.captured), "basis": basis, "live": live})


def basis_of(memento: Memento, *, minted: bool = False) -> str:
    """Return what the time of the capture rests on, if not on the clock of the archive."""
    return "asserted" if memento.is_asserted else "minted" if minted else ""


def asked_at(
    at: Moment, memento: Memento, entry: ArchiveEntry | None, basis: str = ""
) -> Member:
    """Return whether the capture lies in the interval *at*, before or after it."""
    stamp = memento.stamp
    away = at.distance(second_of(stamp))
    params: dict[str, Parameter] = {
        # As stated: .5 and .500 are different statements (T-2), but the same instant.
        "req": at.start if len(at.digits) < _SECOND else str(at),
        "until": "" if len(at.digits) == _SECOND else at.end,
        "got": str(memento.captured),
        "delta": int(away.total_seconds()),
        "basis": basis,
    }
    if away:
        return Member("after" if away > _NO_TIME else "before", params)
    return Member("exact" if _is_exact(at, stamp, entry) else _side(at, stamp), params)


def _is_exact(at: Moment, stamp: str, entry: ArchiveEntry | None) -> bool:
    """Whether *at* and *stamp* are the same second, or the same fraction of a held record.

    Memento states whole seconds: the fraction in an address of another archive is not the time
    of its record (X-5).
    """
    if at.digits != stamp:
        return False
    return proven(stamp, entry) == _SECOND or (len(stamp) > _SECOND and _is_held(entry))


def _is_held(entry: ArchiveEntry | None) -> bool:
    """Whether the record is in a collection of the operator: its date was read from it."""
    return entry is not None and entry.kind.is_local


def _as_shown(
    match: Member, at: Moment | None, stamp: str, entry: ArchiveEntry | None
) -> Member:
    """Return *match*, at most ``approximate`` if *stamp* is not shown to lie inside *at*.

    A memento that states only a second, or zeros that may be padding, is not shown to be of the
    requested fraction or second, nor second 59 to be the leap second after it. Memento states
    whole seconds: a fraction is shown only by a record that is held (X-5).
    """
    digits = proven(stamp, entry) if _is_held(entry) else min(proven(stamp, entry), _SECOND)
    if at is None or (digits >= len(at.digits) and at.covers(stamp)):
        return match
    return plain("approximate") if match.value in _AS_REQUESTED else match


def _side(at: Moment, stamp: str) -> str:
    """Return ``within``, ``before`` or ``after``."""
    return {-1: "before", 0: "within", 1: "after"}[at.side_of(stamp)]


def granularity(at: Moment | None, stamp: str, entry: ArchiveEntry | None) -> Member:
    """Return how finely the capture is dated, compared with the time asked for."""
    asked = 0 if at is None else len(at.digits)
    clamped = at is not None and _is_leap(at) and at.digits[:_SECOND] != stamp[:_SECOND]
    return _granularity(asked, proven(stamp, entry), clamped=clamped)


def _granularity(asked: int, digits: int, *, clamped: bool) -> Member:
    """Return the member for *asked* digits asked for, 0 for none, and *digits* proven ones."""
    params = {"req": _name(asked) if asked else "", "got": _name(digits)}
    if digits < _SECOND:
        return Member("padded", params)
    if not asked or digits > asked:
        return Member("finer", params)
    if clamped:
        return Member("truncated", params)
    if digits == asked:
        return Member("same", params)
    return Member("truncated" if digits == _SECOND else "coarser", params)


def proven(stamp: str, entry: ArchiveEntry | None) -> int:
    """Return how many digits of *stamp* the archive proves.

    Some archives pad the digits that they do not know with zeros (T-9): there the zeros at the
    end prove nothing, down to the day.
    """
    digits = len(stamp)
    if entry is None or not entry.padded or digits != _SECOND:
        return digits
    while digits > _DAY and stamp[digits - 2 : digits] == "00":
        digits -= 2
    return digits


def _name(digits: int) -> str:
    return GRANULARITIES.get(digits) or f"fraction{digits - _SECOND}"


def _is_leap(at: Moment) -> bool:
    return at.digits[12:14] == "60"


def archive_member(query: Query, memento: Memento, registry: Registry) -> Member:
    """Return whether the copy comes from the archive that was named.

    ``alias``: it does, but was named by another id than the one that we write. ``unknown``: the
    id is not in the registry.
    """
    entry = registry.by_id(memento.archive)
    written = entry.pwid[0] if entry and entry.pwid else memento.archive
    if query.archive_id is None:
        return Member("any", {"got": written})
    params = {"req": query.archive_id, "got": written}
    named = query.archive or _named(query.archive_id, registry)
    if named is None:
        return Member("unknown", params)
    if named != memento.archive:
        return Member("other", params)
    return Member("same" if query.archive_id.lower() == written else "alias", params)


def _named(archive_id: str, registry: Registry) -> str | None:
    entry = registry.by_pwid(archive_id)
    return None if entry is None else entry.id


def sources(resolution: Resolution) -> Member:
    """Return whether all queried archives answered: the copy is the closest among them.

    Where no archive was queried, or the named one was not, the sources are partial.
    """
    asked = {*(attempt.archive for attempt in resolution.attempts), *resolution.unanswered}
    unasked = 0 if resolution.unqueried is None else 1
    complete = asked and resolution.complete and not unasked
    params: dict[str, Parameter] = {
        "asked": len(asked),
        "failed": len(resolution.failed),
        "unasked": unasked or "",
        "variants": len(resolution.unasked) or "",
    }
    return Member("complete" if complete else "partial", params)


def negotiation(query: Query, found: Closest) -> Member:
    """Return how the copy was found; ``identifier`` where its time was used (D-10)."""
    is_reference = query.identifier is not None or query.archive_id is not None
    return plain("identifier" if query.at and is_reference else found.via)


# The modifier id_ after a stamp means unaltered bytes wherever it is supported (F-2).
_RAW_ADDRESS: Final = re.compile(r"/[0-9]{4,23}id_/")
# Percent signs are not quoted: triplets must not be encoded twice.
_SAFE_IN_BRACKETS: Final = "".join(
    c for c in map(chr, range(0x21, 0x7F)) if c not in '<>"\\^`{|}'
)
_UNSAFE: Final = bytes(
    c for c in range(0x80) if c < 0x21 or c == 0x7F or chr(c) in '<>"\\^`{|}'
)
_SAFE: Final = re.compile(r"[!#-;=?-\[\]_a-z~]*+")
_PAGES: Final = ("page", "webpage")
"""The text of draft-08 calls a page ``webpage`` (V-7)."""
_MORE_THAN_A_PAGE: Final = ("subsite", "site", "collection", "snapshot", "recording")


class View(NamedTuple):
    """The address that a client is redirected to."""

    uri: str
    raw: str | None
    """The address of the unaltered bytes; None where the archive has no such view."""
    is_ours: bool
    """Whether this server replays it, without rewriting."""

    @property
    def is_raw(self) -> bool:
        """Whether it is the address of the unaltered bytes."""
        return self.uri == self.raw


def view(query: Query, memento: Memento, entry: ArchiveEntry | None) -> View:
    """Return the address for a client: the raw bytes for a part, otherwise replay."""
    template = None if entry is None else entry.raw
    is_local = entry is not None and entry.kind.is_local
    return _view(memento, template, is_local=is_local, part=query.precision == "part")


# Several members of a verdict need it, and the same pages are asked for again.
def _view(memento: Memento, template: str | None, *, is_local: bool, part: bool) -> View:
    raw = _raw_address(memento, template, is_local=is_local)
    uri = raw if part and raw is not None else memento.uri
    # An operator may configure another replay for a local collection, which rewrites.
    replays = is_local and template is not None
    is_ours = replays and memento.uri.startswith(str(template).partition("{time14}")[0])
    return View(uri, raw, is_ours)


def raw_address(memento: Memento, entry: ArchiveEntry | None) -> str | None:
    """Return the address of the unaltered bytes; None where the archive has no such view."""
    if entry is None:
        return _raw_address(memento, None, is_local=False)
    return _raw_address(memento, entry.raw, is_local=entry.kind.is_local)


def _raw_address(memento: Memento, template: str | None, *, is_local: bool) -> str | None:
    if _RAW_ADDRESS.search(memento.uri):
        return memento.uri
    if template is None:
        return None
    return filled(template, memento.stamp, memento.original, all_digits=is_local)


def delivers_raw(query: Query, memento: Memento, entry: ArchiveEntry | None) -> bool:
    """Whether a client is redirected to the unaltered bytes."""
    return view(query, memento, entry).is_raw


def header_safe(uri: str) -> str:
    """Return *uri*, quoted so that it is safe in angle brackets and in one line (L-6, R-8)."""
    # Nearly all are safe as they are; quoting takes five times as long as checking that.
    return uri if _SAFE.fullmatch(uri) else quote(uri, safe=_SAFE_IN_BRACKETS, errors="replace")


def safe_in_brackets(uris: list[str]) -> list[str]:
    """Return *uris* as `header_safe` does; a thousand at once take a tenth of the time."""
    text = "".join(uris)
    if text.isascii() and len(text.encode().translate(None, _UNSAFE)) == len(text):
        return uris
    return [header_safe(uri) for uri in uris]


def content(shown: View, status: int | None) -> Member:
    """Return whether the bytes are unaltered, and the archived *status* if it is not 200.

    An archive with a separate view of the raw bytes rewrites in the other view. Elsewhere it is
    unknown: the absence of visible rewriting proves nothing (F-4).
    """
    value = "rewritten" if shown.raw else "unknown"
    if shown.is_raw or shown.is_ours:
        value = "raw"
    return (
        plain(value) if status is None or status == 200 else Member(value, {"status": status})
    )


def coverage(asked: str | None, shown: View, archive: Member) -> Member:
    """Return how much of the *asked* extent the answer covers."""
    return _coverage(asked, "part" if shown.is_raw else "page", archive.value)


def _coverage(asked: str | None, got: str, archive: str) -> Member:
    return Member(_extent(asked, got, archive), {"req": asked or "", "got": got})


def unapplied(selection: Sequence[tuple[str, str]], extent: Member) -> Member:
    """Return the coverage of an answer to which *selection* was not applied (I-8, I-14).

    A whole page contains its fragment; another version or format is another document.
    """
    req = ", ".join(f"{name} {value}" for name, value in selection)
    is_contained = all(name == "fragment" for name, _ in selection)
    value = "degraded" if is_contained else "ignored"
    return Member(value, {"req": req, "got": extent["got"] or ""})


def _extent(asked: str | None, got: str, archive: str) -> str:
    if asked is None or asked == got or (asked in _PAGES and got == "page"):
        return "as-requested"
    if asked == "part" or asked in _PAGES:
        return "degraded"
    # The page is the entry to the site that was meant, if it comes from that archive (V-3). In
    # another archive it belongs to another crawl, and the extent means nothing.
    is_its_own = archive in ("same", "alias", "any")
    return "degraded" if asked in _MORE_THAN_A_PAGE and is_its_own else "ignored"


_STRIPPED: Final = {STRIPPED_FRAGMENT: "fragment", STRIPPED_USER: "userinfo"}
_MILDEST_FIRST: Final = (
    *("fragment", "scheme", "www", "slash", "percent", "case", "query-order"),
    *("userinfo", "fuzzy", "also"),
)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_TRIPLET: Final = re.compile(r"%[0-9A-Fa-f]{2}")

Fold = Callable[[str], str]


_SAME: Final = Member("same")


class _Parts(NamedTuple):
    scheme: str
    user: str
    host: str
    port: str
    path: str
    query: str


def uri_member(query: Query, attempt: Attempt, memento: Memento) -> Member:
    """Return whether the copy is of the URL that was asked for, and if not, what differs."""
    asked, got = query.original, memento.original.partition("#")[0]
    if not got:
        return Member("unknown")
    if got == asked and not query.diagnostics:
        return _SAME
    rules = _rules(asked, got, attempt)
    if rules is None:
        return Member("redirected", {"got": got})
    rules = [*(rule for cut, rule in _STRIPPED.items() if cut in query.diagnostics), *rules]
    if rules:
        worst = max(rules, key=_MILDEST_FIRST.index)
        return Member("variant", {"rule": worst, "got": "" if got == asked else got})
    if got == asked:
        return Member("same")
    return Member("normalized", {"rule": _triviality(asked, got), "got": got})


def _rules(asked: str, got: str, attempt: Attempt) -> Sequence[str] | None:
    """Return the rules by which the URLs differ; None where they are different pages.

    A variant that this server asked for itself explains what the rules alone do not: the
    literal reading of an item (P-21) looks like another page.
    """
    rules = _differences(_parts(asked), _parts(got))
    if rules is not None:
        return rules
    if attempt.variant is not None:
        beyond = _differences(_parts(attempt.original), _parts(got))
        if beyond is not None:
            return [attempt.variant, *beyond]
    return ["fuzzy"] if _filed_as_one(asked, got) else None


def _filed_as_one(asked: str, got: str) -> bool:
    """Whether both have the same key in an index: then no redirect was needed.

    The key holds no scheme, so it is only meaningful for http and https. It leaves out empty
    labels, as in ``http://.example.org/``: no name server knows such a host.
    """
    if not got.lower().startswith(("http:", "https:")) or surt(asked) != surt(got):
        return False
    host = got.partition(":")[2].lstrip("/").partition("/")[0].rpartition("@")[2]
    return all(host.partition(":")[0].removesuffix(".").split("."))


def _differences(one: _Parts, other: _Parts) -> list[str] | None:
    if one.port != other.port:
        return None
    if one.scheme != other.scheme and {one.scheme, other.scheme} - {"http", "https", ""}:
        return None
    rules = ["userinfo"] if one.user != other.user else []
    rules += ["scheme"] if one.scheme != other.scheme else []
    if one.host != other.host:
        if one.host.removeprefix("www.") != other.host.removeprefix("www."):
            return None
        rules.append("www")
    in_path = list(_needed(one.path, other.path, _PATH_FOLDS))
    if None in in_path:
        return None
    in_query = (rule or "fuzzy" for rule in _needed(one.query, other.query, _QUERY_FOLDS))
    return [*rules, *filter(None, in_path), *in_query]


def _needed(one: str, other: str, folds: Sequence[tuple[str, Fold]]) -> Iterator[str | None]:
    """Yield the names of the folds that make the texts equal; None where all do not."""
    if one == other:
        return
    if _folded(one, folds) != _folded(other, folds):
        yield None
        return
    needed = [
        name for name, fold in folds if _folded(one, folds, fold) != _folded(other, folds, fold)
    ]
    # Two folds may have the same effect on a text; then the last one is named.
    yield from needed or [folds[-1][0]]


def _folded(text: str, folds: Sequence[tuple[str, Fold]], without: Fold | None = None) -> str:
    for _, fold in folds:
        if fold is not without:
            text = fold(text)
    return text


def _in_order(query: str) -> str:
    return query[:1] + "&".join(sorted(query[1:].split("&")))


_PATH_FOLDS: Final[tuple[tuple[str, Fold], ...]] = (
    ("percent", unquote),
    ("slash", lambda path: path.rstrip("/")),
    ("case", str.lower),
)
_QUERY_FOLDS: Final[tuple[tuple[str, Fold], ...]] = (
    ("query-order", _in_order),
    ("percent", unquote),
    ("case", str.lower),
)


def _parts(url: str) -> _Parts:
    """Split *url*; URLs that RFC 3986 calls equivalent get equal parts (6.2.2.1, 6.2.3)."""
    scheme, separator, rest = url.partition("://")
    if not separator or not scheme.isalpha():  # Some archives omit the scheme.
        scheme, rest = "", url
    before, mark, query = rest.partition("?")
    authority, _, path = before.partition("/")
    user, _, host = authority.rpartition("@")
    name, port = _host_and_port(host.lower())
    usual = port in ("", _DEFAULT_PORTS.get(scheme.lower()))
    return _Parts(
        scheme.lower(), user, name, "" if usual else port, "/" + _hex(path), mark + _hex(query)
    )


def _host_and_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if not colon or "]" in port:
        return host, ""
    return name, port


def _hex(text: str) -> str:
    return _TRIPLET.sub(lambda triplet: triplet[0].upper(), text)


def _triviality(asked: str, got: str) -> str:
    """Return the rule of a difference that RFC 3986 calls equivalent."""
    if asked.lower() == got.lower():
        return "case"
    ports = (f":{port}" for port in _DEFAULT_PORTS.values())
    return "port" if any((port in asked) != (port in got) for port in ports) else "slash"


def location(resolution: Resolution, registry: Registry) -> str | None:
    """Return the target of the redirect: the raw bytes for a part (V-1), otherwise replay.

    The verdict is about that address. It is safe in ``Location``: ASCII without blanks and
    controls. It is the original itself where that is the result. None where nothing was found.
    """
    memento, live = resolution.memento, resolution.live
    if live is not None and live.answers:
        return header_safe(live.url)
    if memento is None:
        return None
    entry = registry.by_id(memento.archive)
    return header_safe(view(resolution.query, memento, entry).uri)


def quoted_location(resolution: Resolution, registry: Registry) -> str | None:
    """Return `location`, with a text directive for the quotation if the memento has it."""
    uri, quote = location(resolution, registry), resolution.quote
    return uri if uri is None or quote is None else quote.linked(uri)


def verdict(resolution: Resolution, registry: Registry) -> Verdict:
    """Return how the answer of *resolution* differs from its query."""
    query, best = resolution.query, resolution.best
    syntax = _syntax(query.syntax, query.diagnostics)
    if resolution.live is not None and resolution.live.answers:
        return _live_verdict(resolution.live, syntax)
    if best is None or not isinstance(best.outcome, Closest):
        return Verdict(plain("none"), sources=sources(resolution), syntax=syntax)
    memento = best.outcome.memento
    entry = registry.by_id(memento.archive)
    archive = archive_member(query, memento, registry)
    time = asked_time(query, memento, entry, resolution.live)
    grain = granularity(query.at, memento.stamp, entry)
    uri = uri_member(query, best, memento)
    shown = view(query, memento, entry)
    extent = coverage(query.precision, shown, archive)
    if resolution.extent is not None:
        extent = _coverage(query.precision, resolution.extent, archive.value)
    if query.selection:
        extent = unapplied(query.selection, extent)
    match = matched(archive, time, grain, extent, uri)
    match = _as_shown(match, query.at, memento.stamp, entry)
    doubts = "; ".join(best.outcome.doubts)
    if doubts:
        # A doubtful time proves nothing: never exact.
        match = plain("approximate") if match.value in _AS_REQUESTED else match
        time = Member(time.value, {**time.params, "doubt": doubts[:_LONGEST_DOUBT]})
    if match.value in _AS_REQUESTED and is_unverified(resolution, best.outcome):
        match = plain("promised")
    return Verdict(
        match=match,
        evidence=evidence(best, best.outcome, shown),
        archive=archive,
        time=time,
        granularity=grain,
        coverage=extent,
        uri=uri,
        content=content(shown, memento.status),
        sources=sources(resolution),
        negotiation=negotiation(query, best.outcome),
        syntax=syntax,
        **({} if resolution.parts is None else part_members(resolution.parts)),
        comparison=compared(resolution, registry),
    )


def _live_verdict(live: LiveOriginal, syntax: Member) -> Verdict:
    """Return the verdict on the original itself: it is no memento, and no archive was queried.

    Its state is that of the time of our request; what a client gets later may differ.
    """
    return Verdict(
        match=plain("live"),
        evidence=Member("original", {"status": live.status or ""}),
        time=Member("current", {"got": str(live.requested), "live": "answered"}),
        coverage=Member("as-requested", {"got": "page"}),
        uri=_SAME,
        syntax=syntax,
    )


_AS_REQUESTED: Final = ("exact", "within")


def compared(resolution: Resolution, registry: Registry) -> Member | None:
    """Return how the copies around the time compare; None if nothing is known of that.

    TimeGates are quick: there, the member is left out.
    """
    if resolution.comparison is not None:
        return comparison_member(resolution.comparison)
    if resolution.query.identifier is None:
        return None
    found = known_comparison(resolution, registry)
    return None if found is None else comparison_member(found)


def known_comparison(
    resolution: Resolution, registry: Registry, more: Sequence[Memento] = ()
) -> Comparison | None:
    """Return what the digests that archives state show, which costs no request.

    *more* are captures that the resolution does not name.
    """
    at, memento, best = resolution.query.at, resolution.memento, resolution.best
    if memento is None or best is None or not isinstance(best.outcome, Closest):
        return None
    if is_other_page(best, memento) or _has_doubts(resolution):
        return None
    captures = [
        DatedCapture.of(each, min(_SECOND, proven(each.stamp, registry.by_id(each.archive))))
        for each in described_best((*_mementos_named(resolution), *more))
        if same_key(each.original, memento.original)
    ]
    chosen = next((each for each in captures if is_same_capture(each.memento, memento)), None)
    others = () if chosen is None else corroborating(chosen, captures)
    sides = None if at is None else bracket(captures, at)
    octets = None if sides is None else payload_digest(sides.before.digest)
    # The sides say nothing about a copy with other octets, which was chosen for another reason.
    if sides is not None and chosen is not None and chosen.digest == octets:
        return Comparison("same-around", "digest", *sides, corroborated=others)
    return Comparison("alone", "digest", corroborated=others) if others else None


def _has_doubts(resolution: Resolution) -> bool:
    """Whether the time of a capture is doubtful: it may be on either side of a time."""
    return any(
        isinstance(attempt.outcome, Closest) and attempt.outcome.doubts
        for attempt in filter(None, (resolution.best, *resolution.alternatives))
    )


def _mementos_named(resolution: Resolution) -> Iterator[Memento]:
    """Yield every memento that the answers of the archives name."""
    for attempt in filter(None, (resolution.best, *resolution.alternatives)):
        if isinstance(attempt.outcome, Closest) and not attempt.unchecked:
            yield attempt.outcome.memento
            yield from attempt.outcome.neighbours.values()


def is_unverified(resolution: Resolution, found: Closest) -> bool:
    """Whether the memento was to be requested itself, but is only promised (X-6).

    TimeGates are quick and only promise: there, ``evidence`` qualifies ``match``.
    """
    query, preferences = resolution.query, resolution.preferences
    claims = query.identifier is not None or preferences.verify in ("head", "page", "content")
    return claims and found.evidence == "promised"


def evidence(best: Attempt, found: Closest, shown: View) -> Member:
    """Return what the claim rests on, and why the memento could not be requested.

    ``view=raw``: the raw view was delivered, and the client is sent to the replay of it.
    """
    redirects = len(found.hops[1:]) if found.evidence == "delivered" else 0
    other_view = (
        found.evidence == "delivered" and found.hops and found.hops[-1].url != shown.uri
    )
    params = {
        "hops": redirects or "",
        "view": "raw" if other_view else "",
        "failed": best.unchecked[:_LONGEST_DOUBT],
    }
    return Member(found.evidence, params)


def _syntax(value: Syntax, diagnostics: tuple[str, ...]) -> Member:
    return Member(value, {"diag": " ".join(dict.fromkeys(diagnostics))})
