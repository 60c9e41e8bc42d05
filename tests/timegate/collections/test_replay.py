"""Raw replay over HTTP: `/collections/{id}/{stamp}id_/{URL}` and the view for people."""

import gzip
import json
from pathlib import Path

import pytest

from archives.errors import Unreachable
from tests import warcs
from tests.timegate.collections.sample_collections import (
    OURS,
    FakeCollection,
    indexed_files,
    serving_collection,
)
from tests.timegate.endpoints.served import Seen

URL = "http://example.com/"
STAMP = "20200220202020"
RAW = f"/collections/mine/{STAMP}id_/{URL}"
PAGE = f"/collections/mine/{STAMP}/{URL}"
DATE = "Thu, 20 Feb 2020 20:20:20 GMT"
LARGE = bytes(range(256)) * 8192


async def get(
    collection: FakeCollection,
    target: str = RAW,
    *headers: tuple[str, str],
    method: str = "GET",
) -> Seen:
    async with serving_collection(collection) as site:
        return await site.ask(target, *headers, method=method)


def collection_of(folder: Path, *records: bytes, name: str = "one.warc.gz") -> FakeCollection:
    layout = warcs.gzipped if name.endswith("gz") else warcs.plain
    return indexed_files(folder, {name: layout(*records)})


def archived_page(
    folder: Path, payload: bytes = warcs.PAGE, status: str = "200 OK", **fields: str
) -> FakeCollection:
    mime = fields.pop("mime", "text/html")
    block = warcs.answer(payload, status, mime, **fields)
    return collection_of(folder, warcs.record(block, block_digest=warcs.digest(block)))


@pytest.mark.parametrize("name", ["one.warc.gz", "one.warc"])
async def test_a_capture_is_sent_as_it_was_archived(tmp_path: Path, name: str) -> None:
    seen = await get(collection_of(tmp_path, warcs.response(), name=name))

    assert seen.status == 200
    assert seen.body == warcs.PAGE
    assert seen.headers["Content-Type"] == "text/html"
    assert seen.headers["Content-Length"] == str(len(warcs.PAGE))
    assert seen.headers["Memento-Datetime"] == DATE
    assert seen.headers["Content-Security-Policy"] == (
        "sandbox; default-src 'none'; frame-ancestors 'none'"
    )
    assert seen.headers["Content-Disposition"] == "attachment"
    assert seen.headers["Link"].split(", <") == [
        f'<{URL}>; rel="original"',
        f'{OURS}/{STAMP}id_/{URL}>; rel="memento"; datetime="{DATE}"',
        f'{OURS}/timegate/{URL}>; rel="timegate"',
        f'{OURS}/timemap/link/{URL}>; rel="timemap"; type="application/link-format"',
    ]


async def test_people_see_html_without_scripts(tmp_path: Path) -> None:
    seen = await get(collection_of(tmp_path, warcs.response()), PAGE)

    assert seen.body == warcs.PAGE
    assert "Content-Disposition" not in seen.headers
    assert seen.headers["Content-Security-Policy"] == (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
        "frame-ancestors 'none'"
    )


async def test_other_types_are_sent_as_attachments_to_people_too(tmp_path: Path) -> None:
    seen = await get(archived_page(tmp_path, mime="image/svg+xml"), PAGE)

    assert seen.headers["Content-Disposition"] == "attachment"
    assert seen.headers["Content-Security-Policy"] == (
        "sandbox; default-src 'none'; frame-ancestors 'none'"
    )


async def test_only_headers_that_describe_the_bytes_keep_their_name(tmp_path: Path) -> None:
    collection = archived_page(
        tmp_path,
        content_language="da",
        set_cookie="a=1",
        keep_alive="timeout=5",
        connection="x-hop",
        x_hop="1",
        server="Apache",
        content_security_policy="script-src *",
        etag='"theirs"',
    )

    seen = await get(collection)

    assert seen.headers["Content-Language"] == "da"
    assert seen.headers["X-Archive-Orig-Server"] == "Apache"
    assert seen.headers["X-Archive-Orig-Set-Cookie"] == "a=1"
    assert seen.headers["X-Archive-Orig-Content-Security-Policy"] == "script-src *"
    assert seen.headers["X-Archive-Orig-Etag"] == '"theirs"'
    assert "Set-Cookie" not in seen.headers
    assert not [name for name in seen.headers if "Hop" in name or "Keep-Alive" in name]


async def test_unsafe_headers_are_left_out(tmp_path: Path) -> None:
    seen = await get(archived_page(tmp_path, x_odd="a\x01b", x_long="y" * 3000))

    assert seen.status == 200
    assert not [name for name in seen.headers if "X-Odd" in name or "X-Long" in name]


@pytest.mark.parametrize(
    ("coding", "payload"), [("gzip", gzip.compress(warcs.PAGE)), ("br", warcs.BROTLI)]
)
async def test_content_codings_are_kept(tmp_path: Path, coding: str, payload: bytes) -> None:
    seen = await get(archived_page(tmp_path, payload, content_encoding=coding))

    assert seen.headers["Content-Encoding"] == coding
    assert seen.body == payload


async def test_archived_transfer_coding_is_removed(tmp_path: Path) -> None:
    seen = await get(
        archived_page(tmp_path, warcs.chunked(warcs.PAGE), transfer_encoding="chunked")
    )

    assert seen.body == warcs.PAGE
    assert "Transfer-Encoding" not in seen.headers


@pytest.mark.parametrize("view", ["", "id_"])
@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("http://example.com/next", "http://example.com/next"),
        ("/next?a=b", "http://example.com/next?a=b"),
        ("https://www.example.org", "https://www.example.org"),
    ],
)
async def test_an_archived_redirect_stays_in_the_collection(
    tmp_path: Path, view: str, location: str, expected: str
) -> None:
    collection = archived_page(tmp_path, b"", "301 Moved Permanently", location=location)

    seen = await get(collection, f"/collections/mine/{STAMP}{view}/{URL}")

    assert seen.status == 301
    assert seen.headers["Location"] == f"{OURS}/{STAMP}{view}/{expected}"
    assert seen.headers["X-Archive-Orig-Location"] == location
    assert seen.headers["Memento-Datetime"] == DATE


@pytest.mark.parametrize("view", ["", "id_"])
@pytest.mark.parametrize(
    ("location", "others", "expected"),
    [
        # Another spelling of the URL has the same key in the index.
        ("https://example.com/", [("https://example.com/", 25)], "25{}/https://example.com/"),
        ("https://example.com/", [("http://example.com/", 15)], "15{}/http://example.com/"),
        ("//www.example.com/", [(URL, 10), (URL, 28)], "28{}/http://example.com/"),
        ("https://example.com/", [], None),
        (URL, [], None),
    ],
)
async def test_an_archived_redirect_to_its_own_key_does_not_lead_back_to_itself(
    tmp_path: Path,
    view: str,
    location: str,
    others: list[tuple[str, int]],
    expected: str | None,
) -> None:
    moved = warcs.record(
        warcs.answer(b"", "301 Moved", location=location), url=URL, date=warcs.DAY
    )
    pages = (warcs.response(url, date=f"2020-02-20T20:20:{second}Z") for url, second in others)

    seen = await get(
        collection_of(tmp_path, moved, *pages), f"/collections/mine/{STAMP}{view}/{URL}"
    )

    where = None if expected is None else f"{OURS}/{STAMP[:12]}{expected.format(view)}"
    assert seen.status == 301
    assert seen.headers.get("Location") == where
    assert seen.headers["X-Archive-Orig-Location"] == location


@pytest.mark.parametrize("location", ["javascript:alert(1)", "mailto:a@b.example", ""])
async def test_an_archived_redirect_to_no_page_has_no_location(
    tmp_path: Path, location: str
) -> None:
    seen = await get(archived_page(tmp_path, b"", "302 Found", location=location))

    assert seen.status == 302
    assert "Location" not in seen.headers


@pytest.mark.parametrize("status", ["404 Not Found", "503 Busy", "401 Unauthorized"])
async def test_an_archived_error_is_a_capture(tmp_path: Path, status: str) -> None:
    seen = await get(archived_page(tmp_path, b"no", status))

    assert seen.status == int(status[:3])
    assert seen.headers["Memento-Datetime"] == DATE
    assert seen.body == b"no"


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_a_status_without_a_body_has_none(tmp_path: Path, status: str) -> None:
    seen = await get(archived_page(tmp_path, b"should not be here", status))

    assert seen.status == int(status[:3])
    assert seen.body == b""


async def test_a_status_that_cannot_be_sent_becomes_a_header(tmp_path: Path) -> None:
    seen = await get(archived_page(tmp_path, b"", "101 Switching Protocols"))

    assert seen.status == 200
    assert seen.headers["X-Archive-Orig-Status"] == "101"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("payload", [warcs.PAGE, LARGE])
@pytest.mark.parametrize("target", [RAW, PAGE])
async def test_a_wrong_content_length_is_served_whole_and_diagnosed(
    tmp_path: Path, payload: bytes, target: str, method: str
) -> None:
    collection = archived_page(tmp_path, payload, mime="image/png", content_length="7")

    seen = await get(collection, target, method=method)

    assert seen.status == 200
    assert seen.body == (payload if method == "GET" else b"")
    assert seen.headers["Content-Length"] == str(len(payload))
    expected = f"content-length-too-small;stated=7;stored={len(payload)}"
    assert seen.headers["Timegate-Diagnosis"] == expected


async def test_a_payload_that_the_crawler_cut_is_diagnosed_as_cut(tmp_path: Path) -> None:
    block = warcs.answer(b"abc", content_length="900")
    collection = collection_of(tmp_path, warcs.record(block, truncated="length"))

    seen = await get(collection)

    assert seen.body == b"abc"
    expected = "content-length-too-large;stated=900;stored=3;truncated=length"
    assert seen.headers["Timegate-Diagnosis"] == expected


@pytest.mark.parametrize("fields", [{}, {"content_length": str(len(warcs.PAGE))}])
async def test_a_right_or_missing_content_length_has_no_diagnosis(
    tmp_path: Path, fields: dict[str, str]
) -> None:
    seen = await get(archived_page(tmp_path, warcs.PAGE, "200 OK", **fields))

    assert "Timegate-Diagnosis" not in seen.headers


async def test_an_archived_partial_response_keeps_its_range(tmp_path: Path) -> None:
    collection = archived_page(
        tmp_path, b"abc", "206 Partial Content", content_range="bytes 0-2/9"
    )

    seen = await get(collection)

    assert (seen.status, seen.headers["Content-Range"]) == (206, "bytes 0-2/9")


async def test_a_resource_record_has_only_a_type(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, warcs.record(b"text", "resource", mime="text/plain"))

    seen = await get(collection)

    assert (seen.status, seen.body) == (200, b"text")
    assert seen.headers["Content-Type"] == "text/plain"


async def test_head_has_the_headers_of_get(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, warcs.response())

    seen = await get(collection, method="HEAD")

    assert (seen.status, seen.body) == (200, b"")
    assert seen.headers["Content-Length"] == str(len(warcs.PAGE))
    assert seen.headers["Memento-Datetime"] == DATE


async def test_a_large_body_is_streamed(tmp_path: Path) -> None:
    seen = await get(archived_page(tmp_path, LARGE, mime="video/mp4"))

    assert seen.headers["Content-Length"] == str(len(LARGE))
    assert seen.body == LARGE


@pytest.mark.parametrize("payload", [warcs.PAGE, LARGE])
@pytest.mark.parametrize(
    ("wanted", "first", "last"),
    [("bytes=10-19", 10, 20), ("bytes=10-", 10, None), ("bytes=-5", -5, None)],
)
async def test_a_requested_range_is_sent(
    tmp_path: Path, payload: bytes, wanted: str, first: int, last: int | None
) -> None:
    seen = await get(archived_page(tmp_path, payload), RAW, ("Range", wanted))

    part = payload[first:last]
    start = first % len(payload)
    assert seen.status == 206
    assert seen.body == part
    assert seen.headers["Content-Range"] == (
        f"bytes {start}-{start + len(part) - 1}/{len(payload)}"
    )


@pytest.mark.parametrize("wanted", ["bytes=0-1,4-5", "bytes=9-5", "lines=1-2"])
async def test_an_invalid_range_is_ignored(tmp_path: Path, wanted: str) -> None:
    seen = await get(archived_page(tmp_path), RAW, ("Range", wanted))

    assert (seen.status, seen.body) == (200, warcs.PAGE)


@pytest.mark.parametrize("payload", [warcs.PAGE, LARGE])
async def test_a_range_after_the_end_is_refused(tmp_path: Path, payload: bytes) -> None:
    seen = await get(archived_page(tmp_path, payload), RAW, ("Range", "bytes=9999999-"))

    assert seen.status == 416
    assert seen.headers["Content-Range"] == f"bytes */{len(payload)}"


async def test_a_known_etag_is_not_modified(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, warcs.response())
    etag = (await get(collection)).headers["ETag"]

    seen = await get(collection, RAW, ("If-None-Match", f'"other", {etag}'))

    assert (seen.status, seen.body) == (304, b"")
    assert seen.headers["ETag"] == etag == f'"{warcs.digest(warcs.PAGE)[5:]}"'


async def test_if_range_with_another_etag_ignores_the_range(tmp_path: Path) -> None:
    seen = await get(
        collection_of(tmp_path, warcs.response()),
        RAW,
        ("Range", "bytes=0-3"),
        ("If-Range", '"other"'),
    )

    assert (seen.status, seen.body) == (200, warcs.PAGE)


@pytest.mark.parametrize("view", ["", "id_", "mp_"])
async def test_another_time_redirects_to_the_nearest_capture(tmp_path: Path, view: str) -> None:
    collection = collection_of(tmp_path, warcs.response())

    seen = await get(collection, f"/collections/mine/2019{view}/{URL}")

    assert seen.status == 302
    assert seen.headers["Location"] == f"{OURS}/{STAMP}{view}/{URL}"
    assert seen.headers["Memento-Precision"].startswith("match=")
    assert "Memento-Datetime" not in seen.headers
    assert "accept-datetime" not in seen.headers["Vary"]


async def test_a_url_variant_redirects_to_the_archived_url(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, warcs.response())

    seen = await get(collection, f"/collections/mine/{STAMP}id_/https://www.example.com/")

    assert seen.status == 302
    assert seen.headers["Location"] == f"{OURS}/{STAMP}id_/{URL}"
    assert "uri=variant" in seen.headers["Memento-Precision"]


async def test_fractions_of_a_second_distinguish_captures(tmp_path: Path) -> None:
    dates = ("2020-02-20T20:20:20.250Z", "2020-02-20T20:20:20.750Z")
    collection = collection_of(
        tmp_path, *(warcs.response(date=date, payload=date.encode()) for date in dates)
    )

    seen = await get(collection, f"/collections/mine/{STAMP}750id_/{URL}")

    assert seen.body == dates[1].encode()


async def test_a_url_without_captures_is_not_found(tmp_path: Path) -> None:
    seen = await get(
        collection_of(tmp_path, warcs.response()),
        f"/collections/mine/{STAMP}/http://other.example/",
    )

    assert seen.status == 404
    assert json.loads(seen.body)["type"].endswith("/no-memento")


async def test_an_index_that_cannot_answer_is_an_error_and_not_absence() -> None:
    collection = FakeCollection([], trouble=Unreachable("mine", URL, "not indexed yet"))

    seen = await get(collection)

    assert seen.status == 504
    assert "not indexed yet" in seen.body.decode()


@pytest.mark.parametrize("stamp", ["20201301", "20200", "99999999999999"])
async def test_an_invalid_time_is_refused(tmp_path: Path, stamp: str) -> None:
    seen = await get(
        collection_of(tmp_path, warcs.response()), f"/collections/mine/{stamp}/{URL}"
    )

    assert seen.status == 400


async def test_the_error_for_a_damaged_record_has_file_and_offset(tmp_path: Path) -> None:
    block = warcs.answer()
    record = warcs.record(block, block_digest=warcs.digest(b"something else"))
    collection = collection_of(tmp_path, warcs.warcinfo(), record)

    seen = await get(collection)

    document = json.loads(seen.body)
    assert seen.status == 502
    assert document["type"].endswith("/damaged-record")
    assert (document["file"], document["offset"]) == ("one.warc.gz", collection.rows[0].offset)
    assert str(tmp_path) not in seen.body.decode()


@pytest.mark.parametrize("headers", [[], [("Range", "bytes=1000-")]])
async def test_the_response_for_a_large_damaged_record_is_aborted(
    tmp_path: Path, headers: list[tuple[str, str]]
) -> None:
    record = warcs.record(warcs.answer(LARGE), block_digest=warcs.digest(b"something else"))

    seen = await get(collection_of(tmp_path, record), RAW, *headers)

    assert seen.status == (206 if headers else 200)
    assert 0 < len(seen.body) < int(seen.headers["Content-Length"])


async def test_a_missing_file_is_a_bad_gateway(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, warcs.response())
    (tmp_path / "one.warc.gz").unlink()

    seen = await get(collection)

    assert seen.status == 502
    assert str(tmp_path) not in seen.body.decode()


SECOND = "20200101000000"
FRACTIONS = ("100", "250", "900")


def captures_of_one_second(folder: Path) -> FakeCollection:
    records = (
        warcs.response(date=f"2020-01-01T00:00:00.{fraction}Z", payload=fraction.encode())
        for fraction in FRACTIONS
    )
    return collection_of(folder, *records)


@pytest.mark.parametrize("fraction", FRACTIONS)
async def test_captures_of_one_second_are_different_mementos(
    tmp_path: Path, fraction: str
) -> None:
    pwid = f"/urn:pwid:mine.example:2020-01-01T00:00:00.{fraction}Z:part:{URL}"
    async with serving_collection(captures_of_one_second(tmp_path)) as site:
        redirect = await site.ask(pwid, ("Prefer", "precision=exact"))
        raw = redirect.headers["Location"]
        seen = await site.ask(raw.removeprefix("https://gate.example"))

    assert raw == f"{OURS}/{SECOND}{fraction}id_/{URL}"
    assert redirect.headers["Memento-Precision"].startswith("match=exact, ")
    assert (
        f'time=exact;req="2020-01-01T00:00:00.{fraction}Z"'
        in (redirect.headers["Memento-Precision"])
    )
    assert (seen.status, seen.body) == (200, fraction.encode())


@pytest.mark.parametrize("asked", ["300", "25", "2500"])
async def test_a_fraction_that_no_record_has_is_not_exact(tmp_path: Path, asked: str) -> None:
    pwid = f"/urn:pwid:mine.example:2020-01-01T00:00:00.{asked}Z:part:{URL}"
    async with serving_collection(captures_of_one_second(tmp_path)) as site:
        redirect = await site.ask(pwid)
        exact = await site.ask(pwid, ("Prefer", "precision=exact"))

    assert redirect.headers["Location"] == f"{OURS}/{SECOND}250id_/{URL}"
    assert not redirect.headers["Memento-Precision"].startswith("match=exact")
    assert exact.status == 404


async def test_a_timemap_lists_each_capture_of_one_second(tmp_path: Path) -> None:
    async with serving_collection(captures_of_one_second(tmp_path)) as site:
        lists = {
            name: (await site.ask(f"/collections/mine/timemap/{name}/{URL}")).body.decode()
            for name in ("link", "json", "cdxj")
        }

    for fraction in FRACTIONS:
        assert lists["link"].count(f"<{OURS}/{SECOND}{fraction}/{URL}>") == 1
        assert f"\n{SECOND}{fraction} {{" in lists["cdxj"]
        assert f'"datetime": "2020-01-01T00:00:00.{fraction}Z"' in lists["json"]


async def test_the_neighbours_of_a_fraction_are_the_other_captures_of_its_second(
    tmp_path: Path,
) -> None:
    async with serving_collection(captures_of_one_second(tmp_path)) as site:
        seen = await site.ask(f"/duri:2020-01-01T00:00:00.250Z:{URL}")

    linked = seen.headers["Link"]
    assert f'<{OURS}/{SECOND}100/{URL}>; rel="first prev memento"' in linked
    assert f'<{OURS}/{SECOND}900/{URL}>; rel="last next memento"' in linked
