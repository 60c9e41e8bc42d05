"""Items of a list and their results: what a reference asks for, and how well it was met."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from archives.diagnostics import Diagnosis, Malformed
from archives.model import ArchiveEntry, Closest
from archives.moment import Moment
from archives.registry import Registry
from archives.replay_links import read_link
from archives.uri import host_of
from timegate.content.fragments import read_quote
from timegate.identifiers import parse
from timegate.references import BadInput as BadInput  # noqa: PLC0414 -- part of it
from timegate.references import Item as Item  # noqa: PLC0414 -- part of it
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.query import NotNegotiable, of_cited_copy, query_for
from timegate.verdict import Verdict, satisfies
from timegate.verdict.words import DOUBTED, archived_status, grade, is_beyond_doubt

Json = dict[str, object]
Code = Literal[0, 1, 2, 3, 4]
"""As exit codes: 0 as asked, 1 less than asked, 2 refused, 3 absent, 4 unknown."""


Requirement = Literal["content", "quote"]
"""What the copy of a rewritten link must have."""
ReadTime = Callable[[str], Moment | None]


class Candidate(NamedTuple):
    """One query that an item may stand for."""

    query: Query
    date: str | None
    """The date of the item that it uses; None if the reference has its own time, or none."""


def candidates(item: Item, registry: Registry, read_time: ReadTime) -> list[Candidate]:
    """Return the queries that *item* may stand for, in order of preference.

    Raises ValueError if neither a reference nor a date can be read.
    """
    query = _query(item, registry)
    is_dated = query.at is None and item.dates
    found = _dated(query, item, read_time) if is_dated else [Candidate(query, None)]
    return [
        each._replace(query=of_cited_copy(each.query, item.references, registry))
        for each in found
    ]


def _query(item: Item, registry: Registry) -> Query:
    """Return the query of the first reference that can be resolved.

    Short links of archive.today cannot: they do not contain the original URL.
    """
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
            yield Candidate(query.dated(at), date)
    if not seen:
        raise complaints[0]


@dataclass(frozen=True, slots=True)
class ItemResult:
    """The result of resolving an item."""

    item: Item
    outcome: str
    """The match of the verdict; ``redirect`` or ``error`` for a copy of one; or ``absent``,
    ``unknown``, ``refused``."""
    code: Code
    final: bool
    """Whether the result is final; otherwise the item is resolved again in the second pass."""
    date: str | None
    """The date of the item that was used."""
    why: str
    report: Mapping[str, object] | None

    @property
    def memento(self) -> Mapping[str, object] | None:
        """The memento: its uri, archive and datetime."""
        return _mapping(self.report, "memento")

    @property
    def referral(self) -> str | None:
        """The unchecked link to the copy in the archive that the reference names."""
        uri = (_mapping(self.report, "referral") or {}).get("uri")
        return uri if isinstance(uri, str) else None

    @property
    def unchecked_archive(self) -> str | None:
        """The ID of the archive that the reference names, if it may have the copy; else None.

        It was not queried, or did not answer, or not for the copy; it is not closed for good.
        """
        referral = _mapping(self.report, "referral")
        if referral is not None:
            return None if referral.get("cause") == "defunct" else str(referral.get("archive"))
        host = host_of(self.item.references[0])
        checks = (self.report or {}).get("checks")
        for check in checks if isinstance(checks, list) else ():
            if check.get("outcome") == "unknown" and host_of(str(check.get("uri"))) == host:
                return str(check.get("archive"))
        return None

    @property
    def delta(self) -> int | None:
        """Seconds from the requested time to the memento; None if either is missing."""
        delta = (_mapping(self.report, "time") or {}).get("delta")
        return delta if isinstance(delta, int) else None

    @property
    def sufficient_tolerance(self) -> str:
        """The `--tolerance` with which the copy is as asked; empty if none makes it so."""
        time, delta = _mapping(self.report, "time") or {}, self.delta
        is_distant = self.outcome in ("approximate", "substitute") and not self.item.doubt
        is_certain = all(self._value(name) in allowed for name, allowed in _CERTAIN.items())
        if not (delta and is_distant and is_certain) or time.get("doubt") is not None:
            return ""
        return f"{-(-abs(delta) // 86_400)}d"

    def _value(self, member: str) -> object:
        return (_mapping(self.report, member) or {}).get("value")

    @property
    def is_of_no_time(self) -> bool:
        """Whether no time was asked for: it is the newest memento."""
        return (_mapping(self.report, "time") or {}).get("value") == "latest"

    @property
    def unsure(self) -> bool:
        """Whether an archive that did not answer may hold a better memento."""
        sources = _mapping(self.report, "sources") or {}
        # Resolving again does not help where only the named archive was not queried.
        again = bool(sources.get("failed")) or not sources.get("unasked")
        return self.code in (1, 4) and sources.get("value") == "partial" and again

    @property
    def comparison(self) -> str | None:
        """Whether it is the same page: the value, and its class if it is no usual page."""
        found = _mapping(self.report, "comparison") or {}
        value, page_class = found.get("value"), found.get("class")
        if not isinstance(value, str):
            return None
        return f"{value} {page_class}" if isinstance(page_class, str) else value

    @property
    def is_same_page(self) -> bool:
        """Whether the copy was compared with others around it, and is the same page."""
        return self.comparison in _SAME_PAGE

    @property
    def is_in_doubt(self) -> bool:
        """Whether the copy seems to be another page, or is not known to have the quotation."""
        compared = self.comparison or ""
        is_other = compared.startswith("changed") or " " in compared
        return is_other or self.quote not in (None, "found")

    @property
    def quote(self) -> str | None:
        """Whether the copy has the quotation: ``found``, ``near``, ``absent`` ..."""
        status = (_mapping(self.report, "quote") or {}).get("status")
        return status if isinstance(status, str) else None

    @property
    def pwid(self) -> str | None:
        """The PWID of the memento."""
        pwid = (_mapping(self.report, "cite") or {}).get("pwid")
        return pwid if isinstance(pwid, str) else None


_CERTAIN: Final = {
    "uri": ("same", "normalized"),
    "coverage": ("as-requested", "upgraded"),
    "evidence": ("delivered", "held"),
}
"""Values of the verdict on a copy that is the page beyond doubt."""
_SAME_PAGE: Final = ("same-around", "similar-around")


def quoting(preferences: Preferences, item: Item) -> Preferences:
    """Return *preferences* with the quotation of *item*, if it has one that can be used."""
    wanted = read_quote(item.quote) if preferences.verify != "none" else None
    return preferences if wanted is None else replace(preferences, quote=wanted)


def _mapping(report: Mapping[str, object] | None, name: str) -> Mapping[str, object] | None:
    value = (report or {}).get(name)
    return value if isinstance(value, dict) else None


def code_of(resolution: Resolution, judged: Verdict) -> Code:
    """Return how *resolution* compares with what was asked for.

    A copy in another archive than the named one is as good, unless the preferences demand the
    named archive: lists are often resolved to replace links into an archive that is gone.
    """
    if resolution.live is not None and resolution.live.answers:
        return 0
    if resolution.memento is None:
        # If no archive could be queried, none has said that there is no copy; nor has the
        # archive that the reference names, if it was not queried.
        answered = resolution.complete and resolution.attempts
        return 3 if answered and resolution.unqueried is None else 4
    if not satisfies(resolution, judged):
        return 1
    preferences = resolution.preferences
    met = grade(judged, preferences.status).meets or _is_close_enough(judged, preferences)
    return 0 if met else 1


def _is_close_enough(judged: Verdict, preferences: Preferences) -> bool:
    """Whether the copy is the same page beyond doubt, and the client accepts its distance."""
    lenient = preferences.tolerance is not None or preferences.precision == "day"
    is_page = preferences.status == "any" or archived_status(judged) is None
    return lenient and is_beyond_doubt(judged) and is_page


def result_of(
    item: Item,
    resolution: Resolution,
    judged: Verdict,
    date: str | None,
    report: Callable[[Resolution, Verdict], Json],
) -> ItemResult:
    """Return the result of *item* from its *resolution*."""
    code = code_of(resolution, judged)
    if item.doubt and code == 0:
        # Another date may be meant: no copy is certainly as asked.
        code = 1
    details = report(resolution, judged)
    if item.doubt and resolution.memento:
        details |= {"headline": DOUBTED}
    outcome = _outcome(resolution, judged) if resolution.memento else _NOTHING[code]
    why = str(details["words"])
    if resolution.memento is None and resolution.failed:
        why = f"nothing found; no answer from {', '.join(resolution.failed)}"
    elif not resolution.attempts:
        why = "nothing found: no archive could be queried"
    if item.said:
        why = f"{why} ({item.said})"
    # An archive that did not answer may hold a better copy.
    final = code == 0 or resolution.complete
    return ItemResult(item, outcome, code, final, date, why, details)


def _outcome(resolution: Resolution, judged: Verdict) -> str:
    """Return the match; a copy that is no page is called what it is, as in the headline."""
    archived = archived_status(judged)
    if archived is None or grade(judged, resolution.preferences.status).meets:
        return judged.match.value
    return "redirect" if 300 <= archived <= 399 else "error"


_NOTHING: Final[Mapping[Code, str]] = {3: "absent", 4: "unknown"}


def refused_result(item: Item, error: ValueError) -> ItemResult:
    """Return the result of an item that cannot be resolved."""
    # A valid identifier for which no archive can be queried is not known to be absent.
    code: Code = 4 if isinstance(error, NotNegotiable) else 2
    if code == 2:
        return ItemResult(
            item, "refused", 2, final=True, date=None, why=str(error), report=None
        )
    # The date at which the page is to be searched for, once its URL is known.
    date = item.dates[0] if item.dates else None
    why = f"{error} ({item.said})" if date and item.said else str(error)
    return ItemResult(item, "unknown", 4, final=True, date=date, why=why, report=None)


def failed_result(item: Item, error: Exception) -> ItemResult:
    """Return the result after an internal error; the item is resolved once more."""
    why = f"an internal error occurred ({type(error).__name__})"
    return ItemResult(item, "unknown", 4, final=False, date=None, why=why, report=None)


def better(one: ItemResult | None, other: ItemResult) -> ItemResult:
    """Return the result that is closer to what was asked; *one* if they are equal."""
    return other if one is None or _rank(other) < _rank(one) else one


def _rank(result: ItemResult) -> tuple[int, int]:
    # 4 before 3: as long as one query is unknown, the item is not absent.
    order = {0: 0, 1: 1, 4: 2, 3: 3, 2: 4}
    return order[result.code], abs(result.delta or 0)


def to_line(result: ItemResult) -> bytes:
    """Return *result* as a line of JSON."""
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
                **({"also": item.also} if item.also else {}),
                **({"quote": item.quote} if item.quote else {}),
                **({"said": item.said, "doubt": item.doubt} if item.said else {}),
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
        members = json.loads(line)
        item = Item(
            members["position"],
            members["input"],
            tuple(members["references"]),
            tuple(members["dates"]),
            also=tuple(members.get("also", ())),
            said=members.get("said", ""),
            doubt=members.get("doubt", False),
            quote=members.get("quote", ""),
        )
        if item.key != members["key"]:
            raise ValueError("the line was altered")
        return ItemResult(
            item,
            *(
                members["outcome"],
                members["code"],
                members["final"],
                members["date"],
                members["why"],
            ),
            members["report"],
        )
    except (KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError("not a line of a journal") from error


def trusted(resolution: Resolution, registry: Registry) -> Resolution:
    """Return *resolution* with only the copies in archives that its preferences allow."""
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
    if holder is None or _is_same_archive(attempt.archive, holder, registry):
        return True
    return preferences.allow(holder.id)


def _holder(uri: str, registry: Registry) -> ArchiveEntry | None:
    """Return the archive that *uri* leads into; None if it is not known."""
    try:
        return registry.by_id(read_link(uri, registry, Diagnosis()).archive or "")
    except Malformed:
        return None


def _is_same_archive(archive: str, holder: ArchiveEntry, registry: Registry) -> bool:
    """Whether *holder* is *archive*; of archives on a shared host, a link names the first."""
    entry = registry.by_id(archive)
    return entry is not None and not set(entry.hosts).isdisjoint(holder.hosts)


def preferences_digest(preferences: Preferences) -> str:
    """Return *preferences* as text, to compare them with those of another run."""
    archives = sorted(preferences.archives) if preferences.archives is not None else None
    members = [
        archives,
        sorted(preferences.exclude),
        preferences.precision,
        str(preferences.tolerance),
    ]
    return json.dumps([*members, preferences.direction, preferences.verify, preferences.status])
