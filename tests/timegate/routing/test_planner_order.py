"""The order in which archives are asked: laws first, then the cases that made them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.model import ArchiveEntry
from archives.registry import entry_from, load_known
from archives.surt import surt
from tests.clock import Clock
from timegate.resolution.model import Preferences, Query, Skip
from timegate.routing import (
    CombinedKnowledge,
    Experience,
    HoldingCount,
    Latency,
    MementoMap,
    Observations,
    Presence,
    RankedArchives,
    Standing,
    Step,
    order,
)
from timegate.routing.mementomap import UNKNOWN as NO_MAP
from timegate.routing.observations import UNOBSERVED

IDS = ("ann", "ben", "cat", "dan", "eve")
ABSENT = Presence("absent")


@dataclass
class FakeKnowledge:
    maps: Mapping[str, Presence] = field(default_factory=dict)
    tallies: Mapping[str, HoldingCount] = field(default_factory=dict)
    latencies: Mapping[str, float] = field(default_factory=dict)
    standings: Mapping[str, Standing] = field(default_factory=dict)
    local: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()

    def presence(self, archive: str, url: str) -> Presence:
        assert surt(url)
        return self.maps.get(archive, NO_MAP)

    def experience(self, archive: str, host: str) -> Experience:
        del host
        return Experience(site=self.tallies.get(archive, HoldingCount()))

    def latency(self, archive: str) -> Latency:
        median = self.latencies.get(archive)
        return UNOBSERVED if median is None else Latency(median, 2 * median)

    def standing(self, archive: str) -> Standing:
        return self.standings.get(archive, "closed")


def archive(name: str, **changes: object) -> ArchiveEntry:
    address = f"http://{name}.example/timegate/"
    return entry_from({"id": name, "kind": "memento", "timegate": address, **changes}, name)


FIVE = tuple(archive(name) for name in IDS)


def asked(plan: RankedArchives) -> list[str]:
    return [step.archive for step in (*plan.first, *plan.then)]


def query(url: str = "http://www.example.org/a", named: str | None = None) -> Query:
    return Query(url, None, archive=named)


def plan(
    knowledge: FakeKnowledge, named: str | None = None, most: int | None = None
) -> RankedArchives:
    return order(query(named=named), Preferences(), FIVE, knowledge, most=most)


tallies = st.builds(HoldingCount, st.floats(0, 100), st.floats(0, 100))
standings: st.SearchStrategy[Standing] = st.sampled_from(["closed", "open", "half-open"])
names = st.sampled_from(IDS)
presences = st.one_of(
    st.just(NO_MAP),
    st.just(ABSENT),
    st.floats(0.01, 1).map(lambda r: Presence("present", r, "k")),
)
everything = st.builds(
    FakeKnowledge,
    maps=st.dictionaries(names, presences),
    tallies=st.dictionaries(names, tallies),
    latencies=st.dictionaries(names, st.floats(0.001, 30)),
    standings=st.dictionaries(names, standings),
    local=st.frozensets(names, max_size=2),
    private=st.frozensets(names, max_size=2),
)
policies = st.builds(
    Preferences,
    archives=st.none() | st.frozensets(names),
    exclude=st.frozensets(names, max_size=2),
)


@given(everything, policies, st.none() | names, st.none() | st.integers(0, 6))
def test_every_archive_is_asked_or_skipped_once_and_with_a_reason(
    knowledge: FakeKnowledge, preferences: Preferences, named: str | None, most: int | None
) -> None:
    found = order(query(named=named), preferences, FIVE, knowledge, most=most)

    every: tuple[Step | Skip, ...] = (*found.first, *found.then, *found.skipped)
    assert sorted(each.archive for each in every) == sorted(IDS)
    assert all(each.reason for each in every)


@given(everything, st.none() | names)
def test_of_the_usable_archives_only_those_whose_map_says_absent_are_skipped(
    knowledge: FakeKnowledge, named: str | None
) -> None:
    found = plan(knowledge, named)

    absent = {name for name in IDS if knowledge.maps.get(name) == ABSENT and name != named}
    assert set(asked(found)) == set(IDS) - absent


@given(everything, names, st.integers(0, 6))
def test_the_named_archive_comes_right_after_local_and_private_ones(
    knowledge: FakeKnowledge, named: str, most: int
) -> None:
    found = plan(knowledge, named, most)

    alone = [step.archive for step in found.first]
    assert named in alone
    assert set(alone) - {named} <= knowledge.local | knowledge.private
    if named not in knowledge.local | knowledge.private:
        assert alone[-1] == named


@given(everything, names, st.floats(0, 50))
def test_more_hits_never_rank_lower(knowledge: FakeKnowledge, lucky: str, hits: float) -> None:
    before = asked(plan(knowledge))
    tally = knowledge.tallies.get(lucky, HoldingCount())
    better = {**knowledge.tallies, lucky: tally._replace(hits=tally.hits + hits)}

    after = asked(plan(replace(knowledge, tallies=better)))

    assert (lucky in before) == (lucky in after)
    if lucky in before:
        assert after.index(lucky) <= before.index(lucky)


@given(everything, names, st.floats(0, 50))
def test_more_misses_never_rank_higher(
    knowledge: FakeKnowledge, unlucky: str, misses: float
) -> None:
    before = asked(plan(knowledge))
    tally = knowledge.tallies.get(unlucky, HoldingCount())
    worse = {**knowledge.tallies, unlucky: tally._replace(misses=tally.misses + misses)}

    after = asked(plan(replace(knowledge, tallies=worse)))

    if unlucky in before:
        assert after.index(unlucky) >= before.index(unlucky)


@given(everything, st.integers(0, 6))
def test_a_budget_cuts_the_tail_and_changes_nothing_else(
    knowledge: FakeKnowledge, most: int
) -> None:
    full, cut = plan(knowledge), plan(knowledge, most=most)

    assert cut.first == full.first
    assert cut.then == full.then[: len(cut.then)]
    assert len(asked(cut)) <= max(most, len(full.first))


def test_archives_without_observations_keep_the_order_of_the_registry() -> None:
    assert asked(plan(FakeKnowledge())) == list(IDS)


def test_the_order_is_local_collections_then_private_archives_then_the_named_one() -> None:
    knowledge = FakeKnowledge(local=frozenset({"eve"}), private=frozenset({"dan"}))

    found = plan(knowledge, named="cat")

    assert [step.archive for step in found.first] == ["eve", "dan", "cat"]
    assert [step.archive for step in found.then] == ["ann", "ben"]


def test_an_archive_slower_by_less_than_a_band_is_not_put_back() -> None:
    assert asked(plan(FakeKnowledge(latencies={"ann": 0.39, "ben": 0.01})))[0] == "ann"
    assert asked(plan(FakeKnowledge(latencies={"ann": 0.81, "ben": 0.01})))[-1] == "ann"


def test_a_likely_holder_is_asked_before_a_fast_one() -> None:
    knowledge = FakeKnowledge(
        latencies={"eve": 0.5, "ann": 0.05},
        tallies={"eve": HoldingCount(9, 0), "ann": HoldingCount(0, 9)},
    )

    found = asked(plan(knowledge))

    assert found.index("eve") < found.index("ann")


def test_an_open_breaker_puts_an_archive_last_but_never_out() -> None:
    knowledge = FakeKnowledge(standings={"ann": "open"}, tallies={"ann": HoldingCount(99, 0)})

    assert asked(plan(knowledge))[-1] == "ann"
    assert asked(plan(FakeKnowledge(standings=dict.fromkeys(IDS, "open")))) == list(IDS)


def test_a_national_archive_comes_first_at_home_and_last_for_generic_domains() -> None:
    entries = (archive("portugal", home=[".pt"]), archive("world"))

    at_home = order(query("https://www.publico.pt/"), Preferences(), entries, FakeKnowledge())
    generic = order(query("http://example.org/pt"), Preferences(), entries, FakeKnowledge())

    assert asked(at_home) == ["portugal", "world"]
    assert asked(generic) == ["world", "portugal"]
    assert "collects .pt" in at_home.then[0].reason


@pytest.mark.parametrize(
    ("url", "is_asked"),
    [
        ("http://publico.pt/", False),
        ("http://www.orf.at/", False),
        ("http://example.com/", True),
        ("http://example.museum/", True),
        ("http://example.eu/", True),
        ("http://example.io/", True),
        ("http://example.co.uk/", True),
        ("http://192.0.2.20/", True),
    ],
)
def test_a_national_archive_is_not_asked_for_pages_of_another_country(
    url: str, *, is_asked: bool
) -> None:
    entries = (archive("britain", home=[".gov.uk"]), archive("world"))

    found = order(query(url), Preferences(), entries, FakeKnowledge())

    assert ("britain" in asked(found)) == is_asked
    assert ("domain" in {skip.cause for skip in found.skipped}) != is_asked


def test_an_archive_with_domains_is_not_asked_for_other_urls() -> None:
    entries = (archive("parliament", domains=[".parliament.uk"]), archive("world"))

    found = order(query("http://example.org/"), Preferences(), entries, FakeKnowledge())

    assert asked(found) == ["world"]
    assert found.skipped == (Skip("parliament", "domain", "collects .parliament.uk only"),)


@pytest.mark.parametrize("fields", [{"domains": [".uk"]}, {"home": [".uk"]}])
def test_stronger_knowledge_than_its_domains_has_an_archive_asked(
    fields: dict[str, object],
) -> None:
    entries = (archive("britain", **fields), archive("world"))
    page = query("http://publico.pt/")
    listed = MementoMap.load(b"pt,publico)/ 12\n").holds("pt,publico)/")
    mapped = FakeKnowledge(maps={"britain": listed})
    seen = FakeKnowledge(tallies={"britain": HoldingCount(1, 3)})
    missed = FakeKnowledge(tallies={"britain": HoldingCount(0, 9)})

    named = order(replace(page, archive="britain"), Preferences(), entries, FakeKnowledge())
    chosen = order(page, Preferences(archives=frozenset({"britain"})), entries, FakeKnowledge())

    assert "britain" in asked(named)
    assert "britain" in asked(chosen)
    assert "britain" in asked(order(page, Preferences(), entries, mapped))
    assert "britain" in asked(order(page, Preferences(), entries, seen))
    assert "britain" not in asked(order(page, Preferences(), entries, missed))


@pytest.mark.parametrize(
    ("pattern", "url", "home"),
    [
        (".pt", "http://publico.pt/", True),
        (".pt", "http://PUBLICO.PT/", True),
        (".pt", "http://pt/", True),
        (".pt", "http://apt/", False),
        (".gov.uk", "http://www.gov.uk/a", True),
        (".gov.uk", "http://example.uk/gov.uk", False),
        ("example.org/news", "http://www.example.org/news/1", True),
        ("example.org/news", "http://www.example.org/", False),
    ],
)
def test_a_pattern_covers_whole_labels_and_the_start_of_paths(
    pattern: str, url: str, *, home: bool
) -> None:
    entries = (archive("world"), archive("special", home=[pattern]))

    found = order(query(url), Preferences(), entries, FakeKnowledge())

    assert (asked(found)[0] == "special") == home


def test_a_bad_record_with_pages_from_abroad_does_not_hurt_at_home() -> None:
    class Abroad(FakeKnowledge):
        def experience(self, archive: str, host: str) -> Experience:
            del host
            return Experience(
                overall=HoldingCount(1, 500) if archive == "portugal" else HoldingCount(9, 9)
            )

    entries = (archive("world"), archive("portugal", home=[".pt"]))

    found = order(query("http://publico.pt/"), Preferences(), entries, Abroad())

    assert asked(found) == ["portugal", "world"]


def test_an_archive_whose_map_lists_the_page_comes_first() -> None:
    listed = MementoMap.load(b"org,example)/a 12\n").holds("org,example)/a")

    found = plan(FakeKnowledge(maps={"dan": listed}))

    assert found.then[0].archive == "dan"
    assert "org,example)/a" in found.then[0].reason


def test_the_named_archive_is_asked_though_its_map_says_no() -> None:
    found = plan(FakeKnowledge(maps=dict.fromkeys(IDS, ABSENT)), named="ben")

    assert asked(found) == ["ben"]
    assert {skip.cause for skip in found.skipped} == {"absent"}


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"access": "defunct", "status": "closed in 2016"}, "defunct"),
        ({"access": "onsite-only"}, "on-site"),
        ({"kind": "none"}, "unaskable"),
        ({"use": False, "because": "not chosen"}, "not-in-use"),
        ({"use": False, "gate": "403, seen in 2026"}, "gated"),
    ],
)
def test_an_archive_that_cannot_be_asked_is_skipped_even_if_named(
    changes: dict[str, object], cause: str
) -> None:
    entries = (archive("ann"), archive("ben", **changes))

    found = order(query(named="ben"), Preferences(), entries, FakeKnowledge())

    assert asked(found) == ["ann"]
    assert [(skip.archive, skip.cause) for skip in found.skipped] == [("ben", cause)]


def test_archives_that_the_client_excludes_or_did_not_choose_are_skipped() -> None:
    preferences = Preferences(archives=frozenset({"ann", "ben"}), exclude=frozenset({"ben"}))

    found = order(query(), preferences, FIVE, FakeKnowledge())

    assert asked(found) == ["ann"]
    assert [skip.cause for skip in found.skipped] == ["excluded", *["not-chosen"] * 3]


def test_all_known_archives_can_be_ordered_for_any_original() -> None:
    known = load_known()

    for url in ("http://www.publico.com/", "urn:isbn:0451450523", "http://[::1", ""):
        found = order(query(url), Preferences(), known.entries, FakeKnowledge())

        assert sorted(asked(found)) == sorted(entry.id for entry in known.used)
        assert len(asked(found)) + len(found.skipped) == len(known.entries)


def test_equal_records_made_at_different_times_are_a_tie() -> None:
    clock = Clock()
    seen = Observations(clock)
    for entry in FIVE:
        seen.note(entry.id, "example.org", "found", 0.1)
        clock.advance(60)

    found = order(query(), Preferences(), FIVE, CombinedKnowledge(seen, lambda _: "closed"))

    assert asked(found) == list(IDS)
