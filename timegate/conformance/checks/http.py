# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""The ground that Memento stands on: HTTP, TLS, other sites' scripts, and how long it takes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from archives.evidence import plausible
from archives.formats.httpdate import http_date
from archives.moment import Moment
from archives.negotiation import latest_stamp
from timegate.conformance.catalogue import (
    Finding,
    NotApplicable,
    Unanswered,
    answered,
    broken,
    check,
    check_works,
    each,
    gate_answers,
    gate_of,
    mementos,
    passed,
    timemap_of,
)
from timegate.conformance.facts import Facts
from timegate.conformance.parsed_response import MementoLink, ParsedResponse, stamp_of
from timegate.conformance.questions import BAD_DATES, GRAMMATICAL, ORIGIN

_OURS = ("no connection in time (TCP and TLS)",)
"""Silence, which says nothing about certificates."""
_NOT_GONE = ("its name leads", "leads to")
"""Addresses that we do not connect to (R1), which says nothing about answers."""
_COMPARED = ("memento-datetime", "location", "content-location", "link", "vary")


@check("", "must", "RFC 9112")
def answers_are_sound_http(facts: Facts) -> Finding:
    """Every answer is HTTP that can be read to its end."""
    heard = [said for said in facts.everything if said.exchange.status is not None]
    troubles = [(said, said.exchange.trouble) for said in facts.everything]
    wrong = [
        (said, trouble.why)
        for said, trouble in troubles
        if trouble is not None
        and trouble.kind == "misbehaved"
        and not trouble.why.startswith(_NOT_GONE)
    ]
    if wrong:
        return broken(wrong[0][1], "a whole answer", *(said for said, _ in wrong))
    if not heard:
        raise Unanswered("nothing was answered", *facts.everything[:1])
    return passed(f"{len(heard)} answers")


@check("", "practice", "RFC 9110 15.6")
def no_errors_of_its_own(facts: Facts) -> Finding:
    """No question is answered with a 5xx."""
    heard = [said for said in facts.everything if said.exchange.status is not None]
    if not heard:
        raise Unanswered("nothing was answered", *facts.everything[:1])
    # 503 is how an archive asks to be left alone; that is no error.
    wrong = [s for s in heard if s.status >= 500 and s.status != 503 and s.datetime is None]
    if wrong:
        return broken(f"answers {wrong[0].status}", "an answer", *wrong)
    return passed(f"{len(heard)} answers")


@check("M-1", "must", "RFC 9110 9.3.2")
def head_is_get_without_a_body(facts: Facts) -> Finding:
    """HEAD is answered as GET is: the same status, the same Memento headers."""
    asked = _heads(facts)
    if not asked:
        raise NotApplicable("nothing was asked for with HEAD")
    heard = [pair for pair in asked if pair.gets and not pair.head.silence]
    if not heard:
        raise Unanswered(asked[0].head.silence or "GET is not answered", asked[0].head)
    for pair in heard:
        if why := pair.difference:
            return broken(why, "what GET answers", pair.gets[0], pair.head)
    if unsure := next((pair for pair in heard if not pair.alike), None):
        why = "no two answers are whole (Memento-Precision: sources=partial), and they differ"
        raise Unanswered(why, unsure.gets[0], unsure.head)
    return passed(f"{len(heard)} pairs", heard[0].head)


class _Head(NamedTuple):
    """An answer to HEAD, and those to GET, of which there may be several."""

    gets: list[ParsedResponse]
    head: ParsedResponse

    @property
    def alike(self) -> bool:
        return any(not _difference(get, self.head) for get in self.gets)

    @property
    def difference(self) -> str:
        """In what HEAD differs from every GET; empty where that may be by chance."""
        if self.alike:
            return ""
        if self.head.status not in {get.status for get in self.gets}:
            return f"{self.head.status} to HEAD, {self.gets[0].status} to GET"
        may_change = any(said.is_partial for said in (*self.gets, self.head))
        return "" if may_change else _difference(self.gets[0], self.head)


def _heads(facts: Facts) -> list[_Head]:
    heads = [_Head([replay.end], replay.head) for replay in facts.replays if replay.head]
    gate = facts.gate
    if gate is not None and gate.head is not None:
        gets = [gate.early, *filter(None, (gate.again,)), *gate.later]
        heads.insert(0, _Head(gets, gate.head))
    return [_Head([get for get in pair.gets if not get.silence], pair.head) for pair in heads]


def _difference(get: ParsedResponse, head: ParsedResponse) -> str:
    if get.status != head.status:
        return f"{head.status} to HEAD, {get.status} to GET"
    differing = [name for name in _COMPARED if get.field(name) != head.field(name)]
    return f"{differing[0].title()} differs" if differing else ""


@check("M-1", "must", "RFC 9110 9.3.2")
def head_of_a_timemap_is_get_without_a_body(facts: Facts) -> Finding:
    """HEAD on a TimeMap has the status of GET."""
    timemap = timemap_of(facts)
    head = answered(timemap.head, "HEAD of the TimeMap")
    if head.status == timemap.first.said.status:
        return passed(f"{head.status}", head)
    return broken(f"answers {head.status}", f"{timemap.first.said.status}", head)


@check("M-16", "practice", "RFC 9110 15.5.5")
def unknown_page_is_a_404(facts: Facts) -> Finding:
    """The TimeGate answers 404 for a page that was never captured."""
    said = answered(gate_of(facts).unknown, "an unknown page")
    check_works(facts)
    if said.status == 404:
        return passed("404", said)
    return broken(f"answers {said.status}", "404", said)


@check("A-6", "practice", "Fetch 3.3.3")
def scripts_of_other_sites_may_read(facts: Facts) -> Finding:
    """Scripts of other sites may read what the TimeGate answers, Link and date included."""
    gate_answers(facts)
    said = answered(gate_of(facts).newest, "the TimeGate")
    if said.field("access-control-allow-origin") not in ("*", ORIGIN):
        got = said.field("access-control-allow-origin") or "missing"
        return broken(f"Access-Control-Allow-Origin is {got}", "*", said)
    exposed = (said.field("access-control-expose-headers") or "").lower()
    if "link" in exposed or exposed.strip() == "*":
        return passed("they may", said)
    why = f"Access-Control-Expose-Headers is {exposed or 'missing'}"
    return broken(why, "Link, Memento-Datetime, ...", said)


@check("A-6", "practice", "Fetch 4.8")
def scripts_of_other_sites_may_ask_for_a_time(facts: Facts) -> Finding:
    """A preflight allows scripts of other sites to send Accept-Datetime."""
    gate_answers(facts)
    said = answered(gate_of(facts).preflight, "a preflight")
    if not 200 <= said.status <= 299:
        return broken(f"OPTIONS is answered with {said.status}", "200 or 204", said)
    allowed = (said.field("access-control-allow-headers") or "").lower()
    origin = said.field("access-control-allow-origin")
    if origin in ("*", ORIGIN) and ("accept-datetime" in allowed or allowed.strip() == "*"):
        return passed("it does", said)
    why = f"Access-Control-Allow-Headers is {allowed or 'missing'}"
    return broken(why, "Accept-Datetime", said)


@check("", "must", "RFC 9110 4.3.4")
def certificate_is_valid(facts: Facts) -> Finding:
    """The certificate is valid, for this host, and TLS is not older than 1.2."""
    secure = [said for said in facts.everything if said.url.startswith("https:")]
    if not secure:
        raise NotApplicable("nothing was asked over https")
    for said in secure:
        trouble = said.exchange.trouble
        if trouble is not None and "TLS" in trouble.why and trouble.why not in _OURS:
            return broken(trouble.why, "a valid certificate", said)
    if all(said.exchange.status is None for said in secure):
        raise Unanswered(secure[0].silence, secure[0])
    return passed("valid", secure[0])


@check("", "practice", "RFC 9325")
def https_is_spoken(facts: Facts) -> Finding:
    """The archive is asked over https."""
    host = urlsplit(facts.subject.url).hostname or ""
    if facts.subject.url.startswith("https:"):
        return passed("https")
    if _is_at_home(host):
        raise NotApplicable("at a private address")
    return broken("http", "https")


def _is_at_home(host: str) -> bool:
    try:
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host


@check("", "practice", "none: only told")
def latency_is_told(facts: Facts) -> Finding:
    """How long answers take; there is no verdict on it."""
    seconds = [s.exchange.seconds for s in facts.everything if s.exchange.status is not None]
    if not seconds:
        raise Unanswered("nothing was answered", *facts.everything[:1])
    told = f"median {median(seconds):.3f} s, longest {max(seconds):.3f} s"
    return passed(f"{told}, of {len(seconds)} answers")


@check("M-21", "practice", "RFC 7089 4.5.4, 4.5.5")
def archived_errors_are_mementos(facts: Facts) -> Finding:
    """An archived redirect or error is replayed as such, and says when it was archived."""
    odd = [said for said in mementos(facts) if said.status >= 300]
    if not odd:
        raise NotApplicable("no memento here is of a redirect or an error")
    return passed(f"{odd[0].status} with Memento-Datetime", *odd)


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
