"""The oracle itself: it sees through what archives say, and finds no fault in what is true."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import pytest

from tests.fakes import an_entry
from tests.truth.asking import Answer, Asked, Members, in_virtual_time
from tests.truth.oracle import Oracle, distance, missed, relation, violations, violations_again
from tests.truth.rounds import run
from tests.truth.world import Exchange, LyingArchive, World
from timegate.misbehave import FAULTS, Archive, FakeCapture

PAGE: Final = "http://page.example/"
BASE: Final = "http://a0.example.net"
AT: Final = "20160122112029"
LATER: Final = "20160123112029"
HERE: Final = f"{BASE}/web/{AT}/{PAGE}"
ASKED: Final = Asked(PAGE, AT, "a0.example", "page", is_identifier=True)
EXACT: Final[Members] = {
    "match": ("exact", {}),
    "evidence": ("delivered", {}),
    "archive": ("same", {"req": "a0.example", "got": "a0.example"}),
    "time": ("exact", {"got": "2016-01-22T11:20:29Z", "delta": 0}),
    "granularity": ("same", {}),
    "coverage": ("as-requested", {}),
    "uri": ("same", {}),
    "content": ("unknown", {}),
    "sources": ("complete", {"asked": 1, "failed": 0}),
}


def capture(stamp: str, status: int = 200) -> FakeCapture:
    at = datetime.strptime(f"{stamp}+0000", "%Y%m%d%H%M%S%z").astimezone(UTC)
    return FakeCapture(PAGE, at, status)


def world_with(fault: str = "none", *captures: FakeCapture) -> World:
    """Return one archive, asked at its TimeGate for the time of `ASKED`."""
    archive = Archive(captures or (capture(AT), capture(LATER)))
    archive.url = BASE
    entry = an_entry(
        "memento",
        id="a0",
        pwid=("a0.example",),
        hosts=("a0.example.net",),
        timegate=f"{BASE}/timegate/",
    )
    world = World([LyingArchive(entry, archive, (FAULTS[fault],))])
    world.journal.append(in_virtual_time(_exchange(world)))
    return world


async def _exchange(world: World) -> Exchange:
    url, headers = (
        f"{BASE}/timegate/{PAGE}",
        {"accept-datetime": "Fri, 22 Jan 2016 11:20:29 GMT"},
    )
    return Exchange("a0", "HEAD", url, await world.archives["a0"].serve("HEAD", url, headers))


def answer_of(
    world: World, location: str | None = HERE, **members: tuple[str, dict[str, object]]
) -> Answer:
    return Answer(
        "resolve", ASKED, 302, location, {**EXACT, **members}, "", tuple(world.journal), "", {}
    )


def kinds(world: World, answer: Answer) -> set[str]:
    found = in_virtual_time(violations(answer, world, Oracle(world), {}))
    return {violation.kind for violation in found}


def test_a_true_answer_has_no_violation() -> None:
    world = world_with()

    assert kinds(world, answer_of(world)) == set()


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("memento-lost", "delivered-nothing"),
        ("memento-500", "delivered-nothing"),
        ("memento-403", "delivered-nothing"),
        ("block-page", "delivered-nothing"),
        ("memento-to-home", "delivered-nothing"),
        ("memento-to-live", "delivered-nothing"),
        ("memento-hang", "delivered-nothing"),
        ("memento-redated", "delivered-other-time"),
        ("memento-to-last", "delivered-other-time"),
        ("datetime-future", "delivered-undated"),
        ("memento-other-original", "uri"),
        ("memento-to-login", "uri"),
        ("archived-404", "status"),
    ],
)
def test_a_memento_that_is_not_as_said_is_a_violation(fault: str, kind: str) -> None:
    world = world_with(fault)

    assert kinds(world, answer_of(world)) == {kind}


def test_a_frame_is_seen_through_by_its_raw_view() -> None:
    world = world_with("frame-repeats", capture(LATER))

    assert kinds(world, answer_of(world)) == {"delivered-other-time"}


def test_a_promise_may_be_false_but_not_exact_for_an_identifier() -> None:
    world = world_with("memento-lost")
    promise = ("promised", dict[str, object]())

    assert kinds(world, answer_of(world, evidence=promise)) == {"promise-called-exact"}
    assert kinds(world, answer_of(world, evidence=promise, match=promise)) == set()


def test_a_promise_that_no_archive_made_is_a_violation() -> None:
    world = world_with("none", capture(LATER))
    promise = ("promised", dict[str, object]())

    found = kinds(world, answer_of(world, evidence=promise, match=promise))

    assert found == {"promise-not-made"}


def test_a_match_is_no_better_than_its_members() -> None:
    world = world_with()

    assert kinds(world, answer_of(world, uri=("variant", {}))) == {"match"}
    assert "archive" in kinds(world, answer_of(world, archive=("same", {"got": "a1.example"})))


def test_a_404_while_an_archive_failed_is_a_violation() -> None:
    world = world_with("server-error")
    nothing = replace(answer_of(world, None), status=404, members={}, problem="no-memento")

    assert kinds(world, nothing) == {"absence"}


def test_a_404_for_a_memento_that_was_promised_is_a_violation() -> None:
    world = world_with("memento-lost")
    nothing = replace(answer_of(world, None), status=404, members={}, problem="no-memento")

    assert kinds(world, nothing) == {"absence"}


def test_a_404_where_every_archive_said_no_is_none() -> None:
    world = world_with("holds-nothing")
    nothing = replace(answer_of(world, None), status=404, members={}, problem="no-memento")

    assert kinds(world, nothing) == set()


def test_what_was_delivered_is_not_requested_again() -> None:
    world = world_with()
    first = answer_of(world)

    assert [each.kind for each in violations_again(first, first, {})] == ["cached"]
    assert list(violations_again(first, replace(first, exchanges=()), {})) == []


def test_a_copy_is_missed_if_a_nearer_one_was_named() -> None:
    world = world_with()
    farther = answer_of(world, f"{BASE}/web/{LATER}/{PAGE}")

    _, miss = in_virtual_time(missed(farther, world, Oracle(world), {}))
    _, none = in_virtual_time(missed(answer_of(world), world, Oracle(world), {}))

    assert miss is not None
    assert miss.kind == "nearer"
    assert none is None


def test_a_copy_is_lost_if_the_answer_leads_nowhere() -> None:
    world = world_with()

    _, miss = in_virtual_time(missed(answer_of(world, f"{BASE}/"), world, Oracle(world), {}))

    assert miss is not None
    assert miss.kind == "lost"


@pytest.mark.parametrize(
    ("asked", "found", "seconds"),
    [
        (AT, AT, 0),
        (AT, "20160122112030", 1),
        (AT, "20160122112028", -1),
        ("20160122", "20160122235959", 0),
        ("20160122", "20160123000000", 1),
        ("2016", "20151231235959", -1),
        ("20160122112029250", AT, 0),
    ],
)
def test_distances_count_from_the_nearest_second_asked_for(
    asked: str, found: str, seconds: int
) -> None:
    assert distance(asked, found) == seconds


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        (PAGE, "same"),
        ("HTTP://page.example/", "normalized"),
        ("http://page.example", "normalized"),
        ("https://www.page.example/", "variant"),
        ("http://page.example/login", "redirected"),
    ],
)
def test_pages_are_the_same_variants_or_others(original: str, expected: str) -> None:
    assert relation(PAGE, original) == expected


def test_a_round_can_be_run_again() -> None:
    first, again = run(3, range(5)), run(3, range(5))

    assert first.summary() == again.summary()
