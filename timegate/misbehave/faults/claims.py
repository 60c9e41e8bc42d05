# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""False claims: wrong dates, wrong choices, archived errors, and wrong links."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from timegate.misbehave.answers import timegate_to
from timegate.misbehave.faults.fault import FaultContext, fault
from timegate.misbehave.indexes import link, link_header, original_link, service_links
from timegate.misbehave.site import (
    Addresses,
    FakeCapture,
    ReplayQuestion,
    TimeGateQuestion,
    TimeMapQuestion,
    distance,
    http_date,
    read_http_date,
    read_stamp,
    stamp,
)
from timegate.misbehave.wire import WholeAnswer

_DATETIME: Final = re.compile(r'; datetime="[^"]*+"')
_DAY: Final = timedelta(days=1)


def _redated(answer: WholeAnswer, date: str | None) -> WholeAnswer:
    """Replace the date of every memento in *answer* by *date*; None removes them."""
    written = "" if date is None else f'; datetime="{date}"'
    body = answer.body
    if answer.value("Content-Type") == "application/link-format":
        body = _DATETIME.sub(written, body.decode()).encode()
    changed = replace(answer, body=body)
    if (link := changed.value("Link")) is not None:
        changed = changed.having("Link", _DATETIME.sub(written, link))
    if changed.value("Memento-Datetime") is None:
        return changed
    if date is None:
        return changed.without("Memento-Datetime")
    return changed.having("Memento-Datetime", date)


@fault(TimeGateQuestion, ReplayQuestion)
def datetime_missing(exchange: FaultContext) -> WholeAnswer:
    """Memento-Datetime is missing, and no link has a datetime."""
    return _redated(exchange.correct, None)


@fault(TimeGateQuestion, ReplayQuestion)
def datetime_wrong(exchange: FaultContext) -> WholeAnswer:
    """Memento-Datetime is a year too early; links and URI-M are correct."""
    stated = read_http_date(exchange.correct.value("Memento-Datetime") or "")
    if stated is None:
        return exchange.correct
    return exchange.correct.having("Memento-Datetime", http_date(stated - 365 * _DAY))


@fault(TimeGateQuestion, TimeMapQuestion, ReplayQuestion)
def datetime_future(exchange: FaultContext) -> WholeAnswer:
    """Every date is in the year 2150."""
    return _redated(exchange.correct, "Thu, 01 Jan 2150 00:00:00 GMT")


@fault(TimeGateQuestion, TimeMapQuestion, ReplayQuestion)
def datetime_ancient(exchange: FaultContext) -> WholeAnswer:
    """Every date is in the year 1901, before the web existed."""
    return _redated(exchange.correct, "Tue, 01 Jan 1901 00:00:00 GMT")


@fault(TimeGateQuestion, TimeMapQuestion, ReplayQuestion)
def datetime_unparsable(exchange: FaultContext) -> WholeAnswer:
    """Every date is a phrase that cannot be parsed."""
    return _redated(exchange.correct, "sometime in 2013")


@dataclass(frozen=True, slots=True)
class _OneDayLate(Addresses):
    def memento(self, capture: FakeCapture, modifier: str = "") -> str:
        later = replace(capture, at=capture.at + _DAY)
        return f"{self.base}/web/{later.stamp}{modifier}/{capture.original}"


@fault(TimeGateQuestion, TimeMapQuestion, ReplayQuestion)
def stamp_differs(exchange: FaultContext) -> WholeAnswer:
    """The digits in every URI-M are one day later than its date."""
    question = exchange.question
    at = read_stamp(question.stamp) if isinstance(question, ReplayQuestion) else None
    if isinstance(question, ReplayQuestion) and at is not None:
        question = replace(question, stamp=stamp(at - _DAY))
    late = _OneDayLate(exchange.site.addresses.base)
    site = replace(exchange.site, addresses=late)
    return replace(exchange.about(question), site=site).correct


@fault(TimeGateQuestion)
def echo_asked(exchange: FaultContext) -> WholeAnswer:
    """The requested time is returned as the capture time."""
    requested, chosen = exchange.accept_datetime, exchange.chosen
    if requested is None or chosen is None:
        return exchange.correct
    true, claimed = http_date(chosen.at), http_date(requested)
    fields = ((name, value.replace(true, claimed)) for name, value in exchange.correct.headers)
    return replace(exchange.correct, headers=tuple(fields))


@fault(TimeGateQuestion)
def wrong_closest(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate chooses the capture farthest from the requested time."""
    held, requested = exchange.site.holdings.of(exchange.original), exchange.accept_datetime
    if not held or exchange.correct.status == 400:
        return exchange.correct
    at = requested or held[-1].at
    return timegate_to(exchange.site, max(held, key=lambda capture: distance(capture, at)))


def _timegate_choosing(
    exchange: FaultContext, choose: Callable[[list[FakeCapture], datetime], FakeCapture]
) -> WholeAnswer:
    """Answer with the capture that *choose* takes of those held, by the requested time."""
    held = exchange.site.holdings.of(exchange.original)
    if not held or exchange.correct.status == 400:
        return exchange.correct
    at = exchange.accept_datetime or held[-1].at
    return timegate_to(exchange.site, choose(held, at))


@fault(TimeGateQuestion)
def looks_back(exchange: FaultContext) -> WholeAnswer:
    """No fault: of the captures until the requested time the last is chosen, else the first."""

    def choose(held: list[FakeCapture], at: datetime) -> FakeCapture:
        return next((capture for capture in reversed(held) if capture.at <= at), held[0])

    return _timegate_choosing(exchange, choose)


@fault(TimeGateQuestion)
def always_newest(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate chooses the newest capture, whichever time is requested."""
    return _timegate_choosing(exchange, lambda held, _: held[-1])


@fault(TimeGateQuestion)
def always_oldest(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate chooses the oldest capture, whichever time is requested."""
    return _timegate_choosing(exchange, lambda held, _: held[0])


@fault(TimeGateQuestion)
def second_nearest(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate chooses the second nearest capture, and links its true neighbours."""

    def choose(held: list[FakeCapture], at: datetime) -> FakeCapture:
        return sorted(held, key=lambda capture: distance(capture, at))[:2][-1]

    return _timegate_choosing(exchange, choose)


@fault(TimeGateQuestion)
def false_next(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate links, as next, a memento one second after the requested time; none is."""
    requested, chosen = exchange.accept_datetime, exchange.chosen
    if requested is None or chosen is None:
        return exchange.correct
    false = replace(chosen, at=requested + timedelta(seconds=1))
    date = {"datetime": http_date(false.at)}
    added = link(exchange.site.addresses.memento(false), "next memento", **date)
    return _relinked(exchange, lambda value: f"{_without_next(value)}, {added}")


def _without_next(value: str) -> str:
    return value.replace('rel="next memento"', 'rel="memento"').replace('rel="next ', 'rel="')


@fault(TimeGateQuestion)
def promises_everything(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate redirects to a memento of every page at the requested second."""
    at = exchange.accept_datetime
    if at is None:
        return exchange.correct
    return exchange.holding(FakeCapture(exchange.original, at)).correct


@fault(TimeGateQuestion)
def location_wrong(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate redirects to the oldest memento, with the links of the one it chose."""
    held = exchange.site.holdings.of(exchange.original)
    if exchange.correct.status != 302 or not held:
        return exchange.correct
    return exchange.correct.having("Location", exchange.site.addresses.memento(held[0]))


@fault(TimeGateQuestion)
def content_location_wrong(exchange: FaultContext) -> WholeAnswer:
    """A TimeGate that answers with the memento states the oldest one in Content-Location."""
    held = exchange.site.holdings.of(exchange.original)
    if exchange.correct.value("Content-Location") is None or not held:
        return exchange.correct
    oldest = exchange.site.addresses.memento(held[0])
    return exchange.correct.having("Content-Location", oldest)


@fault(ReplayQuestion)
def memento_redated(exchange: FaultContext) -> WholeAnswer:
    """Mementos state that they were captured on 1 January 2017."""
    if exchange.correct.value("Memento-Datetime") is None:
        return exchange.correct
    return exchange.correct.having("Memento-Datetime", "Sun, 01 Jan 2017 00:00:00 GMT")


@fault(ReplayQuestion)
def memento_other_original(exchange: FaultContext) -> WholeAnswer:
    """Mementos link to another page as the original."""
    written = str(original_link(exchange.original))
    other = str(original_link("http://other.example/"))
    return _relinked(exchange, lambda value: value.replace(written, other))


@fault(ReplayQuestion)
def frame_repeats(exchange: FaultContext) -> WholeAnswer:
    """Replay repeats the digits of its address as the date, held or not; raw views are right.

    pywb's frame does that.
    """
    question = exchange.question
    at = read_stamp(question.stamp) if isinstance(question, ReplayQuestion) else None
    if not isinstance(question, ReplayQuestion) or question.modifier or at is None:
        return exchange.correct
    return exchange.holding(FakeCapture(exchange.original, at)).correct


@fault(TimeGateQuestion, ReplayQuestion)
def first_last_chosen(exchange: FaultContext) -> WholeAnswer:
    """The first and last links lead to the chosen capture (like LANL's server)."""
    link, chosen = exchange.correct.value("Link"), _shown_capture(exchange)
    if link is None or chosen is None:
        return exchange.correct
    target = exchange.site.addresses.memento(chosen)
    bent = re.sub(r'<[^>]*+>(?=; rel="(?:first|last) )', f"<{target}>", link)
    return exchange.correct.having("Link", bent)


def _shown_capture(exchange: FaultContext) -> FakeCapture | None:
    if isinstance(exchange.question, ReplayQuestion):
        at = read_stamp(exchange.question.stamp)
        return exchange.site.holdings.closest(exchange.original, at)
    return exchange.chosen


@fault(TimeGateQuestion, TimeMapQuestion, ReplayQuestion)
def claims_everything(exchange: FaultContext) -> WholeAnswer:
    """Every page is held, captured at whichever second is requested."""
    at = read_stamp(exchange.requested_stamp() or "2013")
    if at is None:
        return exchange.correct
    return exchange.holding(FakeCapture(exchange.original, at)).correct


def _archived(exchange: FaultContext, status: int, location: str | None = None) -> WholeAnswer:
    held = exchange.site.holdings.everything()
    changed = [replace(capture, status=status, location=location) for capture in held]
    return exchange.holding(*changed).correct


@fault(TimeGateQuestion, ReplayQuestion)
def archived_301(exchange: FaultContext) -> WholeAnswer:
    """No fault: every capture is a redirect, and is replayed as one."""
    return _archived(exchange, 301, "http://example.org/moved")


@fault(TimeGateQuestion, ReplayQuestion)
def archived_404(exchange: FaultContext) -> WholeAnswer:
    """No fault: every capture is a 404, and is replayed as one."""
    return _archived(exchange, 404)


@fault(TimeGateQuestion, ReplayQuestion)
def archived_429(exchange: FaultContext) -> WholeAnswer:
    """No fault: every capture is a 429, and is replayed as one."""
    return _archived(exchange, 429)


_PREV_OR_NEXT: Final = re.compile(r'(?<=[" ])(?:prev|next)(?=[ "])')
_SWAPPED: Final = {"prev": "next", "next": "prev"}


def _relinked(exchange: FaultContext, change: Callable[[str], str]) -> WholeAnswer:
    """Change the value of Link, if there is one."""
    value = exchange.correct.value("Link")
    if value is None:
        return exchange.correct
    return exchange.correct.having("Link", change(value).strip(", "))


@fault(TimeGateQuestion)
def two_originals(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate links to the original twice."""
    written = str(original_link(exchange.original))
    return _relinked(exchange, lambda value: f"{value}, {written}")


@fault(TimeGateQuestion)
def no_original(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate does not link to the original."""
    written = str(original_link(exchange.original))
    return _relinked(exchange, lambda value: value.replace(written, ""))


@fault(ReplayQuestion)
def memento_no_original(exchange: FaultContext) -> WholeAnswer:
    """Mementos do not link to the original."""
    written = str(original_link(exchange.original))
    return _relinked(exchange, lambda value: value.replace(written, ""))


@fault(TimeGateQuestion)
def other_original(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate links to another page as the original."""
    written = str(original_link(exchange.original))
    other = str(original_link("http://other.example/"))
    return _relinked(exchange, lambda value: value.replace(written, other))


@fault(TimeGateQuestion)
def no_timemap_type(exchange: FaultContext) -> WholeAnswer:
    """Links to TimeMaps do not state a type."""
    typed = '; type="application/link-format"'
    return _relinked(exchange, lambda value: value.replace(typed, ""))


@fault(TimeGateQuestion)
def chosen_unlinked(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate links only to the first memento, whichever it chose."""
    held = exchange.site.holdings.of(exchange.original)
    if exchange.correct.status != 302 or not held:
        return exchange.correct
    at, original = exchange.site.addresses, exchange.original
    dated = {"datetime": http_date(held[0].at)}
    timemap = link(at.timemap("link", original), "timemap", type="application/link-format")
    first = link(at.memento(held[0]), "first memento", **dated)
    return exchange.correct.having(
        "Link", link_header([original_link(original), timemap, first])
    )


@fault(ReplayQuestion)
def memento_alone(exchange: FaultContext) -> WholeAnswer:
    """Mementos link to their original and nothing else."""
    only = link_header([original_link(exchange.original)])
    return exchange.correct.having("Link", only)


@fault(TimeGateQuestion)
def no_timemap(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate does not link to a TimeMap."""
    _, timemap = service_links(exchange.site, exchange.original)
    return _relinked(exchange, lambda value: value.replace(f", {timemap}", ""))


@fault(TimeGateQuestion, ReplayQuestion)
def prev_next_swapped(exchange: FaultContext) -> WholeAnswer:
    """The prev link leads to the next memento, and the next link to the previous one."""
    return _relinked(
        exchange, lambda value: _PREV_OR_NEXT.sub(lambda found: _SWAPPED[found[0]], value)
    )
