"""Answers that say themselves that they are not whole may differ, and prove nothing."""

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
from timegate.conformance.questions import between, head, timegate
from timegate.conformance.session import RecordedExchange, Session, key_of
from timegate.conformance.subject import Subject

PAGE = "http://example.org/"
NOW = "20261116050000"
SUBJECT = Subject("mine", "Mine", "timegate", "http://gate.example/timegate/", (PAGE,))
EARLY, LATE = "20100101000000", "20120101000000"


def said(
    stamp: str,
    *,
    partial: bool = False,
    method: Literal["GET", "HEAD"] = "GET",
    status: int = 302,
) -> ParsedResponse:
    """Return the answer of an aggregator that chose the copy of *stamp*."""
    url = SUBJECT.url + PAGE
    request = head(url, "memento") if method == "HEAD" else timegate(url)
    sources = "partial;asked=2;failed=1" if partial else "complete;asked=2;failed=0"
    headers = {
        "location": f"http://archive.example/{stamp}/{PAGE}",
        "vary": "accept-datetime",
        "memento-precision": f"match=within, sources={sources}, syntax=strict",
    }
    return ParsedResponse(RecordedExchange(request, status, headers))


def facts(gets: Sequence[ParsedResponse], of_head: ParsedResponse) -> Facts:
    newest, (early, again, *later) = gets[0], gets
    gate = GateFacts(newest, early, again=again, head=of_head, later=tuple(later))
    return Facts(SUBJECT, PAGE, NOW, gate)


def test_head_may_be_like_any_of_the_answers_to_get() -> None:
    gets = [said(EARLY, partial=True), said(EARLY, partial=True), said(LATE)]

    assert head_is_get_without_a_body(facts(gets, said(LATE, method="HEAD"))).verdict == "pass"


def test_head_that_is_unlike_every_get_is_unknown_while_they_are_not_whole() -> None:
    gets = [said(EARLY, partial=True)] * 4

    with pytest.raises(Unanswered, match="sources=partial"):
        head_is_get_without_a_body(facts(gets, said(LATE, method="HEAD")))


def test_head_that_is_unlike_every_whole_get_is_wrong() -> None:
    found = head_is_get_without_a_body(facts([said(EARLY)] * 2, said(LATE, method="HEAD")))

    assert (found.verdict, found.why) == ("fail", "Location differs")


def test_no_want_of_sources_explains_another_status() -> None:
    refused = said(EARLY, partial=True, method="HEAD", status=405)

    found = head_is_get_without_a_body(facts([said(EARLY, partial=True)] * 4, refused))

    assert (found.verdict, found.why) == ("fail", "405 to HEAD, 302 to GET")


def test_whole_answers_to_one_question_are_the_same() -> None:
    other = said(EARLY, partial=True), said(LATE), said(EARLY, partial=True)

    assert same_question_same_answer(facts([*other, said(LATE)], said(LATE))).verdict == "pass"
    assert same_question_same_answer(facts([*other, said(EARLY)], said(LATE))).verdict != "pass"
    with pytest.raises(NotApplicable):
        same_question_same_answer(facts(other, said(LATE)))


@pytest.mark.parametrize(("partial", "times"), [(True, 4), (False, 2)])
def test_only_who_is_not_whole_is_asked_again(*, partial: bool, times: int) -> None:
    question = timegate(SUBJECT.url + PAGE, between([])[0])
    answer = said(EARLY, partial=partial).exchange
    recorded = {key_of(question, turn): answer for turn in range(4)}
    session = Session(None, recorded)

    gathered = asyncio.run(gather(SUBJECT, PAGE, session, NOW))

    assert gathered.gate is not None
    gets = gathered.gate.early, gathered.gate.again, *gathered.gate.later
    assert [get is not None and get.status for get in gets] == [302] * times
