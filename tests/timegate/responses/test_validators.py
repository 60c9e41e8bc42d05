from collections.abc import AsyncGenerator

import pytest
from multidict import CIMultiDict

from timegate.responses.model import ClientRequest, Response, StreamingResponse
from timegate.responses.validators import etag, is_unchanged, last_modified, unless_known

NOW = 1_800_000_000.0
STATED = "Fri, 15 Jan 2027 07:59:50 GMT"


def asking(**fields: str) -> ClientRequest:
    headers = CIMultiDict({name.replace("_", "-"): text for name, text in fields.items()})
    return ClientRequest("GET", "", headers)


def test_the_second_of_a_change_is_stated_once_it_is_over() -> None:
    assert last_modified(NOW - 10, lambda: NOW) == {"Last-Modified": STATED}
    assert last_modified(NOW - 1, lambda: NOW) == {}
    assert last_modified(NOW + 3600, lambda: NOW) == {}
    assert last_modified(None, lambda: NOW) == {}


@pytest.mark.parametrize(
    ("fields", "unchanged"),
    [
        ({}, False),
        ({"If_None_Match": '"a"'}, True),
        ({"If_None_Match": 'W/"a"'}, True),
        ({"If_None_Match": '"b", "a"'}, True),
        ({"If_None_Match": '"b"'}, False),
        ({"If_None_Match": '"b"', "If_Modified_Since": STATED}, False),
        ({"If_Modified_Since": STATED}, True),
        ({"If_Modified_Since": "Sat, 16 Jan 2027 07:59:50 GMT"}, False),
        ({"If_Modified_Since": "yesterday"}, False),
    ],
)
def test_only_the_stated_validators_mean_unchanged(
    fields: dict[str, str], *, unchanged: bool
) -> None:
    stated = {"ETag": '"a"', "Last-Modified": STATED}

    assert is_unchanged(asking(**fields), stated) is unchanged


def test_an_etag_is_of_all_its_parts() -> None:
    assert etag("a", "b") == etag("a", "b") != etag("ab", "")


async def test_a_body_that_the_client_has_is_closed_unread() -> None:
    ended = []

    async def body() -> AsyncGenerator[bytes, None]:
        try:
            yield b"first"
            yield b"second"
        finally:
            ended.append(True)

    chunks = body()
    await anext(chunks)
    headers = {"ETag": '"a"', "Age": "7", "Content-Type": "text/plain"}

    answer = await unless_known(
        asking(If_None_Match='"a"'), StreamingResponse(200, headers, chunks)
    )

    assert answer == Response(304, {"ETag": '"a"', "Age": "7"})
    assert ended == [True]


async def test_problems_are_never_unchanged() -> None:
    missing = Response(404, {"ETag": '"a"'})

    assert await unless_known(asking(If_None_Match='"a"'), missing) is missing
