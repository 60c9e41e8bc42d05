"""An archive without a socket: what it holds, what is wrong with it, what it saw."""

import ssl
from collections.abc import Callable, Iterable
from typing import Final

from timegate.misbehave.addresses import Addresses, read_question
from timegate.misbehave.captures import EXAMPLE, FakeCapture, FakeHoldings
from timegate.misbehave.faults.fault import Fault, FaultContext
from timegate.misbehave.journal import TrafficLog
from timegate.misbehave.playing import Chance, Play, faults_named, named, played, wish
from timegate.misbehave.site import FakeSite, Manner
from timegate.misbehave.tls import Authority
from timegate.misbehave.wire import Reply, WholeAnswer, WireRequest

Told = Callable[[WireRequest, tuple[str, ...]], None]
_PLAIN: Final = ("Content-Type", "text/plain; charset=utf-8")


class Archive:
    """Right by default, and wrong as *fault* says: a name, or several as ``a+b``.

    A request may wish for another fault, see `timegate.misbehave.playing`.
    """

    def __init__(
        self,
        captures: Iterable[FakeCapture] = EXAMPLE,
        fault: str = "none",
        manner: Manner | None = None,
    ) -> None:
        """Hold *captures*. Raises ValueError for a fault that does not exist."""
        self.faults = faults_named(fault)
        self.manner = manner or Manner()
        self.holdings = FakeHoldings(captures)
        self.journal = TrafficLog()
        self.authority = Authority()
        self.chance: Chance | None = None
        """Draws what requests meet; without it they meet all faults."""
        self.tell: Told | None = None
        """Hears of each request, with the names of the faults it met.

        With somebody who listens, answers also say it themselves: `playing.HEADER`.
        """
        self.url = ""
        """What its addresses begin with, once it is being served."""

    @property
    def addresses(self) -> Addresses:
        """Where its TimeGate, TimeMaps and captures are."""
        return Addresses(self.url)

    def of_connections(self, is_so: Callable[[Fault], bool]) -> bool:
        """Whether one of its faults is so."""
        return any(map(is_so, self.faults))

    def server_tls(self) -> ssl.SSLContext | None:
        """Return TLS settings of a server, None without TLS. Raises MissingLibrary."""
        made = next((fault.tls for fault in self.faults if fault.tls is not None), None)
        return None if made is None else made(self.authority)

    def client_tls(self) -> ssl.SSLContext:
        """Return TLS settings of a client that trusts this archive's authority."""
        return self.authority.client()

    def reply(self, request: WireRequest) -> Reply:
        """Answer a request, rightly or wrongly."""
        try:
            play = wish(request) or self._usual(request)
        except ValueError as error:
            return WholeAnswer(400, (_PLAIN,), f"{error}\n".encode())
        site = FakeSite(self.holdings, Addresses(self.url + play.prefix), self.manner)
        asked = WireRequest(request.method, play.target, request.headers)
        exchange = FaultContext(site, asked, read_question(play.target))
        names = named(play.faults, exchange)
        if self.tell is not None:
            self.tell(request, names)
            exchange = FaultContext(site, asked, exchange.question, announced=", ".join(names))
        return played(play.faults, exchange)

    def _usual(self, request: WireRequest) -> Play:
        faults = self.faults if self.chance is None else self.chance.draw()
        return Play(faults, request.target)
