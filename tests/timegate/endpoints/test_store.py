"""A store over HTTP: writing with Memento headers, reading the current revision, refusing."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import cast

import pytest

from archives.warc_index.building import index_collection
from tests.scenario import World
from tests.timegate.endpoints.served import Seen, Site
from tests.timegate.endpoints.stored import (
    BASE,
    BEARER,
    PAGE,
    TOKEN,
    StoreClient,
    serving_store,
)
from tests.whole_server import running_server
from timegate import demo
from timegate.config import load_config
from timegate.endpoints.store import WriteQuota

ASSERTED = ("Timegate-Datetime", "2020-01-01T00:00:00.123456789Z")
PLAIN = ("Content-Type", "text/plain; charset=utf-8")


def kind(seen: Seen) -> str:
    """Return the kind of a problem."""
    return str(json.loads(seen.body)["type"]).rpartition("/")[2]


def links(seen: Seen) -> dict[str, list[str]]:
    """Return the targets of the links by relation."""
    found: dict[str, list[str]] = {}
    for target, relations in re.findall(r'<([^>]*)>; rel="([^"]*)"', seen.headers["Link"]):
        for relation in relations.split():
            found.setdefault(relation, []).append(target)
    return found


async def test_a_write_answers_with_the_headers_of_its_memento(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        seen = await store.put("hello", PLAIN, ASSERTED)

    uri = f"{BASE}/collections/notes/20200101000000123456789/{PAGE}"
    digest = b64encode(sha256(b"hello").digest()).decode()
    assert seen.status == 201
    assert seen.headers["Location"] == uri
    assert seen.headers["Memento-Datetime"] == "Wed, 01 Jan 2020 00:00:00 GMT"
    assert seen.headers["Timegate-Datetime"] == "2020-01-01T00:00:00.123456789Z"
    assert seen.headers["Repr-Digest"] == f"sha-256=:{digest}:"
    assert links(seen) == {
        "original": [PAGE],
        "timegate": [f"{BASE}/store/notes/{PAGE}"],
        "timemap": [f"{BASE}/collections/notes/timemap/link/{PAGE}"],
        "memento": [uri],
        "cite-as": [
            f"duri:2020-01-01T00:00:00.123456789Z:{PAGE}",
            f"urn:pwid:store.example.org:2020-01-01T00:00:00.123456789Z:page:{PAGE}",
        ],
    }


@pytest.mark.parametrize("method", ["PUT", "POST"])
async def test_what_was_written_is_read_at_once_at_every_address(
    tmp_path: Path, method: str
) -> None:
    async with serving_store(tmp_path) as store:
        await store.get(f"{BASE}/timegate/{PAGE}")
        written = await store.put("hello", PLAIN, method=method)
        memento = await store.get(written.headers["Location"])
        current = await store.get(f"/store/notes/{PAGE}")
        timegate = await store.get(f"/timegate/{PAGE}")
        timemap = await store.get(f"/collections/notes/timemap/link/{PAGE}")
        named = [await store.get(f"/{name}") for name in links(written)["cite-as"]]

    assert (written.status, memento.status, current.status) == (201, 200, 200)
    assert memento.body == current.body == b"hello"
    assert current.headers["Content-Type"] == PLAIN[1]
    assert current.headers["ETag"] == written.headers["ETag"] == memento.headers["ETag"]
    assert current.headers["Content-Location"] == written.headers["Location"]
    assert timegate.headers["Location"] == written.headers["Location"]
    assert written.headers["Location"] in timemap.body.decode()
    assert [each.headers["Location"] for each in named] == 2 * [written.headers["Location"]]
    assert all("match=exact" in each.headers["Memento-Precision"] for each in named)


async def test_equal_bytes_are_read_from_the_revisit_too(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("same", PLAIN, ASSERTED)
        second = await store.put("same", PLAIN)
        memento = await store.get(second.headers["Location"])

    assert (memento.body, memento.headers["Content-Type"]) == (b"same", PLAIN[1])


async def test_an_asserted_time_is_marked_in_the_verdict(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("old", ASSERTED)
        await store.put("new", page=f"{PAGE}2")
        asserted = await store.get(f"/timegate/{PAGE}")
        measured = await store.get(f"/timegate/{PAGE}2")

    assert ";basis=asserted" in asserted.headers["Memento-Precision"]
    assert "basis" not in measured.headers["Memento-Precision"]


async def test_a_page_of_our_own_is_original_and_timegate_in_one(tmp_path: Path) -> None:
    own = f"{BASE}/store/notes/doc/1?x=2"
    async with serving_store(tmp_path) as store:
        written = await store.put("v1", ASSERTED, page="doc/1?x=2")
        current = await store.get("/store/notes/doc/1?x=2")
        old = await store.get(
            "/store/notes/doc/1?x=2", ("Accept-Datetime", "Wed, 01 Jan 2020 00:00:00 GMT")
        )
        spelled_out = await store.get(f"/store/notes/{own}")

    assert links(written)["original"] == links(written)["timegate"] == [own]
    assert (current.status, current.body) == (200, b"v1")
    assert "Memento-Datetime" not in current.headers
    assert (old.status, old.headers["Location"]) == (302, written.headers["Location"])
    assert "accept-datetime" in old.headers["Vary"]
    assert own in links(old)["timegate"]
    assert spelled_out.body == b"v1"


async def test_the_store_negotiates_datetimes(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        for year in (2018, 2019, 2020):
            at = ("Timegate-Datetime", f"{year}-06-01T00:00:00Z")
            await store.put(f"{year}", at)
        seen = await store.get(
            f"/store/notes/{PAGE}", ("Accept-Datetime", "Sat, 08 Jun 2019 00:00:00 GMT")
        )

    assert seen.headers["Location"] == f"{BASE}/collections/notes/20190601000000/{PAGE}"


async def test_an_instant_that_holds_other_bytes_is_a_conflict(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        first = await store.put("one", ASSERTED)
        again = await store.put("one", ASSERTED)
        other = await store.put("two", ASSERTED)

    assert (first.status, again.status, other.status) == (201, 200, 409)
    assert again.headers["Location"] == first.headers["Location"]
    assert json.loads(other.body)["memento"] == first.headers["Location"]


async def test_writers_who_race_use_preconditions(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        first = await store.put("one", ("If-None-Match", "*"))
        second = await store.put("two", ("If-None-Match", "*"))
        tag = ("If-Match", first.headers["ETag"])
        third = await store.put("three", tag)
        fourth = await store.put("four", tag)

    assert [s.status for s in (first, second, third, fourth)] == [201, 412, 201, 412]
    assert fourth.headers["ETag"] == third.headers["ETag"]


@pytest.mark.parametrize(
    "token",
    [
        None,
        ("Authorization", "Bearer wrong"),
        ("Authorization", "Bearer "),
        ("Authorization", f"Basic {TOKEN}"),
        ("Authorization", TOKEN),
        ("Authorization", "Bearer caf\u00e9"),
    ],
)
async def test_without_a_token_of_the_store_nothing_is_written(
    tmp_path: Path, token: tuple[str, str] | None, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving_store(tmp_path) as store:
        seen = await store.put("hello", token=token)
        current = await store.get(f"/store/notes/{PAGE}")

    assert (seen.status, kind(seen)) == (401, "token-required")
    assert seen.headers["WWW-Authenticate"] == 'Bearer realm="notes"'
    assert current.status == 404
    assert TOKEN not in caplog.text


async def test_a_token_is_bound_to_its_store(tmp_path: Path) -> None:
    other = f'[[store]]\nid = "other"\npath = "other"\ntokens = ["sha256:{"0" * 64}"]'
    none = '[[store]]\nid = "none"\npath = "none"'
    async with serving_store(tmp_path, more=f"{other}\n{none}") as store:
        seen = await store.put("hello", store="other")
        refused = await store.put("hello", store="none")
        unknown = await store.put("hello", store="unknown")

    assert (seen.status, refused.status, unknown.status) == (401, 403, 404)


@pytest.mark.parametrize("method", ["DELETE", "PATCH"])
async def test_revisions_are_never_removed_or_changed(tmp_path: Path, method: str) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("hello")
        seen = await store.put("", method=method)
        current = await store.get(f"/store/notes/{PAGE}")

    assert (seen.status, seen.headers["Allow"]) == (405, "GET, HEAD, OPTIONS, PUT, POST")
    assert current.body == b"hello"


async def test_scripts_of_other_origins_may_not_write(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        seen = await store.put("", method="OPTIONS")

    assert "PUT" not in seen.headers["Access-Control-Allow-Methods"]
    assert "Authorization" not in seen.headers["Access-Control-Allow-Headers"]


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (("Timegate-Datetime", "2999-01-01T00:00:00Z"), 400),
        (("Memento-Datetime", "Tue, 01 Jan 2999 00:00:00 GMT"), 400),
        (("Memento-Datetime", "yesterday"), 400),
        (("Timegate-Datetime", "2020-01-01"), 400),
        (("Timegate-Datetime", "2020-01-01T00:00:00.1234567890Z"), 400),
        (("Timegate-Datetime", "2016-12-31T23:59:60Z"), 400),
        (("Content-Type", "no type"), 400),
        (("Content-Range", "bytes 0-4/9"), 400),
        (("Content-Encoding", "gzip"), 415),
        (("Repr-Digest", f"sha-256=:{b64encode(bytes(32)).decode()}:"), 400),
    ],
)
async def test_what_cannot_be_stored_as_it_is_is_refused(
    tmp_path: Path, header: tuple[str, str], status: int
) -> None:
    async with serving_store(tmp_path) as store:
        seen = await store.put("hello", header)
        current = await store.get(f"/store/notes/{PAGE}")

    assert (seen.status, current.status) == (status, 404)


async def test_a_time_with_an_offset_is_converted_to_utc(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        seen = await store.put("hello", ("Timegate-Datetime", "2020-01-01T00:30:00.25+01:00"))

    assert seen.headers["Timegate-Datetime"] == "2019-12-31T23:30:00.25Z"


async def test_a_write_without_a_body_is_refused(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        refused = await store.put("")
        absent = await store.get(f"/store/notes/{PAGE}")
        empty = await store.put("", ("Content-Length", "0"))
        current = await store.get(f"/store/notes/{PAGE}")

    assert (refused.status, absent.status, empty.status) == (411, 404, 201)
    assert (current.status, current.body) == (200, b"")


EQUIVALENT = [
    ("http://example.org", "http://example.org/"),
    ("http://example.org:80/a", "http://EXAMPLE.org/a"),
    ("https://example.org/a", "https://example.org:443/a"),
    ("http://example.org/stra%c3%9fe", "http://example.org/stra%C3%9Fe"),
]


@pytest.mark.parametrize(("one", "other"), [*EQUIVALENT, *(pair[::-1] for pair in EQUIVALENT)])
async def test_equivalent_spellings_are_one_page(tmp_path: Path, one: str, other: str) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("hello", ASSERTED, page=one)
        current = await store.get(f"/store/notes/{other}")
        again = await store.put("hello", ASSERTED, page=other)
        taken = await store.put("other", ASSERTED, page=other)
        first = await store.put("more", ("If-None-Match", "*"), page=other)

    assert (current.status, current.body) == (200, b"hello")
    assert (again.status, taken.status, first.status) == (200, 409, 412)


@pytest.mark.parametrize(
    "other", ["https://example.org/page", "http://www.example.org/page", f"{PAGE}?", f"{PAGE}/"]
)
async def test_variants_are_pages_of_their_own(tmp_path: Path, other: str) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("hello", ASSERTED)
        absent = await store.get(f"/store/notes/{other}")
        written = await store.put("other", ASSERTED, page=other)

    assert (absent.status, written.status) == (404, 201)


async def test_the_current_revision_states_its_digest(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        written = await store.put("hello")
        current = await store.get(f"/store/notes/{PAGE}")
        part = await store.get(f"/store/notes/{PAGE}", ("Range", "bytes=1-2"))

    digest = written.headers["Repr-Digest"]
    assert (current.headers["Repr-Digest"], part.headers["Repr-Digest"]) == (digest, digest)
    assert (part.status, part.body) == (206, b"el")


async def test_both_times_must_be_of_the_same_second(tmp_path: Path) -> None:
    other = ("Memento-Datetime", "Wed, 01 Jan 2020 00:00:01 GMT")
    same = ("Memento-Datetime", "Wed, 01 Jan 2020 00:00:00 GMT")
    async with serving_store(tmp_path) as store:
        refused = await store.put("hello", ASSERTED, other)
        written = await store.put("hello", ASSERTED, same)

    assert (refused.status, written.status) == (400, 201)


async def test_a_digest_that_the_writer_states_is_compared(tmp_path: Path) -> None:
    stated = f"sha-256=:{b64encode(sha256(b'hello').digest()).decode()}:"
    async with serving_store(tmp_path) as store:
        seen = await store.put("hello", ("Repr-Digest", stated), ("Content-Digest", stated))

    assert seen.status == 201


async def test_a_large_body_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async with serving_store(tmp_path, "revision_megabytes = 1") as store:
        seen = await store.put("", ("Content-Length", str(2**20 + 1)))
        fits = await store.put(bytes(2**20))

    assert (seen.status, kind(seen), fits.status) == (413, "too-large", 201)


async def test_a_client_that_waits_for_100_gets_it_after_its_token_was_checked(
    tmp_path: Path,
) -> None:
    expect = ("Expect", "100-continue")
    async with serving_store(tmp_path) as store:
        accepted = await store.put("hello", expect)
        refused = await store.put("hello", expect, token=None)

    assert accepted.status == 100
    assert b"HTTP/1.1 201 Created" in accepted.body
    assert refused.status == 401


async def test_a_full_store_answers_507_and_reads_go_on(tmp_path: Path) -> None:
    async with serving_store(tmp_path, "megabytes = 1") as store:
        await store.put("hello")
        full = await store.put(bytes(2**20))
        current = await store.get(f"/store/notes/{PAGE}")

    assert (full.status, kind(full)) == (507, "store-full")
    assert current.body == b"hello"


async def test_a_token_has_a_quota_of_writes(tmp_path: Path) -> None:
    async with serving_store(tmp_path, "writes_per_minute = 2") as store:
        statuses = [(await store.put(f"{n}")).status for n in range(3)]
        last = await store.put("more")

    assert statuses == [201, 201, 429]
    assert int(last.headers["Retry-After"]) > 0


def test_the_quota_of_writes_fills_again() -> None:
    now = [0.0]
    quota = WriteQuota(60, lambda: now[0])

    spent = [quota.retry_after(b"a") for _ in range(61)]
    now[0] += 1.0

    assert spent[:60] == [0.0] * 60
    assert spent[60] == pytest.approx(1.0)
    assert (quota.retry_after(b"a"), quota.retry_after(b"b")) == (0.0, 0.0)


async def test_a_store_that_cannot_be_opened_serves_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("not a folder")
    async with serving_store(tmp_path) as store:
        seen = await store.put("hello")
        health = await store.get("/healthz")

    assert (seen.status, kind(seen), health.status) == (503, "store-failed", 200)


async def test_a_blocked_page_cannot_be_written(tmp_path: Path) -> None:
    async with serving_store(tmp_path, more='[deny]\nhosts = ["example.org"]') as store:
        seen = await store.put("hello")
        read = await store.get(f"/store/notes/{PAGE}")

    assert (seen.status, kind(seen), read.status) == (403, "not-writable", 451)


@pytest.mark.parametrize("page", ["", "http://", "http%3A%2F%2Fexample.org%2F%23x"])
async def test_a_target_that_is_no_page_is_refused(tmp_path: Path, page: str) -> None:
    async with serving_store(tmp_path) as store:
        seen = await store.put("hello", page=page)

    assert seen.status in (400, 404)


async def test_html_is_served_in_a_sandbox(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("<script>alert(1)</script>", ("Content-Type", "text/html"))
        seen = await store.get(f"/store/notes/{PAGE}")

    assert "sandbox" in seen.headers["Content-Security-Policy"]
    assert seen.headers["Content-Disposition"] == "attachment"


async def test_a_long_url_has_short_links(tmp_path: Path) -> None:
    page = f"{PAGE}?{'x' * 6000}"
    async with serving_store(tmp_path) as store:
        seen = await store.put("hello", page=page)
        memento = await store.get(seen.headers["Location"])

    assert (seen.status, seen.headers["Link"]) == (201, f'<{page}>; rel="original"')
    assert memento.body == b"hello"


async def test_archived_bytes_stay_at_the_replay_origin(tmp_path: Path) -> None:
    more = '[replay]\nbase_url = "http://replay.example"'
    async with serving_store(tmp_path, more=more) as store:
        written = await store.put("hello")
        seen = await store.get(f"/store/notes/{PAGE}")

    assert written.headers["Location"].startswith("http://replay.example/collections/notes/")
    assert (seen.status, seen.headers["Location"]) == (302, written.headers["Location"])


async def test_without_a_store_there_is_no_such_address(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text("[archives]\nuse = []")
    async with running_server(load_config(tmp_path / "t.toml")) as port:
        site = Site(port, cast("World", None))
        seen = await site.ask(f"/store/notes/{PAGE}", BEARER, method="PUT", body=b"x")

    assert seen.status == 405


async def test_fractions_of_one_second_are_told_apart(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        for number in (100, 250, 900):
            at = ("Timegate-Datetime", f"2020-01-01T00:00:00.{number}Z")
            assert (await store.put(f"{number}", at)).status == 201
        for number in (100, 250, 900):
            name = f"urn:pwid:store.example.org:2020-01-01T00:00:00.{number}Z:part:{PAGE}"
            found = await store.get(f"/{name}")
            body = await store.get(found.headers["Location"])
            assert "match=exact" in found.headers["Memento-Precision"]
            assert body.body == f"{number}".encode()


async def test_a_lenient_client_negotiates_fractions_of_a_second(tmp_path: Path) -> None:
    lenient = ("Prefer", "handling=lenient")
    async with serving_store(tmp_path) as store:
        for number in (100, 250, 900):
            await store.put(
                f"{number}", ("Timegate-Datetime", f"2020-01-01T00:00:00.{number}Z")
            )
        for asked, found in (("2", 250), ("9", 900), ("0", 100), ("250", 250)):
            at = ("Accept-Datetime", f"2020-01-01T00:00:00.{asked}Z")
            seen = await store.get(f"/store/notes/{PAGE}", at, lenient)
            merged = await store.get(f"/timegate/{PAGE}", at, lenient)
            strict = await store.get(f"/timegate/{PAGE}", at)
            stamp = f"20200101000000{found}"
            assert seen.headers["Location"] == f"{BASE}/collections/notes/{stamp}/{PAGE}"
            assert merged.headers["Location"] == seen.headers["Location"]
            assert "handling=lenient" in seen.headers["Preference-Applied"]
            assert (strict.status, kind(strict)) == (400, "bad-accept-datetime")


@pytest.mark.parametrize("form", ["link", "json", "cdxj"])
async def test_a_timemap_has_an_etag_that_changes_with_its_captures(
    tmp_path: Path, form: str
) -> None:
    address = f"/collections/notes/timemap/{form}/{PAGE}"
    async with serving_store(tmp_path) as store:
        await store.put("one")
        first = await store.get(address)
        await store.put("elsewhere", page=f"{PAGE}2")
        known = ("If-None-Match", first.headers["ETag"])
        unchanged = await store.get(address, known)
        await store.put("two")
        changed = await store.get(address, known)

    assert (first.status, unchanged.status, changed.status) == (200, 304, 200)
    assert unchanged.body == b""
    assert changed.headers["ETag"] != first.headers["ETag"]
    assert changed.body.count(b"/collections/notes/2") > first.body.count(
        b"/collections/notes/2"
    )


async def test_writes_are_counted_by_their_status(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("one")
        await store.put("one", token=None)
        metrics = (await store.get("/metrics")).body.decode()

    counted = [line for line in metrics.splitlines() if 'route="/store/"' in line]
    assert any("201" in line and line.endswith(" 1.0") for line in counted)
    assert any("401" in line and line.endswith(" 1.0") for line in counted)


JSON = ("Content-Type", "application/json")
MUSEUM = "http://museum.example/"


def demo_archive(folder: Path) -> str:
    """Return the configuration of an archive of the demo."""
    path = Path(demo.__file__).with_name("harbour")
    index_collection(path, folder / "harbour.sqlite")
    index = folder / "harbour.sqlite"
    return f'[[archive]]\nid = "harbour"\nkind = "warc"\npath = "{path}"\nindex = "{index}"\n'


async def keep(store: StoreClient, body: object, *headers: tuple[str, str]) -> Seen:
    octets = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = headers or (JSON, BEARER)
    return await store.site.ask("/store/notes", *fields, method="POST", body=octets)


async def test_a_reference_is_not_kept_unless_the_operator_allows_it(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        seen = await keep(store, {"url": PAGE})
    assert (seen.status, kind(seen)) == (403, "not-writable")


async def test_a_reference_is_kept_with_the_headers_of_a_write(tmp_path: Path) -> None:
    archive, wanted = demo_archive(tmp_path), {"url": f"duri:2010-11-05T10:15:00Z:{MUSEUM}"}
    async with serving_store(tmp_path, 'keep = "archives"', archive) as store:
        seen = await keep(store, wanted)
        again = await keep(store, wanted)
        memento = await store.get(seen.headers["Location"])
        live = await keep(store, {**wanted, "live": True})

    uri = f"{BASE}/collections/notes/20101105101500/{MUSEUM}"
    assert (seen.status, again.status, memento.status) == (201, 200, 200)
    assert seen.headers["Location"] == again.headers["Location"] == uri
    assert seen.headers["Memento-Datetime"] == "Fri, 05 Nov 2010 10:15:00 GMT"
    assert links(seen)["cite-as"][0] == f"duri:2010-11-05T10:15:00Z:{MUSEUM}"
    assert seen.headers["ETag"] == memento.headers["ETag"]
    assert json.loads(seen.body)["outcome"] == "kept"
    assert (live.status, kind(live)) == (403, "not-writable")


async def test_references_that_cannot_be_kept_are_problems(tmp_path: Path) -> None:
    archive = demo_archive(tmp_path)
    async with serving_store(tmp_path, 'keep = "archives"', archive) as store:
        answers = [
            await keep(store, {"url": "http://nowhere.example/"}),
            await keep(store, {"url": "nonsense:"}),
            await keep(store, {"url": "http://a.example/\x00"}),
            await keep(store, {"urls": []}),
            await keep(store, b"\xff{"),
            await keep(store, {"url": MUSEUM}, JSON),
            await keep(store, {"url": MUSEUM}, BEARER, ("Content-Type", "text/plain")),
        ]

    assert [(seen.status, kind(seen)) for seen in answers] == [
        (404, "no-memento"),
        (400, "bad-identifier"),
        (400, "bad-identifier"),
        (400, "bad-request"),
        (400, "bad-request"),
        (401, "token-required"),
        (415, "bad-request"),
    ]


INSTANT = "2020-01-01T00:00:00.123456789Z"


async def test_an_identifier_says_that_the_time_was_asserted(tmp_path: Path) -> None:
    async with serving_store(tmp_path) as store:
        await store.put("asserted", ("Timegate-Datetime", INSTANT))
        await store.put("by the clock", page="http://example.org/now")
        for name in (f"duri:{INSTANT}", f"urn:pwid:store.example.org:{INSTANT}:page"):
            found = await store.get(f"/{name}:{PAGE}")
            assert found.status == 302
            assert "time=exact" in found.headers["Memento-Precision"]
            assert "basis=asserted" in found.headers["Memento-Precision"]
        plain = await store.get("/duri::http://example.org/now")
        assert "basis" not in plain.headers["Memento-Precision"]


@pytest.mark.parametrize("name", ["Timegate-Datetime", "Memento-Datetime"])
async def test_a_time_that_is_stated_twice_is_refused(tmp_path: Path, name: str) -> None:
    times = {
        "Timegate-Datetime": ("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z"),
        "Memento-Datetime": (
            "Wed, 01 Jan 2020 00:00:00 GMT",
            "Thu, 02 Jan 2020 00:00:00 GMT",
        ),
    }
    async with serving_store(tmp_path) as store:
        seen = await store.put("x", *((name, time) for time in times[name]))
        there = await store.get(f"/store/notes/{PAGE}")

    assert (seen.status, there.status) == (400, 404)


@pytest.mark.parametrize("page", ["ftp://example.org/", "file:///etc/passwd", "GOPHER://x/"])
async def test_a_page_of_another_scheme_is_refused(tmp_path: Path, page: str) -> None:
    async with serving_store(tmp_path) as store:
        seen = await store.put("x", page=page)

    assert seen.status == 422


@pytest.mark.parametrize(
    "path", ["/store/notes/", "/timegate/", "/collections/notes/timegate/"]
)
async def test_a_field_of_its_own_negotiates_within_a_second(tmp_path: Path, path: str) -> None:
    async with serving_store(tmp_path) as store:
        for digit in "123":
            await store.put(digit, ("Timegate-Datetime", f"2020-01-01T00:00:00.{digit}Z"))
        fine = ("Accept-Datetime-Precise", "2020-01-01T00:00:00.2Z")
        second = ("Accept-Datetime", "Wed, 01 Jan 2020 00:00:00 GMT")
        other = ("Accept-Datetime", "Thu, 02 Jan 2020 00:00:00 GMT")
        found = await store.get(f"{path}{PAGE}", fine)
        both = await store.get(f"{path}{PAGE}", fine, second)
        differs = await store.get(f"{path}{PAGE}", fine, other)
        malformed = await store.get(f"{path}{PAGE}", ("Accept-Datetime-Precise", "2020"))
        twice = await store.get(f"{path}{PAGE}", fine, fine)

    place = f"{BASE}/collections/notes/202001010000002/{PAGE}"
    # The next revision may be nearer.
    assert found.headers["Cache-Control"] == "no-cache"
    assert (found.headers["Location"], both.headers["Location"]) == (place, place)
    assert "time=exact" in found.headers["Memento-Precision"]
    assert "accept-datetime-precise" in found.headers["Vary"]
    assert [each.status for each in (differs, malformed, twice)] == [400, 400, 400]
