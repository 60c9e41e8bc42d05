"""The catalogue of checks: what a check is, what it can find, and how it reads the facts.

A check is a function of `Facts` that returns a `Finding`. The functions at the end select the
responses that a check needs; they raise `NotApplicable` or `Unanswered` where there are none.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from archives.negotiation import REDIRECTS
from timegate.conformance.facts import Facts, GateFacts, ReplayFacts, TimeMapFacts
from timegate.conformance.parsed_response import ParsedResponse, ParsedTimeMap
from timegate.conformance.session import RecordedExchange
from timegate.conformance.subject import origin_of

Level = Literal["must", "should", "practice"]
"""Required by an RFC, recommended by an RFC, or established practice that users rely on."""
Verdict = Literal["pass", "fail", "warn", "skip", "unknown"]
"""A violated *must* is a failure; any other violation is a warning."""
VERDICTS: Final[tuple[Verdict, ...]] = ("pass", "fail", "warn", "skip", "unknown")
_MOST_EVIDENCE: Final = 3
"""Exchanges in a trace; further ones would only repeat the point."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict, the reason for it, and the exchanges that prove it."""

    verdict: Verdict
    why: str
    expected: str = ""
    evidence: tuple[RecordedExchange, ...] = ()


class NotApplicable(Exception):
    """Raised by a check that does not apply; the message is the reason."""


class Unanswered(Exception):
    """Raised by a check that lacks a response: the result is unknown, not a failure."""

    def __init__(self, why: str, *responses: ParsedResponse) -> None:
        super().__init__(why)
        self.evidence = tuple(response.exchange for response in responses)


def passed(why: str, *responses: ParsedResponse) -> Finding:
    """Return a positive finding with the *responses* that were examined."""
    return Finding("pass", why, "", _evidence(responses))


def broken(why: str, expected: str, *responses: ParsedResponse) -> Finding:
    """Return a violation; the level of the check decides between failure and warning."""
    return Finding("fail", why, expected, _evidence(responses))


def _evidence(responses: Sequence[ParsedResponse]) -> tuple[RecordedExchange, ...]:
    return tuple(response.exchange for response in responses[:_MOST_EVIDENCE])


def require_answer(response: ParsedResponse | None, what: str) -> ParsedResponse:
    """Return *response* if there is one. Raises NotApplicable or Unanswered."""
    if response is None:
        raise NotApplicable(f"{what} was not requested")
    if response.no_answer:
        raise Unanswered(response.no_answer, response)
    return response


def require_no_error(response: ParsedResponse | None, what: str) -> ParsedResponse:
    """Return *response* as `require_answer`; server errors are reported by their own check."""
    if response is not None and is_own_error(response):
        raise NotApplicable(f"{what} is a {response.status}")
    return require_answer(response, what)


def judge_each(
    responses: Iterable[ParsedResponse | None],
    complaint: Callable[[ParsedResponse], str | None],
    expected: str,
) -> Finding:
    """Apply *complaint* to every response; those that did not arrive are left out.

    Raises Unanswered if none arrived, NotApplicable if none was requested.
    """
    requested = [response for response in responses if response is not None]
    answered = [response for response in requested if not response.no_answer]
    if not requested:
        raise NotApplicable("there is no such response")
    if not answered:
        raise Unanswered(requested[0].no_answer, requested[0])
    wrong = [(response, why) for response in answered if (why := complaint(response))]
    if not wrong:
        noun = "response" if len(answered) == 1 else "responses"
        return passed(f"{len(answered)} {noun} examined", *answered)
    reasons = [*dict.fromkeys(why for _, why in wrong)]
    shown = "; ".join(reasons[:_MOST_EVIDENCE])
    return broken(shown, expected, *(response for response, _ in wrong))


Judge = Callable[[Facts], Finding]


@dataclass(frozen=True, slots=True)
class Check:
    """One requirement and the function that judges it."""

    name: str
    rule: str
    """Its number in docs/rules.md; empty where it has none."""
    level: Level
    section: str
    """Where the requirement is written."""
    sentence: str
    """The requirement in one sentence, as users read it."""
    judge: Judge

    def __call__(self, facts: Facts) -> Finding:
        """Judge *facts*; the violation of a recommendation becomes a warning."""
        try:
            finding = self.judge(facts)
        except NotApplicable as reason:
            return Finding("skip", str(reason))
        except Unanswered as reason:
            return Finding("unknown", str(reason), "", reason.evidence)
        if finding.verdict == "fail" and self.level != "must":
            return replace(finding, verdict="warn")
        return finding


CHECKS: Final[dict[str, Check]] = {}
"""By name, in the order of the report; filled by importing `timegate.conformance.checks`."""


def check(rule: str, level: Level, section: str) -> Callable[[Judge], Judge]:
    """Register a function in `CHECKS` under its name; its docstring becomes the sentence."""

    def register(judge: Judge) -> Judge:
        name = getattr(judge, "__name__", "").replace("_", "-")
        if name in CHECKS:
            raise ValueError(f"there are two checks {name!r}")
        sentence = (judge.__doc__ or "").partition("\n")[0]
        CHECKS[name] = Check(name, rule, level, section, sentence, judge)
        return judge

    return register


_NOT_HELD: Final = (404, 410)
UNREQUESTED: Final = (206, 304, 416)
"""Statuses that answer range or conditional requests, which are never sent here."""


def timegate_facts(facts: Facts) -> GateFacts:
    """Return what is known of the TimeGate. Raises NotApplicable if none is checked."""
    if facts.gate is None:
        raise NotApplicable("no TimeGate is checked")
    return facts.gate


def is_not_held(response: ParsedResponse) -> bool:
    """Whether the response says that there is no capture."""
    return response.status in _NOT_HELD and response.datetime is None


def is_own_error(response: ParsedResponse) -> bool:
    """Whether it is an error of the server itself; 503 only asks to come back later."""
    return response.status >= 500 and response.status != 503 and response.datetime is None


def timegate_responses(facts: Facts) -> list[ParsedResponse]:
    """Return all responses of the TimeGate for a page that the archive holds."""
    gate = timegate_facts(facts)
    answered = [response for response in gate.valid if not response.no_answer]
    if not answered:
        raise Unanswered(gate.newest.no_answer, gate.newest)
    held = [response for response in answered if not is_not_held(response)]
    if not held:
        raise NotApplicable(f"the archive does not hold {facts.sample}")
    return held


def working_timegate_responses(facts: Facts) -> list[ParsedResponse]:
    """Return the responses of a working TimeGate for a page that the archive holds."""
    responses = timegate_responses(facts)
    require_working_timegate(facts)
    return [response for response in responses if not response.is_plain_page]


def require_working_timegate(facts: Facts) -> None:
    """Raise Unanswered where even a valid request leads to no memento.

    Other responses of such a TimeGate prove nothing. The fault itself is reported by the
    checks about it, such as `timegate-leads-to-a-memento` and `redirects-end`.
    """
    gate = timegate_facts(facts)
    if gate.early.no_answer:
        raise Unanswered(gate.early.no_answer, gate.early)
    if is_not_held(gate.early):
        return
    if leads_to_no_memento(gate.early) or _ends_elsewhere(facts):
        raise Unanswered("the TimeGate leads to no memento", gate.early)


def leads_to_no_memento(response: ParsedResponse) -> bool:
    """Whether a response of a TimeGate neither is a memento nor names one."""
    if response.datetime is not None:
        return response.status in UNREQUESTED
    return response.status not in (200, *REDIRECTS) or response.chosen is None


def _ends_elsewhere(facts: Facts) -> bool:
    """Whether the redirects of the TimeGate ended outside the archive's mementos."""
    route = facts.route
    if route is None or not route.stopped:
        return False
    return not (
        route.stopped.startswith("leaves") and is_memento_host(facts, route.end.location)
    )


def is_memento_host(facts: Facts, uri: str | None) -> bool:
    """Whether *uri* is on a host of the mementos in the TimeMap or in the TimeGate's links."""
    linked = [] if facts.gate is None else facts.gate.early.mementos
    listed = [uri for _, uri in facts.captures]
    origins = {origin_of(each) for each in (*listed, *(link.uri for link in linked))}
    return origin_of(uri or "") in origins - {""}


def require_held(facts: Facts) -> None:
    """Raise NotApplicable where the archive does not hold the page, Unanswered as above."""
    working_timegate_responses(facts)


def answered_timemap(facts: Facts) -> TimeMapFacts:
    """Return the TimeMap if there was a response, whatever its content."""
    if facts.timemap is None:
        raise NotApplicable("no TimeMap is known")
    first = facts.timemap.first
    if first.no_answer and not is_own_error(first.response):
        raise Unanswered(first.no_answer, first.response)
    if is_not_held(first.response):
        raise NotApplicable(f"the archive lists nothing for {facts.sample}")
    return facts.timemap


def readable_timemap(facts: Facts) -> TimeMapFacts:
    """Return the TimeMap if it is a list in link-format."""
    timemap = answered_timemap(facts)
    if is_own_error(timemap.first.response):
        raise NotApplicable(f"the TimeMap is a {timemap.first.response.status}")
    if not timemap.first.is_list:
        raise Unanswered("the TimeMap is not in link-format", timemap.first.response)
    return timemap


def readable_pages(facts: Facts) -> list[ParsedTimeMap]:
    """Return the pages of the TimeMap that can be read."""
    return [
        page
        for page in readable_timemap(facts).all_pages
        if not page.no_answer and page.is_list
    ]


def requested_replays(facts: Facts) -> list[ReplayFacts]:
    """Return the mementos that were requested."""
    if not facts.replays:
        if facts.gate is not None:
            working_timegate_responses(facts)
            chosen = facts.gate.early.chosen
            if chosen and not facts.subject.owns(chosen):
                raise NotApplicable(
                    "its mementos are on other hosts, which are not checked here"
                )
        raise NotApplicable("no memento was found to request")
    return list(facts.replays)


def requested_original(facts: Facts) -> ParsedResponse:
    """Return the original, with any status: one that is gone still links its TimeGate.

    Raises NotApplicable, or Unanswered if it did not answer, not even with links.
    """
    response = facts.original
    if response is None:
        raise NotApplicable("no original is checked")
    if response.no_answer and not response.links:
        raise Unanswered(response.no_answer, response)
    return response


def require_timegate_itself(facts: Facts) -> None:
    """Raise Unanswered as `require_working_timegate`, but not for what mementos do."""
    route = facts.route
    if route is not None and route.stopped.startswith("leaves") and len(route.hops) > 1:
        timegate_facts(facts)
        return
    require_working_timegate(facts)


def known_timemap(facts: Facts) -> bool:
    """Whether a TimeMap is known: configured, given, or linked by anything."""
    return facts.timemap is not None or any(r.targets("timemap") for r in facts.responses)


def expected_original(facts: Facts) -> str:
    """Return the original of every response. Raises NotApplicable if it is not known."""
    if facts.page is None:
        raise NotApplicable("the original of this address is not known")
    return facts.page


def reached_mementos(facts: Facts) -> list[ParsedResponse]:
    """Return the responses that are mementos: those with Memento-Datetime."""
    ends = [replay.end for replay in requested_replays(facts)]
    if all(is_own_error(end) for end in ends):
        raise NotApplicable(f"every memento is a {ends[0].status}")
    if all(end.no_answer for end in ends):
        raise Unanswered(ends[0].no_answer, ends[0])
    found = [end for end in ends if end.datetime is not None]
    if not found:
        raise Unanswered("no memento was reached", *ends)
    return found
