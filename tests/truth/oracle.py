"""The oracle: what an archive really serves, what it said, and which claims are too much.

It shares no code with the verdict and the resolver: a claim is held against the answers that
the archive of its world gives. Kinds of over-claims:

===================== =========================================================================
evidence-missing      the answer does not say what it rests on
promise-called-exact  ``exact`` or ``within`` for an identifier, without a look at the memento
promise-not-made      the archive never said that this memento is of that time
delivered-nothing     the address leads to no memento
delivered-undated     the memento there states no possible date
delivered-other-time  the memento there states another time
held                  the record is said to be held, and there is no own collection
uri                   another page than is said
status                the archived status is not said, or another one is
archive               another archive than is said
time                  ``time`` and ``delta`` do not fit what was asked and found
match                 a better match than the members allow (X-4)
fraction              a fraction of a second is said to match, and only seconds are known
padded                a time is said to match that the archive pads with zeros
coverage, content     a part or raw bytes that are none
sources               complete, although an archive failed
absence               a 404, although an archive failed, promised a memento or was not asked
preference            a memento that the preferences rule out
differs               two forms of one answer disagree
cached                asked again, the claim gets worse, or the archives are asked again
server-error          a 500
===================== =========================================================================
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

from archives.errors import ArchiveError
from tests.truth.asking import Answer, Asked
from tests.truth.world import Exchange, LyingArchive, Served, World
from timegate.misbehave.site import http_date, read_http_date, stamp

MATCHES: Final = ("exact", "within", "promised", "approximate", "substitute", "none")
"""From best to worst (X-3)."""
RELATIONS: Final = ("same", "normalized", "variant", "redirected")
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_HOPS: Final = 6
_ADDRESS: Final = re.compile(r"/web/([0-9]{14})(id_|)/(.+)", re.DOTALL)
# Not one with an anchor, which is about another resource (RFC 8288 section 3.2).
_ORIGINAL: Final = re.compile(r'<([^<>\s]*)>; rel="original"(?!; anchor=)')
_MEMENTO: Final = re.compile(
    r'<([^<>\s]*)>; rel="(?:[a-z]+ )*memento"(?:; [a-z]+="[^"]*")*?; datetime="([^"]*)"'
)
_ROW: Final = re.compile(r"\b((?:19|20)[0-9]{12})\b")
_SOFT_DEADLINE: Final = 2.0
_FIRST_POSSIBLE: Final = datetime(1990, 1, 1, tzinfo=UTC)
_LAST_POSSIBLE: Final = datetime(2030, 1, 1, tzinfo=UTC)


class Violation(NamedTuple):
    """One claim that is too much."""

    kind: str
    detail: str


class Delivered(NamedTuple):
    """A memento as its archive really serves it."""

    archive: str
    address: str
    stamp: str | None
    """14 digits; None where the memento states no possible date."""
    status: int
    original: str | None
    hops: int


# What is really there


class Oracle:
    """Looks at the addresses of one world; an address is looked at once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._seen: dict[tuple[str, str], Delivered | None] = {}

    async def look(
        self, address: str, method: Literal["GET", "HEAD"] = "GET"
    ) -> Delivered | None:
        """Return the memento at *address*, as a client that follows redirects gets it."""
        key = (method, address)
        if key not in self._seen:
            self._seen[key] = await self._looked(address, method)
        return self._seen[key]

    async def _looked(self, address: str, method: Literal["GET", "HEAD"]) -> Delivered | None:
        for hop in range(_HOPS):
            archive = self._world.at(address)
            served = (
                None
                if archive is None
                else await _served(archive, _true_view(archive, address), method)
            )
            if archive is None or served is None:
                return None
            if "memento-datetime" in served.headers:
                return _delivered(archive, address, served, hop)
            location = served.headers.get("location")
            if served.status not in _REDIRECTS or location is None:
                return None
            address = urljoin(address, location)
        return None


async def _served(
    archive: LyingArchive, address: str, method: Literal["GET", "HEAD"]
) -> Served | None:
    try:
        return await archive.serve(method, address, {})
    except ArchiveError:
        return None


def _true_view(archive: LyingArchive, address: str) -> str:
    """Return the raw view of *address* where its frame repeats the digits of any address."""
    found = _ADDRESS.search(address)
    if found is None or not archive.has("frame-repeats", address) or found[2]:
        return address
    return address.replace(f"/web/{found[1]}/", f"/web/{found[1]}id_/", 1)


def _delivered(
    archive: LyingArchive, address: str, served: Served, hops: int
) -> Delivered | None:
    at = read_http_date(served.headers["memento-datetime"])
    possible = at is not None and _FIRST_POSSIBLE <= at <= _LAST_POSSIBLE
    linked = _ORIGINAL.search(served.headers.get("link", ""))
    in_address = _ADDRESS.search(address)
    original = linked[1] if linked else in_address[3] if in_address else None
    return Delivered(
        archive.id,
        address,
        stamp(at) if at is not None and possible else None,
        served.status,
        original,
        hops,
    )


# What was said


class Said:
    """Every memento that an archive named in some exchanges: addresses with their times."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self.by_address: dict[str, set[str]] = {}
        self.stamps: set[str] = set()
        self.originals: set[str] = set()
        for exchange in exchanges:
            if isinstance(exchange.outcome, Served):
                self._read(exchange.url, exchange.outcome, _is_index(exchange.url))

    def supports(self, address: str, got: str) -> bool:
        """Whether it was said that the memento at *address* is of the time *got*."""
        digits = _ADDRESS.search(address)
        in_address = digits[1] if digits else None
        named = self.by_address.get(address, set())
        return got in named or (in_address == got and got in self.stamps)

    def _read(self, url: str, served: Served, is_index: bool) -> None:  # noqa: FBT001
        headers = served.headers
        places = [
            urljoin(url, headers[name])
            for name in ("location", "content-location")
            if name in headers
        ]
        dated = _digits(headers.get("memento-datetime", ""))
        for place in (url, *places):
            self._note(place, dated)
        for place in places:
            found = _ADDRESS.search(place)
            self._note(place, found[1] if found else None)
        text = (served.body or b"").decode("latin-1") if is_index else ""
        for target, date in _MEMENTO.findall(f"{headers.get('link', '')}\n{text}"):
            place, found = urljoin(url, target), _ADDRESS.search(target)
            self._note(place, _digits(date))
            self._note(place, found[1] if found else None)
        self.originals.update(_ORIGINAL.findall(headers.get("link", "")))
        self.stamps.update(_ROW.findall(text))

    def _note(self, address: str, digits: str | None) -> None:
        if digits is not None:
            self.by_address.setdefault(address, set()).add(digits)
            self.stamps.add(digits)


def _is_index(url: str) -> bool:
    return "/timemap/" in url or urlsplit(url).path.startswith("/cdx")


def _digits(date: str) -> str | None:
    at = read_http_date(date)
    return None if at is None else stamp(at)


# Times and pages


def interval(digits: str) -> tuple[datetime, datetime]:
    """Return start and end of the time asked for; a fraction counts as its second."""
    text = digits[:14]
    start = datetime.strptime(
        f"{text}{'00000101000000'[len(text) :]}+0000", "%Y%m%d%H%M%S%z"
    ).astimezone(UTC)
    if len(text) == 4:
        return start, start.replace(year=start.year + 1)
    return start, start + timedelta(days=1 if len(text) == 8 else 0, seconds=len(text) // 14)


def distance(digits: str, found: str) -> int:
    """Return the seconds from the interval asked for to a capture, signed (S-1)."""
    start, end = interval(digits)
    at = moment(found)
    if at < start:
        return -int((start - at).total_seconds())
    last = end - timedelta(seconds=1)
    return int((at - last).total_seconds()) if at > last else 0


def moment(digits: str) -> datetime:
    """Return 14 digits as a time."""
    return datetime.strptime(f"{digits}+0000", "%Y%m%d%H%M%S%z").astimezone(UTC)


def relation(asked: str, original: str | None) -> str:
    """Return how the page of a memento relates to the one asked for."""
    if original is None or original == asked:
        return "same"
    if _normalized(original) == _normalized(asked):
        return "normalized"
    return "variant" if _folded(original) == _folded(asked) else "redirected"


def _normalized(url: str) -> str:
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    port = {"http": ":80", "https": ":443"}.get(scheme.lower(), "")
    return f"{scheme.lower()}://{host.lower().removesuffix(port) if port else host}/{path}"


def _folded(url: str) -> str:
    rest = _normalized(url).partition("://")[2].lstrip("/").removeprefix("www.")
    return rest.rstrip("/").lower()


# Judging an answer


def _got(answer: Answer) -> str | None:
    text = answer.parameter("time", "got")
    digits = re.sub(r"[^0-9]", "", str(text)) if text is not None else ""
    return digits[:14] if len(digits) >= 14 else None


def leads_somewhere(answer: Answer) -> bool:
    """Whether the answer names a memento."""
    return answer.status < 400 and answer.location is not None


async def violations(
    answer: Answer, world: World, oracle: Oracle, preferences: Mapping[str, str]
) -> list[Violation]:
    """Return the claims of *answer* that are too much."""
    if answer.status == 500:
        return [Violation("server-error", answer.problem)]
    if not leads_somewhere(answer):
        return list(_of_absence(answer, world, preferences))
    found = list(_of_members(answer))
    evidence = answer.value("evidence")
    if not evidence:
        found.append(Violation("evidence-missing", ""))
        evidence = "delivered" if answer.asked.is_identifier else "promised"
    if evidence == "held":
        found.append(Violation("held", "no own collection"))
    seen = await oracle.look(answer.location or "")
    if evidence == "promised":
        found += _of_promise(answer, world)
    else:
        found += await _delivery(answer, seen, world, oracle)
    found += _of_archive(answer, world)
    found += _of_match(answer, world, evidence)
    found += _of_preferences(answer, world, preferences)
    found += _of_sources(answer)
    return found


def _of_members(answer: Answer) -> Iterator[Violation]:
    """Yield where ``time`` does not fit its own parameters, and where forms disagree."""
    digits, got, value = answer.asked.digits, _got(answer), answer.value("time")
    if not answer.members:
        yield Violation("evidence-missing", "no Memento-Precision")
        return
    if value in ("unknown", ""):
        return
    if got is None:
        yield Violation("time", f"{value} without got")
        return
    if (value == "latest") != (not digits):
        yield Violation("time", f"{value} for {digits or 'the newest'}")
        return
    if digits:
        yield from _of_time(answer, digits, got, value)
    document = answer.document
    for name, member in answer.members.items():
        written = document.get(name)
        if isinstance(written, dict) and written.get("value") != member[0]:
            yield Violation("differs", f"{name}: {member[0]} in the header, {written} in JSON")


def _of_time(answer: Answer, digits: str, got: str, value: str) -> Iterator[Violation]:
    away = distance(digits, got)
    allowed: tuple[str, ...]
    allowed = ("before",) if away < 0 else ("after",) if away > 0 else ("within",)
    if away == 0 and digits == got:
        allowed = ("within", "exact")
    # A fraction may be called before or after the second in which it lies.
    if value not in allowed and not (len(digits) > 14 and value in ("before", "after")):
        yield Violation("time", f"{value} for {digits}, got {got}")
    delta = answer.parameter("time", "delta")
    if delta is not None and delta != away:
        yield Violation("time", f"delta={delta} is {away}")


def _of_promise(answer: Answer, world: World) -> Iterator[Violation]:
    got, archive = _got(answer), world.at(answer.location or "")
    if got is None:
        return
    if archive is None:
        yield Violation("promise-not-made", f"{answer.location} is in no archive")
        return
    said = Said(each for each in world.journal if each.archive == archive.id)
    if not said.supports(answer.location or "", got):
        yield Violation("promise-not-made", f"{answer.location} at {got}")
    in_address = _ADDRESS.search(answer.location or "")
    originals = {*said.originals, *([in_address[3]] if in_address else [])}
    yield from _of_uri(answer, [relation(answer.asked.url, each) for each in originals])


def _of_uri(answer: Answer, possible: Sequence[str]) -> Iterator[Violation]:
    claimed = answer.value("uri")
    if claimed not in RELATIONS or not possible:
        return
    best = min(RELATIONS.index(each) for each in possible)
    if RELATIONS.index(claimed) < best:
        yield Violation("uri", f"{claimed} is {RELATIONS[best]}")


async def _delivery(
    answer: Answer, seen: Delivered | None, world: World, oracle: Oracle
) -> list[Violation]:
    """Return over-claims about what is delivered: replay, or the raw view of the capture.

    Where an archive has a raw view, the product requests that one, because framed replay
    repeats the digits of its address as the date, and says so (``view=raw``). It sends HEAD:
    that the answer to GET is another one, against RFC 9110, cannot be known.
    """
    address = answer.location or ""
    found, archive = [*_of_delivery(answer, seen)], world.at(address)
    views = [address]
    if archive is not None and answer.parameter("evidence", "view") == "raw":
        views.append(_raw_view(address))
    for view in views:
        for method in _METHODS:
            if found and not [*_of_delivery(answer, await oracle.look(view, method))]:
                return []
    return found


_METHODS: Final[tuple[Literal["GET", "HEAD"], ...]] = ("GET", "HEAD")


def _raw_view(address: str) -> str:
    return re.sub(r"/web/([0-9]{14})/", r"/web/\1id_/", address, count=1)


def _of_delivery(answer: Answer, seen: Delivered | None) -> Iterator[Violation]:
    if seen is None:
        yield Violation("delivered-nothing", str(answer.location))
        return
    got = _got(answer)
    if got is not None and seen.stamp is None:
        yield Violation("delivered-undated", f"{answer.location} at {got}")
    elif got is not None and seen.stamp != got:
        yield Violation("delivered-other-time", f"{got} is {seen.stamp}")
    yield from _of_uri(answer, [relation(answer.asked.url, seen.original)])
    claimed = answer.parameter("content", "status")
    if (claimed or 200) != seen.status:
        yield Violation("status", f"{claimed} is {seen.status}")


def _of_archive(answer: Answer, world: World) -> Iterator[Violation]:
    archive = world.at(answer.location or "")
    actual = None if archive is None else archive.entry.pwid[0]
    claimed, got = answer.value("archive"), answer.parameter("archive", "got")
    if actual is not None and got is not None and got != actual:
        yield Violation("archive", f"{got} is {actual}")
    named = answer.asked.archive
    if claimed in ("same", "alias") and named != actual:
        yield Violation("archive", f"{claimed}: {named} is {actual}")
    if claimed == "any" and named is not None:
        yield Violation("archive", f"any, and {named} is named")


def _of_match(answer: Answer, world: World, evidence: str) -> Iterator[Violation]:
    asked, match, got = answer.asked, answer.value("match"), _got(answer)
    if match not in MATCHES:
        yield Violation("match", f"unknown value {match!r}")
        return
    is_good = match in ("exact", "within")
    if is_good and asked.is_identifier and evidence == "promised":
        yield Violation("promise-called-exact", match)
    best = _best_match(answer)
    if MATCHES.index(match) < MATCHES.index(best):
        yield Violation("match", f"{match} is {best}")
    if is_good and len(asked.digits) > 14 and evidence != "held":
        yield Violation("fraction", f"{match} for {asked.digits}, got {got}")
    archive = world.at(answer.location or "")
    padded = archive is not None and archive.entry.padded and (got or "").endswith("000000")
    if is_good and padded and len(asked.digits) > 8:
        yield Violation("padded", f"{match} for {asked.digits}, got {got}")
    raw = _ADDRESS.search(answer.location or "")
    is_raw = raw is not None and raw[2] == "id_"
    if asked.precision == "part" and answer.value("coverage") == "as-requested" and not is_raw:
        yield Violation("coverage", str(answer.location))
    if answer.value("content") == "raw" and not is_raw:
        yield Violation("content", str(answer.location))


def _best_match(answer: Answer) -> str:
    """Return the best match that the other members allow (X-4)."""
    archive, uri = answer.value("archive"), answer.value("uri")
    time, coverage = answer.value("time"), answer.value("coverage")
    if archive not in ("same", "alias", "any"):
        return "substitute"
    if uri not in ("same", "normalized") or coverage not in ("as-requested", "upgraded"):
        return "approximate"
    if time not in ("exact", "within", "latest"):
        return "approximate"
    if time == "exact" or (time == "within" and answer.value("granularity") == "same"):
        return "exact"
    return "within"


def allowed_archives(
    asked: Asked, world: World, preferences: Mapping[str, str]
) -> list[LyingArchive]:
    """Return the archives that may be queried."""
    chosen = preferences.get("archives", ",".join(world.archives)).split(",")
    excluded = preferences.get("exclude", "").split(",")
    allowed = [world.archives[name] for name in chosen if name not in excluded]
    if preferences.get("precision") in ("exact", "archive") and asked.archive is not None:
        allowed = [each for each in allowed if asked.archive in each.entry.pwid]
    return allowed


_TOLERANCES: Final = {"0s": 0, "1h": 3_600, "30d": 2_592_000, "P1Y": 31_536_000}


def _of_preferences(
    answer: Answer, world: World, preferences: Mapping[str, str]
) -> Iterator[Violation]:
    got, digits = _got(answer), answer.asked.digits
    archive = world.at(answer.location or "")
    if archive is not None and archive not in allowed_archives(
        answer.asked, world, preferences
    ):
        yield Violation("preference", f"{archive.id} for {dict(preferences)}")
    # The library returns what was found, with its verdict.
    if answer.way == "library" or got is None or not digits:
        return
    away = distance(digits, got)
    tolerance = _TOLERANCES.get(preferences.get("tolerance", ""))
    if tolerance is not None and abs(away) > tolerance:
        yield Violation("preference", f"{away} s for {dict(preferences)}")
    direction = preferences.get("direction")
    if (direction == "before" and away > 0) or (direction == "after" and away < 0):
        yield Violation("preference", f"{away} s for {dict(preferences)}")
    precision = preferences.get("precision")
    if precision == "exact" and answer.value("match") != "exact":
        yield Violation("preference", f"{answer.value('match')} for precision=exact")
    if precision == "day" and len(digits) >= 8 and got[:8] != digits[:8]:
        yield Violation("preference", f"{got} for precision=day and {digits}")


# Failures and absence


def _is_clear(exchange: Exchange) -> bool:
    """Whether an archive answered a question: with a memento, a redirect, a list, or a no."""
    served = exchange.outcome
    if not isinstance(served, Served):
        return False
    if "memento-datetime" in served.headers:
        return True
    if served.status in _REDIRECTS:
        return "location" in served.headers
    if served.status in (404, 410):
        return True
    return served.status == 200 and (_is_index(exchange.url) or "link" in served.headers)


def failed_archives(exchanges: Sequence[Exchange]) -> set[str]:
    """Return the archives that were asked and gave no clear answer in the end."""
    by_archive: dict[str, list[Exchange]] = {}
    for exchange in exchanges:
        by_archive.setdefault(exchange.archive, []).append(exchange)
    return {archive for archive, own in by_archive.items() if _has_failed(own)}


def _has_failed(exchanges: Sequence[Exchange]) -> bool:
    """Whether the exchanges with one archive ended without a clear answer.

    A 404 is a clear no, but not for a memento that the archive itself named.
    """
    *before, last = exchanges
    named = last.url in Said(before).by_address
    if any(map(_is_memento, exchanges)):
        return False
    return not _is_clear(last) or (named and not _is_redirect(last))


def _is_redirect(exchange: Exchange) -> bool:
    served = exchange.outcome
    return isinstance(served, Served) and served.status in _REDIRECTS


def _is_memento(exchange: Exchange) -> bool:
    served = exchange.outcome
    return isinstance(served, Served) and "memento-datetime" in served.headers


def _of_sources(answer: Answer) -> Iterator[Violation]:
    """Yield a violation where an archive failed, and the answer says that none did.

    An answer within the time asked for, of the named archive or where none is named, ends the
    search: archives that were asked at the same time are not needed.
    """
    ends = answer.value("time") in ("exact", "within") and answer.value("archive") != "other"
    failed = failed_archives(answer.exchanges)
    claimed = answer.parameter("sources", "failed")
    if (
        failed
        and not ends
        and (
            answer.value("sources") == "complete"
            or (isinstance(claimed, int) and claimed < len(failed))
        )
    ):
        yield Violation("sources", f"{answer.members.get('sources')}, failed: {sorted(failed)}")


def _of_absence(
    answer: Answer, world: World, preferences: Mapping[str, str]
) -> Iterator[Violation]:
    if answer.status != 404 or answer.problem in ("unknown-archive", "archive-not-asked"):
        return
    allowed = {each.id for each in allowed_archives(answer.asked, world, preferences)}
    unmet = answer.problem == "precision-unmet"
    failed = failed_archives(answer.exchanges if unmet else world.journal) & allowed
    # A memento in the time asked for ends the search: the others were not needed.
    ended = unmet and answer.value("time") in ("exact", "within", "latest")
    if failed and not ended:
        yield Violation("absence", f"{answer.problem} although {sorted(failed)} failed")
    if unmet:
        return
    unasked = allowed - {exchange.archive for exchange in world.journal}
    if unasked:
        yield Violation("absence", f"{answer.problem} although {sorted(unasked)} was not asked")
    promising = {each.archive for each in world.journal if _promises(each)} & allowed
    if promising and preferences.get("direction", "closest") == "closest":
        yield Violation("absence", f"{answer.problem} although {sorted(promising)} named one")


def _promises(exchange: Exchange) -> bool:
    """Whether an archive named a memento, and did not say no in the same answer."""
    served = exchange.outcome
    if not isinstance(served, Served) or served.status in (404, 410):
        return False
    return bool(Said([exchange]).stamps)


# Asked again


def violations_again(
    first: Answer, again: Answer, preferences: Mapping[str, str]
) -> Iterator[Violation]:
    """Yield where the same question gets a worse claim, or costs requests again.

    A question is settled if a memento as requested was delivered and every archive answered.
    For other mementos, an archive that answered after the first response may name a better one,
    which is then requested. Answers for one direction of time are not cached.
    """
    settled = (
        preferences.get("direction", "closest") == "closest"
        and leads_somewhere(first)
        and first.value("match") in ("exact", "within")
        and first.value("evidence") == "delivered"
        and first.value("sources") == "complete"
    )
    if settled and again.exchanges:
        urls = [f"{each.method} {each.url}" for each in again.exchanges]
        yield Violation("cached", f"asked again: {urls}")
    if settled and (
        not leads_somewhere(again)
        or MATCHES.index(again.value("match")) > MATCHES.index(first.value("match"))
        or again.value("evidence") != first.value("evidence")
    ):
        claims = f"{first.value('match')} became {again.value('match')}"
        yield Violation("cached", f"{claims}, {again.value('evidence')}, {again.status}")


# Copies that were missed


class Missed(NamedTuple):
    """A copy that was known or easily known, and is better than the answer."""

    kind: str
    """``lost``: the answer has no copy of the page. ``nearer``: its copy is farther away."""
    copy: Delivered


async def good_copies(
    answer: Answer, world: World, oracle: Oracle, preferences: Mapping[str, str]
) -> list[Delivered]:
    """Return the mementos of the page that archives named and would deliver, nearest first.

    Named are those in the answers that the product got for this question: in redirects, links,
    TimeMaps and index rows; and, where it found none, those that an archive names when it is
    asked once. Only mementos count that are of the time in their address, in their raw view too
    where there is one, and only archives that can answer three requests within the soft
    deadline.
    """
    allowed = allowed_archives(answer.asked, world, preferences)
    allowed = [archive for archive in allowed if _is_quick(archive)]
    copies: list[Delivered] = []
    for archive in allowed:
        own = [each for each in answer.exchanges if each.archive == archive.id]
        if not leads_somewhere(answer):
            own += await _asked_once(archive, answer.asked)
        for address in _named_by(own, archive, answer.asked):
            seen = await oracle.look(address)
            if seen is None or not _is_as_named(address, seen):
                continue
            raw = await oracle.look(_raw_view(address))
            if archive.entry.raw is not None and not (raw and _is_as_named(address, raw)):
                continue
            if _is_good(seen, answer.asked, preferences):
                copies.append(seen)
    return sorted(copies, key=lambda copy: _away(answer.asked, copy))


def _is_as_named(address: str, seen: Delivered) -> bool:
    """Whether a memento has the time in its address: others are not known to be near."""
    found = _ADDRESS.search(address)
    return found is not None and found[1] == seen.stamp


def _is_quick(archive: LyingArchive) -> bool:
    faults = (archive.faults, *archive.marred.values())
    is_slow = any(fault.name == "slow" for each in faults for fault in each)
    return 3 * archive.delay < _SOFT_DEADLINE and not is_slow


def _named_by(exchanges: Sequence[Exchange], archive: LyingArchive, asked: Asked) -> set[str]:
    said = Said(exchanges)
    built = set[str]()
    if archive.entry.replay:
        template = archive.entry.replay
        built = {_filled(template, digits, asked.url) for digits in said.stamps}
    return {address for address in (*said.by_address, *built) if _ADDRESS.search(address)}


def _filled(template: str, digits: str, url: str) -> str:
    return template.replace("{time14}", digits).replace("{uri}", url)


async def _asked_once(archive: LyingArchive, asked: Asked) -> list[Exchange]:
    """Ask an archive as a simple client does; nothing where it is slow or fails."""
    entry, headers = archive.entry, dict[str, str]()
    digits = asked.digits[:14] or "20250101000000"
    start, end = interval(digits)
    middle = start + (end - timedelta(seconds=1) - start) / 2
    if entry.timegate:
        url = f"{entry.timegate}{asked.url}"
        headers = {"accept-datetime": http_date(middle)} if asked.digits else {}
    elif entry.cdx:
        url = f"{entry.cdx}?url={asked.url}"
    else:
        url = _filled(entry.replay or "", stamp(middle), asked.url)
    try:
        served = await archive.serve("GET", url, headers)
    except ArchiveError:
        return []
    if served.status in (403, 429, 503):
        return []
    return [Exchange(archive.id, "GET", url, served)]


def _is_good(seen: Delivered, asked: Asked, preferences: Mapping[str, str]) -> bool:
    if seen.stamp is None or relation(asked.url, seen.original) == "redirected":
        return False
    if not 200 <= seen.status < 300:
        return False
    if not asked.digits:
        return True
    away, direction = distance(asked.digits, seen.stamp), preferences.get("direction")
    if (direction == "before" and away > 0) or (direction == "after" and away < 0):
        return False
    tolerance = _TOLERANCES.get(preferences.get("tolerance", ""))
    if preferences.get("precision") in ("exact", "day") and away:
        return False
    return tolerance is None or abs(away) <= tolerance


def _away(asked: Asked, copy: Delivered) -> float:
    if copy.stamp is None:
        return float("inf")
    if not asked.digits:
        return -moment(copy.stamp).timestamp()
    return abs(distance(asked.digits, copy.stamp))


async def missed(
    answer: Answer, world: World, oracle: Oracle, preferences: Mapping[str, str]
) -> tuple[bool, Missed | None]:
    """Return whether a good copy exists, and the one that was missed, if any.

    A copy is missed if the answer has no memento of the page (none at all, or its address leads
    to none or to one of another page) although a good copy was named; or if a nearer good copy
    was named. Good copies are mementos of the page with a 2xx status, inside the preferences,
    that their archive delivers. An answer inside the time asked for misses nothing.
    """
    copies = await good_copies(answer, world, oracle, preferences)
    if not copies:
        return False, None
    if not leads_somewhere(answer):
        # A memento was found, and does not meet the preferences.
        unmet = answer.problem == "precision-unmet" or answer.value("match") not in ("", "none")
        return True, None if unmet else Missed("lost", copies[0])
    seen = await oracle.look(answer.location or "")
    if seen is None or relation(answer.asked.url, seen.original) == "redirected":
        return True, Missed("lost", copies[0])
    is_nearer = _away(answer.asked, copies[0]) < _away(answer.asked, seen)
    return True, Missed("nearer", copies[0]) if is_nearer else None
