"""Readiness: when a load balancer should send requests here."""

import json

import pytest
from multidict import CIMultiDict
from prometheus_client import CollectorRegistry

from archives.registry import Registry
from tests.scenario import entry
from timegate.endpoints.operations import CacheState, Condition, Operations
from timegate.responses.model import ClientRequest, Response


async def readiness(
    condition: Condition, trouble: str | None = None, dropped: int = 0
) -> Response:
    operations = Operations(
        Registry([entry("well"), entry("dead")]),
        lambda name: {"asked": True, "breaker": "open" if name == "dead" else "closed"},
        lambda: CacheState(trouble, dropped),
        CollectorRegistry,
        None,
        lambda: condition,
    )
    return await operations.readiness(ClientRequest("GET", "", CIMultiDict()))


@pytest.mark.parametrize(
    ("condition", "status"),
    [
        (Condition(), 200),
        (Condition(overloaded=True), 503),
        (Condition(draining=True), 503),
        (Condition(reload="not taken over: /etc/t.toml: listen.prot: unknown"), 200),
    ],
)
async def test_the_server_is_ready_unless_overloaded_or_draining(
    condition: Condition, status: int
) -> None:
    answer = await readiness(condition)

    assert answer.status == status
    assert json.loads(answer.body)["ready"] is (status == 200)


async def test_rejected_lists_are_reported_but_the_server_stays_ready() -> None:
    full, fine = await readiness(Condition(lists_full=True)), await readiness(Condition())

    assert (full.status, json.loads(full.body)["lists"]) == (200, "full")
    assert json.loads(fine.body)["lists"] == "ok"


async def test_failing_archives_and_cache_are_reported_but_the_server_stays_ready() -> None:
    answer = await readiness(Condition(), "reading: no space left")

    body = json.loads(answer.body)
    assert answer.status == 200
    assert body["archives"] == {"asked": 2, "resting": ["dead"]}
    assert body["cache"] == "in trouble, see the log"


async def test_values_that_were_not_written_to_the_cache_are_counted() -> None:
    answer = await readiness(Condition(), dropped=3)

    assert (answer.status, json.loads(answer.body)["cache_writes_dropped"]) == (200, 3)


async def test_readiness_shows_no_names_of_files_or_hosts() -> None:
    wrong = Condition(reload="not taken over: /etc/t.toml: listen.prot: unknown")

    answer = await readiness(wrong, "redis.inside:6379: connection refused")

    assert b"/etc" not in answer.body
    assert b"redis.inside" not in answer.body
    assert json.loads(answer.body)["configuration"] == "not taken over, see the log"


async def test_archives_in_use_are_counted_as_on_their_page() -> None:
    operations = Operations(
        Registry([entry("well"), entry("unreachable")]),
        lambda name: {"asked": name == "well"},
        lambda: CacheState(None, 0),
        CollectorRegistry,
        None,
        Condition,
    )

    answer = await operations.about(ClientRequest("GET", "", CIMultiDict()))

    assert json.loads(answer.body)["archives"] == ["well"]
