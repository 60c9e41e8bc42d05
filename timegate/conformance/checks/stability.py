# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""What must not change, and what caches may keep: RFC 7089 2.1.1, 4.5.6; RFC 9111, RFC 8246."""

from timegate.conformance.catalogue import (
    Finding,
    NotApplicable,
    Unanswered,
    broken,
    check,
    judge_each,
    passed,
    requested_replays,
    timegate_facts,
    working_timegate_responses,
)
from timegate.conformance.facts import Facts
from timegate.conformance.parsed_response import ParsedResponse


def _twice(facts: Facts) -> tuple[ParsedResponse, ParsedResponse]:
    pairs = [replay.twice for replay in requested_replays(facts) if replay.twice is not None]
    if not pairs:
        raise NotApplicable("no memento was requested twice")
    once, again = pairs[0]
    for response in (once, again):
        trouble = response.exchange.trouble
        if response.no_answer or trouble is not None:
            raise Unanswered(response.no_answer or (trouble.why if trouble else ""), response)
    return once, again


@check("M-5", "should", "RFC 7089 2.1.1")
def memento_bytes_do_not_change(facts: Facts) -> Finding:
    """A memento has the same bytes each time; its raw view, where there is one."""
    once, again = _twice(facts)
    if not once.exchange.digest or not again.exchange.digest:
        raise NotApplicable("the bytes were not recorded")
    if once.exchange.digest == again.exchange.digest:
        return passed(f"SHA-256 {once.exchange.digest[:12]} twice", once, again)
    if not _has_an_end(once) or not _has_an_end(again):
        raise Unanswered("where its body ends is not stated, so it may be cut off", once, again)
    return broken(f"other bytes at {once.url} the second time", "the same bytes", once, again)


def _has_an_end(response: ParsedResponse) -> bool:
    fields = (response.field("content-length"), response.field("transfer-encoding"))
    return any(field is not None for field in fields)


@check("M-30", "must", "RFC 7089 4.5.6")
def memento_headers_do_not_change(facts: Facts) -> Finding:
    """A memento has the same Memento-Datetime and original link each time."""
    once, again = _twice(facts)
    first, second = [(r.datetime, r.targets("original")) for r in (once, again)]
    if first == second:
        return passed("the same twice", once, again)
    return broken(f"first {first}, then {second}", "the same each time", once, again)


@check("M-4", "should", "RFC 8246 2, RFC 7089 4.5.3")
def negotiated_answers_are_not_immutable(facts: Facts) -> Finding:
    """No response of the TimeGate is marked immutable: new captures change its choice."""

    def complaint(response: ParsedResponse) -> str | None:
        marked = "immutable" in response.cache_directives
        return f"Cache-Control: {response.field('cache-control')}" if marked else None

    return judge_each(_own_responses(facts), complaint, "no immutable in Cache-Control")


@check("M-4", "must", "RFC 9111 4.1, RFC 7089 2.1.2")
def cached_answers_vary(facts: Facts) -> Finding:
    """A response of the TimeGate that caches may keep names accept-datetime in Vary."""
    kept = [response for response in _own_responses(facts) if response.is_shared_by_caches]
    if not kept:
        raise NotApplicable("no response says that caches may keep it")

    def complaint(response: ParsedResponse) -> str | None:
        if response.negotiates or (response.field("vary") or "").strip() == "*":
            return None
        return (
            f"Cache-Control: {response.field('cache-control')}, without accept-datetime in Vary"
        )

    return judge_each(kept, complaint, "Vary: accept-datetime")


def _own_responses(facts: Facts) -> list[ParsedResponse]:
    gate = timegate_facts(facts)
    refused = [r for r in gate.bad_dates.values() if not r.no_answer]
    return [*working_timegate_responses(facts), *refused]
