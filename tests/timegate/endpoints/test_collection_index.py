from pathlib import Path

import pytest

from tests.timegate.endpoints.stored import PAGE, serving_store
from tests.timegate.replication.stores import index_of, unchunked

INDEX = "/collections/notes/index"


async def test_an_index_has_all_digits_digests_and_an_end(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("one", ("Timegate-Datetime", "2020-01-01T00:00:00.123456789Z"))
        await store.put("two", page="http://a.example/")
        rows = await index_of(store)
        page = await store.get(f"{INDEX}?url=http%3A%2F%2Fa.example%2F")

    assert [row.get("url") for row in rows] == ["http://a.example/", PAGE, None]
    assert rows[1]["stamp"] == "20200101000000123456789"
    assert (rows[0]["asserted"], rows[1]["asserted"]) == (False, True)
    assert rows[-1] == {"end": True}
    assert unchunked(page.body).count(b"\n") == 2


async def test_blocked_pages_are_not_listed(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("one")
        await store.put("two", page="http://a.example/")
    async with serving_store(tmp_path, more='[deny]\nhosts = ["a.example"]') as store:
        rows = await index_of(store)

    assert [row.get("url") for row in rows] == [PAGE, None]


@pytest.mark.parametrize(
    "query", ["after=x", "after=WzEsMiwzLDRd", "after=bnVsbA==", "limit=3", "url=http://a%0A/"]
)
async def test_bad_parameters_are_refused(tmp_path: Path, query: str) -> None:
    async with serving_store(tmp_path) as store:
        assert (await store.get(f"{INDEX}?{query}")).status == 400
