"""The planner: which archives are queried for a page."""

from archives.registry import Registry, entry_from, load_known
from tests.clock import Clock
from timegate.access.blocklist import Blocklist
from timegate.resolution.context import UNLIMITED, RequestContext
from timegate.resolution.model import Plan, Preferences, Query, Skip
from timegate.routing import CombinedKnowledge, Observations
from timegate.routing.planner import Planner

PLAIN = {"id": "plain", "kind": "memento", "timegate": "https://plain.example/"}


def knowledge() -> CombinedKnowledge:
    return CombinedKnowledge(Observations(Clock()), lambda _: "closed")


def test_archives_with_an_index_by_surt_need_no_other_spellings() -> None:
    entries = (*load_known().used, entry_from(PLAIN, "a test"))
    planner = Planner(entries, knowledge())

    plan = planner.plan(Query("http://example.org/", None), Preferences(), UNLIMITED)

    assert {"internet-archive", "arquivo-pt", "nlnz"} <= plan.folding
    assert "plain" in plan.order
    assert "plain" not in plan.folding


def test_hidden_archives_are_in_no_plan() -> None:
    entries = [entry_from({**PLAIN, "id": name}, "a test") for name in ("x", "y", "z")]
    planner = Planner(entries, knowledge())
    query = Query("http://example.org/", None)
    without_y = Preferences(exclude=frozenset({"y"}))

    hidden = planner.plan(query, without_y, RequestContext(hidden=frozenset({"x"})))
    everything = planner.plan(query, Preferences(), UNLIMITED)

    assert set(hidden.order) == {"z"}
    assert set(everything.order) == {"x", "y", "z"}


def skips(planner: Planner, *archives: str, **context: frozenset[str]) -> list[Skip | None]:
    return [
        planner.plan(
            Query("http://example.org/", None, archive),
            Preferences(exclude=frozenset({"y"})),
            RequestContext(**context),  # type: ignore[arg-type]
        ).named_skip
        for archive in archives
    ]


def test_the_plan_says_why_the_named_archive_is_not_in_it() -> None:
    entries = [entry_from({**PLAIN, "id": name}, "a test") for name in ("x", "y")]
    registry = Registry((*load_known().entries, *entries), shared_hosts=True)
    planner = Planner(entries, knowledge(), registry=registry)

    named = skips(planner, "x", "y", "loc", "netarkivet-dk", "haw-croatia", "gone")

    causes = [None if skip is None else skip.cause for skip in named]
    assert causes == [None, "excluded", "gated", "on-site", "not-in-use", None]


def test_the_plan_does_not_reveal_a_hidden_archive() -> None:
    entries = [entry_from({**PLAIN, "id": name}, "a test") for name in ("x", "y")]
    planner = Planner(entries, knowledge())
    seen = skips(planner, "y")

    hidden = skips(planner, "y", hidden=frozenset({"y"}))

    assert seen == [Skip("y", "excluded", "excluded by the request")]
    assert hidden == [None]


def test_for_a_blocked_url_the_plan_is_empty_and_the_url_is_noted() -> None:
    entries = [entry_from(PLAIN, "a test")]
    planner = Planner(entries, knowledge(), blocklist=Blocklist(hosts=["x.org"]))
    blocked: list[str] = []
    context = RequestContext(blocked=blocked)

    plans = [
        planner.plan(Query(url, None), Preferences(), context)
        for url in ("http://x.org/", "http://y.org/")
    ]

    assert plans == [Plan(()), Plan((("plain",),))]
    assert blocked == ["http://x.org/"]


def test_an_archive_that_must_not_be_queried_for_a_url_is_named_with_the_reason() -> None:
    entries = [entry_from({**PLAIN, "id": name}, "a test") for name in ("x", "y")]
    planner = Planner(
        entries, knowledge(), refusals={"x": lambda url: "port 81" if ":81" in url else None}
    )

    plans = [
        planner.plan(Query(f"http://example.org{port}/", None), Preferences(), UNLIMITED)
        for port in ("", ":81", "")
    ]

    assert [set(plan.order) for plan in plans] == [{"x", "y"}, {"y"}, {"x", "y"}]
    refused = [plan.refused for plan in plans]
    assert refused == [(), (Skip("x", "refused", "port 81"),), ()]


def test_the_plan_names_archives_that_do_not_collect_such_pages_unless_hidden() -> None:
    planner = Planner([*load_known().used], knowledge())
    query = Query("http://www.dr.dk/", None)
    hidden = RequestContext(hidden=frozenset({"arquivo-pt"}))

    outside = {
        skip.archive: skip.reason
        for skip in planner.plan(query, Preferences(), UNLIMITED).outside
    }
    without = {skip.archive for skip in planner.plan(query, Preferences(), hidden).outside}

    assert outside["arquivo-pt"] == "collects .pt and generic domains, not .dk"
    assert without == {*outside} - {"arquivo-pt"}
