# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Links that name another page or lead nowhere; bytes that change; misleading caching."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Final

from timegate.misbehave.answers import VARY
from timegate.misbehave.faults.fault import FaultContext, fault
from timegate.misbehave.indexes import FakeLink, link, link_body, original_link, timemap_links
from timegate.misbehave.site import (
    PageQuestion,
    ReplayQuestion,
    TimeGateQuestion,
    TimeMapQuestion,
    http_date,
    read_http_date,
)
from timegate.misbehave.wire import WholeAnswer

OTHER: Final = "http://other.example/"
FOREIGN: Final = "http://elsewhere.example/timemap/link/"
_GONE: Final = "/gone/"
_numbers: Final = count(1)
"""Counts the answers that are made different on purpose."""
DO_NOT_NEGOTIATE: Final = '<http://mementoweb.org/terms/donotnegotiate>; rel="type"'


def _header(exchange: FaultContext, change: Callable[[str], str]) -> WholeAnswer:
    value = exchange.correct.value("Link")
    return exchange.correct if value is None else exchange.correct.having("Link", change(value))


def _listed(exchange: FaultContext, change: Callable[[FakeLink], FakeLink]) -> WholeAnswer:
    question = exchange.question
    if not isinstance(question, TimeMapQuestion) or question.form != "link":
        return exchange.correct
    if exchange.correct.status != 200:
        return exchange.correct
    links = [change(each) for each in timemap_links(exchange.site, question)]
    return replace(exchange.correct, body=link_body(links))


def _moved(relation: str, target: Callable[[str], str]) -> Callable[[FakeLink], FakeLink]:
    """Return a change that gives links with *relation* another target."""

    def change(each: FakeLink) -> FakeLink:
        fits = relation in each.relations
        return replace(each, target=target(each.target)) if fits else each

    return change


def _to_gone(exchange: FaultContext) -> Callable[[str], str]:
    base = exchange.site.addresses.base
    return lambda target: base + _GONE + target.removeprefix(base).lstrip("/")


def _of_other(exchange: FaultContext) -> Callable[[str], str]:
    return lambda target: target.replace(exchange.original, OTHER)


def _redirected(
    exchange: FaultContext, relation: str, target: Callable[[str], str]
) -> WholeAnswer:
    """Change the target of the link with *relation* in the header."""
    at, page = exchange.site.addresses, exchange.original
    address = at.timegate(page) if relation == "timegate" else at.timemap("link", page)
    written = f'<{address}>; rel="{relation}"'
    wrong = f'<{target(address)}>; rel="{relation}"'
    return _header(exchange, lambda value: value.replace(written, wrong))


@fault(TimeMapQuestion)
def list_other_original(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap names another page as its original."""
    return _listed(exchange, _moved("original", lambda _: OTHER))


@fault(TimeMapQuestion)
def list_self_foreign(exchange: FaultContext) -> WholeAnswer:
    """The self link of the TimeMap leads to another host."""
    return _listed(exchange, _moved("self", lambda _: FOREIGN + exchange.original))


@fault(TimeMapQuestion)
def list_self_of_other(exchange: FaultContext) -> WholeAnswer:
    """The self link of the TimeMap is the TimeMap of another page."""
    return _listed(exchange, _moved("self", _of_other(exchange)))


@fault(TimeMapQuestion)
def list_timegate_gone(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate that the TimeMap lists is a 404."""
    return _listed(exchange, _moved("timegate", _to_gone(exchange)))


@fault(TimeMapQuestion)
def list_timegate_of_other(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap lists the TimeGate of another page."""
    return _listed(exchange, _moved("timegate", _of_other(exchange)))


@fault(TimeGateQuestion)
def timemap_gone(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap that the TimeGate links is a 404."""
    return _redirected(exchange, "timemap", _to_gone(exchange))


@fault(TimeGateQuestion)
def timemap_of_other(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate links the TimeMap of another page."""
    return _redirected(exchange, "timemap", _of_other(exchange))


@fault(ReplayQuestion)
def memento_timegate_gone(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate that mementos link is a 404."""
    return _redirected(exchange, "timegate", _to_gone(exchange))


@fault(ReplayQuestion)
def memento_timegate_of_other(exchange: FaultContext) -> WholeAnswer:
    """Mementos link the TimeGate of another page."""
    return _redirected(exchange, "timegate", _of_other(exchange))


@fault(ReplayQuestion)
def memento_timemap_gone(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap that mementos link is a 404."""
    return _redirected(exchange, "timemap", _to_gone(exchange))


@fault(ReplayQuestion)
def memento_links_misdated(exchange: FaultContext) -> WholeAnswer:
    """In the links of mementos, the datetime of the first memento is a year too early."""
    held = exchange.site.holdings.of(exchange.original)
    if not held:
        return exchange.correct
    right, wrong = held[0].at, held[0].at.replace(year=held[0].at.year - 1)
    return _header(exchange, lambda v: v.replace(http_date(right), http_date(wrong)))


@fault(ReplayQuestion)
def memento_links_undated(exchange: FaultContext) -> WholeAnswer:
    """Links of mementos to other mementos have no datetime."""
    return _header(exchange, lambda v: v.replace("; datetime=", "; was="))


@fault(ReplayQuestion)
def license_is_a_phrase(exchange: FaultContext) -> WholeAnswer:
    """The license of a memento is a phrase instead of a URI."""
    dated = "; datetime="
    return _header(exchange, lambda v: v.replace(dated, f'; license="all rights"{dated}'))


@fault(TimeGateQuestion)
def link_header_unbalanced(exchange: FaultContext) -> WholeAnswer:
    """The Link header of the TimeGate ends with a quote that is never closed."""
    return _header(exchange, lambda v: f'{v}, <http://x.example/>; rel="help')


@fault(ReplayQuestion)
def link_header_bare(exchange: FaultContext) -> WholeAnswer:
    """The Link header of mementos has a URL without angle brackets."""
    return _header(exchange, lambda v: f"{v}, http://x.example/; rel=help")


@fault(TimeMapQuestion)
def list_bounds_unreadable(exchange: FaultContext) -> WholeAnswer:
    """The from and until of the TimeMap are years instead of dates."""

    def change(each: FakeLink) -> FakeLink:
        return each.having("from", "2010").having("until", "2020")

    return _listed(exchange, change)


@fault(TimeMapQuestion)
def index_bounds_wrong(exchange: FaultContext) -> WholeAnswer:
    """The links to the pages of a TimeMap have an until before their mementos."""

    def change(each: FakeLink) -> FakeLink:
        early = "Sat, 01 Jan 2000 00:00:00 GMT"
        return each.having("until", early) if "timemap" in each.relations else each

    return _listed(exchange, change)


@fault(TimeMapQuestion)
def list_head_typed_otherwise(exchange: FaultContext) -> WholeAnswer:
    """HEAD on a TimeMap has another Content-Type than GET."""
    head = exchange.request.method == "HEAD"
    return exchange.correct.having("Content-Type", "text/html") if head else exchange.correct


@fault(ReplayQuestion)
def bytes_change(exchange: FaultContext) -> WholeAnswer:
    """Mementos have other bytes each time."""
    more = f"<!-- {next(_numbers)} -->".encode()
    return replace(exchange.correct, body=exchange.correct.body + more)


@fault(ReplayQuestion)
def datetime_drifts(exchange: FaultContext) -> WholeAnswer:
    """The year in the Memento-Datetime of a raw view is another one each time."""
    at = read_http_date(exchange.correct.value("Memento-Datetime") or "")
    question = exchange.question
    if at is None or not isinstance(question, ReplayQuestion) or not question.modifier:
        return exchange.correct
    drifted = at.replace(year=at.year - 1 - next(_numbers) % 2)
    return exchange.correct.having("Memento-Datetime", http_date(drifted))


@fault(TimeMapQuestion)
def list_has_another_page(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap has the address of another page's memento instead of its second one."""
    held = exchange.site.holdings.of(exchange.original)
    if len(held) < 3:
        return exchange.correct
    right = exchange.site.addresses.memento(held[1])
    wrong = exchange.site.addresses.memento(replace(held[1], original=OTHER))
    return _listed(exchange, _moved("memento", lambda uri: wrong if uri == right else uri))


@fault(TimeMapQuestion)
def list_of_nothing(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap lists no memento, though the TimeGate leads to some."""
    question = exchange.question
    if not isinstance(question, TimeMapQuestion) or question.form != "link":
        return exchange.correct
    if exchange.correct.status != 200:
        return exchange.correct
    links = timemap_links(exchange.site, question)
    return replace(
        exchange.correct, body=link_body([e for e in links if "memento" not in e.relations])
    )


@fault(TimeGateQuestion)
def mementos_of_other(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate links mementos of another page, at the right times."""
    page = exchange.original
    addresses = [
        exchange.site.addresses.memento(each) for each in exchange.site.holdings.of(page)
    ]

    def change(value: str) -> str:
        for address in addresses:
            value = value.replace(f"<{address}>", f"<{address.replace(page, OTHER)}>")
        return value

    return _header(exchange, change)


@fault(TimeGateQuestion)
def outside_is_406(exchange: FaultContext) -> WholeAnswer:
    """A time before the first or after the last memento is answered with 406."""
    held, at = exchange.site.holdings.of(exchange.original), exchange.accept_datetime
    if not held or at is None or held[0].at <= at <= held[-1].at:
        return exchange.correct
    return replace(exchange.correct, status=406).without("Location")


@fault(TimeGateQuestion)
def redirect_hostless(exchange: FaultContext) -> WholeAnswer:
    """The Location of the TimeGate is an address without a host."""
    redirects = exchange.correct.status == 302
    return exchange.correct.having("Location", "http://") if redirects else exchange.correct


@fault(TimeGateQuestion)
def answer_redated(exchange: FaultContext) -> WholeAnswer:
    """A TimeGate that responds with a memento gives it the requested time."""
    at = exchange.accept_datetime
    if at is None or exchange.correct.value("Memento-Datetime") is None:
        return exchange.correct
    return exchange.correct.having("Memento-Datetime", http_date(at))


@fault(TimeGateQuestion)
def redirect_immutable(exchange: FaultContext) -> WholeAnswer:
    """The responses of the TimeGate are marked immutable, for a year."""
    return exchange.correct.having("Cache-Control", "public, max-age=31536000, immutable")


@fault(TimeGateQuestion)
def cached_without_vary(exchange: FaultContext) -> WholeAnswer:
    """Caches may keep the responses of the TimeGate for an hour, and there is no Vary."""
    return exchange.correct.without("Vary").having("Cache-Control", "public, max-age=3600")


@fault(TimeGateQuestion)
def negotiates_and_does_not(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate declares that it is not to be negotiated."""
    return _header(exchange, lambda value: f"{value}, {DO_NOT_NEGOTIATE}")


@fault(TimeGateQuestion)
def redirect_to_live(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate redirects to the page on the live web."""
    redirects = exchange.correct.status == 302
    return (
        exchange.correct.having("Location", exchange.original)
        if redirects
        else exchange.correct
    )


@fault(TimeGateQuestion)
def moved_without_original(exchange: FaultContext) -> WholeAnswer:
    """A redirect to the TimeGate comes first, without a link to the original."""
    question = exchange.question
    if not isinstance(question, TimeGateQuestion) or question.hop:
        return exchange.correct
    return WholeAnswer(301, (("Location", exchange.site.addresses.hop(1, exchange.original)),))


@fault(ReplayQuestion)
def inexact_varies(exchange: FaultContext) -> WholeAnswer:
    """Redirects from an inexact to the exact address of a memento have Vary."""
    redirects = exchange.correct.value("Memento-Datetime") is None
    return exchange.correct.having(*VARY) if redirects else exchange.correct


@fault(TimeGateQuestion, ReplayQuestion)
def errors_as_200(exchange: FaultContext) -> WholeAnswer:
    """Every capture is a 404; mementos at their own addresses replay it as a 200."""
    archived = [replace(each, status=404) for each in exchange.site.holdings.everything()]
    answer = exchange.holding(*archived).correct
    is_replay = isinstance(exchange.question, ReplayQuestion)
    return replace(answer, status=200) if is_replay and answer.status == 404 else answer


@fault(PageQuestion, TimeGateQuestion)
def page_unlinked(exchange: FaultContext) -> WholeAnswer:
    """The original links neither to its TimeGate nor to its TimeMap."""
    is_page = isinstance(exchange.question, PageQuestion)
    return exchange.correct.without("Link") if is_page else exchange.correct


@fault(PageQuestion)
def page_with_original(exchange: FaultContext) -> WholeAnswer:
    """An original that is no memento links to itself as the original."""
    written = original_link(exchange.original)
    return _header(exchange, lambda value: f"{value}, {written}")


@fault(PageQuestion)
def page_timemap_gone(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap that an original links is a 404."""
    return _redirected(exchange, "timemap", _to_gone(exchange))


@fault(PageQuestion)
def page_timemap_of_other(exchange: FaultContext) -> WholeAnswer:
    """An original links the TimeMap of another page."""
    return _redirected(exchange, "timemap", _of_other(exchange))


@fault(PageQuestion)
def fixed_bytes_change(exchange: FaultContext) -> WholeAnswer:
    """A page that claims to be fixed has other bytes each time."""
    more = f"<!-- {next(_numbers)} -->".encode()
    return replace(exchange.correct, body=exchange.correct.body + more)


@fault(PageQuestion)
def html_links_differ(exchange: FaultContext) -> WholeAnswer:
    """The link element of an original names another TimeGate than its Link header."""
    element = f'<link rel="timegate" href="{FOREIGN}">'
    return replace(exchange.correct, body=element.encode() + exchange.correct.body)


@fault(PageQuestion)
def fixed_other_original(exchange: FaultContext) -> WholeAnswer:
    """A fixed page links to another page as its original."""
    written, other = str(original_link(exchange.original)), str(original_link(OTHER))
    return _header(exchange, lambda value: value.replace(written, other))


def foreign_timegate() -> FakeLink:
    """Return a link to the TimeGate of an aggregator, which is not this archive's."""
    return link("http://aggregator.example/timegate/http://example.org/", "timegate")
