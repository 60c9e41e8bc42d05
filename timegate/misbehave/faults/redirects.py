# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""TimeGates that lead astray: loops, and places no archive has business to name."""

from timegate.misbehave.addresses import ReplayQuestion, TimeGateQuestion
from timegate.misbehave.answers import VARY
from timegate.misbehave.faults.fault import Fault, FaultContext, fault
from timegate.misbehave.links import header, original_link
from timegate.misbehave.tls import Authority
from timegate.misbehave.wire import WholeAnswer

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
