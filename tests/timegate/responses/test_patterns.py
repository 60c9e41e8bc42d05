"""What was written before is written again as if it were new."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from archives.errors import Unreachable
from archives.model import Closest, Memento, Relation
from archives.moment import Moment
from tests.timegate.resolution.resolutions import PAGE, REGISTRY
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.preferences import NOTHING_CHOSEN
from timegate.responses.answers import Answers
from timegate.responses.model import Response
from timegate.responses.patterns import Patterns

HERE = "https://gate.example"
STAMPS = [
    *("20151231235959", "20160101000000", "20160122112029", "20160122112029500"),
    *("20161231235959", "20161231235960", "20170101000000", "20160122000000"),
]
ASKED = [None, *STAMPS, "2016", "201601", "20160122", "2016012211", "20161231"]
ARCHIVES = ["internet-archive", "nameless", "zeros"]
MEMENTOS = some.builds(
    Memento,
    some.sampled_from(STAMPS),
    some.sampled_from(["https://a.example/1", "https://a.example/2"]),
    some.sampled_from([PAGE, "https://www.dr.dk", "http://dr.dk/#top"]),
    some.sampled_from(ARCHIVES),
    some.sampled_from([None, 200, 404]),
)
NEIGHBOURS: some.SearchStrategy[dict[Relation, Memento]] = some.dictionaries(
    some.sampled_from(["first", "prev", "next", "last"]), MEMENTOS, max_size=2
)
OUTCOMES = some.builds(
    Closest,
    MEMENTOS,
    some.sampled_from(["cdx", "timegate"]),
    some.sampled_from([(), ("its header says another time",)]),
    NEIGHBOURS,
)
QUERIES = some.builds(
    Query,
    some.just(PAGE),
    some.sampled_from([None if digits is None else Moment(digits) for digits in ASKED]),
    some.none(),
    some.sampled_from([None, None, None, "archive.org"]),
    some.sampled_from([None, None, None, "part"]),
    syntax=some.sampled_from(["strict", "repaired"]),
    diagnostics=some.sampled_from([(), ("missing-z",)]),
)
POLICIES = some.sampled_from([NOTHING_CHOSEN, NOTHING_CHOSEN, Preferences(precision="day")])


def resolution(query: Query, preferences: Preferences, found: Closest) -> Resolution:
    best = Attempt(found.memento.archive, found, 0.0, query.original)
    return Resolution(query, preferences, best, (), (best,))


RESOLUTIONS = some.builds(resolution, QUERIES, POLICIES, OUTCOMES)


class Nobody:
    """Asks nobody: these answers are written for what was found."""

    async def resolve(self, query: Query, preferences: Preferences) -> Resolution:
        return Resolution(query, preferences, None, (), ())


def plain() -> Answers:
    return Answers(Nobody(), REGISTRY, HERE)


def patterned() -> Answers:
    return Answers(Nobody(), REGISTRY, HERE, patterns=Patterns(REGISTRY))


def redirected(answers: Answers, found: Resolution) -> Response:
    return answers.redirect(found, vary="accept-datetime")


@given(some.lists(RESOLUTIONS, min_size=1, max_size=12))
def test_an_answer_after_a_pattern_is_the_answer_that_would_be_written(
    found: list[Resolution],
) -> None:
    anew, again = plain(), patterned()

    for one in found * 2:
        assert redirected(again, one) == redirected(anew, one)


@pytest.mark.parametrize("archive", ARCHIVES)
@pytest.mark.parametrize("stamp", STAMPS)
def test_one_copy_is_told_of_rightly_at_every_time(archive: str, stamp: str) -> None:
    copy = Closest(Memento(stamp, "https://a.example/1", PAGE, archive), "cdx")
    anew, again = plain(), patterned()

    for digits in (*ASKED, *reversed(ASKED)):
        query = Query(PAGE, None if digits is None else Moment(digits))
        one = resolution(query, NOTHING_CHOSEN, copy)
        assert redirected(again, one) == redirected(anew, one)


def test_what_others_said_takes_part_in_no_pattern() -> None:
    copy = Closest(Memento("20160122112029", "https://a.example/1", PAGE, "nameless"), "cdx")
    alone = resolution(Query(PAGE, Moment("20160122112030")), NOTHING_CHOSEN, copy)
    silent = Attempt("zeros", Unreachable("zeros", PAGE, "timed out"), 2.0, PAGE)
    among = replace(alone, attempts=(*alone.attempts, silent))
    answers = patterned()

    redirected(answers, alone)

    assert "partial" in redirected(answers, among).headers["Memento-Precision"]
