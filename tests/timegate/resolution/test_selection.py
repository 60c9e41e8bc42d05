"""Selection under a virtual clock: what is promised, what is delivered, and what follows."""

from archives.errors import Misbehaved, Refused
from archives.model import Closest, Memento
from archives.moment import Moment
from archives.registry import Registry
from tests.clock import in_virtual_time
from tests.scenario import FakeArchive, World
from timegate.resolution.model import Preferences, Query, Resolution
from timegate.verdict.members import known_comparison

URL = "http://example.org/"
AT = Moment("20160122112029")
EXACT = "20160122112029"
SECOND_LATER = "20160122112030"
DAY_LATER = "20160123112029"
WEEK_LATER = "20160129112029"
YEAR_LATER = "20170122112029"
NAMED = Query(
    URL,
    AT,
    archive="named",
    archive_id="named.example",
    identifier="urn:pwid:named.example:2016-01-22T11:20:29Z:page:http://example.org/",
)
ANY = Query(URL, AT, identifier="duri:2016-01-22T11:20:29Z:http://example.org/")
TIMEGATE = Query(URL, AT)


def resolved(world: World, query: Query, preferences: Preferences | None = None) -> Resolution:
    async def run() -> Resolution:
        async with world.coalescer:
            return await world.resolve(query, preferences)

    return in_virtual_time(run())


def chosen(resolution: Resolution) -> tuple[str, str, str]:
    """Return the archive, the stamp and the evidence of the chosen memento."""
    best = resolution.best
    assert best is not None
    assert isinstance(best.outcome, Closest)
    return best.archive, best.outcome.memento.stamp, best.outcome.evidence


def refusal(archive: str, status: int = 503) -> Refused:
    return Refused(archive, URL, status, None)


def test_the_memento_of_an_identifier_is_requested() -> None:
    named = FakeArchive("named", 0.1, (EXACT,))
    world = World(named, FakeArchive("other", 0.1, (EXACT,)))

    assert chosen(resolved(world, NAMED)) == ("named", EXACT, "delivered")
    assert (world.requests(), len(named.probed)) == (1, 1)


def test_a_timegate_takes_what_is_promised() -> None:
    named = FakeArchive("named", 0.1, (EXACT,), lost=True)

    assert chosen(resolved(World(named), TIMEGATE)) == ("named", EXACT, "promised")
    assert named.probed == []


def test_verification_can_be_declined_and_demanded() -> None:
    world = World(FakeArchive("named", 0.1, (EXACT,)))

    assert chosen(resolved(world, NAMED, Preferences(verify="none")))[2] == "promised"
    assert chosen(resolved(world, TIMEGATE, Preferences(verify="head")))[2] == "delivered"


def test_no_memento_is_requested_twice() -> None:
    named = FakeArchive("named", 0.1, (EXACT,))
    world = World(named)

    first = resolved(world, NAMED)
    again = resolved(world, Query(URL, Moment("201601"), identifier="duri:2016-01:" + URL))

    assert chosen(first) == chosen(again)
    assert len(named.probed) == 1
    assert again.checks[0].age == 0.0


def test_a_memento_of_another_time_is_an_answer_with_its_own_time() -> None:
    other_time = FakeArchive("named").memento(YEAR_LATER)
    named = FakeArchive("named", 0.1, (EXACT,), delivers={EXACT: other_time})

    assert chosen(resolved(World(named), NAMED)) == ("named", YEAR_LATER, "delivered")


def test_the_search_goes_on_for_a_better_memento_than_another_time() -> None:
    other_time = FakeArchive("named").memento(YEAR_LATER)
    world = World(
        FakeArchive("named", 0.1, (EXACT,), delivers={EXACT: other_time}),
        FakeArchive("other", 0.1, (DAY_LATER,)),
    )

    resolution = resolved(world, NAMED)

    assert chosen(resolution) == ("other", DAY_LATER, "delivered")
    assert [a.archive for a in resolution.alternatives] == ["named"]


def test_a_memento_that_is_gone_gives_way_to_the_next_nearest() -> None:
    world = World(
        FakeArchive("named", 0.1, (EXACT,), lost=True),
        FakeArchive("other", 0.1, (DAY_LATER,)),
    )

    resolution = resolved(world, NAMED)

    assert chosen(resolution) == ("other", DAY_LATER, "delivered")
    assert resolution.failed == ("named",)
    assert not resolution.complete


def test_where_every_memento_is_gone_it_is_unknown_whether_there_is_one() -> None:
    resolution = resolved(World(FakeArchive("named", 0.1, (EXACT,), lost=True)), NAMED)

    assert resolution.memento is None
    assert [type(a.outcome) for a in resolution.attempts] == [Misbehaved]
    assert resolution.failed == ("named",)


def test_a_gated_memento_gives_way_to_one_that_is_delivered() -> None:
    world = World(
        FakeArchive("named", 0.1, (EXACT,), delivers={EXACT: refusal("named")}),
        FakeArchive("other", 0.1, (WEEK_LATER,)),
    )

    assert chosen(resolved(world, NAMED)) == ("other", WEEK_LATER, "delivered")


def test_a_gated_memento_without_another_is_only_promised_and_says_why() -> None:
    named = FakeArchive("named", 0.1, (EXACT,), delivers={EXACT: refusal("named")})

    resolution = resolved(World(named), NAMED)

    assert chosen(resolution) == ("named", EXACT, "promised")
    assert resolution.best is not None
    assert resolution.best.unchecked == "refused with 503"
    assert not resolution.complete


def test_a_neighbour_of_a_lost_memento_in_the_same_archive_is_next() -> None:
    named = FakeArchive(
        "named", 0.1, (EXACT,), delivers={EXACT: True}, links={"next": DAY_LATER}
    )

    assert chosen(resolved(World(named), NAMED)) == ("named", DAY_LATER, "delivered")


def test_a_linked_memento_that_is_nearer_is_requested_and_taken() -> None:
    named = FakeArchive("named", 0.1, ("20100101000000",), links={"next": SECOND_LATER})

    assert chosen(resolved(World(named), NAMED)) == ("named", SECOND_LATER, "delivered")
    assert chosen(resolved(World(named), TIMEGATE)) == ("named", SECOND_LATER, "promised")


def test_a_linked_memento_that_is_not_delivered_leaves_the_choice_of_the_archive() -> None:
    named = FakeArchive(
        "named",
        0.1,
        ("20100101000000",),
        links={"next": SECOND_LATER},
        delivers={SECOND_LATER: True},
    )

    assert chosen(resolved(World(named), NAMED)) == ("named", "20100101000000", "delivered")


def test_a_memento_of_another_page_comes_after_every_copy_of_the_page() -> None:
    other_page = Memento(EXACT, f"http://named/{EXACT}/http://x.org/", "http://x.org/", "named")
    world = World(
        FakeArchive("named", 0.1, (EXACT,), delivers={EXACT: other_page}),
        FakeArchive("other", 0.1, (YEAR_LATER,)),
    )

    assert chosen(resolved(world, NAMED)) == ("other", YEAR_LATER, "delivered")


# Archived errors (S-5)


def error_at(stamp: str, archive: str, status: int = 404) -> Memento:
    return FakeArchive(archive).memento(stamp)._replace(status=status)


def unstated(name: str, stamps: tuple[str, ...], **more: object) -> FakeArchive:
    """Return an archive that does not state the status of its mementos."""
    return FakeArchive(name, 0.1, stamps, status=None, **more)  # type: ignore[arg-type]


def test_an_error_at_the_named_archive_is_kept_and_a_page_is_offered() -> None:
    error = error_at(EXACT, "named")
    world = World(
        unstated("named", (EXACT,), delivers={EXACT: error}),
        unstated("other", (DAY_LATER,)),
    )

    resolution = resolved(world, NAMED)

    assert chosen(resolution) == ("named", EXACT, "delivered")
    assert resolution.memento is not None
    assert resolution.memento.status == 404
    (page,) = resolution.alternatives
    assert isinstance(page.outcome, Closest)
    assert (page.archive, page.outcome.evidence) == ("other", "delivered")


def test_a_page_of_the_same_archive_is_offered_beside_its_error() -> None:
    error = error_at(EXACT, "named")
    named = unstated("named", (EXACT,), delivers={EXACT: error}, links={"next": DAY_LATER})

    resolution = resolved(World(named), NAMED)

    assert chosen(resolution) == ("named", EXACT, "delivered")
    (page,) = resolution.alternatives
    assert isinstance(page.outcome, Closest)
    assert page.outcome.memento.stamp == DAY_LATER


def test_elsewhere_a_page_within_the_tolerance_is_preferred_to_an_error() -> None:
    world = World(
        unstated("one", (EXACT,), delivers={EXACT: error_at(EXACT, "one")}),
        unstated("two", (WEEK_LATER,)),
    )

    assert chosen(resolved(world, ANY)) == ("two", WEEK_LATER, "delivered")
    any_status = Preferences(status="any")
    assert chosen(resolved(world, ANY, any_status)) == ("one", EXACT, "delivered")


def test_a_page_beyond_the_tolerance_is_not_preferred_to_an_error() -> None:
    world = World(
        unstated("one", (EXACT,), delivers={EXACT: error_at(EXACT, "one")}),
        unstated("two", (YEAR_LATER,)),
    )

    assert chosen(resolved(world, ANY)) == ("one", EXACT, "delivered")


def test_an_error_is_never_passed_over_for_a_part() -> None:
    world = World(
        unstated("one", (EXACT,), delivers={EXACT: error_at(EXACT, "one")}),
        unstated("two", (DAY_LATER,)),
    )
    part = Query(URL, AT, precision="part", identifier="urn:pwid:...")

    assert chosen(resolved(world, part)) == ("one", EXACT, "delivered")


def test_at_most_three_further_mementos_are_requested_in_search_of_a_page() -> None:
    stamps = [f"201601221120{second}" for second in range(29, 39)]
    archives = [
        unstated(f"a{n}", (stamp,), delivers={stamp: error_at(stamp, f"a{n}")})
        for n, stamp in enumerate(stamps)
    ]
    world = World(*archives)

    resolution = resolved(world, ANY)

    assert chosen(resolution) == ("a0", EXACT, "delivered")
    assert sum(len(archive.probed) for archive in archives) == 4


def test_a_memento_that_never_comes_gives_way_to_the_next() -> None:
    world = World(
        FakeArchive("named", 0.1, (EXACT,), hangs=True), FakeArchive("other", 0.1, (DAY_LATER,))
    )

    assert chosen(resolved(world, NAMED)) == ("other", DAY_LATER, "delivered")


_DIGEST = "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N"
FORTY_DAYS_EARLIER = "20151213112029"


def test_a_copy_40_days_off_in_the_named_archive_is_chosen_for_its_octets() -> None:
    named = FakeArchive("named", 0.1, (FORTY_DAYS_EARLIER,), digest=_DIGEST)
    other = FakeArchive("other", 0.1, (WEEK_LATER,), digest=_DIGEST)

    resolution = resolved(World(named, other), NAMED)

    assert chosen(resolution) == ("named", FORTY_DAYS_EARLIER, "delivered")
    assert other.probed == []
    known = known_comparison(resolution, Registry([]))
    assert known is not None
    assert (known.value, known.before, known.after) == (
        "same-around",
        named.captures(URL)[0],
        other.captures(URL)[0],
    )


def test_it_is_not_chosen_without_digests_or_with_others() -> None:
    for digest in (None, "sha1:2222222222222222222222222222AAAA"):
        named = FakeArchive("named", 0.1, (FORTY_DAYS_EARLIER,), digest=_DIGEST)
        other = FakeArchive("other", 0.1, (WEEK_LATER,), digest=digest)

        resolution = resolved(World(named, other), NAMED)

        assert chosen(resolution)[:2] == ("other", WEEK_LATER)
        assert known_comparison(resolution, Registry([])) is None


def test_a_copy_for_its_octets_that_is_gone_gives_way_to_the_other_side() -> None:
    named = FakeArchive("named", 0.1, (FORTY_DAYS_EARLIER,), digest=_DIGEST, lost=True)
    other = FakeArchive("other", 0.1, (WEEK_LATER,), digest=_DIGEST)

    resolution = resolved(World(named, other), NAMED)

    assert chosen(resolution) == ("other", WEEK_LATER, "delivered")
    assert known_comparison(resolution, Registry([])) is None


def test_a_client_that_wants_the_day_gets_the_day() -> None:
    named = FakeArchive("named", 0.1, (FORTY_DAYS_EARLIER,), digest=_DIGEST)
    other = FakeArchive("other", 0.1, (SECOND_LATER,), digest=_DIGEST)

    resolution = resolved(World(named, other), NAMED, Preferences(precision="day"))

    assert chosen(resolution)[:2] == ("other", SECOND_LATER)
