"""JSON documents as pages: browsers get a page, programs the document."""

import json

import pytest
from multidict import CIMultiDict

from timegate.pages.json_pages import JsonPage
from timegate.pages.rendering import Pages
from timegate.responses.model import ClientRequest, Response

COLLECTIONS = {"collections": [{"id": "notes", "name": "Notes <b>"}]}


async def shown(response: Response, accept: str) -> Response:
    async def handler(_: ClientRequest) -> Response:
        return response

    page = JsonPage(handler, Pages("https://gate.example"), "collections")
    answer = await page(ClientRequest("GET", "", CIMultiDict({"Accept": accept})))
    assert isinstance(answer, Response)
    return answer


def document(value: object, status: int = 200) -> Response:
    return Response(status, {"Content-Type": "application/json"}, json.dumps(value).encode())


async def test_a_browser_gets_a_page_with_escaped_values() -> None:
    answer = await shown(document(COLLECTIONS), "text/html,*/*;q=0.8")

    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"Notes &lt;b&gt;" in answer.body
    assert answer.headers["Vary"] == "accept"


@pytest.mark.parametrize(
    "accept", ["", "*/*", "application/json", "application/json,text/html;q=0.5"]
)
async def test_a_program_gets_the_document(accept: str) -> None:
    answer = await shown(document(COLLECTIONS), accept)

    assert json.loads(answer.body) == COLLECTIONS
    assert answer.headers["Vary"] == "accept"


async def test_other_responses_pass_unchanged() -> None:
    problem = document({"title": "no"}, 404)

    assert await shown(problem, "text/html") == problem
