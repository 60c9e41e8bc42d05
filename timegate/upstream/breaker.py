"""Circuit breakers: an archive that fails again and again is not queried for a while.

`Circuit` is a value: time and chance are passed in, and nothing here waits or sends. The state
of an archive is learned from real requests alone; archives are never polled (R-14).

A refusal (401, 403) or a bot gate may concern one page or one site, so it is no failure of the
archive. For pages of `FAILURES` different hosts in a row it is: then the circuit opens as well.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from archives.errors import ArchiveError, Gated, Refused, Resting, Unreachable
from archives.source import Reply
from archives.uri import host_of
from timegate.resolution.model import Attempt

Outcome = Literal["good", "bad", "neither"]
"""What a request proved. A 429 or a cancelled request proves nothing: MemGator lets any HTTP
answer reset its counter, so its breaker never opens for an archive that alternates between 429
and 500."""

Standing = Literal["closed", "open", "half-open"]

FAILURES: Final = 5
"""Envoy's consecutive_5xx; after it, 30 s times the number of ejections up to 300 s."""
REST: Final = 30.0
LONGEST_REST: Final = 300.0
JITTER: Final = 0.2
GIVEN_UP: Final = 3.0
"""Seconds. A resolution ends before the timeouts of the HTTP client do. An archive that had not
answered after so long has failed; one whose request was cancelled earlier, because another
archive answered first, has not."""


@dataclass(frozen=True, slots=True)
class Circuit:
    """The state of one archive, as its last requests have shown it."""

    failures: int = 0
    """Number of failures in a row."""
    openings: int = 0
    """Number of openings since the last good answer."""
    opens_until: float | None = None
    probing: bool = False
    reason: str = ""
    """Why it opened; empty for failures in a row."""

    @property
    def why(self) -> str:
        """Why it opened, for people."""
        return self.reason or f"{self.failures} failures in a row"

    def standing(self, now: float) -> Standing:
        """Return the state; a half-open circuit admits a single request, the probe."""
        if self.opens_until is None:
            return "closed"
        return "open" if now < self.opens_until else "half-open"

    def admits(self, now: float) -> bool:
        """Whether a request may be sent now."""
        standing = self.standing(now)
        return standing == "closed" or (standing == "half-open" and not self.probing)

    def sent(self) -> "Circuit":
        """Return the circuit after a request was admitted."""
        return self if self.opens_until is None else replace(self, probing=True)

    def learned(self, outcome: Outcome, now: float, chance: float) -> "Circuit":
        """Return the circuit after *outcome*; *chance* (0 to 1) spreads the reopening time."""
        if outcome == "good":
            return FRESH
        if outcome == "neither":
            return replace(self, probing=False)
        if self.standing(now) == "open":
            # The request was sent before the circuit opened, or in spite of it: the time until
            # the next probe is already set.
            return replace(self, probing=False)
        failures = self.failures + 1
        if self.opens_until is None and failures < FAILURES:
            return replace(self, failures=failures)
        return _opened(failures, self.openings + 1, now, chance)

    def woken(self, now: float) -> "Circuit":
        """Return the circuit half-open: the next request is the probe."""
        return self if self.opens_until is None else replace(self, opens_until=now)


def _opened(
    failures: int, openings: int, now: float, chance: float, reason: str = ""
) -> Circuit:
    rest = min(REST * openings, LONGEST_REST) * (1 + JITTER * chance)
    return Circuit(failures, openings, now + rest, reason=reason)


FRESH: Final = Circuit()
"""The circuit of an archive whose last answer was good, or that was never queried."""


class BreakerDecision(NamedTuple):
    """Whether a request may be sent, and if not, after how many seconds."""

    admitted: bool
    retry_after: float = 0.0
    why: str = ""


_ADMITTED: Final = BreakerDecision(admitted=True)


class OpenCircuit(NamedTuple):
    """An open circuit, as it is shared with other replicas."""

    failures: int
    openings: int
    until: float
    """Time of the next probe, by the clock of this process."""
    left: float
    """Seconds until the next probe."""
    reason: str = ""
    """Why it opened; not shared with other replicas."""


_REJECTED: Final = (401, 403)


def _refusal(attempt: Attempt) -> str:
    """Return how the archive refused a program, for people; empty if it did not."""
    error = attempt.outcome
    if isinstance(error, Gated):
        return "bot gate"
    if isinstance(error, Refused) and error.status in _REJECTED and error.retry_after is None:
        return "refuses programs"
    return ""


@dataclass(slots=True)
class _Refusals:
    """The refusals of one archive since its last answer."""

    hosts: set[str] = field(default_factory=set)
    """Hosts of the pages, at most `FAILURES`."""
    circuit: Circuit = FRESH
    """The circuit as it was last opened for them."""

    def add(self, host: str) -> bool:
        """Note a refusal; return whether there are enough of them to open the circuit."""
        if len(self.hosts) < FAILURES:
            self.hosts.add(host)
        return len(self.hosts) >= FAILURES


class Breakers:
    """The circuits of all archives.

    When all of them are open, our own network is probably down: one request is sent anyway
    (CoreDNS's rule), and when it succeeds all circuits become half-open at once.
    """

    def __init__(
        self, archives: Iterable[str], clock: Callable[[], float], chance: Callable[[], float]
    ) -> None:
        self._circuits = dict.fromkeys(archives, FRESH)
        self._faults: Counter[str] = Counter()
        self._refusals: dict[str, _Refusals] = {}
        self._lost: dict[str, str] = {}
        """Archives to which the last request found no way, and why."""
        self._clock = clock
        self._chance = chance

    def standing(self, archive: str) -> Standing:
        """Return the state of *archive*, for /archives and the planner."""
        circuit = self._circuits.get(archive, FRESH)
        return "closed" if circuit.opens_until is None else circuit.standing(self._clock())

    def reason(self, archive: str) -> str:
        """Return why the circuit of *archive* is not closed; empty if it is closed."""
        circuit = self._circuits.get(archive, FRESH)
        return "" if circuit.opens_until is None else circuit.why

    def no_network(self, archive: str) -> str:
        """Return why the last request found no way to *archive*; empty otherwise."""
        return self._lost.get(archive, "")

    def admit(self, archive: str) -> BreakerDecision:
        """Decide on one request; after one that is admitted, `report` must follow."""
        circuit = self._circuits[archive]
        if circuit.opens_until is None:
            return _ADMITTED
        now = self._clock()
        if circuit.admits(now) or self._all_open(now):
            self._circuits[archive] = circuit.sent()
            return _ADMITTED
        if circuit.standing(now) == "half-open":
            return BreakerDecision(admitted=False, retry_after=1.0, why="it is being probed")
        remaining = (circuit.opens_until or now) - now
        return BreakerDecision(admitted=False, retry_after=remaining, why=circuit.why)

    @property
    def number(self) -> int:
        """Number of archives."""
        return len(self._circuits)

    def knows(self, archive: str) -> bool:
        """Whether *archive* has a circuit here."""
        return archive in self._circuits

    def open_circuits(self) -> dict[str, OpenCircuit]:
        """Return the circuits that are open now, by archive."""
        now = self._clock()
        return {
            archive: OpenCircuit(
                c.failures, c.openings, c.opens_until, c.opens_until - now, c.reason
            )
            for archive, c in self._circuits.items()
            if c.opens_until is not None and now < c.opens_until
        }

    def advise(
        self, archive: str, failures: int, openings: int, seconds: float, reason: str = ""
    ) -> None:
        """Open a circuit that is open elsewhere, unless ours is open or half-open already."""
        if self._circuits[archive].opens_until is not None:
            return
        until = self._clock() + min(seconds, LONGEST_REST * (1 + JITTER))
        self._circuits[archive] = Circuit(failures, openings, until, reason=reason)

    def wake(self, archive: str) -> None:
        """Make an open circuit half-open: another replica had a good answer."""
        self._circuits[archive] = self._circuits[archive].woken(self._clock())

    def report(self, archive: str, outcome: Outcome) -> None:
        """Note the outcome of an admitted request."""
        if outcome == "good" and self._circuits[archive] is FRESH:
            return
        now = self._clock()
        none_closed = all(c.opens_until is not None for c in self._circuits.values())
        after = self._circuits[archive].learned(outcome, now, self._chance())
        self._circuits[archive] = after
        if none_closed and outcome == "good":
            self._wake_all(now)

    def broke(self, archive: str) -> None:
        """Count a question that ended with an internal error of this program.

        These are counted apart from failed requests: the reply itself may have been a good one,
        and was reported as such. `FAILURES` of them in a row open the circuit as well.
        """
        if archive not in self._circuits:
            return
        self._faults[archive] += 1
        failures, now = self._faults[archive], self._clock()
        if failures >= FAILURES and self._circuits[archive].standing(now) != "open":
            openings = failures - FAILURES + 1
            self._circuits[archive] = _opened(failures, openings, now, self._chance())

    def observe(self, attempt: Attempt) -> None:
        """Note how a question ended; refusals for `FAILURES` hosts in a row open the circuit.

        They are counted apart from failed requests: a request that ends at a bot gate was
        answered, and was reported as good.
        """
        archive = attempt.archive
        if archive not in self._circuits:
            return
        self._note_network(archive, attempt.outcome)
        if not isinstance(attempt.outcome, ArchiveError):
            if self._refusals:
                self._refusals.pop(archive, None)
            return
        reason = _refusal(attempt)
        if reason:
            refusals = self._refusals.setdefault(archive, _Refusals())
            if refusals.add(host_of(attempt.original)):
                self._open_for(archive, refusals, reason)

    def _note_network(self, archive: str, outcome: object) -> None:
        """Note whether there was a way to the archive; a pause tells nothing."""
        if isinstance(outcome, Unreachable) and outcome.no_network:
            self._lost[archive] = outcome.why
        elif self._lost and not isinstance(outcome, Resting):
            self._lost.pop(archive, None)

    def _open_for(self, archive: str, refusals: _Refusals, reason: str) -> None:
        now, last = self._clock(), refusals.circuit
        if last.standing(now) != "open":
            why = f"{reason}, for pages of {FAILURES} hosts in a row"
            last = _opened(FAILURES, last.openings + 1, now, self._chance(), why)
            refusals.circuit = last
        # The answer to a request that was sent earlier may have closed it meanwhile.
        if self._circuits[archive].standing(now) != "open":
            self._circuits[archive] = last

    def worked(self, archive: str) -> None:
        """Reset the count of internal errors: a question ended with an answer."""
        if self._faults:
            self._faults.pop(archive, None)

    def _all_open(self, now: float) -> bool:
        """Whether every circuit is open and no probe is under way."""
        return all(
            circuit.standing(now) == "open" and not circuit.probing
            for circuit in self._circuits.values()
        )

    def _wake_all(self, now: float) -> None:
        for archive, circuit in self._circuits.items():
            self._circuits[archive] = circuit.woken(now)


def outcome_of(reply: Reply) -> Outcome:
    """Return what *reply* proves."""
    # An archived 503 is a good answer; the archive's own 503 is not.
    return "bad" if reply.status >= 500 and "memento-datetime" not in reply.headers else "good"


def outcome_of_error(error: BaseException, *, late: bool = False) -> Outcome:
    """Return what *error* proves; *late*: no answer had come after `GIVEN_UP` seconds."""
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
            # Our own code failed on what the archive sent; without the breaker it would fail
            # again with every question.
            return "bad"
        case _:
            return "neither"
