# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Dates that come in and dates that go out: RFC 7089 2.1.1 and 4.5.3."""

from collections.abc import Iterator
from datetime import UTC, datetime

from archives.evidence import plausible
from archives.formats.httpdate import http_date
from archives.moment import Moment
from archives.negotiation import latest_stamp
from timegate.conformance.catalogue import check
from timegate.conformance.facts import Facts
from timegate.conformance.finding import (
    Finding,
    NotApplicable,
    Unanswered,
    broken,
    each,
    passed,
)
from timegate.conformance.questions import BAD_DATES, GRAMMATICAL
from timegate.conformance.said import MementoLink, ParsedResponse, stamp_of
from timegate.conformance.sights import check_works, gate_of

_NONSENSE = "no date at all"


@check("M-12", "must", "RFC 7089 4.5.3")
def nonsense_for_a_date_is_a_400(facts: Facts) -> Finding:
    """An Accept-Datetime that is no date at all is answered with 400."""
    return _refused(facts, _NONSENSE)


@check("M-12", "must", "RFC 7089 2.1.1.1, 4.5.3")
def dates_of_another_form_are_a_400(facts: Facts) -> Finding:
    """An Accept-Datetime in any form but rfc1123-date is answered with 400."""
    return _refused(facts, *(n for n in BAD_DATES if n not in (_NONSENSE, GRAMMATICAL)))


@check("M-12", "practice", "RFC 7089 4.5.3")
def a_day_that_never_was_is_a_400(facts: Facts) -> Finding:
    """An Accept-Datetime on 31 February is answered with 400, not with another day."""
    return _refused(facts, GRAMMATICAL)


def _refused(facts: Facts, *names: str) -> Finding:
    gate = gate_of(facts)
    if not gate.bad:
        raise NotApplicable("asked with the first page only")
    check_works(facts)
    # Who answers good dates and has an error of its own for bad ones has not refused them
    # (LANL's server, 500); who is silent has said nothing.
    heard = {n: gate.bad[n] for n in names if gate.bad[n].exchange.status is not None}
    heard = {name: said for name, said in heard.items() if said.status not in (403, 429, 503)}
    if not heard:
        raise Unanswered(gate.bad[names[0]].silence, gate.bad[names[0]])
    wrong = {name: said for name, said in heard.items() if said.status != 400}
    if not wrong:
        return passed(f"{len(heard)} refused", *heard.values())
    got = ", ".join(f"{said.status} for {name}" for name, said in wrong.items())
    return broken(got, "400", *wrong.values())


def _dated(facts: Facts) -> Iterator[ParsedResponse]:
    yield from (said for said in facts.everything if said.datetime is not None)


@check("M-2", "must", "RFC 7089 2.1.1.1")
def memento_datetime_is_a_date(facts: Facts) -> Finding:
    """Memento-Datetime is an rfc1123-date, in GMT."""

    def complaint(said: ParsedResponse) -> str | None:
        return None if said.stamp else f"Memento-Datetime: {said.datetime}"

    dated = list(_dated(facts))
    if not dated:
        raise NotApplicable("nothing has a Memento-Datetime")
    return each(dated, complaint, "Www, DD Mmm YYYY hh:mm:ss GMT")


def _stated(facts: Facts) -> Iterator[tuple[ParsedResponse, str]]:
    """Yield every date that an answer gives a memento."""
    for said in facts.everything:
        links: tuple[MementoLink, ...] = said.mementos
        yield from ((said, date) for date in (said.datetime, *(m.date for m in links)) if date)
    if facts.timemap is not None:
        for page in facts.timemap.documents:
            yield from ((page.said, link.date) for link in page.mementos if link.date)


@check("M-3", "practice", "RFC 7089 2.1.1.1")
def weekdays_fit(facts: Facts) -> Finding:
    """The weekday in every date is the one that day had."""
    dates = [(said, date) for said, date in _stated(facts) if stamp_of(date)]
    if not dates:
        raise NotApplicable("nothing is dated")
    wrong = [(s, d) for s, d in dates if http_date(stamp_of(d) or "")[:3] != d[:3]]
    if not wrong:
        return passed(f"{len(dates)} dates")
    return broken(wrong[0][1], http_date(stamp_of(wrong[0][1]) or ""), wrong[0][0])


@check("X-6", "practice", "RFC 7089 2.1.1")
def dates_are_possible(facts: Facts) -> Finding:
    """No memento is from the future, or from before there was a web."""
    dates = [(said, date) for said, date in _stated(facts) if stamp_of(date)]
    if not dates:
        raise NotApplicable("nothing is dated")
    latest = latest_stamp(lambda: _instant(facts.now))
    wrong = [(s, d) for s, d in dates if not plausible(stamp_of(d) or "", latest)]
    if not wrong:
        return passed(f"{len(dates)} dates")
    return broken(wrong[0][1], "a time between 1990 and now", wrong[0][0])


def _instant(stamp: str) -> datetime:
    return Moment(stamp).window[0].astimezone(UTC)
