# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""TimeGates that lead astray: loops, and places no archive has business to name."""

from timegate.misbehave.addresses import Replay, TimeGate
from timegate.misbehave.answers import VARY
from timegate.misbehave.faults.fault import Exchange, Fault, fault
from timegate.misbehave.links import header, original_link
from timegate.misbehave.tls import Authority
from timegate.misbehave.wire import Answer

HOPS = 50


def _to(exchange: Exchange, address: str) -> Answer:
    link = ("Link", header([original_link(exchange.original)]))
    return Answer(302, (("Location", address), VARY, link))


def _hop(exchange: Exchange) -> int:
    return exchange.question.hop if isinstance(exchange.question, TimeGate) else 0


@fault(TimeGate)
def loop_self(exchange: Exchange) -> Answer:
    """The TimeGate redirects to itself."""
    return _to(exchange, exchange.site.addresses.timegate(exchange.original))


@fault(TimeGate)
def loop_pair(exchange: Exchange) -> Answer:
    """The TimeGate redirects to another one, and that one back."""
    at = exchange.site.addresses
    there, back = at.hop(1, exchange.original), at.timegate(exchange.original)
    return _to(exchange, back if _hop(exchange) else there)


@fault(TimeGate)
def loop_fifty(exchange: Exchange) -> Answer:
    """The right answer comes after 50 redirects."""
    step = _hop(exchange) + 1
    if step > HOPS:
        return exchange.right
    return _to(exchange, exchange.site.addresses.hop(step, exchange.original))


@fault(TimeGate)
def redirect_nowhere(exchange: Exchange) -> Answer:
    """A 302 without Location."""
    return Answer(302, (VARY, ("Link", header([original_link(exchange.original)]))))


@fault(TimeGate)
def multiple_choices(exchange: Exchange) -> Answer:
    """A 300 with a list of captures in HTML."""
    held = exchange.site.holdings.of(exchange.original)
    addresses = [exchange.site.addresses.memento(capture) for capture in held]
    body = "".join(f'<li><a href="{address}">{address}</a>\n' for address in addresses)
    return Answer(300, (("Content-Type", "text/html"), VARY), body.encode())


@fault(TimeGate, Replay)
def redirect_metadata(exchange: Exchange) -> Answer:
    """A redirect to the address where clouds keep their credentials."""
    return _to(exchange, "http://169.254.169.254/latest/meta-data/")


@fault(TimeGate, Replay)
def redirect_file(exchange: Exchange) -> Answer:
    """A redirect to a file:// address."""
    return _to(exchange, "file:///etc/passwd")


@fault(TimeGate, Replay)
def redirect_elsewhere(exchange: Exchange) -> Answer:
    """A redirect to a host that no registry knows."""
    return _to(exchange, f"http://elsewhere.example/web/20130615083000/{exchange.original}")


@fault(TimeGate, Replay)
def redirect_private(exchange: Exchange) -> Answer:
    """A redirect to a private address."""
    return _to(exchange, f"http://10.0.0.1/web/20130615083000/{exchange.original}")


def _downgrade(exchange: Exchange) -> Answer:
    address = exchange.right.value("Location") or exchange.site.addresses.base
    return _to(exchange, address.replace("https://", "http://", 1))


redirect_downgrade = Fault(
    "redirect-downgrade",
    "Over good TLS, a redirect to the same place without TLS.",
    (TimeGate,),
    _downgrade,
    tls=Authority.right,
)
