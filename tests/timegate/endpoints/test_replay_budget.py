"""The budget of a page: requests to archives for all its parts together."""

from dataclasses import dataclass

from archives.model import Closest, Memento
from archives.registry import Registry
from tests.fakes import an_entry
from timegate.endpoints.replay import MOST_REQUESTS, ReplayEndpoint, ReplaySettings
from timegate.pages.rendering import Pages
from timegate.resolution.context import Budget, RequestContext
from timegate.resolution.model import Attempt, Preferences, Query, Resolution
from timegate.resolution.neighbours import Neighbours
from timegate.responses.answers import Answers
from timegate.responses.model import ClientRequest

GATE = "http://gate.example"


class Holding:
    """Finds a copy of every URL in one archive."""

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        del context
        uri = f"http://archive.example/2010/{query.original}"
        found = Closest(Memento("20100101000000", uri, query.original, "test"), "timegate")
        attempt = Attempt("test", found, 0.0, query.original)
        return Resolution(query, preferences, attempt, (), (attempt,))


@dataclass(frozen=True)
class File:
    """An archived file."""

    memento: Memento
    status: int = 200
    content_type: str = "image/png"
    octets: bytes = b"x"
    redirect: str | None = None


async def read(memento: Memento, context: RequestContext, budget: Budget, most: int) -> File:
    del context, most
    budget.draw(memento.archive, memento.uri)
    return File(memento)


async def test_a_page_costs_no_more_requests_than_its_budget() -> None:
    registry = Registry((an_entry("memento"),))
    answers = Answers(Holding(), registry, GATE)
    settings = ReplaySettings(
        route="reconstruct",
        base_url=GATE,
        content_url=GATE,
        own=frozenset(),
        only_own=False,
    )
    neighbours: Neighbours = Neighbours(None, None, frozenset())  # type: ignore[arg-type]
    endpoint = ReplayEndpoint(answers, neighbours, registry, read, Pages(GATE), settings)

    async def part(page: str, number: int) -> int:
        rest = f"2010-{page}@test.im_/http://x.example/{number}"
        return (await endpoint(ClientRequest("GET", rest, {}))).status

    statuses = [await part("20100101000000", number) for number in range(MOST_REQUESTS + 5)]
    other = await part("20110101000000", 0)

    assert statuses == [200] * MOST_REQUESTS + [502] * 5
    assert other == 200
