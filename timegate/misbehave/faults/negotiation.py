# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""TimeGates and mementos that break one rule of RFC 7089 each, and are right otherwise."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Final

from timegate.misbehave.answers import PLAIN, VARY, closed, timegate_to
from timegate.misbehave.faults.fault import EVERYTHING, Fault, FaultContext, fault
from timegate.misbehave.indexes import header, original_link
from timegate.misbehave.site import FakeCapture, ReplayQuestion, TimeGateQuestion, http_date
from timegate.misbehave.wire import Authority, WholeAnswer

_REFUSALS: Final = (400, 404)
_asked: Final[set[tuple[object, ...]]] = set()
"""What `unstable` was asked before; nothing else here remembers."""
_REMEMBERED: Final = 1000


@fault(TimeGateQuestion)
def vary_missing(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate has no Vary."""
    return exchange.right.without("Vary")


@fault(TimeGateQuestion)
def vary_other(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate varies by the language alone."""
    return exchange.right.having("Vary", "accept-language")


@fault(ReplayQuestion)
def memento_varies(exchange: FaultContext) -> WholeAnswer:
    """Mementos have Vary: accept-datetime, as if they were TimeGates."""
    return exchange.right.having("Vary", "accept-encoding, Accept-Datetime")


@fault(TimeGateQuestion)
def redirect_307(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate redirects with 307 (as pywb does)."""
    answer = exchange.right
    return replace(answer, status=307) if answer.status == 302 else answer


@fault(TimeGateQuestion)
def datetime_on_redirect(exchange: FaultContext) -> WholeAnswer:
    """The redirect of the TimeGate has a Memento-Datetime."""
    chosen = exchange.chosen
    if exchange.right.status != 302 or chosen is None:
        return exchange.right
    return exchange.right.having("Memento-Datetime", http_date(chosen.at))


@fault(TimeGateQuestion)
def newest_ignored(exchange: FaultContext) -> WholeAnswer:
    """Without Accept-Datetime the TimeGate chooses the oldest."""
    held = exchange.site.holdings.of(exchange.original)
    asked = exchange.request.values("Accept-Datetime")
    return exchange.right if asked or not held else timegate_to(exchange.site, held[0])


def _outside(
    exchange: FaultContext, is_outside: Callable[[datetime, list[FakeCapture]], bool]
) -> WholeAnswer:
    held, asked = exchange.site.holdings.of(exchange.original), exchange.asked
    if not held or asked is None or not is_outside(asked, held):
        return exchange.right
    links = exchange.right.value("Link") or ""
    return WholeAnswer(
        404, (("Vary", "accept-datetime"), ("Link", links), PLAIN), b"not then\n"
    )


@fault(TimeGateQuestion)
def holds_nothing(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate answers 404 for every page (as a national archive's did for months)."""
    return exchange.holding().right


@fault(TimeGateQuestion)
def before_first_404(exchange: FaultContext) -> WholeAnswer:
    """Times before the first memento are answered with 404."""
    return _outside(exchange, lambda asked, held: asked < held[0].at)


@fault(TimeGateQuestion)
def after_last_404(exchange: FaultContext) -> WholeAnswer:
    """Times after the last memento are answered with 404."""
    return _outside(exchange, lambda asked, held: asked > held[-1].at)


@fault(TimeGateQuestion)
def bad_date_ignored(exchange: FaultContext) -> WholeAnswer:
    """A bad Accept-Datetime is taken for none: the newest memento is chosen."""
    held = exchange.site.holdings.of(exchange.original)
    if exchange.right.status != 400 or not held:
        return exchange.right
    return timegate_to(exchange.site, held[-1])


@fault(TimeGateQuestion)
def bad_date_500(exchange: FaultContext) -> WholeAnswer:
    """A bad Accept-Datetime is an error of the TimeGate (as LANL's server has it)."""
    return WholeAnswer(500, (PLAIN,)) if exchange.right.status == 400 else exchange.right


@fault(TimeGateQuestion)
def bare_refusals(exchange: FaultContext) -> WholeAnswer:
    """Refusals have neither Vary nor Link (as pywb's)."""
    if exchange.right.status not in _REFUSALS:
        return exchange.right
    return exchange.right.without("Vary").without("Link")


@fault(TimeGateQuestion)
def dated_refusals(exchange: FaultContext) -> WholeAnswer:
    """Refusals have a Memento-Datetime, as archived errors have."""
    if exchange.right.status not in _REFUSALS:
        return exchange.right
    return exchange.right.having("Memento-Datetime", "Sat, 15 Jun 2013 08:30:00 GMT")


@fault(TimeGateQuestion)
def unstable(exchange: FaultContext) -> WholeAnswer:
    """Who asks the same for a second time gets the oldest memento."""
    question = (exchange.site.addresses.base, exchange.request)
    held = exchange.site.holdings.of(exchange.original)
    if question in _asked and exchange.right.status == 302:
        return timegate_to(exchange.site, held[0])
    if len(_asked) >= _REMEMBERED:
        _asked.clear()
    _asked.add(question)
    return exchange.right


@fault(TimeGateQuestion, ReplayQuestion)
def head_405(exchange: FaultContext) -> WholeAnswer:
    """HEAD is answered with 405."""
    if exchange.request.method != "HEAD":
        return exchange.right
    return WholeAnswer(405, (("Allow", "GET"),))


@fault(ReplayQuestion)
def head_undated(exchange: FaultContext) -> WholeAnswer:
    """Mementos have a Memento-Datetime to GET alone."""
    if exchange.request.method != "HEAD":
        return exchange.right
    return exchange.right.without("Memento-Datetime")


@fault(ReplayQuestion)
def raw_another(exchange: FaultContext) -> WholeAnswer:
    """The raw view is of the first memento, whichever was asked for."""
    question, held = exchange.question, exchange.site.holdings.of(exchange.original)
    if not isinstance(question, ReplayQuestion) or not question.modifier or not held:
        return exchange.right
    return exchange.about(replace(question, stamp=held[0].stamp)).right


@fault(ReplayQuestion)
def memento_negotiates(exchange: FaultContext) -> WholeAnswer:
    """A memento asked for with Accept-Datetime redirects to the one of that time."""
    chosen = exchange.chosen
    if exchange.asked is None or chosen is None:
        return exchange.right
    if exchange.site.addresses.memento(chosen).endswith(exchange.request.target):
        return exchange.right
    return timegate_to(exchange.site, chosen).without("Vary")


@fault(ReplayQuestion)
def memento_gone(exchange: FaultContext) -> WholeAnswer:
    """Mementos that are asked for with an Accept-Datetime are not there (as in Fedora once)."""
    if exchange.asked is None:
        return exchange.right
    return replace(exchange.right, status=404, headers=(PLAIN,), body=b"no such file\n")


@fault(TimeGateQuestion, ReplayQuestion)
def weekday_wrong(exchange: FaultContext) -> WholeAnswer:
    """Every date is on a Monday."""
    days = ("Tue, ", "Wed, ", "Thu, ", "Fri, ", "Sat, ", "Sun, ")
    fields = dict(exchange.right.headers)
    for name in {"Link", "Memento-Datetime"} & fields.keys():
        for day in days:
            fields[name] = fields[name].replace(day, "Mon, ")
    return replace(exchange.right, headers=tuple(fields.items()))


no_cors: Final = Fault(
    "no-cors",
    "No answer may be read by scripts of other sites.",
    EVERYTHING,
    lambda exchange: closed(exchange.right),
    opens=False,
    preflights=False,
)
no_preflight: Final = Fault(
    "no-preflight",
    "OPTIONS is not answered, so that scripts may not ask for a time.",
    preflights=False,
)


@fault(TimeGateQuestion)
def no_content_location(exchange: FaultContext) -> WholeAnswer:
    """Who answers with the memento does not say where it is."""
    return exchange.right.without("Content-Location")


HOPS = 50


def _to(exchange: FaultContext, address: str) -> WholeAnswer:
    link = ("Link", header([original_link(exchange.original)]))
    return WholeAnswer(302, (("Location", address), VARY, link))


def _hop(exchange: FaultContext) -> int:
    return exchange.question.hop if isinstance(exchange.question, TimeGateQuestion) else 0


@fault(TimeGateQuestion)
def loop_self(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate redirects to itself."""
    return _to(exchange, exchange.site.addresses.timegate(exchange.original))


@fault(TimeGateQuestion)
def loop_pair(exchange: FaultContext) -> WholeAnswer:
    """The TimeGate redirects to another one, and that one back."""
    at = exchange.site.addresses
    there, back = at.hop(1, exchange.original), at.timegate(exchange.original)
    return _to(exchange, back if _hop(exchange) else there)


@fault(TimeGateQuestion)
def loop_fifty(exchange: FaultContext) -> WholeAnswer:
    """The right answer comes after 50 redirects."""
    step = _hop(exchange) + 1
    if step > HOPS:
        return exchange.right
    return _to(exchange, exchange.site.addresses.hop(step, exchange.original))


@fault(TimeGateQuestion)
def redirect_nowhere(exchange: FaultContext) -> WholeAnswer:
    """A 302 without Location."""
    return WholeAnswer(302, (VARY, ("Link", header([original_link(exchange.original)]))))


@fault(TimeGateQuestion)
def multiple_choices(exchange: FaultContext) -> WholeAnswer:
    """A 300 with a list of captures in HTML."""
    held = exchange.site.holdings.of(exchange.original)
    addresses = [exchange.site.addresses.memento(capture) for capture in held]
    body = "".join(f'<li><a href="{address}">{address}</a>\n' for address in addresses)
    return WholeAnswer(300, (("Content-Type", "text/html"), VARY), body.encode())


@fault(TimeGateQuestion, ReplayQuestion)
def redirect_metadata(exchange: FaultContext) -> WholeAnswer:
    """A redirect to the address where clouds keep their credentials."""
    return _to(exchange, "http://169.254.169.254/latest/meta-data/")


@fault(TimeGateQuestion, ReplayQuestion)
def redirect_file(exchange: FaultContext) -> WholeAnswer:
    """A redirect to a file:// address."""
    return _to(exchange, "file:///etc/passwd")


@fault(TimeGateQuestion, ReplayQuestion)
def redirect_elsewhere(exchange: FaultContext) -> WholeAnswer:
    """A redirect to a host that no registry knows."""
    return _to(exchange, f"http://elsewhere.example/web/20130615083000/{exchange.original}")


@fault(TimeGateQuestion, ReplayQuestion)
def redirect_private(exchange: FaultContext) -> WholeAnswer:
    """A redirect to a private address."""
    return _to(exchange, f"http://10.0.0.1/web/20130615083000/{exchange.original}")


def _downgrade(exchange: FaultContext) -> WholeAnswer:
    address = exchange.right.value("Location") or exchange.site.addresses.base
    return _to(exchange, address.replace("https://", "http://", 1))


redirect_downgrade = Fault(
    "redirect-downgrade",
    "Over good TLS, a redirect to the same place without TLS.",
    (TimeGateQuestion,),
    _downgrade,
    tls=Authority.right,
)
