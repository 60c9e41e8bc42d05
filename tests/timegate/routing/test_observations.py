"""What archives have shown is remembered, fades, stays bounded, and survives a restart."""

import json
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clock import Clock
from timegate.routing import CombinedKnowledge, HoldingCount, MementoMap, Observations, Outcome
from timegate.routing import observations as module
from timegate.routing.observations import (
    HALF_LIFE,
    MOST_RECENT,
    MOST_TALLIES,
    UNOBSERVED,
    site_of,
)


def test_an_archive_without_observations_has_the_default_latency() -> None:
    latency = Observations(Clock()).latency("ann")

    assert latency == UNOBSERVED
    assert latency.median == 0.376
    assert not latency.known
    assert latency.band == 0


@given(st.lists(st.floats(0.001, 50), min_size=1, max_size=200))
def test_percentiles_are_within_ten_percent(times: list[float]) -> None:
    seen = Observations(Clock())
    for seconds in times:
        seen.note("ann", "example.org", "found", seconds)

    latency = seen.latency("ann")

    ranked = sorted(times)
    for share, estimate in ((0.5, latency.median), (0.95, latency.p95)):
        exact = ranked[ceil(share * len(ranked)) - 1]
        assert exact / 1.1 <= estimate <= exact * 1.1


def test_an_archive_that_became_slow_is_soon_known_as_slow() -> None:
    seen = Observations(Clock())
    for _ in range(10_000):
        seen.note("ann", "example.org", "found", 0.1)

    for _ in range(500):
        seen.note("ann", "example.org", "found", 3.0)

    assert seen.latency("ann").median > 2.5
    assert seen.latency("ann").band == 7


def test_a_slow_failure_counts_as_slow_and_a_fast_one_not_as_fast() -> None:
    seen = Observations(Clock())
    seen.note("ann", "example.org", "found", 1.0)

    seen.note("ann", "example.org", "failed", 0.001)
    fast = seen.latency("ann")
    seen.note("ann", "example.org", "failed", 5.0)

    assert fast.median > 0.9
    assert seen.latency("ann").p95 > 4.5


def test_the_last_success_and_failure_are_kept() -> None:
    clock = Clock(5_000.0)
    seen = Observations(clock)
    seen.note("ann", "example.org", "absent", 0.1)
    clock.advance(60)
    seen.note("ann", "example.org", "failed", 0.1)

    assert (seen.last_success("ann"), seen.last_failure("ann")) == (5_000.0, 5_060.0)
    assert (seen.last_success("ben"), seen.last_failure("ben")) == (None, None)


def test_answers_are_counted_for_site_domain_and_all_but_failures_are_not() -> None:
    seen = Observations(Clock())
    outcomes: list[tuple[str, Outcome]] = [
        ("www.publico.pt", "found"),
        ("publico.pt", "absent"),
        ("sapo.pt", "found"),
        ("example.org", "absent"),
        ("publico.pt", "failed"),
    ]

    for host, outcome in outcomes:
        seen.note("ann", host, outcome, 0.1)

    overall, domain, site = seen.experience("ann", "arquivo.publico.pt")
    assert overall[:2] == (2, 2)
    assert domain[:2] == (2, 1)
    assert site[:2] == (1, 1)
    assert seen.experience("ben", "publico.pt").site.total == 0


def test_counts_halve_in_a_month() -> None:
    clock = Clock()
    seen = Observations(clock)
    for _ in range(4):
        seen.note("ann", "example.org", "found", 0.1)

    clock.advance(HALF_LIFE)

    assert seen.experience("ann", "example.org").site.hits == pytest.approx(2)


def test_a_clock_that_runs_backwards_forgets_nothing() -> None:
    assert HoldingCount(3, 1, at=900).faded(100) == HoldingCount(3, 1, 100)


def test_the_site_seen_least_recently_is_forgotten_first() -> None:
    seen = Observations(Clock())

    for number in range(MOST_TALLIES):
        seen.note("ann", f"site{number}.org", "found", 0.1)

    assert seen.experience("ann", "site0.org").site.total == 0
    assert seen.experience("ann", f"site{MOST_TALLIES - 1}.org").site.total == 1
    assert seen.experience("ann", "site0.org").overall.total > 1_000


def test_only_so_many_archives_are_remembered() -> None:
    seen = Observations(Clock())

    for number in range(module.MOST_ARCHIVES + 1):
        seen.note(f"archive{number}", "example.org", "found", 0.1)

    assert seen.latency("archive0") == UNOBSERVED
    assert seen.latency("archive1") != UNOBSERVED


@pytest.mark.parametrize(
    ("host", "site"),
    [
        ("example.org", "example.org"),
        ("WWW.Example.ORG", "example.org"),
        ("a.b.c.example.com.", "example.com"),
        ("news.bbc.co.uk", "bbc.co.uk"),
        ("www.nla.gov.au", "nla.gov.au"),
        ("publico.pt", "publico.pt"),
        ("www.publico.pt", "publico.pt"),
        ("192.168.1.10", "192.168.1.10"),
        ("localhost", "localhost"),
        ("[2001:db8::1]", "[2001:db8::1]"),
    ],
)
def test_hosts_of_one_site_share_a_key(host: str, site: str) -> None:
    assert site_of(host) == site


def test_hosts_too_long_for_a_name_are_not_kept() -> None:
    seen = Observations(Clock())

    seen.note("ann", "a." * 200 + "org", "found", 0.1)

    assert len(json.dumps(seen.export())) < 2_000


notes = st.lists(
    st.tuples(
        st.sampled_from(["ann", "ben"]),
        st.sampled_from(["", "example.org", "news.bbc.co.uk", "[::1]"]),
        st.sampled_from(["found", "absent", "failed"]),
        st.floats(0, 100),
    ),
    max_size=30,
)


@given(notes)
def test_exported_observations_are_restored(
    attempts: list[tuple[str, str, Outcome, float]],
) -> None:
    clock = Clock()
    seen, restored = Observations(clock), Observations(clock)
    for archive, host, outcome, seconds in attempts:
        seen.note(archive, host, outcome, seconds)

    restored.restore(json.loads(json.dumps(seen.export())))

    assert restored.export() == seen.export()
    assert restored.latency("ann") == seen.latency("ann")
    assert restored.experience("ben", "bbc.co.uk") == seen.experience("ben", "bbc.co.uk")


@pytest.mark.parametrize(
    "exported",
    [
        None,
        [],
        {},
        {"archives": {}, "tallies": [["ann", "", 1]]},
        {"archives": {}, "tallies": [["ann", "", -1, 0, 0]]},
        {"archives": {}, "tallies": [["ann", "", float("nan"), 0, 0]]},
        {
            "archives": {"ann": {"latency": [1], "last_success": None, "last_failure": None}},
            "tallies": [],
        },
    ],
)
def test_a_bad_export_is_rejected_and_changes_nothing(exported: object) -> None:
    seen = Observations(Clock())
    seen.note("ann", "example.org", "found", 0.1)
    before = seen.export()

    with pytest.raises(ValueError, match="not observations of archives"):
        seen.restore(exported)

    assert seen.export() == before


def test_knowledge_is_put_together_from_its_parts() -> None:
    seen = Observations(Clock())
    seen.note("ann", "example.org", "found", 0.1)
    known = CombinedKnowledge(seen, lambda _: "open", {"ann": MementoMap.load(b"org,* 1\n")})

    assert known.presence("ann", "http://example.org/").state == "present"
    assert known.presence("ben", "http://example.org/").state == "unknown"
    assert known.experience("ann", "example.org").site.hits == 1
    assert known.latency("ann").known
    assert known.standing("ann") == "open"


def test_the_last_questions_are_remembered_one_by_one_up_to_a_bound() -> None:
    seen = Observations(Clock())
    for number in range(MOST_RECENT + 5):
        seen.note("ann", "example.org", "failed" if number % 2 else "found", number / 100)

    recent = seen.recent("ann")

    assert len(recent) == MOST_RECENT
    assert recent[-1] == (0.44, True)
    assert not recent[-2].answered
    assert seen.recent("ben") == ()
