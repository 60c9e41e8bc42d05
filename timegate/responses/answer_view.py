"""View of a resolution for people: texts, tones and addresses, ready for a page or a terminal.

All decisions are made by the verdict; neither this module nor the templates make any.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

from archives.errors import ArchiveError
from archives.model import Closest, Memento
from archives.moment import Moment, second_of
from archives.registry import Registry
from timegate.citations import NO_DESCRIPTION, Copy, PageDescription, copy_found
from timegate.citations.forms import LABELS, description_words, pasted_words, reference
from timegate.resolution.exhaustive import LOOKING
from timegate.resolution.model import Attempt, Query, Resolution
from timegate.resolution.preferences import LONGEST_WAIT, parameters_of
from timegate.responses.problems import failure, printable
from timegate.responses.quotes import quote_words
from timegate.responses.referral import Referral, is_demo
from timegate.responses.report import identifier_of, known_mementos, referred
from timegate.text import MONTH_NAMES
from timegate.verdict import Verdict, header_safe, in_words, quoted_location
from timegate.verdict.words import Point, Tone, duration, explained, grade


class SearchLink(NamedTuple):
    """A search, as a link."""

    text: str
    query: str


class CopyView(NamedTuple):
    """A copy in one archive."""

    archive: str
    """The id of the archive."""
    name: str
    uri: str
    captured: str
    """For people."""
    stamp: str
    """RFC 3339."""
    distance: str
    """From the requested time, in words; empty if no time was requested."""


class ArchiveOutcome(NamedTuple):
    """The outcome of querying one archive."""

    name: str
    outcome: str
    """found, absent or unknown."""
    explanation: str
    took: str


class CitationView(NamedTuple):
    """A citation in one form."""

    form: str
    label: str
    text: str


class QuoteView(NamedTuple):
    """A quotation, and whether the copy has it."""

    asked: str
    status: str
    tone: Tone
    words: str
    passage: str
    """The passage as the copy has it."""
    uri: str
    """The address of the passage; empty if no copy has it."""
    copies: tuple[tuple[CopyView, str], ...]
    """The copies that were looked at, with what was seen of each."""


@dataclass(frozen=True, slots=True)
class AnswerView:
    """The view of one resolution."""

    match: str
    """The ``match`` of the header ``Memento-Precision``."""
    tone: Tone
    headline: str
    words: str
    original: str
    asked: str
    """The requested time, for people."""
    copy: CopyView | None
    points: tuple[Point, ...]
    others: tuple[CopyView, ...]
    outcomes: tuple[ArchiveOutcome, ...]
    unanswered: tuple[tuple[str, str], ...]
    """Why archives gave no answer, each reason once, and their names."""
    citations: tuple[CitationView, ...]
    target: str
    """The URL under which archives hold the page, as the end of our own addresses."""
    stamp: str
    """The requested time as digits; empty for the newest copy."""
    start: str
    end: str
    identifier: str
    parameters: str
    """The preferences of the answer as a query string: with them, the JSON is the same."""
    look: str = ""
    """The query string with which the content is looked at; empty if it was."""
    referral: Referral | None = None
    """The unchecked link to the archive that the reference names."""
    next_step: str = ""
    """What the user can do if there is no copy."""
    same_page: "tuple[SearchLink, ...]" = ()
    """Searches for other URLs that may be the same page, if there is no copy."""
    described: PageDescription = NO_DESCRIPTION
    """What the reference says of the page, for citations."""
    said_of_citations: tuple[str, ...] = ()
    """What became of the pasted citation, and what the citations take over from it."""
    cite: str = ""
    """The query string of the page with citations; empty without any."""
    captures: str = ""
    """The path of the list of all captures, at the year of the copy."""
    compared: tuple[CopyView, ...] = ()
    """The copies before and after this one, with which it may be compared."""
    quote: "QuoteView | None" = None
    """The quotation that was looked for."""
    live: str = ""
    """The original, where it is itself the answer; otherwise empty."""
    on_site: tuple[tuple[str, str], ...] = ()
    """Archives in use that were not asked, because they are only read on site; what to do."""
    outside: tuple[tuple[str, str], ...] = ()
    """Archives in use that were not asked because they do not collect such pages; why."""
    is_offline: bool = False
    """Whether this server seems to have no network, so that no archive need be named."""

    def without_copy(
        self, title: str, detail: str, next_step: str, same_page: tuple[SearchLink, ...] = ()
    ) -> "AnswerView":
        """Return the view with the reason why there is no copy."""
        return replace(
            self, headline=title, words=detail, next_step=next_step, same_page=same_page
        )

    def beside(self, registry: Registry, hidden: frozenset[str]) -> "AnswerView":
        """Return the view with the archives on site, without those that are *hidden*."""
        entries = (e for e in registry.used if e.access == "onsite-only")
        named = None if self.referral is None else self.referral.archive
        shown = (e for e in entries if e.id not in hidden and e.id != named)
        return replace(self, on_site=tuple((e.name, e.apply or e.access_note) for e in shown))

    def doubted(self, doubt: str) -> "AnswerView":
        """Return the view; with a *doubt*, as a headline, no copy is "as requested"."""
        if not doubt or self.copy is None:
            return self
        tone: Tone = "fair" if self.tone == "good" else self.tone
        return replace(self, tone=tone, headline=doubt)


def answer_view(
    resolution: Resolution,
    verdict: Verdict,
    registry: Registry,
    described: PageDescription = NO_DESCRIPTION,
) -> AnswerView:
    """Return the view of *resolution*, with what the reference says of the page."""
    query = resolution.query
    graded = grade(verdict, resolution.preferences.status)
    tone = graded.tone
    unchecked = referred(resolution, registry)
    if resolution.memento is None and resolution.unqueried and unchecked and unchecked.uri:
        tone = "fair"  # Nothing is known to be missing, and there is a link to open.
    live = resolution.live.url if verdict.match.value == "live" and resolution.live else ""
    lacking = None if resolution.memento or live else failure(resolution, registry)
    outcomes = tuple(archive_outcomes(resolution.attempts, resolution.unanswered, registry))
    copy = copy_found(resolution, registry, described=described)
    citations = tuple(citation_views(copy))
    return AnswerView(
        match=verdict.match.value,
        tone=tone,
        headline=graded.headline if lacking is None else lacking.title,
        words=in_words(verdict) if lacking is None else lacking.detail,
        next_step="" if lacking is None else lacking.next_step,
        outside=tuple((name_of(s.archive, registry), s.reason) for s in resolution.outside),
        is_offline=lacking is not None and lacking.kind == "no-network",
        original=query.original,
        asked="the newest copy" if query.at is None else spoken(query.at),
        copy=_chosen(resolution, registry),
        live=header_safe(live),
        points=tuple(_with_scheme(point, query, verdict) for point in explained(verdict)),
        others=tuple(_others(resolution, registry)),
        outcomes=outcomes,
        unanswered=tuple(by_explanation([o for o in outcomes if o.outcome == "unknown"])),
        citations=citations,
        described=described,
        said_of_citations=said_of_citations(copy, described, resolution, verdict, registry),
        cite=_cite(citations, copy, described),
        captures=_captures(resolution),
        target=header_safe(_held_as(resolution)),
        stamp="" if query.at is None else query.at.digits[:14],
        start="" if query.at is None else query.at.start,
        end="" if query.at is None else query.at.end,
        identifier=identifier_of(query),
        referral=unchecked,
        compared=tuple(_beside(resolution, registry)),
        quote=_quote(resolution, registry),
        parameters=urlencode(parameters_of(resolution.preferences)),
        look=_look(resolution),
    )


def said_of_citations(
    copy: Copy | None,
    described: PageDescription,
    resolution: Resolution,
    verdict: Verdict,
    registry: Registry,
) -> tuple[str, ...]:
    """Return what became of the pasted citation, and what the citations take over from it."""
    if copy is None:
        return ()
    difference = "" if verdict.match.value == "exact" else in_words(verdict)
    way = ""
    if copy.pasted is not None and copy.pasted.is_unchanged:
        form = "bibtex" if copy.pasted.notation == "bibtex" else "cs1"
        options = f"{' --demo' if is_demo(registry) else ''} --format {form}"
        command = f"timegate resolve{options} --distrust {resolution.query.archive} TEXT"
        way = f"To replace it, on the command line: {command}"
    words = (pasted_words(copy, difference), way, description_words(described))
    return tuple(filter(None, words))


_LONGEST_QUERY: Final = 7_000
"""Octets of a query string. Many proxies refuse request lines of more than 8 kB."""


def _cite(
    citations: Sequence[CitationView], copy: Copy | None, described: PageDescription
) -> str:
    """Return the query string for `/cite` of the copy, with what is known of the page.

    It has the pasted citation, unless that is unchanged or too long.
    """
    if copy is None or not citations:
        return ""
    members = {"id": citations[0].text, "title": described.title}
    members["url-status"] = described.url_status or ""
    members["access-date"] = str(described.accessed or "")
    pasted = copy.pasted
    if pasted is not None and not pasted.is_unchanged:
        whole = urlencode({"id": citations[0].text, "citation": pasted.text})
        if len(whole) <= _LONGEST_QUERY:
            return whole
    return urlencode({name: value for name, value in members.items() if value})


def _with_scheme(point: Point, query: Query, verdict: Verdict) -> Point:
    """Return the point about the URL, also with a difference of http and https.

    The verdict names the rule that matters most, which may be another one.
    """
    uri = verdict.uri
    if point.topic != "URL" or uri is None or uri.value != "variant" or not uri["got"]:
        return point
    schemes = [url.partition(":")[0] for url in (query.original, str(uri["got"]))]
    if uri["rule"] == "scheme" or schemes[0] == schemes[1]:
        return point
    return point._replace(sentence=f"{point.sentence} http and https differ, too.")


def _look(resolution: Resolution) -> str:
    if resolution.memento is None or resolution.comparison is not None:
        return ""
    preferences = resolution.preferences
    # Of a time that the client has stated, only a share is for finding the copy.
    wait = preferences.wait and min(preferences.wait + LOOKING, LONGEST_WAIT)
    looking = replace(preferences, verify="content", wait=wait)
    return urlencode({**parameters_of(looking), "as": "html"})


_QUOTE_TONES: Final[dict[str, Tone]] = {"found": "good", "near": "fair", "elsewhere": "fair"}
_SEEN: Final = {
    "found": "has it",
    "near": "has it nearly",
    "absent": "read whole; does not have it",
}


def _quote(resolution: Resolution, registry: Registry) -> QuoteView | None:
    found = resolution.quote
    if found is None:
        return None
    holder, chosen = found.holder, resolution.memento
    uri = "" if holder is None else holder.address()
    if holder is not None and chosen is not None and holder.memento.uri == chosen.uri:
        uri = quoted_location(resolution, registry) or uri
    at = resolution.query.at
    return QuoteView(
        found.wanted.text,
        found.status,
        _QUOTE_TONES.get(found.status, "poor"),
        quote_words(found, registry),
        "" if holder is None else printable(" ".join(holder.passage.split())),
        uri,
        tuple(
            (
                copy_view(copy.memento, at, registry),
                _SEEN.get(copy.status) or f"not read: {printable(copy.why)}",
            )
            for copy in found.copies
        ),
    )


def _captures(resolution: Resolution) -> str:
    """Return the path of the list of captures, whose calendar opens at the year of the copy."""
    url = _held_as(resolution)
    moment = resolution.memento.captured if resolution.memento else resolution.query.at
    if moment is None:
        return f"/timemap/html/{header_safe(url)}"
    return f"/timemap/html/{quote(url, safe='')}?year={moment.digits[:4]}#calendar"


def _held_as(resolution: Resolution) -> str:
    """Return the URL variant under which archives hold the page, as far as known."""
    best = resolution.best
    return resolution.query.original if best is None else best.original


def spoken(moment: Moment) -> str:
    """Return *moment* for people: ``22 January 2016, 11:20:29 UTC``, as precise as stated."""
    digits = moment.digits
    if len(digits) == 4:
        return digits
    day = f"{MONTH_NAMES[int(digits[4:6]) - 1]} {digits[:4]}"
    if len(digits) > 6:
        day = f"{int(digits[6:8])} {day}"
    if len(digits) <= 8:
        return day
    time = ":".join(filter(None, (digits[8:10], digits[10:12] or "00", digits[12:14])))
    fraction = f".{digits[14:]}" if digits[14:] else ""
    return f"{day}, {time}{fraction} UTC"


def name_of(archive: str, registry: Registry) -> str:
    """Return the name of an archive for people."""
    entry = registry.by_id(archive)
    return archive if entry is None else entry.name


def copy_view(memento: Memento, at: Moment | None, registry: Registry) -> CopyView:
    """Return the view of one copy."""
    return CopyView(
        memento.archive,
        name_of(memento.archive, registry),
        memento.uri,
        spoken(memento.captured),
        str(memento.captured),
        _distance(memento, at),
    )


def _distance(memento: Memento, at: Moment | None) -> str:
    if at is None:
        return ""
    side = at.side_of(memento.stamp)
    if side:
        seconds = abs(int(at.distance(second_of(memento.stamp)).total_seconds()))
        away = duration(seconds) if seconds else "less than a second"
        return f"{away} {'earlier' if side < 0 else 'later'}"
    if not at.covers(memento.stamp):
        return "in the same second"
    return "within the requested time" if len(at.digits) < 14 else "at exactly that time"


def _chosen(resolution: Resolution, registry: Registry) -> CopyView | None:
    memento = resolution.memento
    if memento is None:
        return None
    chosen = copy_view(memento, resolution.query.at, registry)
    return chosen._replace(uri=quoted_location(resolution, registry) or memento.uri)


def _beside(resolution: Resolution, registry: Registry) -> Iterator[CopyView]:
    """Yield the nearest copies that archives named before and after the one that was found."""
    chosen = resolution.memento
    if chosen is None or resolution.extent is not None:
        return
    # Other fields may be None in one of two mementos, and None has no order.
    known = sorted(known_mementos(resolution), key=lambda memento: (memento.stamp, memento.uri))
    second = chosen.stamp[:14]
    before = next((m for m in reversed(known) if m.stamp[:14] < second), None)
    after = next((m for m in known if m.stamp[:14] > second), None)
    for memento in filter(None, (before, after)):
        yield copy_view(memento, resolution.query.at, registry)


def _others(resolution: Resolution, registry: Registry) -> Iterator[CopyView]:
    for attempt in resolution.alternatives:
        if isinstance(attempt.outcome, Closest):
            yield copy_view(attempt.outcome.memento, resolution.query.at, registry)


def archive_outcomes(
    attempts: Sequence[Attempt], unanswered: Sequence[str], registry: Registry
) -> Iterator[ArchiveOutcome]:
    """Yield the outcome of querying each archive, those without an answer last."""
    for attempt in attempts:
        if attempt.variant is None or isinstance(attempt.outcome, ArchiveError):
            outcome, explanation = _outcome(attempt)
            took = "cached" if attempt.age is not None else f"{attempt.seconds:.1f} s"
            name = name_of(attempt.archive, registry)
            yield ArchiveOutcome(name, outcome, explanation, took)
    answered = {attempt.archive for attempt in attempts}
    for archive in unanswered:
        if archive not in answered:
            yield ArchiveOutcome(name_of(archive, registry), "unknown", "no answer in time", "")


def by_explanation(outcomes: Sequence[ArchiveOutcome]) -> Iterator[tuple[str, str]]:
    """Yield each explanation once, with the names of the archives that it concerns."""
    names: dict[str, list[str]] = {}
    for outcome in outcomes:
        names.setdefault(outcome.explanation, []).append(outcome.name)
    for explanation, named in names.items():
        yield explanation, ", ".join(named)


def _outcome(attempt: Attempt) -> tuple[str, str]:
    outcome = attempt.outcome
    if outcome is None:
        return "absent", "has no copy of this URL"
    if isinstance(outcome, ArchiveError):
        return "unknown", printable(outcome.why[:300])
    doubts = "; ".join(outcome.doubts)
    found = f"has a copy from {spoken(outcome.memento.captured)}"
    return "found", printable(f"{found}, in doubt: {doubts}" if doubts else found)


def citation_views(copy: Copy | None) -> Iterator[CitationView]:
    """Yield the citations of *copy* in all forms that can express it."""
    if copy is None:
        return
    for form, label in LABELS.items():
        if form == "pasted" and copy.pasted and copy.pasted.notation != "prose":
            # In wikitext and BibTeX, it is what these forms are.
            continue
        text = reference(form, copy)
        if text is not None:
            yield CitationView(form, label, text)
