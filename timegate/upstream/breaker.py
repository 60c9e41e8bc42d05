"""Leaves an archive alone that fails again and again, and finds out when it is back.

The circuit is a value: time and chance are passed in, nothing here waits or asks. Health is
learned from real questions alone; an archive that nobody asks about is never polled (R14).
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Literal, NamedTuple

from archives.errors import ArchiveError, Refused, Resting
from archives.source import Fetcher, Reply, Request

Outcome = Literal["good", "bad", "neither"]
"""What a request proved. A 429 or a cancelled request proves nothing: MemGator lets any HTTP
answer reset its counter, so an archive that answers 429 and 500 in turn is never left alone."""

Standing = Literal["closed", "open", "half-open"]

FAILURES: Final = 5
"""Envoy's consecutive_5xx; after it, 30 s times the number of ejections up to 300 s."""
REST: Final = 30.0
LONGEST_REST: Final = 300.0
JITTER: Final = 0.2
GIVEN_UP: Final = 3.0
"""Seconds. Who asks gives up before our own timeouts do; an archive that had not answered by
then has failed, one that was merely overtaken by another has not."""


@dataclass(frozen=True, slots=True)
class Circuit:
    """What the last requests to one archive have shown."""

    failures: int = 0
    """How many in a row."""
    openings: int = 0
    """How often it was opened since the last good answer."""
    opens_until: float | None = None
    probing: bool = False

    def standing(self, now: float) -> Standing:
        """Whether requests may pass; half-open lets a single one through."""
        if self.opens_until is None:
            return "closed"
        return "open" if now < self.opens_until else "half-open"

    def admits(self, now: float) -> bool:
        """Whether a request may be sent now."""
        standing = self.standing(now)
        return standing == "closed" or (standing == "half-open" and not self.probing)

    def sent(self) -> "Circuit":
        """Note a request that was admitted."""
        return self if self.opens_until is None else replace(self, probing=True)

    def learned(self, outcome: Outcome, now: float, chance: float) -> "Circuit":
        """Draw the consequence; *chance* (0 to 1) spreads the end of the rest."""
        if outcome == "good":
            return FRESH
        if outcome == "neither":
            return replace(self, probing=False)
        if self.standing(now) == "open":
            # Sent before it opened, or in spite of it: that rest is already running.
            return replace(self, probing=False)
        failures = self.failures + 1
        if self.opens_until is None and failures < FAILURES:
            return replace(self, failures=failures)
        return _opened(failures, self.openings + 1, now, chance)

    def woken(self, now: float) -> "Circuit":
        """End the rest early, so that the next request is the probe."""
        return self if self.opens_until is None else replace(self, opens_until=now)


def _opened(failures: int, openings: int, now: float, chance: float) -> Circuit:
    rest = min(REST * openings, LONGEST_REST) * (1 + JITTER * chance)
    return Circuit(failures, openings, now + rest)


FRESH: Final = Circuit()
"""That of an archive whose last answer was good, or that was never asked."""


class BreakerDecision(NamedTuple):
    """Whether to ask, and if not, in how many seconds."""

    admitted: bool
    retry_after: float = 0.0
    why: str = ""


_ADMITTED: Final = BreakerDecision(admitted=True)


class Dead(NamedTuple):
    """An archive that is left alone, as others may be told of it."""

    failures: int
    openings: int
    until: float
    """By our own clock."""
    left: float
    """Seconds."""


class Breakers:
    """The circuits of all archives, which know each other for one reason.

    When all of them are open, it is our own network that is down, and one is tried anyway
    (CoreDNS's rule); as soon as that succeeds, nobody else has to sit out its rest.
    """

    def __init__(
        self, archives: Iterable[str], clock: Callable[[], float], chance: Callable[[], float]
    ) -> None:
        self._circuits = dict.fromkeys(archives, FRESH)
        self._faults: Counter[str] = Counter()
        self._clock = clock
        self._chance = chance

    def standing(self, archive: str) -> Standing:
        """For the health page."""
        return self._circuits[archive].standing(self._clock())

    def admit(self, archive: str) -> BreakerDecision:
        """Decide on one request; who is admitted must `report` how it went."""
        circuit = self._circuits[archive]
        if circuit.opens_until is None:
            return _ADMITTED
        now = self._clock()
        if circuit.admits(now) or self._all_dead(now):
            self._circuits[archive] = circuit.sent()
            return _ADMITTED
        if circuit.standing(now) == "half-open":
            return BreakerDecision(admitted=False, retry_after=1.0, why="it is being probed")
        remaining = (circuit.opens_until or now) - now
        why = f"{circuit.failures} failures in a row"
        return BreakerDecision(admitted=False, retry_after=remaining, why=why)

    @property
    def number(self) -> int:
        """How many archives there are."""
        return len(self._circuits)

    def knows(self, archive: str) -> bool:
        """Whether it is one of ours."""
        return archive in self._circuits

    def dead(self) -> dict[str, Dead]:
        """Return the archives that are left alone now."""
        now = self._clock()
        return {
            archive: Dead(c.failures, c.openings, c.opens_until, c.opens_until - now)
            for archive, c in self._circuits.items()
            if c.opens_until is not None and now < c.opens_until
        }

    def advise(self, archive: str, failures: int, openings: int, seconds: float) -> None:
        """Leave an archive alone that others found dead; what we know ourselves counts more."""
        if self._circuits[archive].opens_until is not None:
            return
        rest = min(seconds, LONGEST_REST * (1 + JITTER))
        self._circuits[archive] = Circuit(failures, openings, self._clock() + rest)

    def wake(self, archive: str) -> None:
        """End its rest: others had a good answer."""
        self._circuits[archive] = self._circuits[archive].woken(self._clock())

    def report(self, archive: str, outcome: Outcome) -> None:
        """Say how an admitted request went."""
        if outcome == "good" and self._circuits[archive] is FRESH:
            return
        now = self._clock()
        alone = all(circuit.opens_until is not None for circuit in self._circuits.values())
        after = self._circuits[archive].learned(outcome, now, self._chance())
        self._circuits[archive] = after
        if alone and outcome == "good":
            self._wake_all(now)

    def broke(self, archive: str) -> None:
        """Count a question that ended with an internal error of ours.

        Counted apart from requests: the reply to such a question may have been a good one, and
        was reported as that. As many in a row as of failed requests open the circuit.
        """
        if archive not in self._circuits:
            return
        self._faults[archive] += 1
        failures, now = self._faults[archive], self._clock()
        if failures >= FAILURES and self._circuits[archive].standing(now) != "open":
            openings = failures - FAILURES + 1
            self._circuits[archive] = _opened(failures, openings, now, self._chance())

    def worked(self, archive: str) -> None:
        """Note a question that ended with an answer."""
        self._faults.pop(archive, None)

    def _all_dead(self, now: float) -> bool:
        """Whether nobody may be asked and nobody is just being tried."""
        return all(
            circuit.standing(now) == "open" and not circuit.probing
            for circuit in self._circuits.values()
        )

    def _wake_all(self, now: float) -> None:
        for archive, circuit in self._circuits.items():
            self._circuits[archive] = circuit.woken(now)


def breaking(
    fetch: Fetcher, archive: str, breakers: Breakers, clock: Callable[[], float]
) -> Fetcher:
    """Return a `Fetcher` that raises Resting while the circuit of *archive* is open."""

    def guarded(request: Request) -> _Guarded:
        return _Guarded(fetch, request, archive, breakers, clock)

    return guarded


class _Guarded:
    """One request that is only sent while the circuit lets it, and reported on."""

    __slots__ = ("_archive", "_breakers", "_clock", "_fetch", "_inner", "_reply", "_request")

    def __init__(
        self,
        fetch: Fetcher,
        request: Request,
        archive: str,
        breakers: Breakers,
        clock: Callable[[], float],
    ) -> None:
        self._fetch = fetch
        self._request = request
        self._archive = archive
        self._breakers = breakers
        self._clock = clock

    async def __aenter__(self) -> Reply:
        admission = self._breakers.admit(self._archive)
        if not admission.admitted:
            url = self._request.url
            raise Resting(self._archive, url, admission.why, admission.retry_after)
        began = self._clock()
        self._inner = self._fetch(self._request)
        try:
            self._reply = await self._inner.__aenter__()
        except BaseException as error:
            late = self._clock() - began >= GIVEN_UP
            self._breakers.report(self._archive, _shown_by_error(error, late=late))
            raise
        return self._reply

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        # Only now: a body that breaks off makes the whole answer a bad one.
        outcome = _shown_by(self._reply) if error is None else _shown_by_error(error)
        try:
            return await self._inner.__aexit__(kind, error, trace)
        finally:
            self._breakers.report(self._archive, outcome)


def _shown_by(reply: Reply) -> Outcome:
    # An archived 503 is a good answer; an archive's own is not.
    return "bad" if reply.status >= 500 and "memento-datetime" not in reply.headers else "good"


def _shown_by_error(error: BaseException, *, late: bool = False) -> Outcome:
    """Return what *error* proves; *late*: the archive had its time and had not answered."""
    match error:
        case Refused():
            return "bad" if error.status >= 500 else "neither"
        case Resting():
            return "neither"
        case ArchiveError():
            return "bad"
        case asyncio.CancelledError():
            return "bad" if late else "neither"
        case Exception():
            # Our own code failed on what the archive sent: without a rest it would do so again
            # with every question.
            return "bad"
        case _:
            return "neither"
