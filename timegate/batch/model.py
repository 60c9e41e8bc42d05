"""Items of a list and their results: what a reference asks for, and how well it was met."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final, Literal, NamedTuple

from archives.diagnostics import Diagnosis, Malformed
from archives.model import ArchiveEntry, Closest
from archives.moment import Moment
from archives.registry import Registry
from archives.replay_links import read_link
from timegate.identifiers import parse
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.query import NotNegotiable, query_for
from timegate.verdict import Verdict, satisfies

Json = dict[str, object]
Code = Literal[0, 1, 2, 3, 4]
"""As the exit codes: as asked, less than asked, refused, nothing anywhere, nobody knows."""
_PRECISE: Final = ("exact", "within")
_IN_TIME: Final = ("exact", "within", "latest")
_SAME_PAGE: Final = ("same", "normalized")
_ALL_OF_IT: Final = ("as-requested", "upgraded")


class BadInput(ValueError):
    """A list that cannot be read; says where, and what was expected."""


class Item(NamedTuple):
    """One reference, as it stands in the list."""

    position: int
    """Counted from 0, over the items of the list."""
    text: str
    """What a person would recognise it by."""
    references: tuple[str, ...]
    """Identifiers, the one that says most first; the first that can be asked for counts."""
    dates: tuple[str, ...] = ()
    """Times as written, in order of preference, for a reference that has none of its own."""
    trouble: str = ""
    """Why it cannot be asked for as it is written; empty where it can be tried."""

    @property
    def key(self) -> int:
        """Return 64 bits that another item, or the same at another place, does not have."""
        told = json.dumps([self.position, self.text, self.references, self.dates])
        return int.from_bytes(blake2b(told.encode(), digest_size=8).digest())


class TextSpan(NamedTuple):
    """A piece of a document, in characters."""

    start: int
    end: int


class ReferencePlace(NamedTuple):
    """One reference in a document."""

    item: Item
    link: TextSpan | None
    """The archive link that may be replaced; None where there is none."""
    date: TextSpan | None = None
    """The date of the archive link, where one stands beside it."""
    before_link: str = ""
    """What comes before a link that was not there."""
    before_date: str = ""


ReadTime = Callable[[str], Moment | None]


class Candidate(NamedTuple):
    """One question that an item may mean."""

    query: Query
    date: str | None
    """The date of the list that it uses; None where the reference has its own, or none."""


def candidates(item: Item, registry: Registry, read_time: ReadTime) -> list[Candidate]:
    """Return the questions *item* may mean, the preferred first.

    Raises ValueError where it means none: it cannot be read, or none of its dates can.
    """
    query = _query(item, registry)
    if query.at is not None or not item.dates:
        return [Candidate(query, None)]
    return list(_dated(query, item, read_time))


def _query(item: Item, registry: Registry) -> Query:
    """Return what the first usable reference asks; short links into archive.today are not."""
    if item.trouble:
        raise ValueError(item.trouble)
    complaint: ValueError = ValueError("no reference")
    for number, text in enumerate(item.references):
        try:
            return query_for(parse(text, registry), registry)
        except (Malformed, NotNegotiable) as error:
            complaint = error if number == 0 else complaint
    raise complaint


def _dated(query: Query, item: Item, read_time: ReadTime) -> Iterator[Candidate]:
    seen: set[Moment | None] = set()
    complaints: list[ValueError] = []
    for date in item.dates:
        try:
            at = read_time(date)
        except ValueError as error:
            complaints.append(error)
            continue
        if at not in seen:
            seen.add(at)
            # The name of the undated URL would no longer be the name of what is asked.
            yield Candidate(replace(query, at=at, identifier=None), date)
    if not seen:
        raise complaints[0]


def is_reference(text: str, registry: Registry) -> bool:
    """Whether *text* is beyond doubt an identifier or URL: a title like Node.js is not."""
    try:
        reading = parse(text, registry)
    except Malformed:
        return False
    guessed = "scheme-assumed" in {note.token for note in reading.diagnostics}
    return reading.kind.is_reference and not guessed


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What became of an item."""

    item: Item
    outcome: str
    """The match of the verdict, or ``absent``, ``unknown``, ``refused``."""
    code: Code
    final: bool
    """Whether it was asked for the last time; otherwise it is asked again, more slowly."""
    date: str | None
    """The date of the list that was used."""
    why: str
    report: Mapping[str, object] | None

    @property
    def memento(self) -> Mapping[str, object] | None:
        """The copy: its uri, archive and datetime."""
        return _mapping(self.report, "memento")

    @property
    def delta(self) -> int | None:
        """Seconds between the time asked for and the copy; None where either is missing."""
        delta = (_mapping(self.report, "time") or {}).get("delta")
        return delta if isinstance(delta, int) else None

    @property
    def unsure(self) -> bool:
        """Whether it is less than asked while some archive did not answer."""
        sources = _mapping(self.report, "sources") or {}
        return self.code in (1, 4) and sources.get("value") == "partial"

    @property
    def pwid(self) -> str | None:
        """The PWID of the copy."""
        pwid = (_mapping(self.report, "cite") or {}).get("pwid")
        return pwid if isinstance(pwid, str) else None


def _mapping(report: Mapping[str, object] | None, name: str) -> Mapping[str, object] | None:
    value = (report or {}).get(name)
    return value if isinstance(value, dict) else None


def code_of(resolution: Resolution, judged: Verdict) -> Code:
    """Return how *resolution* compares with what its policy asks for.

    Another archive than the named one is as good, unless the policy wants that very archive:
    who replaces links into an archive asks for nothing else.
    """
    if resolution.memento is None:
        # Where nobody could be asked, nobody has said no.
        return 3 if resolution.complete and resolution.attempts else 4
    if not satisfies(resolution, judged):
        return 1
    as_asked = judged.match.value in _PRECISE or _is_equivalent(judged, resolution.preferences)
    return 0 if as_asked else 1


def _is_equivalent(judged: Verdict, preferences: Preferences) -> bool:
    """Whether the copy is what was meant, wherever it is: same page, in time, beyond doubt."""
    uri, coverage, time = judged.uri, judged.coverage, judged.time
    if uri is None or coverage is None or time is None or time["doubt"] is not None:
        return False
    lenient = preferences.tolerance is not None or preferences.precision == "day"
    return (
        uri.value in _SAME_PAGE
        and coverage.value in _ALL_OF_IT
        and (lenient or time.value in _IN_TIME)
    )


def found(
    item: Item,
    resolution: Resolution,
    judged: Verdict,
    date: str | None,
    report: Callable[[Resolution, Verdict], Json],
) -> ItemResult:
    """Return the result of an item that was asked for."""
    code = code_of(resolution, judged)
    told = report(resolution, judged)
    outcome = judged.match.value if resolution.memento else _NOTHING[code]
    why = str(told["words"])
    if resolution.memento is None and resolution.failed:
        why = f"nothing found; no answer from {', '.join(resolution.failed)}"
    elif not resolution.attempts:
        why = "nothing found: nobody could be asked"
    # Who did not answer may hold a better copy than the one that was found.
    final = code == 0 or resolution.complete
    return ItemResult(item, outcome, code, final, date, why, told)


_NOTHING: Final[Mapping[Code, str]] = {3: "absent", 4: "unknown"}


def refused(item: Item, error: ValueError) -> ItemResult:
    """Return the result of an item that cannot be asked for."""
    return ItemResult(item, "refused", 2, final=True, date=None, why=str(error), report=None)


def broken(item: Item, error: Exception) -> ItemResult:
    """Return the result of an item at which our own code failed; it is asked once more."""
    why = f"an internal error happened ({type(error).__name__})"
    return ItemResult(item, "unknown", 4, final=False, date=None, why=why, report=None)


def better(one: ItemResult | None, other: ItemResult) -> ItemResult:
    """Return the one that is nearer to what it asked for; the first of equals."""
    return other if one is None or _rank(other) < _rank(one) else one


def _rank(result: ItemResult) -> tuple[int, int]:
    # Not to know is no reason to say that there is nothing: 4 outranks 3.
    order = {0: 0, 1: 1, 4: 2, 3: 3, 2: 4}
    return order[result.code], abs(result.delta or 0)


def to_line(result: ItemResult) -> bytes:
    """Write *result* as a line of JSON."""
    item = result.item
    return (
        json.dumps(
            {
                "position": item.position,
                "key": item.key,
                "final": result.final,
                "input": item.text,
                "references": item.references,
                "dates": item.dates,
                "outcome": result.outcome,
                "code": result.code,
                "date": result.date,
                "why": result.why,
                "report": result.report,
            }
        ).encode()
        + b"\n"
    )


def from_line(line: bytes) -> ItemResult:
    """Read what `to_line` wrote. Raises ValueError for anything else."""
    try:
        told = json.loads(line)
        item = Item(
            told["position"], told["input"], tuple(told["references"]), tuple(told["dates"])
        )
        if item.key != told["key"]:
            raise ValueError("the line was altered")
        return ItemResult(
            item,
            *(told["outcome"], told["code"], told["final"], told["date"], told["why"]),
            told["report"],
        )
    except (KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError("not a line of a journal") from error


def trusted(resolution: Resolution, registry: Registry) -> Resolution:
    """Return *resolution* with the best of the copies that its policy allows."""
    preferences = resolution.preferences
    if resolution.best is None or (preferences.archives is None and not preferences.exclude):
        return resolution
    copies = [
        attempt
        for attempt in (resolution.best, *resolution.alternatives)
        if _is_allowed(attempt, preferences, registry)
    ]
    best = copies[0] if copies else None
    return replace(resolution, best=best, alternatives=tuple(copies[1:]))


def _is_allowed(attempt: Attempt, preferences: Preferences, registry: Registry) -> bool:
    if not isinstance(attempt.outcome, Closest):
        return False
    holder = _holder(attempt.outcome.memento.uri, registry)
    if holder is None or _is_at_home(attempt.archive, holder, registry):
        return True
    chosen = preferences.archives is None or holder.id in preferences.archives
    return chosen and holder.id not in preferences.exclude


def _holder(uri: str, registry: Registry) -> ArchiveEntry | None:
    """Return the archive that *uri* leads into; None where nobody knows."""
    try:
        return registry.by_id(read_link(uri, registry, Diagnosis()).archive or "")
    except Malformed:
        return None


def _is_at_home(archive: str, holder: ArchiveEntry, registry: Registry) -> bool:
    """Whether *holder* is *archive* itself; at a shared host a link names the first of them."""
    entry = registry.by_id(archive)
    return entry is not None and not set(entry.hosts).isdisjoint(holder.hosts)


def preferences_digest(preferences: Preferences) -> str:
    """Write what was asked of every item, for comparison with another run."""
    archives = sorted(preferences.archives) if preferences.archives is not None else None
    told = [
        archives,
        sorted(preferences.exclude),
        preferences.precision,
        str(preferences.tolerance),
    ]
    return json.dumps([*told, preferences.direction])
