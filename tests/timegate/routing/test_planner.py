"""The planner: which archives are queried for a page."""

from archives.registry import entry_from, load_known
from tests.clock import Clock
from timegate.access.blocklist import Blocklist
from timegate.resolution.context import UNLIMITED, RequestContext
from timegate.resolution.model import Plan, Preferences, Query
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
