"""Whom the guide sends a question to, and what it knows of them."""

from archives.registry import entry_from, load_known
from tests.clock import Clock
from timegate.resolution.model import Preferences, Query
from timegate.routing import CombinedKnowledge, Observations
from timegate.routing.planner import Planner

PLAIN = {"id": "plain", "kind": "memento", "timegate": "https://plain.example/"}


def test_archives_with_an_index_by_surt_need_no_other_spellings() -> None:
    entries = (*load_known().used, entry_from(PLAIN, "a test"))
    guide = Planner(entries, CombinedKnowledge(Observations(Clock()), lambda _: "closed"))

    plan = guide.plan(Query("http://example.org/", None), Preferences())

    assert {"internet-archive", "arquivo-pt", "nlnz"} <= plan.folding
    assert "plain" in plan.order
    assert "plain" not in plan.folding
