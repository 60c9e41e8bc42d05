"""The front of the server: who asks, whether there is room, and what is left of a budget."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from aiohttp import web

from timegate.access.networks import Networks, household
from timegate.access.restricted import Restrictions
from timegate.event_loop import FairTurns
from timegate.responses.model import Response, StreamingResponse
from timegate.responses.problems import problem
from timegate.server.client_quota import ClientAddresses, ClientQuota, ClientQuotas
from timegate.server.concurrency_limit import EXEMPT, ConcurrencyLimit, Rejection

FREE: Final = frozenset({"/healthz", "/readyz", "/metrics"})
"""Answered however busy we are: who watches must see it, and they cost nothing."""
UNCOUNTED: Final = frozenset({"/monitor", "/events"})
"""Open for hours, and idle: they count as connections, not as requests under way."""
_PASSES: Final = FREE | UNCOUNTED
_AT_A_TURN: Final = 16
"""Requests that are begun at one turn of the loop: some 8 ms for new questions."""
_LISTS: Final = ("/timemap/", "/cdx")
"""Their bodies are long; where there is no place for one more, nobody is asked for it first."""
_DETAILS: Final = {
    "full": "more requests than can be worked on at once; try again in a moment",
    "share": "you have more requests under way than your share; wait for their answers",
    "cold": (
        "you have had archives asked for as much as one client may; what is remembered here is "
        "still answered, the rest in {wait} seconds"
    ),
}


class Client(NamedTuple):
    """Who asks."""

    address: str
    key: str
    """Who counts as one; `EXEMPT` for who has no share to keep to."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Lets requests in, and counts whom it does not."""

    admission: ConcurrencyLimit | None = None
    budgets: ClientQuotas | None = None
    clients: ClientAddresses = field(default_factory=lambda: ClientAddresses(Networks()))
    exempt: Networks = field(default_factory=Networks)
    refused: Callable[[str], None] = lambda _: None
    """Counts a refusal by its reason."""
    restrictions: Restrictions = field(default_factory=Restrictions)
    streams: ConcurrencyLimit | None = None
    """Counts bodies that are sent at the pace of who reads them."""
    deny_status: int = 451
    own: str = ""
    """Our address, for those who want to know who denies it."""
    turnstile: FairTurns = field(default_factory=lambda: FairTurns(_AT_A_TURN))

    def client(self, request: web.BaseRequest) -> Client:
        """Return who sent *request*."""
        peer = (
            None if request.transport is None else request.transport.get_extra_info("peername")
        )
        address = self.clients.address(peer, request.headers)
        return Client(address, EXEMPT if address in self.exempt else household(address))

    async def enter(self, client: Client, target: str) -> Response | None:
        """Take a place for a request; the answer if there is none, else `leave` must follow."""
        if self.admission is None or _passes(target):
            return None
        if self.streams is not None and self.streams.overloaded and target.startswith(_LISTS):
            return self._refusal(Rejection("full"))
        await self.turnstile.enter()
        refusal = await self.admission.enter(client.key)
        return None if refusal is None else self._refusal(refusal)

    def leave(self, client: Client, target: str) -> None:
        """Give the place back."""
        if self.admission is not None and not _passes(target):
            self.admission.leave(client.key)

    async def enter_stream(self, client: Client, target: str) -> Response | None:
        """Take a place for a long body; the answer if there is none."""
        if self.streams is None or _passes(target):
            return None
        refusal = await self.streams.enter(client.key)
        return None if refusal is None else self._refusal(refusal)

    def leave_stream(self, client: Client, target: str) -> None:
        """Give that place back."""
        if self.streams is not None and not _passes(target):
            self.streams.leave(client.key)

    def visit(self, client: Client, *, patient: bool) -> ClientQuota | None:
        """Return what pays for questions to archives; None if nobody has to."""
        if self.budgets is None or client.key == EXEMPT:
            return None
        return ClientQuota(client.key, self.budgets, patient=patient)

    def denied(self, answer: Response | StreamingResponse) -> Response | StreamingResponse:
        """Return what is said where the operator leads nobody (RFC 7725)."""
        if isinstance(answer, StreamingResponse) or answer.status < 400:
            return answer
        self.refused("denied")
        detail = "whoever runs this server has decided not to lead to copies of this address"
        by = {"Link": f'<{self.own}/about>; rel="blocked-by"'} if self.own else {}
        vary = {name: answer.headers[name] for name in ("Vary",) if name in answer.headers}
        return problem(self.deny_status, "not-found", detail, headers={**vary, **by})

    def settled(
        self, answer: Response | StreamingResponse, visit: ClientQuota | None
    ) -> Response | StreamingResponse:
        """Return *answer*, or 429 where it lacks what the client could not pay for."""
        if visit is None or visit.retry_after is None or isinstance(answer, StreamingResponse):
            return answer
        if answer.status < 500:
            return answer
        self.refused("cold")
        wait = max(1, math.ceil(visit.retry_after))
        detail = _DETAILS["cold"].format(wait=wait)
        kept = {
            name: answer.headers[name] for name in ("Vary", "Link") if name in answer.headers
        }
        return problem(429, "too-busy", detail, headers={**kept, "Retry-After": str(wait)})

    def kept_private(
        self, answer: Response | StreamingResponse, request: web.BaseRequest
    ) -> Response | StreamingResponse:
        """Return *answer* so that no cache on the way gives it to somebody who sees less."""
        if not self.restrictions:
            return answer
        if not self.restrictions.shared_with(self.client(request).address):
            return answer
        caching = answer.headers.get("Cache-Control", "")
        if "no-store" in caching:
            return answer
        private = ", ".join(filter(None, ("private", caching)))
        return replace(answer, headers={**answer.headers, "Cache-Control": private})

    def _refusal(self, refusal: Rejection) -> Response:
        self.refused(refusal.reason)
        return problem(
            429 if refusal.reason == "share" else 503,
            "too-busy",
            _DETAILS[refusal.reason],
            headers={"Retry-After": str(refusal.retry_after)},
        )


def _passes(target: str) -> bool:
    return target.startswith("/static/") or target.partition("?")[0] in _PASSES
