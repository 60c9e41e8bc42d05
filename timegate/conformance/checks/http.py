# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""HTTP, TLS and cross-site access; invalid and impossible dates; response times."""

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
    broken,
    check,
    is_not_held,
    is_own_error,
    judge_each,
    passed,
    reached_mementos,
    readable_timemap,
    require_answer,
    require_no_error,
    require_timegate_itself,
    timegate_facts,
    working_timegate_responses,
)
from timegate.conformance.facts import Facts
from timegate.conformance.parsed_response import MementoLink, ParsedResponse, stamp_of
from timegate.conformance.probes import BAD_DATES, IMPOSSIBLE_DAY, ORIGIN

_TIMEOUTS = ("no connection in time (TCP and TLS)",)
"""Troubles that mention TLS but say nothing about certificates."""
_NOT_CONNECTED = ("its name leads", "leads to")
"""Troubles with addresses that are never connected to (R-1): they say nothing about HTTP."""
_COMPARED = ("memento-datetime", "location", "content-location", "link", "vary")


@check("", "must", "RFC 9112")
def answers_are_sound_http(facts: Facts) -> Finding:
    """Every response is valid HTTP and complete."""
    troubles = [(response, response.exchange.trouble) for response in facts.responses]
    wrong = [
        (response, trouble.why)
        for response, trouble in troubles
        if trouble is not None
        and trouble.kind == "misbehaved"
        and not trouble.why.startswith(_NOT_CONNECTED)
    ]
    if wrong:
        return broken(wrong[0][1], "a complete response", *(response for response, _ in wrong))
    return passed(f"{len(_answered(facts))} responses")


def _answered(facts: Facts) -> list[ParsedResponse]:
    """Return the responses that arrived. Raises Unanswered if there are none."""
    answered = [response for response in facts.responses if response.exchange.status]
    if not answered:
        raise Unanswered("there was no response", *facts.responses[:1])
    return answered


@check("", "practice", "RFC 9110 15.6")
def no_errors_of_its_own(facts: Facts) -> Finding:
    """No request is answered with a 5xx."""
    answered = _answered(facts)
    wrong = [response for response in answered if is_own_error(response)]
    if wrong:
        return broken(f"answers {wrong[0].status}", "a response without an error", *wrong)
    return passed(f"{len(answered)} responses")


@check("M-1", "must", "RFC 9110 9.3.2")
def head_is_get_without_a_body(facts: Facts) -> Finding:
    """HEAD gets the same status and the same Memento headers as GET."""
    pairs = _heads(facts)
    if not pairs:
        raise NotApplicable("nothing was requested with HEAD")
    answered = [pair for pair in pairs if pair.gets and not pair.head.no_answer]
    if not answered:
        raise Unanswered(pairs[0].head.no_answer or "GET is not answered", pairs[0].head)
    for pair in answered:
        if why := pair.difference:
            return broken(why, "the response to GET", pair.gets[0], pair.head)
    if unsure := next((pair for pair in answered if not pair.alike), None):
        why = "the responses differ and are incomplete (Memento-Precision: sources=partial)"
        raise Unanswered(why, unsure.gets[0], unsure.head)
    return passed(f"{len(answered)} pairs", answered[0].head)


class _Head(NamedTuple):
    """A response to HEAD, and one or more responses to the same GET."""

    gets: list[ParsedResponse]
    head: ParsedResponse

    @property
    def alike(self) -> bool:
        return any(not _difference(get, self.head) for get in self.gets)

    @property
    def difference(self) -> str:
        """How HEAD differs from every GET; empty where incomplete responses explain it."""
        if self.alike:
            return ""
        if self.head.status not in {get.status for get in self.gets}:
            return f"{self.head.status} to HEAD, {self.gets[0].status} to GET"
        may_change = any(response.is_partial for response in (*self.gets, self.head))
        return "" if may_change else _difference(self.gets[0], self.head)


def _heads(facts: Facts) -> list[_Head]:
    heads = [_Head([replay.end], replay.head) for replay in facts.replays if replay.head]
    gate = facts.gate
    if gate is not None and gate.head is not None:
        gets = [gate.early, *filter(None, (gate.again,)), *gate.repeats]
        heads.insert(0, _Head(gets, gate.head))
    if gate is not None and gate.head_newest is not None:
        heads.append(_Head([gate.newest], gate.head_newest))
    return [_Head([get for get in pair.gets if not get.no_answer], pair.head) for pair in heads]


def _difference(get: ParsedResponse, head: ParsedResponse) -> str:
    if get.status != head.status:
        return f"{head.status} to HEAD, {get.status} to GET"
    differing = [name for name in _COMPARED if get.field(name) != head.field(name)]
    return f"{differing[0].title()} differs" if differing else ""


@check("M-1", "must", "RFC 9110 9.3.2")
def head_of_a_timemap_is_get_without_a_body(facts: Facts) -> Finding:
    """HEAD on a TimeMap gets the same status and Content-Type as GET."""
    got = readable_timemap(facts).first.response
    head = require_answer(readable_timemap(facts).head, "HEAD of the TimeMap")
    if head.status != got.status:
        return broken(f"answers {head.status}", f"{got.status}", head)
    types = [response.field("content-type") for response in (got, head)]
    if types[0] != types[1]:
        return broken(f"Content-Type: {types[1] or 'missing'}", f"{types[0]}", got, head)
    return passed(f"{head.status}", head)


@check("M-16", "practice", "RFC 9110 15.5.5")
def unknown_page_is_a_404(facts: Facts) -> Finding:
    """The TimeGate answers 404 for a page that was never captured."""
    response = require_no_error(timegate_facts(facts).unknown, "an unknown page")
    require_timegate_itself(facts)
    if response.status in (404, 410):
        return passed(f"{response.status}", response)
    return broken(f"answers {response.status}", "404", response)


@check("A-6", "practice", "Fetch 3.3.3")
def scripts_of_other_sites_may_read(facts: Facts) -> Finding:
    """Scripts of other sites may read the TimeGate's responses, including Link."""
    working_timegate_responses(facts)
    response = require_answer(timegate_facts(facts).newest, "the TimeGate")
    if response.field("access-control-allow-origin") not in ("*", ORIGIN):
        got = response.field("access-control-allow-origin") or "missing"
        return broken(f"Access-Control-Allow-Origin is {got}", "*", response)
    exposed = (response.field("access-control-expose-headers") or "").lower()
    if "link" in exposed or exposed.strip() == "*":
        return passed("readable", response)
    why = f"Access-Control-Expose-Headers is {exposed or 'missing'}"
    return broken(why, "Link, Memento-Datetime, ...", response)


@check("A-6", "practice", "Fetch 4.8")
def scripts_of_other_sites_may_ask_for_a_time(facts: Facts) -> Finding:
    """A preflight request allows scripts of other sites to send Accept-Datetime."""
    working_timegate_responses(facts)
    response = require_answer(timegate_facts(facts).preflight, "a preflight")
    if not 200 <= response.status <= 299:
        return broken(f"OPTIONS is answered with {response.status}", "200 or 204", response)
    allowed = (response.field("access-control-allow-headers") or "").lower()
    origin = response.field("access-control-allow-origin")
    if origin in ("*", ORIGIN) and ("accept-datetime" in allowed or allowed.strip() == "*"):
        return passed("allowed", response)
    why = f"Access-Control-Allow-Headers is {allowed or 'missing'}"
    return broken(why, "Accept-Datetime", response)


@check("", "must", "RFC 9110 4.3.4")
def certificate_is_valid(facts: Facts) -> Finding:
    """The certificate is valid for this host, and TLS is version 1.2 or newer."""
    secure = [response for response in facts.responses if response.url.startswith("https:")]
    if not secure:
        raise NotApplicable("nothing was requested over https")
    for response in secure:
        trouble = response.exchange.trouble
        if trouble is not None and "TLS" in trouble.why and trouble.why not in _TIMEOUTS:
            return broken(trouble.why, "a valid certificate", response)
    if all(response.exchange.status is None for response in secure):
        raise Unanswered(secure[0].no_answer, secure[0])
    return passed("valid", secure[0])


@check("", "practice", "RFC 9325")
def https_is_spoken(facts: Facts) -> Finding:
    """The address of the archive is https."""
    host = urlsplit(facts.subject.url).hostname or ""
    if facts.subject.url.startswith("https:"):
        return passed("https")
    if _is_private(host):
        raise NotApplicable("it has a private address")
    return broken("http", "https")


def _is_private(host: str) -> bool:
    try:
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost" or "." not in host


_PATIENCE = 10.0
"""Seconds; aggregators and browser extensions give up at about this time."""


@check("", "practice", "common timeouts of clients")
def latency_is_told(facts: Facts) -> Finding:
    """Half of the responses arrive within ten seconds; the times are reported."""
    seconds = [response.exchange.seconds for response in _answered(facts)]
    times = f"median {median(seconds):.3f} s, longest {max(seconds):.3f} s"
    told = f"{times}, of {len(seconds)} responses"
    if median(seconds) > _PATIENCE:
        return broken(told, f"a median of at most {_PATIENCE:.0f} s")
    return passed(told)


@check("M-21", "must", "RFC 7089 4.5.4, 4.5.5")
def archived_errors_are_mementos(facts: Facts) -> Finding:
    """An archived redirect or error is replayed as such, also by the TimeGate."""
    ends = reached_mementos(facts)
    direct = [] if facts.gate is None else [r for r in facts.gate.valid if r.datetime]
    archived = [response for response in (*ends, *direct) if response.status >= 300]
    if not archived:
        raise NotApplicable("no memento is a redirect or an error")
    statuses = {end.url: end.status for end in ends}
    for response in direct:
        replayed = statuses.get(response.statement.content_location or "", response.status)
        if response.status != replayed:
            why = f"the TimeGate answers {response.status}, the memento {replayed}"
            return broken(why, "the archived status in both", response, *ends)
    return passed(f"{archived[0].status} with Memento-Datetime", *archived)


_NONSENSE = ("not a date", "hour 25")


@check("M-12", "must", "RFC 7089 4.5.3")
def nonsense_for_a_date_is_a_400(facts: Facts) -> Finding:
    """An Accept-Datetime that is not a date is answered with 400."""
    return _rejected(facts, *_NONSENSE)


@check("M-12", "should", "RFC 7089 2.1.1.1, 4.5.3")
def dates_of_another_form_are_a_400(facts: Facts) -> Finding:
    """An Accept-Datetime with a date in another format than rfc1123-date gets a 400."""
    return _rejected(facts, *(n for n in BAD_DATES if n not in (*_NONSENSE, IMPOSSIBLE_DAY)))


@check("M-12", "practice", "RFC 7089 4.5.3")
def a_day_that_never_was_is_a_400(facts: Facts) -> Finding:
    """An Accept-Datetime of 31 February is answered with 400, not with another day."""
    return _rejected(facts, IMPOSSIBLE_DAY)


def _rejected(facts: Facts, *names: str) -> Finding:
    gate = timegate_facts(facts)
    if not gate.bad_dates:
        raise NotApplicable("requested with the first page only")
    require_timegate_itself(facts)
    # A TimeGate that answers valid dates and fails on invalid ones has not rejected them
    # (LANL's server, 500); without a response nothing is known.
    responses = {name: gate.bad_dates[name] for name in names}
    answered = {
        name: response
        for name, response in responses.items()
        if response.exchange.status and response.status not in (403, 429, 503)
    }
    if not answered:
        raise Unanswered(responses[names[0]].no_answer, responses[names[0]])
    if all(map(is_not_held, (*gate.valid, *answered.values()))):
        raise NotApplicable(f"the TimeGate answers {gate.newest.status} to everything")
    wrong = {name: response for name, response in answered.items() if response.status != 400}
    if not wrong:
        return passed(f"{len(answered)} rejected", *answered.values())
    got = ", ".join(f"{response.status} for {name}" for name, response in wrong.items())
    return broken(got, "400", *wrong.values())


def _dated(facts: Facts) -> Iterator[ParsedResponse]:
    yield from (response for response in facts.responses if response.datetime is not None)


@check("M-2", "must", "RFC 7089 2.1.1.1")
def memento_datetime_is_a_date(facts: Facts) -> Finding:
    """Memento-Datetime is an rfc1123-date, in GMT."""

    def complaint(response: ParsedResponse) -> str | None:
        return None if response.stamp else f"Memento-Datetime: {response.datetime}"

    dated = list(_dated(facts))
    if not dated:
        raise NotApplicable("nothing has a Memento-Datetime")
    return judge_each(dated, complaint, "Www, DD Mmm YYYY hh:mm:ss GMT")


def _stated(facts: Facts) -> Iterator[tuple[ParsedResponse, str]]:
    """Yield every date that a response states for a memento."""
    for response in facts.responses:
        links: tuple[MementoLink, ...] = response.mementos
        yield from (
            (response, date) for date in (response.datetime, *(m.date for m in links)) if date
        )
    if facts.timemap is not None:
        for page in facts.timemap.all_pages:
            yield from ((page.response, link.date) for link in page.mementos if link.date)


@check("M-3", "practice", "RFC 7089 2.1.1.1")
def weekdays_fit(facts: Facts) -> Finding:
    """The weekday in every date matches the date."""
    dates = [(response, date) for response, date in _stated(facts) if stamp_of(date)]
    if not dates:
        raise NotApplicable("nothing has a date")
    wrong = [(s, d) for s, d in dates if http_date(stamp_of(d) or "")[:3] != d[:3]]
    if not wrong:
        return passed(f"{len(dates)} dates")
    return broken(wrong[0][1], http_date(stamp_of(wrong[0][1]) or ""), wrong[0][0])


@check("X-6", "practice", "RFC 7089 2.1.1")
def dates_are_possible(facts: Facts) -> Finding:
    """No memento is dated in the future, or before the web existed."""
    dates = [(response, date) for response, date in _stated(facts) if stamp_of(date)]
    if not dates:
        raise NotApplicable("nothing has a date")
    latest = latest_stamp(lambda: _instant(facts.now))
    wrong = [(s, d) for s, d in dates if not plausible(stamp_of(d) or "", latest)]
    if not wrong:
        return passed(f"{len(dates)} dates")
    return broken(wrong[0][1], "a time between 1990 and now", wrong[0][0])


def _instant(stamp: str) -> datetime:
    return Moment(stamp).window[0].astimezone(UTC)
