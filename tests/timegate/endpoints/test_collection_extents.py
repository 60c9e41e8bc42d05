"""What a collection delivers beside pages and files: V-3 to V-6, and the drafts' resolver."""

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from archives.errors import Unreachable
from archives.moment import Moment
from archives.warc_index.model import IndexRow
from tests import warcs
from tests.timegate.collections.sample_collections import (
    OURS,
    FakeCollection,
    indexed_files,
    serving_collection,
)
from tests.timegate.endpoints.served import Seen
from tests.timegate.endpoints.test_timemap import body
from timegate.access.blocklist import Blocklist
from timegate.endpoints.collection_extents import CollectionPages
from timegate.pages.rendering import Pages

HOME = "http://a.example/"
FOLDER = "http://a.example/d/"
PAGE = "http://a.example/d/x.html"
BESIDE = "http://a.example/directory.html"
LIST = "http://a.example/list.xml"
STAMP = "20200220202020"
TIME = "2020-02-20T20:20:20Z"
MEMBER = f"urn:pwid:mine.example:{TIME}:part:{HOME}"


def recorded(url: str, payload: bytes, mime: str = "text/html", date: str = TIME) -> bytes:
    block = warcs.answer(payload, mime=mime)
    return warcs.record(block, url=url, date=date, payload_digest=warcs.digest(payload))


@pytest.fixture
def collection(tmp_path: Path) -> FakeCollection:
    image = {"mime": "image/png", "payload_digest": warcs.digest(b"IMAGE")}
    records = [
        recorded(HOME, b"<p>home"),
        recorded(FOLDER, b"<p>folder"),
        recorded(PAGE, b"<p>2019", date="2019-01-01T00:00:00Z"),
        recorded(PAGE, b"<p>March", date="2020-03-01T00:00:00Z"),
        recorded(BESIDE, b"<p>beside"),
        recorded("http://a.example/logo.png", b"LOGO", "image/png"),
        recorded("http://b.example/", b"<p>another site"),
        recorded(LIST, f"<part>\n{MEMBER}\n</part>".encode(), "text/xml"),
        warcs.record(b"IMAGE", "resource", f"urn:view:{HOME}", **image),
        warcs.revisit(FOLDER, b"<p>folder"),
    ]
    return indexed_files(tmp_path, {"all.warc.gz": warcs.gzipped(*records)})


async def asked(
    collection: FakeCollection, target: str, *headers: tuple[str, str], path: str | None = None
) -> Seen:
    async with serving_collection(collection, path=path) as site:
        return await site.ask(target, *headers)


async def listed(collection: FakeCollection, extent: str, url: str) -> Mapping[str, object]:
    query = f"coverage={extent}&time={TIME}&item={url}"
    seen = await asked(collection, f"/collections/mine/pages?{query}")
    assert seen.status == 200
    assert seen.headers["Content-Type"] == "application/linkset+json"
    (context,) = json.loads(seen.body)["linkset"]
    assert isinstance(context, dict)
    return context


def address(stamp: str, url: str) -> str:
    return f"{OURS}/{stamp}/{url}"


async def test_a_site_is_listed_as_of_the_date(collection: FakeCollection) -> None:
    context = await listed(collection, "site", PAGE)

    assert context["anchor"] == address("20200301000000", PAGE)
    assert [item["href"] for item in context["item"]] == [  # type: ignore[attr-defined]
        address(STAMP, HOME),
        address(STAMP, FOLDER),
        address("20200301000000", PAGE),
        address(STAMP, BESIDE),
    ]


async def test_a_subsite_is_the_folder_of_its_page(collection: FakeCollection) -> None:
    context = await listed(collection, "subsite", PAGE)

    assert [item["href"] for item in context["item"]] == [  # type: ignore[attr-defined]
        address(STAMP, FOLDER),
        address("20200301000000", PAGE),
    ]


async def test_a_long_list_goes_on(tmp_path: Path) -> None:
    records = [recorded(f"{HOME}{number:04}", b"x") for number in range(1001)]
    many = indexed_files(tmp_path, {"all.warc.gz": warcs.gzipped(*records)})

    first = await listed(many, "site", HOME)
    following = first["next"][0]["href"]  # type: ignore[index]
    rest = await asked(many, following.removeprefix("https://gate.example"))

    assert len(first["item"]) == 1000  # type: ignore[arg-type]
    (context,) = json.loads(rest.body)["linkset"]
    assert [item["href"] for item in context["item"]] == [address(STAMP, f"{HOME}1000")]
    assert "next" not in context


async def test_blocked_pages_are_not_listed(collection: FakeCollection) -> None:
    shown = CollectionPages(Pages(), Blocklist((BESIDE,)))

    async with serving_collection(collection, shown=shown) as site:
        seen = await site.ask(f"/collections/mine/pages?coverage=site&time={TIME}&item={HOME}")

    assert FOLDER.encode() in seen.body
    assert BESIDE.encode() not in seen.body


async def test_people_get_a_page(collection: FakeCollection) -> None:
    target = f"/collections/mine/pages?coverage=site&time={TIME}&item={HOME}"

    seen = await asked(collection, target, ("Accept", "text/html"))

    assert seen.headers["Content-Type"].startswith("text/html")
    assert b"<h1>Pages of a site</h1>" in seen.body
    assert address(STAMP, BESIDE).encode() in seen.body


@pytest.mark.parametrize(
    ("query", "status"),
    [
        (f"coverage=page&time={TIME}&item={HOME}", 400),
        (f"coverage=site&item={HOME}", 400),
        (f"coverage=site&time={TIME}", 400),
        (f"coverage=site&time=yesterday&item={HOME}", 400),
        (f"coverage=site&time={TIME}&item=http://unknown.example/", 404),
    ],
)
async def test_what_cannot_be_listed_is_a_problem(
    collection: FakeCollection, query: str, status: int
) -> None:
    assert (await asked(collection, f"/collections/mine/pages?{query}")).status == status


async def test_an_index_that_does_not_answer_is_not_an_empty_site(
    collection: FakeCollection,
) -> None:
    collection.trouble = Unreachable("mine", HOME, "the index is being built")

    seen = await asked(
        collection, f"/collections/mine/pages?coverage=site&time={TIME}&item={HOME}"
    )

    assert seen.status == 502


class Broken(FakeCollection):
    """A collection whose index raises what no code foresees."""

    async def nearest(self, url: str, at: Moment | None) -> IndexRow | None:
        raise OverflowError(f"secret {url} {at}")


async def test_what_nobody_foresees_costs_one_answer() -> None:
    targets = (
        f"/collections/mine/snapshot/{STAMP}/{HOME}",
        f"/urn:pwid:mine.example:{TIME}:snapshot:{HOME}",
    )

    for target in targets:
        seen = await asked(Broken([]), target)
        assert seen.status == 502
        assert b"secret" not in seen.body


@pytest.mark.parametrize(
    ("extent", "item", "location", "coverage"),
    [
        (
            "snapshot",
            HOME,
            f"snapshot/{STAMP}/{HOME}",
            "as-requested;req=snapshot;got=snapshot",
        ),
        ("recording", HOME, f"recording/{STAMP}/{HOME}", "as-requested;req=recording"),
        ("collection", LIST, f"{STAMP}id_/{LIST}", "degraded;req=collection;got=part"),
        ("site", HOME, f"{STAMP}/{HOME}", "degraded;req=site;got=page"),
        # Without an image of it, a snapshot is the page (V-5).
        ("snapshot", FOLDER, f"{STAMP}/{FOLDER}", "degraded;req=snapshot;got=page"),
    ],
)
async def test_each_extent_is_delivered_or_said_to_be_less(
    collection: FakeCollection, extent: str, item: str, location: str, coverage: str
) -> None:
    pwid = f"urn:pwid:mine.example:{TIME}:{extent}:{item}"
    query = f"time={TIME}&coverage={extent}&item={item}"
    targets = (f"/{pwid}", f"/collections/mine/pwid?{query}")

    for target in targets:
        seen = await asked(collection, target)
        assert seen.headers["Location"] == f"{OURS}/{location}"
        assert f"coverage={coverage}" in seen.headers["Memento-Precision"]
        assert "evidence=held" in seen.headers["Memento-Precision"]


@pytest.mark.parametrize(
    ("extent", "item", "section"),
    [
        ("site", HOME, f"pages?coverage=site&time={quote(TIME, safe='')}&item="),
        ("collection", LIST, f"members/{STAMP}/{LIST}"),
    ],
)
async def test_the_list_of_what_it_contains_is_linked(
    collection: FakeCollection, extent: str, item: str, section: str
) -> None:
    seen = await asked(collection, f"/urn:pwid:mine.example:{TIME}:{extent}:{item}")

    assert f"<{OURS}/{section}" in seen.headers["Link"]
    assert '; rel="section"; type="application/linkset+json"' in seen.headers["Link"]


async def test_a_snapshot_is_the_archived_image(collection: FakeCollection) -> None:
    seen = await asked(collection, f"/collections/mine/snapshot/{STAMP}/{HOME}")
    none = await asked(collection, f"/collections/mine/snapshot/{STAMP}/{FOLDER}")

    assert (seen.headers["Content-Type"], body(seen)) == ("image/png", "IMAGE")
    assert "sandbox" in seen.headers["Content-Security-Policy"]
    assert none.status == 404


async def test_a_recording_is_a_warc_of_its_own(
    collection: FakeCollection, tmp_path: Path
) -> None:
    one = await asked(collection, f"/collections/mine/recording/{STAMP}/{HOME}")
    revisit = await asked(collection, f"/collections/mine/recording/20210220202020/{FOLDER}")
    none = await asked(collection, f"/collections/mine/recording/19990101000000/{HOME}")

    assert one.headers["Content-Type"] == "application/warc"
    found = indexed_files(tmp_path, {"one.warc.gz": one.body}).rows
    assert [(row.url, row.stamp) for row in found] == [(HOME, STAMP)]
    # A revisit is sent with the record that has its payload.
    found = indexed_files(tmp_path, {"two.warc.gz": revisit.body}).rows
    assert [row.stamp for row in found] == ["20210220202020", STAMP]
    assert none.status == 404


async def test_the_members_of_an_archived_list_are_a_linkset(
    collection: FakeCollection,
) -> None:
    seen = await asked(collection, f"/collections/mine/members/{STAMP}/{LIST}")
    page = await asked(collection, f"/collections/mine/members/{STAMP}/{HOME}")

    (context,) = json.loads(seen.body)["linkset"]
    assert context["item"] == [{"href": MEMBER}]
    assert page.status == 422


async def test_a_registered_item_is_a_list_of_the_collection(
    collection: FakeCollection, tmp_path: Path
) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "Shop.xml").write_text(f"<part>\n{MEMBER}\n</part>\n")
    (tmp_path / "secret").write_text("not a list")
    path = str(tmp_path)

    pwid = f"urn:pwid:~mywa:{TIME}:collection:~shop"
    seen = await asked(collection, f"/{pwid}", path=path)
    sent = await asked(collection, "/collections/mine/lists/shop", path=path)
    linkset = await asked(collection, "/collections/mine/lists/shop?as=linkset", path=path)
    absent = await asked(collection, f"/{pwid}s", path=path)
    outside = await asked(collection, "/collections/mine/lists/..%2Fsecret", path=path)

    assert seen.headers["Location"] == f"{OURS}/lists/shop"
    assert "coverage=as-requested" in seen.headers["Memento-Precision"]
    assert "match=exact" not in seen.headers["Memento-Precision"]
    assert sent.body.decode().splitlines()[1] == MEMBER
    assert json.loads(linkset.body)["linkset"][0]["item"] == [{"href": MEMBER}]
    assert (absent.status, outside.status) == (422, 404)


async def test_the_resolver_of_the_drafts_answers_for_each_archive(
    collection: FakeCollection,
) -> None:
    for query in (
        f"time={TIME}&coverage=part&item={HOME}",
        f"time={quote(TIME)}&coverage=part&item={quote(HOME, safe='')}",
        f"time=2020-02-20_20.20.20Z&coverage=part&item={HOME}",
    ):
        seen = await asked(collection, f"/collections/mine/pwid?{query}")
        assert seen.headers["Location"] == f"{OURS}/{STAMP}id_/{HOME}"
        assert "match=exact" in seen.headers["Memento-Precision"]

    report = await asked(
        collection, f"/collections/mine/pwid?time={TIME}&coverage=page&as=json&item={HOME}"
    )
    assert json.loads(report.body)["coverage"]["value"] == "as-requested"
    missing = await asked(collection, f"/collections/mine/pwid?time={TIME}&coverage=page")
    assert missing.status == 400


async def test_the_resolver_of_the_drafts_answers_for_all_archives(
    collection: FakeCollection,
) -> None:
    query = f"time={TIME}&coverage=part&item={HOME}"

    seen = await asked(collection, f"/pwid?{query}")
    named = await asked(collection, f"/pwid?archive=~mywa&{query}")
    encoded = await asked(
        collection,
        f"/pwid?time={TIME}&coverage=site&item={quote(HOME, safe='')}&archive=mine.example",
    )

    assert seen.headers["Location"] == f"{OURS}/{STAMP}id_/{HOME}"
    assert "archive=any" in seen.headers["Memento-Precision"]
    assert "archive=alias" in named.headers["Memento-Precision"]
    assert "archive=same" in encoded.headers["Memento-Precision"]
    assert "coverage=degraded;req=site" in encoded.headers["Memento-Precision"]


async def test_an_item_in_the_url_of_a_pwid_is_no_item(collection: FakeCollection) -> None:
    pwid = f"urn:pwid:mine.example:{TIME}:page:{HOME}?a=1&item=2"

    seen = await asked(collection, f"/pwid?archiveString={pwid}&as=json")

    assert json.loads(seen.body)["type"].endswith("/no-memento")
