# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""What only a few requests meet: extreme dates, no date, single mementos, no TimeMap."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from timegate.misbehave.answers import PLAIN, VARY, timegate_to
from timegate.misbehave.faults.fault import FaultContext, fault
from timegate.misbehave.faults.linking import OTHER
from timegate.misbehave.indexes import (
    link_body,
    link_header,
    original_link,
    service_links,
    timemap_links,
)
from timegate.misbehave.site import (
    PageQuestion,
    ReplayQuestion,
    TimeGateQuestion,
    TimeMapQuestion,
    UnknownQuestion,
    http_date,
    read_question,
)
from timegate.misbehave.wire import WholeAnswer

_1990: Final = datetime(1990, 1, 1, tzinfo=UTC)
_SOME_TIME: Final = datetime(2011, 5, 5, 5, 5, 5, tzinfo=UTC)
_TIMEMAP_LINK: Final = re.compile(r'(?:, )?<[^>]*+>; rel="timemap"; type="[^"]*+"')
_COPY: Final = "/copy/"
_VIA: Final = "/via/"
_REPLAY: Final = "/web/"
_ALL: Final = (TimeGateQuestion, ReplayQuestion)


def _is_held(exchange: FaultContext) -> bool:
    return bool(exchange.site.holdings.of(exchange.original))


def _only_original(exchange: FaultContext) -> tuple[str, str]:
    return "Link", link_header([original_link(exchange.original)])


def _refusal(exchange: FaultContext) -> WholeAnswer:
    fields = (VARY, _only_original(exchange), PLAIN)
    return WholeAnswer(400, fields, b"this date is not accepted\n")


def _linking(exchange: FaultContext, written: str, instead: str) -> WholeAnswer:
    """Replace *written* in the Link header."""
    value = exchange.correct.value("Link")
    if value is None:
        return exchange.correct
    return exchange.correct.having("Link", value.replace(written, instead))


@fault(TimeGateQuestion)
def future_refused(exchange: FaultContext) -> WholeAnswer:
    """Dates in the future are answered with 400."""
    at = exchange.accept_datetime
    late = at is not None and at > datetime.now(UTC)
    return _refusal(exchange) if late and _is_held(exchange) else exchange.correct


@fault(TimeGateQuestion)
def past_refused(exchange: FaultContext) -> WholeAnswer:
    """Dates before 1990 are answered with 400."""
    at = exchange.accept_datetime
    early = at is not None and at < _1990
    return _refusal(exchange) if early and _is_held(exchange) else exchange.correct


@fault(TimeGateQuestion)
def head_without_date_bare(exchange: FaultContext) -> WholeAnswer:
    """HEAD without Accept-Datetime has neither Vary nor Link."""
    request = exchange.request
    if request.method != "HEAD" or request.values("Accept-Datetime"):
        return exchange.correct
    return exchange.correct.without("Vary").without("Link")


def _undated(exchange: FaultContext, answer: WholeAnswer) -> WholeAnswer:
    """Answer with *answer* where no date is requested of a page that is held."""
    asked = exchange.request.values("Accept-Datetime")
    return exchange.correct if asked or not _is_held(exchange) else answer


@fault(TimeGateQuestion)
def no_date_live(exchange: FaultContext) -> WholeAnswer:
    """Without Accept-Datetime the TimeGate redirects to the live page."""
    live = replace(exchange.correct, status=302).having("Location", exchange.original)
    return _undated(exchange, live.without("Memento-Datetime").without("Content-Location"))


@fault(TimeGateQuestion)
def no_date_calendar(exchange: FaultContext) -> WholeAnswer:
    """Without Accept-Datetime the TimeGate answers with a page that is no memento."""
    page = replace(exchange.correct, status=200, body=b"<p>calendar</p>")
    for name in ("Location", "Memento-Datetime", "Content-Location"):
        page = page.without(name)
    return _undated(exchange, page)


@fault(TimeGateQuestion)
def content_location_self(exchange: FaultContext) -> WholeAnswer:
    """The Content-Location of the TimeGate is the TimeGate."""
    if exchange.correct.value("Content-Location") is None:
        return exchange.correct
    own = exchange.site.addresses.timegate(exchange.original)
    return exchange.correct.having("Content-Location", own)


@fault(TimeGateQuestion, UnknownQuestion)
def addresses_unlisted(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate leads to other addresses of the mementos than the TimeMap lists."""
    target = exchange.request.target
    if target.startswith(_COPY):
        asked = read_question(target.replace(_COPY, _REPLAY, 1), exchange.site.addresses)
        return exchange.about(asked).correct
    location = exchange.correct.value("Location")
    if location is None:
        return exchange.correct
    changed = exchange.correct.having("Location", location.replace(_REPLAY, _COPY, 1))
    page = exchange.original
    links = [original_link(page), *service_links(exchange.site, page)]
    return changed.having("Link", link_header(links))


@fault(*_ALL)
def first_link_dead(exchange: FaultContext) -> WholeAnswer:
    """The link to the first memento leads to an address that is a 404."""
    held = exchange.site.holdings.of(exchange.original)
    if not held:
        return exchange.correct
    at = exchange.site.addresses.memento(held[0])
    return _linking(exchange, f"<{at}>", f"<{at.replace(_REPLAY, '/gone/', 1)}>")


@fault(ReplayQuestion)
def memento_is_its_timegate(exchange: FaultContext) -> WholeAnswer:
    """Mementos link themselves as their TimeGate."""
    at = exchange.site.addresses
    written = f'<{at.timegate(exchange.original)}>; rel="timegate"'
    return _linking(exchange, written, f'<{at.base}{exchange.request.target}>; rel="timegate"')


@fault(ReplayQuestion)
def others_crash(exchange: FaultContext) -> WholeAnswer:
    """The second and the third memento are a 500; the first, last and chosen are not."""
    held = [capture.stamp for capture in exchange.site.holdings.of(exchange.original)]
    question = exchange.question
    between = isinstance(question, ReplayQuestion) and question.stamp in held[1:3]
    return WholeAnswer(500, (PLAIN,), b"error\n") if between else exchange.correct


def _spelled(exchange: FaultContext, other: str) -> WholeAnswer:
    """Write the original in the Link header as *other*."""
    written = f'<{exchange.original}>; rel="original"'
    return _linking(exchange, written, f'<{other}>; rel="original"')


@fault(*_ALL)
def original_one_slash(exchange: FaultContext) -> WholeAnswer:
    """The original link has one slash after its scheme: a proxy merged two."""
    return _spelled(exchange, exchange.original.replace("://", ":/", 1))


@fault(ReplayQuestion)
def original_by_ftp(exchange: FaultContext) -> WholeAnswer:
    """The original link of mementos has another scheme than http and https."""
    return _spelled(exchange, exchange.original.replace("http:", "ftp:", 1))


@fault(TimeGateQuestion)
def link_target_not_ascii(exchange: FaultContext) -> WholeAnswer:
    """The Link header of the TimeGate has a target with characters that no URI has."""
    value = exchange.correct.value("Link")
    if value is None:
        return exchange.correct
    more = '<http://x.example/caf\u00e9>; rel="help"'
    return exchange.correct.having("Link", f"{value}, {more}")


@fault(TimeGateQuestion)
def moved_with_other_original(exchange: FaultContext) -> WholeAnswer:
    """A redirect to the TimeGate comes first, with a link to another original."""
    question = exchange.question
    if not isinstance(question, TimeGateQuestion) or question.hop:
        return exchange.correct
    target = exchange.site.addresses.hop(1, exchange.original)
    links = link_header([original_link(OTHER)])
    return WholeAnswer(301, (("Location", target), ("Link", links)))


@fault(TimeMapQuestion)
def list_two_dates(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap lists one memento twice, with two datetimes."""
    question = exchange.question
    if not isinstance(question, TimeMapQuestion) or question.form != "link":
        return exchange.correct
    if exchange.correct.status != 200:
        return exchange.correct
    links = timemap_links(exchange.site, question)
    dated = [each for each in links if "memento" in each.relations]
    again = dated[1].having("datetime", http_date(_SOME_TIME))
    return replace(exchange.correct, body=link_body([*links, again]))


@fault(TimeMapQuestion)
def list_crashes(_exchange: FaultContext) -> WholeAnswer:
    """Every TimeMap is a 500."""
    return WholeAnswer(500, (PLAIN,), b"error\n")


@fault(PageQuestion)
def page_timegate_gone(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate that an original links is a 404."""
    at = exchange.site.addresses
    gone = f"<{at.base}/gone/{exchange.original}>"
    return _linking(exchange, f"<{at.timegate(exchange.original)}>", gone)


@fault(PageQuestion)
def page_gone(exchange: FaultContext) -> WholeAnswer:
    """No fault: an original that is gone (404) still links its TimeGate."""
    return replace(exchange.correct, status=404, body=b"gone")


@fault(PageQuestion)
def page_forbidden(exchange: FaultContext) -> WholeAnswer:
    """No fault: an original that may not be read (403) still links its TimeGate."""
    return replace(exchange.correct, status=403, body=b"forbidden")


@fault(PageQuestion)
def page_unavailable(exchange: FaultContext) -> WholeAnswer:
    """No fault: an original that is down (503) still links its TimeGate."""
    return replace(exchange.correct, status=503, body=b"later")


@fault(*_ALL)
def header_with_empty_elements(exchange: FaultContext) -> WholeAnswer:
    """No fault: the Link header has empty list elements, which recipients accept."""
    value = exchange.correct.value("Link")
    return (
        exchange.correct if value is None else exchange.correct.having("Link", f", ,{value}, ,")
    )


@fault(*_ALL, TimeMapQuestion, PageQuestion)
def without_timemap(exchange: FaultContext) -> WholeAnswer:
    """No fault: there is no TimeMap, and nothing links one."""
    if isinstance(exchange.question, TimeMapQuestion):
        return WholeAnswer(404, (PLAIN,), b"no TimeMap here\n")
    value = exchange.correct.value("Link")
    if value is None:
        return exchange.correct
    return exchange.correct.having("Link", _TIMEMAP_LINK.sub("", value))


@fault(TimeGateQuestion, UnknownQuestion)
def by_intermediate(exchange: FaultContext) -> WholeAnswer:
    """No fault: the TimeGate redirects to a resource that redirects to the memento."""
    target, base = exchange.request.target, exchange.site.addresses.base
    if target.startswith(_VIA):
        to = target.replace(_VIA, _REPLAY, 1)
        page = to.partition(_REPLAY)[2].partition("/")[2]
        links = ("Link", link_header([original_link(page)]))
        return WholeAnswer(302, (("Location", f"{base}{to}"), links))
    location = exchange.correct.value("Location")
    if location is None or exchange.correct.value("Memento-Datetime") is not None:
        return exchange.correct
    return exchange.correct.having("Location", location.replace(_REPLAY, _VIA, 1))


@fault(TimeGateQuestion)
def looks_ahead(exchange: FaultContext) -> WholeAnswer:
    """No fault: of the captures since the requested time the first is chosen, else the last."""
    held, at = exchange.site.holdings.of(exchange.original), exchange.accept_datetime
    if not held or at is None or exchange.correct.status == 400:
        return exchange.correct
    chosen = next((capture for capture in held if capture.at >= at), held[-1])
    return timegate_to(exchange.site, chosen)
