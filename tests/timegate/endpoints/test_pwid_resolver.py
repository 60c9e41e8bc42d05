"""`/pwid?archiveString=` and `/resolve?pwid=`: raw or encoded, answered as `/resolve/`."""

import json
from collections.abc import Mapping
from urllib.parse import quote

import pytest
from multidict import CIMultiDict

from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import QUICK, entries, resolve_of
from timegate.endpoints.pwid_resolver import PwidResolver
from timegate.responses.answers import Answers
from timegate.responses.model import ClientRequest, EarlyResponse, Response

STAMP = "20160122112029"
URL = "http://example.org/?a=1&b=2"
RAW = f"urn:pwid:a.example:2016-01-22T11:20:29Z:page:{URL}"
STRICT = RAW.replace("?", "%3F")


async def ask(
    query: str, headers: Mapping[str, str] | None = None, *, holds: str = URL
) -> Response:
    world = World(FakeArchive("a", 0.0, (STAMP,), holds=holds), deadlines=QUICK)
    registry = entries(world)
    answers = Answers(world.resolver, registry, "https://gate.example")
    resolver = PwidResolver(resolve_of(answers, registry), registry, "https://gate.example")
    async with world.coalescer:
        try:
            return await resolver(ClientRequest("GET", query, CIMultiDict(headers or {})))
        except EarlyResponse as early:
            return early.response


@pytest.mark.parametrize("name", ["archiveString", "pwid", "archivestring"])
@pytest.mark.parametrize(
    "value",
    [
        RAW,
        STRICT,
        quote(STRICT, safe=""),
        quote(RAW, safe=""),
        quote(RAW, safe="").lower(),
        f"+{quote(STRICT, safe='')}+",
        f"%20{STRICT}%20",
    ],
)
async def test_the_query_of_the_archived_url_is_kept(name: str, value: str) -> None:
    answer = await ask(f"?{name}={value}")

    assert answer.status == 302
    assert answer.headers["Location"] == f"http://a/{STAMP}/{URL}"


@pytest.mark.parametrize(
    "query",
    [
        f"?pwid={RAW}&as=json",
        f"?pwid={RAW}&wait=3&as=json",
        f"?as=json&pwid={RAW}",
        f"?lang=de&as=json&archiveString={RAW}",
        f"?pwid={quote(STRICT, safe='')}&submit=Go&as=json",
        f"?pwid={RAW}?as=json",
    ],
)
async def test_our_parameters_may_precede_or_follow_the_pwid(query: str) -> None:
    answer = await ask(query)

    report = json.loads(answer.body)
    assert answer.status == 200
    assert report["original"] == URL


async def test_a_parameter_that_is_not_ours_belongs_to_the_archived_url() -> None:
    answer = await ask(f"?pwid={RAW}&lang=de", holds=f"{URL}&lang=de")

    assert answer.headers["Location"] == f"http://a/{STAMP}/{URL}&lang=de"


@pytest.mark.parametrize(
    "query",
    [
        f"?pwid={RAW}&as=json&tolerence=1h",
        f"?pwid={RAW}&tolerence=1h&as=json",
        f"?tolerence=1h&pwid={RAW}",
        f"?pwid={quote(STRICT, safe='')}&tolerence=1h",
    ],
)
async def test_a_misspelled_parameter_is_refused(query: str) -> None:
    answer = await ask(query)

    assert answer.status == 400
    assert "tolerence" in json.loads(answer.body)["detail"]


async def test_common_mistakes_are_repaired_and_reported() -> None:
    answer = await ask(f"?pwid={RAW.replace('29Z', '29')}")

    assert answer.status == 302
    assert "missing-zone" in answer.headers["Memento-Precision"]


async def test_no_memento_is_404() -> None:
    answer = await ask(f"?pwid={RAW}", holds="http://example.org/other")

    assert answer.status == 404


async def test_an_invalid_value_of_our_parameters_is_rejected() -> None:
    answer = await ask(f"?pwid={RAW}&wait=soon")

    assert answer.status == 400


@pytest.mark.parametrize("query", ["", "?", "?pwid", "?pwid=", "?pwid=%20", "?wid=x", "?a&b"])
async def test_a_missing_pwid_is_rejected_with_an_example(query: str) -> None:
    answer = await ask(query)

    assert answer.status == 400
    assert "/pwid?archiveString=urn:pwid:" in json.loads(answer.body)["detail"]


async def test_the_number_of_parameters_is_bounded() -> None:
    answer = await ask("?" + "a=b&" * 5000 + f"pwid={RAW}")

    assert answer.status == 400


async def test_a_malformed_pwid_is_rejected_with_its_position() -> None:
    answer = await ask("?pwid=urn:pwid:archive.org:2016-13-22Z:page:http://example.org/")

    assert answer.status == 400
    assert json.loads(answer.body)["error"] == "bad-date"
