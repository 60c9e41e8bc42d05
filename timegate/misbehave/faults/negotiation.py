# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""TimeGates and mementos that break one rule of RFC 7089 each; bad redirects."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from timegate.misbehave.answers import PLAIN, VARY, timegate_to, without_cors
from timegate.misbehave.faults.fault import EVERYTHING, Fault, FaultContext, fault
from timegate.misbehave.indexes import link_header, original_link, service_links
from timegate.misbehave.site import (
    FakeCapture,
    ReplayQuestion,
    TimeGateQuestion,
    http_date,
    read_stamp,
)
from timegate.misbehave.wire import Authority, WholeAnswer

_REFUSALS: Final = (400, 404)
_seen_requests: Final[set[tuple[object, ...]]] = set()
"""The requests that `unstable` has seen."""
_REMEMBERED: Final = 1000


@fault(TimeGateQuestion)
def vary_missing(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate has no Vary."""
    return exchange.correct.without("Vary")


@fault(TimeGateQuestion)
def vary_other(exchange: FaultContext) -> WholeAnswer:
    """The Vary of the TimeGate names only accept-language."""
    return exchange.correct.having("Vary", "accept-language")


@fault(ReplayQuestion)
def memento_varies(exchange: FaultContext) -> WholeAnswer:
    """Mementos have Vary: accept-datetime, like TimeGates."""
    return exchange.correct.having("Vary", "accept-encoding, Accept-Datetime")


@fault(TimeGateQuestion)
def redirect_307(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate redirects with 307 (like pywb)."""
    answer = exchange.correct
    return replace(answer, status=307) if answer.status == 302 else answer


@fault(TimeGateQuestion)
def datetime_on_redirect(exchange: FaultContext) -> WholeAnswer:
    """The redirect of the TimeGate has a Memento-Datetime."""
    chosen = exchange.chosen
    if exchange.correct.status != 302 or chosen is None:
        return exchange.correct
    return exchange.correct.having("Memento-Datetime", http_date(chosen.at))


@fault(TimeGateQuestion)
def newest_ignored(exchange: FaultContext) -> WholeAnswer:
    """Without Accept-Datetime the TimeGate chooses the oldest memento."""
    held = exchange.site.holdings.of(exchange.original)
    requested = exchange.request.values("Accept-Datetime")
    return exchange.correct if requested or not held else timegate_to(exchange.site, held[0])


def _outside(
    exchange: FaultContext, is_outside: Callable[[datetime, list[FakeCapture]], bool]
) -> WholeAnswer:
    held, requested = exchange.site.holdings.of(exchange.original), exchange.accept_datetime
    if not held or requested is None or not is_outside(requested, held):
        return exchange.correct
    links = exchange.correct.value("Link") or ""
    return WholeAnswer(
        404, (("Vary", "accept-datetime"), ("Link", links), PLAIN), b"not then\n"
    )


@fault(TimeGateQuestion)
def holds_nothing(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate answers 404 for every page (like a national archive for months)."""
    return exchange.holding().correct


@fault(TimeGateQuestion)
def before_first_404(exchange: FaultContext) -> WholeAnswer:
    """Times before the first memento are answered with 404."""
    return _outside(exchange, lambda requested, held: requested < held[0].at)


@fault(TimeGateQuestion)
def after_last_404(exchange: FaultContext) -> WholeAnswer:
    """Times after the last memento are answered with 404."""
    return _outside(exchange, lambda requested, held: requested > held[-1].at)


@fault(TimeGateQuestion)
def bad_date_ignored(exchange: FaultContext) -> WholeAnswer:
    """An invalid Accept-Datetime is ignored: the newest memento is chosen."""
    held = exchange.site.holdings.of(exchange.original)
    if exchange.correct.status != 400 or not held:
        return exchange.correct
    return timegate_to(exchange.site, held[-1])


@fault(TimeGateQuestion)
def bad_date_500(exchange: FaultContext) -> WholeAnswer:
    """An invalid Accept-Datetime causes a 500 (like LANL's server)."""
    return WholeAnswer(500, (PLAIN,)) if exchange.correct.status == 400 else exchange.correct


@fault(TimeGateQuestion)
def bare_refusals(exchange: FaultContext) -> WholeAnswer:
    """A 400 or 404 has neither Vary nor Link (like pywb)."""
    if exchange.correct.status not in _REFUSALS:
        return exchange.correct
    return exchange.correct.without("Vary").without("Link")


@fault(TimeGateQuestion)
def dated_refusals(exchange: FaultContext) -> WholeAnswer:
    """A 400 or 404 has a Memento-Datetime, like an archived error."""
    if exchange.correct.status not in _REFUSALS:
        return exchange.correct
    return exchange.correct.having("Memento-Datetime", "Sat, 15 Jun 2013 08:30:00 GMT")


@fault(TimeGateQuestion)
def unstable(exchange: FaultContext) -> WholeAnswer:
    """A repeated request gets the oldest memento."""
    question = (exchange.site.addresses.base, exchange.request)
    held = exchange.site.holdings.of(exchange.original)
    if question in _seen_requests and exchange.correct.status == 302 and held:
        return timegate_to(exchange.site, held[0])
    if len(_seen_requests) >= _REMEMBERED:
        _seen_requests.clear()
    _seen_requests.add(question)
    return exchange.correct


@fault(TimeGateQuestion, ReplayQuestion)
def head_405(exchange: FaultContext) -> WholeAnswer:
    """HEAD is answered with 405."""
    if exchange.request.method != "HEAD":
        return exchange.correct
    return WholeAnswer(405, (("Allow", "GET"),))


@fault(ReplayQuestion)
def head_undated(exchange: FaultContext) -> WholeAnswer:
    """Mementos have a Memento-Datetime for GET, but not for HEAD."""
    if exchange.request.method != "HEAD":
        return exchange.correct
    return exchange.correct.without("Memento-Datetime")


@fault(ReplayQuestion)
def raw_another(exchange: FaultContext) -> WholeAnswer:
    """The raw view of every memento is that of the first one."""
    question, held = exchange.question, exchange.site.holdings.of(exchange.original)
    if not isinstance(question, ReplayQuestion) or not question.modifier or not held:
        return exchange.correct
    return exchange.about(replace(question, stamp=held[0].stamp)).correct


@fault(ReplayQuestion)
def memento_negotiates(exchange: FaultContext) -> WholeAnswer:
    """A memento requested with Accept-Datetime redirects to the memento of that time."""
    chosen = exchange.chosen
    if exchange.accept_datetime is None or chosen is None:
        return exchange.correct
    if exchange.site.addresses.memento(chosen).endswith(exchange.request.target):
        return exchange.correct
    return timegate_to(exchange.site, chosen).without("Vary")


@fault(ReplayQuestion)
def memento_gone(exchange: FaultContext) -> WholeAnswer:
    """Mementos requested with Accept-Datetime are a 404 (as once in Fedora)."""
    if exchange.accept_datetime is None:
        return exchange.correct
    return replace(exchange.correct, status=404, headers=(PLAIN,), body=b"no such file\n")


@fault(TimeGateQuestion, ReplayQuestion)
def weekday_wrong(exchange: FaultContext) -> WholeAnswer:
    """Every date has the weekday Monday."""
    days = ("Tue, ", "Wed, ", "Thu, ", "Fri, ", "Sat, ", "Sun, ")
    fields = dict(exchange.correct.headers)
    for name in {"Link", "Memento-Datetime"} & fields.keys():
        for day in days:
            fields[name] = fields[name].replace(day, "Mon, ")
    return replace(exchange.correct, headers=tuple(fields.items()))


no_cors: Final = Fault(
    "no-cors",
    "Scripts of other sites may not read any answer.",
    EVERYTHING,
    lambda exchange: without_cors(exchange.correct),
    cors=False,
    preflight=False,
)
no_preflight: Final = Fault(
    "no-preflight",
    "OPTIONS is not answered, so scripts of other sites cannot request a time.",
    preflight=False,
)


@fault(TimeGateQuestion)
def no_content_location(exchange: FaultContext) -> WholeAnswer:
    """A TimeGate that answers with the memento has no Content-Location."""
    return exchange.correct.without("Content-Location")


HOPS = 50
_CHAIN: Final = 3


def _redirect(exchange: FaultContext, address: str) -> WholeAnswer:
    link = ("Link", link_header([original_link(exchange.original)]))
    return WholeAnswer(302, (("Location", address), VARY, link))


def _hop(exchange: FaultContext) -> int:
    return exchange.question.hop if isinstance(exchange.question, TimeGateQuestion) else 0


@fault(TimeGateQuestion)
def loop_self(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate redirects to itself."""
    return _redirect(exchange, exchange.site.addresses.timegate(exchange.original))


@fault(TimeGateQuestion)
def loop_pair(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate redirects to a second address, which redirects back."""
    at = exchange.site.addresses
    there, back = at.hop(1, exchange.original), at.timegate(exchange.original)
    return _redirect(exchange, back if _hop(exchange) else there)


@fault(TimeGateQuestion)
def loop_fifty(exchange: FaultContext) -> WholeAnswer:
    """The correct answer comes after 50 redirects."""
    step = _hop(exchange) + 1
    if step > HOPS:
        return exchange.correct
    return _redirect(exchange, exchange.site.addresses.hop(step, exchange.original))


@fault(TimeGateQuestion)
def redirect_nowhere(exchange: FaultContext) -> WholeAnswer:
    """A 302 without Location."""
    return WholeAnswer(302, (VARY, ("Link", link_header([original_link(exchange.original)]))))


@fault(TimeGateQuestion)
def multiple_choices(exchange: FaultContext) -> WholeAnswer:
    """A 300 with an HTML list of the captures."""
    held = exchange.site.holdings.of(exchange.original)
    addresses = [exchange.site.addresses.memento(capture) for capture in held]
    body = "".join(f'<li><a href="{address}">{address}</a>\n' for address in addresses)
    return WholeAnswer(300, (("Content-Type", "text/html"), VARY), body.encode())


@fault(TimeGateQuestion, ReplayQuestion)
def redirect_metadata(exchange: FaultContext) -> WholeAnswer:
    """A redirect to the address where clouds serve credentials (169.254.169.254)."""
    return _redirect(exchange, "http://169.254.169.254/latest/meta-data/")


@fault(TimeGateQuestion, ReplayQuestion)
def redirect_file(exchange: FaultContext) -> WholeAnswer:
    """A redirect to a file:// address."""
    return _redirect(exchange, "file:///etc/passwd")


@fault(TimeGateQuestion, ReplayQuestion)
def redirect_elsewhere(exchange: FaultContext) -> WholeAnswer:
    """A redirect to a host that is in no registry."""
    return _redirect(
        exchange, f"http://elsewhere.example/web/20130615083000/{exchange.original}"
    )


@fault(TimeGateQuestion, ReplayQuestion)
def redirect_private(exchange: FaultContext) -> WholeAnswer:
    """A redirect to a private address."""
    return _redirect(exchange, f"http://10.0.0.1/web/20130615083000/{exchange.original}")


def _downgrade(exchange: FaultContext) -> WholeAnswer:
    address = exchange.correct.value("Location") or exchange.site.addresses.base
    return _redirect(exchange, address.replace("https://", "http://", 1))


redirect_downgrade = Fault(
    "redirect-downgrade",
    "Over valid TLS, a redirect to the same address without TLS.",
    (TimeGateQuestion,),
    _downgrade,
    tls=Authority.valid,
)


@fault(TimeGateQuestion)
def chain_three(exchange: FaultContext) -> WholeAnswer:
    """No fault: the correct answer comes after 3 redirects."""
    step, original = _hop(exchange) + 1, exchange.original
    if step > _CHAIN or exchange.correct.status in _REFUSALS:
        return exchange.correct
    links = [original_link(original), *service_links(exchange.site, original)]
    address = exchange.site.addresses.hop(step, original)
    return _redirect(exchange, address).having("Link", link_header(links))


def _moved(exchange: FaultContext, address: str) -> WholeAnswer:
    """Redirect from a memento to *address*, as an intermediate resource (M-22)."""
    link = ("Link", link_header([original_link(exchange.original)]))
    return WholeAnswer(302, (("Location", address), link))


@fault(ReplayQuestion)
def memento_to_last(exchange: FaultContext) -> WholeAnswer:
    """Mementos redirect to the last one."""
    held = exchange.site.holdings.of(exchange.original)
    question = exchange.question
    if not held or not isinstance(question, ReplayQuestion) or question.stamp == held[-1].stamp:
        return exchange.correct
    return _moved(exchange, exchange.site.addresses.memento(held[-1], question.modifier))


@fault(ReplayQuestion)
def memento_to_login(exchange: FaultContext) -> WholeAnswer:
    """Mementos redirect to the memento of a login page at the same host."""
    parts = urlsplit(exchange.original)
    login, question = f"{parts.scheme}://{parts.netloc}/login", exchange.question
    at = read_stamp(question.stamp) if isinstance(question, ReplayQuestion) else None
    if at is None:
        return exchange.correct
    page = FakeCapture(login, at)
    if exchange.original == login:
        return exchange.holding(page).correct
    return _moved(exchange, exchange.site.addresses.memento(page))


@fault(ReplayQuestion)
def memento_to_home(exchange: FaultContext) -> WholeAnswer:
    """Mementos redirect to the home page of the archive."""
    return _moved(exchange, f"{exchange.site.addresses.base}/")


@fault(ReplayQuestion)
def memento_to_live(exchange: FaultContext) -> WholeAnswer:
    """Mementos redirect to the page on the live web."""
    return _moved(exchange, exchange.original)


@fault(ReplayQuestion)
def memento_elsewhere(exchange: FaultContext) -> WholeAnswer:
    """Mementos redirect to a host that is in no registry."""
    return _moved(exchange, f"http://elsewhere.example/web/20130615083000/{exchange.original}")
