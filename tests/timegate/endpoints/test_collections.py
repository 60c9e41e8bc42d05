"""A collection as an archive by itself: TimeGate, TimeMaps and CDX in it."""

import json
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from archives.errors import Unreachable
from archives.listing.ranges import key_range
from archives.surt import surt
from tests import warcs
from tests.fakes import an_entry
from tests.timegate.collections.sample_collections import (
    OURS,
    FakeCollection,
    indexed_files,
    serving_collection,
)
from tests.timegate.endpoints.served import Seen
from tests.timegate.endpoints.test_timemap import body

URL = "http://example.com/"
DATES = ("2018-01-01T00:00:00Z", "2019-01-01T00:00:00Z", "2020-01-01T00:00:00Z")
STAMPS = tuple("".join(c for c in date if c.isdecimal()) for date in DATES)
OTHERS = ("http://example.com/a", "http://example.com/b", "http://sub.example.com/")
AT = ("Accept-Datetime", "Tue, 01 Jan 2019 10:00:00 GMT")


@pytest.fixture
def collection(tmp_path: Path) -> FakeCollection:
    records = [warcs.response(date=date) for date in DATES]
    records += [warcs.response(url) for url in OTHERS]
    return indexed_files(tmp_path, {"all.warc.gz": warcs.gzipped(*records)})


async def asked(collection: FakeCollection, target: str, *headers: tuple[str, str]) -> Seen:
    async with serving_collection(collection) as site:
        return await site.ask(target, *headers)


async def listed(collection: FakeCollection, **pairs: str) -> Seen:
    query = urlencode({"url": URL, **pairs}, quote_via=quote)
    return await asked(collection, f"/collections/mine/cdx?{query}")


async def rows(collection: FakeCollection, **pairs: str) -> list[dict[str, str]]:
    seen = await listed(collection, output="json", **pairs)
    assert seen.status == 200
    return [json.loads(line) for line in body(seen).splitlines()]


async def test_the_overview_lists_the_collections(collection: FakeCollection) -> None:
    seen = await asked(collection, "/collections")

    (listed,) = json.loads(seen.body)["collections"]
    assert (listed["id"], listed["name"]) == ("mine", "My own")
    assert listed["raw"] == f"{OURS}/{{stamp}}id_/{{url}}"


@pytest.mark.parametrize("target", ["mine", "mine/", "mine?x=1"])
async def test_a_collection_lists_its_endpoints(
    collection: FakeCollection, target: str
) -> None:
    seen = await asked(collection, f"/collections/{target}")

    assert json.loads(seen.body)["cdx"] == f"{OURS}/cdx?url={{url}}"


async def test_an_unknown_collection_is_not_found(collection: FakeCollection) -> None:
    seen = await asked(collection, f"/collections/theirs/{URL}")

    assert seen.status == 404
    assert "/collections lists all" in json.loads(seen.body)["detail"]


@pytest.mark.parametrize(
    "rest", ["", "/", f"/{URL}", f"/timemap/link/{URL}", f"/cdx?url={URL}", f"/20180101/{URL}"]
)
async def test_an_onsite_collection_gives_the_same_answer_at_every_address(
    collection: FakeCollection, rest: str
) -> None:
    vault = an_entry(
        "warc",
        id="vault",
        name="Vault",
        access="onsite-only",
        access_note="In the reading room.",
        apply="Ask at the desk.",
        pwid=("vault.example",),
    )

    async with serving_collection(collection, vault) as site:
        seen = await site.ask(f"/collections/vault{rest}", AT)

    problem = json.loads(seen.body)
    assert (seen.status, problem["type"].rpartition("/")[2]) == (403, "read-on-site")
    assert (
        problem["detail"]
        == "Vault can only be read on site. In the reading room. Ask at the desk."
    )
    assert set(problem) == {"type", "title", "status", "detail"}
    assert collection.lists == 0


@pytest.mark.parametrize("prefix", ["timegate/", ""])
async def test_the_timegate_redirects_into_the_collection(
    collection: FakeCollection, prefix: str
) -> None:
    seen = await asked(collection, f"/collections/mine/{prefix}{URL}", AT)

    assert seen.status == 302
    assert seen.headers["Location"] == f"{OURS}/{STAMPS[1]}/{URL}"
    assert seen.headers["Vary"] == "accept-datetime, accept-datetime-precise, prefer"
    assert f'<{OURS}/timemap/link/{URL}>; rel="timemap"' in seen.headers["Link"]
    assert f'<{OURS}/timegate/{URL}>; rel="timegate"' in seen.headers["Link"]
    assert collection.lists == 0


async def test_the_timegate_gives_the_newest_capture_without_accept_datetime(
    collection: FakeCollection,
) -> None:
    seen = await asked(collection, f"/collections/mine/timegate/{URL}")

    assert seen.headers["Location"] == f"{OURS}/{STAMPS[2]}/{URL}"


async def test_the_timegate_states_the_url_variant_that_it_found(
    collection: FakeCollection,
) -> None:
    seen = await asked(collection, "/collections/mine/timegate/https://www.example.com/", AT)

    assert seen.headers["Location"] == f"{OURS}/{STAMPS[1]}/{URL}"
    assert "uri=variant" in seen.headers["Memento-Precision"]


async def test_the_timegate_answers_404_for_a_url_that_is_not_held(
    collection: FakeCollection,
) -> None:
    seen = await asked(collection, "/collections/mine/timegate/http://other.example/", AT)

    assert seen.status == 404


async def test_an_unreadable_index_is_not_reported_as_not_found() -> None:
    collection = FakeCollection([], trouble=Unreachable("mine", URL, "not indexed yet"))

    answers = [
        await asked(collection, f"/collections/mine/{target}")
        for target in (f"timegate/{URL}", f"timemap/link/{URL}", f"cdx?url={URL}")
    ]

    assert [seen.status for seen in answers] == [504, 504, 502]


@pytest.mark.parametrize("form", ["link", "json", "cdxj"])
async def test_the_timemap_lists_addresses_in_the_collection(
    collection: FakeCollection, form: str
) -> None:
    seen = await asked(collection, f"/collections/mine/timemap/{form}/{URL}")

    text = body(seen)
    assert seen.status == 200
    assert [stamp for stamp in STAMPS if f"{OURS}/{stamp}/{URL}" in text] == [*STAMPS]
    assert f"{OURS}/timegate/{URL}" in text


async def test_cdx_rows_name_file_offset_and_length(collection: FakeCollection) -> None:
    found = await rows(collection, limit="1")

    row = collection.rows[0]
    assert found == [
        {
            "urlkey": "com,example)/",
            "timestamp": STAMPS[0],
            "url": URL,
            "mime": "text/html",
            "status": "200",
            "digest": row.digest,
            "length": str(row.length),
            "offset": str(row.offset),
            "filename": "all.warc.gz",
        }
    ]


async def test_cdx_has_the_line_format_of_pywb(collection: FakeCollection) -> None:
    seen = await listed(collection)

    assert seen.headers["Content-Type"] == "text/x-cdxj"
    lines = body(seen).splitlines()
    assert [line.split(" {")[0] for line in lines] == [f"com,example)/ {s}" for s in STAMPS]


@pytest.mark.parametrize(
    ("pairs", "stamps"),
    [
        ({"from": "2019"}, STAMPS[1:]),
        ({"to": "2019"}, STAMPS[:2]),
        ({"limit": "2"}, STAMPS[:2]),
        ({"sort": "reverse"}, STAMPS[::-1]),
        ({"closest": STAMPS[1], "sort": "closest", "limit": "1"}, STAMPS[1:2]),
        ({"filter": "=timestamp:" + STAMPS[2]}, STAMPS[2:]),
    ],
)
async def test_cdx_filters_sorts_and_limits(
    collection: FakeCollection, pairs: dict[str, str], stamps: tuple[str, ...]
) -> None:
    found = await rows(collection, **pairs)

    assert [row["timestamp"] for row in found] == [*stamps]


async def test_cdx_filters_do_not_take_an_unknown_status_for_no_capture(
    collection: FakeCollection,
) -> None:
    collection.rows[:] = [row._replace(status=None) for row in collection.rows]

    seen = await listed(collection, filter="=status:200")

    assert seen.status == 422
    assert json.loads(seen.body)["unjudged"] == len(STAMPS)


async def test_cdx_of_an_offset_after_the_last_row_is_no_problem_of_the_filter(
    collection: FakeCollection,
) -> None:
    collection.rows[1:] = [row._replace(status=None) for row in collection.rows[1:]]

    first = await listed(collection, filter="=status:200")
    later = await listed(collection, filter="=status:200", offset="1")

    assert (first.status, later.status) == (200, 404)


@pytest.mark.parametrize(
    ("url", "match", "urls"),
    [
        ("example.com/", "prefix", [*[URL] * 3, *OTHERS[:2]]),
        ("http://example.com/a", "prefix", [OTHERS[0]]),
        ("http://example.com/*", "", [*[URL] * 3, *OTHERS[:2]]),
        ("example.com", "host", [*[URL] * 3, *OTHERS[:2]]),
        ("example.com", "domain", [*[URL] * 3, *OTHERS]),
        ("*.example.com", "", [*[URL] * 3, *OTHERS]),
    ],
)
async def test_cdx_matches_ranges_of_urls(
    collection: FakeCollection, url: str, match: str, urls: list[str]
) -> None:
    found = await rows(collection, url=url, matchType=match)

    assert [row["url"] for row in found] == urls


async def test_a_range_of_urls_is_not_cut_off_at_the_first_late_capture(
    collection: FakeCollection,
) -> None:
    late = collection.rows[0]._replace(stamp="20250101000000")
    early = collection.rows[3]._replace(stamp="20170101000000")
    collection.rows[:] = [late, early]

    found = await rows(collection, url="example.com", matchType="host", to="2018")

    assert [row["url"] for row in found] == [OTHERS[0]]


async def test_cdx_without_captures_is_404_with_a_message(collection: FakeCollection) -> None:
    seen = await listed(collection, url="http://other.example/")

    assert seen.status == 404
    assert json.loads(seen.body)["message"] == "No captures found for: http://other.example/"


@pytest.mark.parametrize(
    "pairs", [{"matchType": "regex"}, {"page": "1"}, {"url": ""}, {"from": "soon"}]
)
async def test_cdx_rejects_unusable_parameters(
    collection: FakeCollection, pairs: dict[str, str]
) -> None:
    seen = await listed(collection, **pairs)

    assert seen.status == 400


@pytest.mark.parametrize(
    ("url", "match", "inside", "outside"),
    [
        ("http://example.com/a", "prefix", "http://example.com/ab", "http://example.com/b"),
        ("example.com", "host", "http://example.com/z", "http://a.example.com/"),
        ("example.com", "domain", "http://a.b.example.com/", "http://example.com.au/"),
        ("example.com", "domain", "http://example.com/", "http://myexample.com/"),
        ("example.com", "domain", "http://example.com/", "http://example-a.com/"),
    ],
)
def test_a_range_of_urls_has_the_right_bounds(
    url: str, match: str, inside: str, outside: str
) -> None:
    lower, upper = key_range(url, match)

    assert lower <= surt(inside) < upper
    assert not lower <= surt(outside) < upper


@pytest.mark.parametrize("written", ["http://example.com/", "example.com/"])
async def test_the_form_of_a_collection_leads_to_the_page_of_captures(
    collection: FakeCollection, written: str
) -> None:
    seen = await asked(collection, f"/collections/mine?url={quote(written, safe='')}")

    assert seen.status == 303
    assert seen.headers["Location"].endswith(
        "/timemap/html/http%3A%2F%2Fexample.com%2F?archive=mine"
    )
