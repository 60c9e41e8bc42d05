"""Responses that declare themselves incomplete may differ without being wrong."""

import asyncio
from collections.abc import Sequence
from typing import Literal

import pytest

from timegate.conformance.catalogue import NotApplicable, Unanswered
from timegate.conformance.checks.agreement import same_question_same_answer
from timegate.conformance.checks.http import head_is_get_without_a_body
from timegate.conformance.facts import Facts, GateFacts
from timegate.conformance.gather import gather
from timegate.conformance.parsed_response import ParsedResponse
from timegate.conformance.probes import between, head, memento
from timegate.conformance.session import RecordedExchange, Session, key_of
from timegate.conformance.subject import Subject

PAGE = "http://example.org/"
NOW = "20261116050000"
SUBJECT = Subject("mine", "Mine", "timegate", "http://gate.example/timegate/", (PAGE,))
EARLY, LATE = "20100101000000", "20120101000000"


def response(
    stamp: str,
    *,
    partial: bool = False,
    method: Literal["GET", "HEAD"] = "GET",
    status: int = 302,
) -> ParsedResponse:
    """Return the response of an aggregator that chose the memento of *stamp*."""
    url = SUBJECT.url + PAGE
    request = head(url, "memento") if method == "HEAD" else memento(url)
    sources = "partial;asked=2;failed=1" if partial else "complete;asked=2;failed=0"
    headers = {
        "location": f"http://archive.example/{stamp}/{PAGE}",
        "vary": "accept-datetime",
        "memento-precision": f"match=within, sources={sources}, syntax=strict",
    }
    return ParsedResponse(RecordedExchange(request, status, headers))


def facts(gets: Sequence[ParsedResponse], of_head: ParsedResponse) -> Facts:
    newest, (early, again, *later) = gets[0], gets
    gate = GateFacts(newest, early, again=again, head=of_head, repeats=tuple(later))
    return Facts(SUBJECT, PAGE, NOW, gate)


def test_head_may_equal_any_of_the_responses_to_get() -> None:
    gets = [response(EARLY, partial=True), response(EARLY, partial=True), response(LATE)]

    assert (
        head_is_get_without_a_body(facts(gets, response(LATE, method="HEAD"))).verdict == "pass"
    )


def test_head_unlike_every_incomplete_get_is_unknown() -> None:
    gets = [response(EARLY, partial=True)] * 4

    with pytest.raises(Unanswered, match="sources=partial"):
        head_is_get_without_a_body(facts(gets, response(LATE, method="HEAD")))


def test_head_unlike_every_complete_get_is_a_failure() -> None:
    found = head_is_get_without_a_body(
        facts([response(EARLY)] * 2, response(LATE, method="HEAD"))
    )

    assert (found.verdict, found.why) == ("fail", "Location differs")


def test_incomplete_sources_do_not_explain_another_status() -> None:
    refused = response(EARLY, partial=True, method="HEAD", status=405)

    found = head_is_get_without_a_body(facts([response(EARLY, partial=True)] * 4, refused))

    assert (found.verdict, found.why) == ("fail", "405 to HEAD, 302 to GET")


def test_complete_responses_to_one_request_are_the_same() -> None:
    other = response(EARLY, partial=True), response(LATE), response(EARLY, partial=True)

    assert (
        same_question_same_answer(facts([*other, response(LATE)], response(LATE))).verdict
        == "pass"
    )
    assert (
        same_question_same_answer(facts([*other, response(EARLY)], response(LATE))).verdict
        != "pass"
    )
    with pytest.raises(NotApplicable):
        same_question_same_answer(facts(other, response(LATE)))


@pytest.mark.parametrize(("partial", "times"), [(True, 4), (False, 2)])
def test_only_incomplete_responses_are_requested_again(*, partial: bool, times: int) -> None:
    question = memento(SUBJECT.url + PAGE, between([])[0])
    answer = response(EARLY, partial=partial).exchange
    recorded = {key_of(question, repeat): answer for repeat in range(4)}
    session = Session(None, recorded)

    gathered = asyncio.run(gather(SUBJECT, PAGE, session, NOW))

    assert gathered.gate is not None
    gets = gathered.gate.early, gathered.gate.again, *gathered.gate.repeats
    assert [get is not None and get.status for get in gets] == [302] * times
