"""Reading PDIs of a series: versions, formats, fragments, citations, lists."""

from pathlib import Path

import pytest

from tests.timegate.series.serving import (
    BEARER,
    SERIES,
    json_of,
    serving_series,
    today,
    write_config,
)
from timegate.config import BadConfig
from timegate.endpoints.series import pdi_target

OLD = "pdi://oma.eop.gov.us/1997/09/01/1"
TEXT = b"Four score and seven years ago our fathers brought forth on this continent"
CITING = b"x" * 103 + TEXT[37:51] + b" and so on"


async def test_the_thinnest_path_mints_and_resolves(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        pdi = await client.mint("<p>Hello", "html")
        seen = await client.ask(pdi)

    assert pdi == f"pdi://{SERIES}/{today()}/1.html.1"
    assert seen.status == 200
    assert seen.body == b"<p>Hello"
    assert seen.headers["Content-Location"] == pdi
    assert seen.headers["Content-Type"].startswith("text/html")
    assert "immutable" in seen.headers["Cache-Control"]


async def test_a_pdi_is_a_request_target(tmp_path: Path) -> None:
    async with serving_series(tmp_path, documents={f"{OLD}.text.1": TEXT}) as client:
        for target in (f"{OLD}.text.1", f"urn:{OLD}.text.1", f"PDI{OLD[3:]}.text.1"):
            seen = await client.site.ask(target)
            assert seen.status == 200, target
            assert seen.body == TEXT


async def test_without_version_it_is_the_highest_and_says_which(tmp_path: Path) -> None:
    documents = {f"{OLD}.text.1": b"one", f"{OLD}.text.2": b"two", f"{OLD}.html.1": b"<p>one"}
    async with serving_series(tmp_path, documents=documents) as client:
        text = await client.ask(f"{OLD}.text")
        html = await client.ask(f"{OLD}.html")

    assert (text.body, text.headers["Content-Location"]) == (b"two", f"{OLD}.text.2")
    assert "version=highest;got=2;highest=2" in text.headers["Memento-Precision"]
    # The newest version has no HTML: the answer is the newest that has, and says so.
    assert (html.body, html.headers["Content-Location"]) == (b"<p>one", f"{OLD}.html.1")
    assert "version=highest;got=1;highest=2" in html.headers["Memento-Precision"]


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("text/html", "html"),
        ("text/plain", "text"),
        ("text/plain;q=0.2, text/html;q=0.3", "html"),
        ("*/*", "text"),
        ("text/html;q=0, */*", "text"),
    ],
)
async def test_without_format_it_is_negotiated(tmp_path: Path, accept: str, form: str) -> None:
    documents = {f"{OLD}.text.1": b"words", f"{OLD}.html.1": b"<p>words"}
    async with serving_series(tmp_path, documents=documents) as client:
        seen = await client.ask(OLD, ("Accept", accept))

    assert seen.headers["Content-Location"] == f"{OLD}.{form}.1"
    assert seen.headers["Vary"] == "accept"
    assert "format=negotiated" in seen.headers["Memento-Precision"]


async def test_nothing_acceptable_is_a_406_with_the_formats(tmp_path: Path) -> None:
    async with serving_series(tmp_path, documents={f"{OLD}.text.1": b"words"}) as client:
        seen = await client.ask(OLD, ("Accept", "image/png"))

    assert seen.status == 406
    assert json_of(seen)["formats"] == ["text"]


@pytest.mark.parametrize("missing", [".text.3", ".gif.1", ".gif", ".html.2"])
async def test_what_is_missing_is_a_404_that_says_what_there_is(
    tmp_path: Path, missing: str
) -> None:
    documents = {f"{OLD}.text.1": b"1", f"{OLD}.text.2": b"2", f"{OLD}.html.1": b"<p>"}
    async with serving_series(tmp_path, documents=documents) as client:
        seen = await client.ask(OLD + missing)

    assert seen.status == 404
    assert json_of(seen)["versions"] == [1, 2]
    assert json_of(seen)["formats"] == ["html", "text"]
    assert json_of(seen)["available"] == [f"{OLD}.html.1", f"{OLD}.text.1", f"{OLD}.text.2"]


@pytest.mark.parametrize("prefix", ["", "resolve/", "urn:", "resolve/urn:", "uri-res/N2R?urn:"])
async def test_an_encoded_fragment_is_taken_everywhere(tmp_path: Path, prefix: str) -> None:
    async with serving_series(tmp_path, documents={f"{OLD}.text.1": TEXT}) as client:
        seen = await client.ask(f"{prefix}{OLD}.text.1%23char=37,51")

    assert seen.status == 200
    assert seen.body == TEXT[37:51]
    assert seen.headers["Content-Location"] == f"{OLD}.text.1#char=37,51"
    assert "fragment=applied" in seen.headers["Memento-Precision"]


async def test_a_fragment_outside_is_a_404_with_the_size(tmp_path: Path) -> None:
    async with serving_series(tmp_path, documents={f"{OLD}.text.1": TEXT}) as client:
        outside = await client.ask(f"{OLD}.text.1%23char=0,9999")
        inverted = await client.ask(f"{OLD}.text.1%23char=9,3")

    assert outside.status == 404
    assert json_of(outside)["size"] == f"{len(TEXT)} characters"
    assert inverted.status == 400


async def test_a_fragment_that_is_not_extracted_is_said(tmp_path: Path) -> None:
    film = "pdi://oma.eop.gov.us/1997/09/30/1234.mpeg.1"
    async with serving_series(tmp_path, documents={film: b"\0\0\1\xba film"}) as client:
        seen = await client.ask(f"{film}%23crop=sec,23,51,(10,10),(20,20)")

    assert seen.status == 200
    assert seen.body == b"\0\0\1\xba film"
    assert seen.headers["Content-Location"] == film
    verdict = seen.headers["Memento-Precision"]
    assert "match=approximate" in verdict
    assert "fragment=ignored" in verdict
    assert "coverage=degraded" in verdict


@pytest.mark.parametrize(
    ("origin", "fragment", "result"),
    [
        (103, "%2337,51", "quoted"),
        (102, "%2337,51", "differs"),
        (103, "%2337,52", "differs"),
        (999, "%2337,51", "differs"),
        (103, "%2337,999", "unknown"),
    ],
)
async def test_a_citation_says_whether_the_fragment_stands_there(
    tmp_path: Path, origin: int, fragment: str, result: str
) -> None:
    citing = "pdi://oma.eop.gov.us/1997/11/03/4.text.1"
    documents = {f"{OLD}.text.1": TEXT, citing: CITING}
    async with serving_series(tmp_path, documents=documents) as client:
        seen = await client.ask(f"{citing}@{origin}={OLD}.text.1{fragment}")

    assert seen.status == 200
    assert seen.body == CITING
    assert f"citation={result}" in seen.headers["Memento-Precision"]
    assert f"<{OLD}.text.1>; rel=" in seen.headers["Link"]
    assert f"<{OLD}.text.1#{fragment[3:]}>; rel=" in seen.headers["Link"]


async def test_a_list_is_in_order_and_in_pages(tmp_path: Path) -> None:
    documents = {
        f"pdi://oma.eop.gov.us/{day}/{number}.text.1": b"x"
        for day in ("1997/09/02", "1997/10/01", "1998/01/01", "1997/09/01")
        for number in (10, 2, 1)
    }
    async with serving_series(tmp_path, documents=documents) as client:
        whole = await client.ask("pdi://oma.eop.gov.us/1997/*/*/*")
        assert whole.headers["Content-Type"].startswith("text/uri-list")
        lines = whole.body.decode().split("\r\n")[1:-1]
        assert lines == [
            f"pdi://oma.eop.gov.us/{day}/{number}.text.1"
            for day in ("1997/09/01", "1997/09/02", "1997/10/01")
            for number in (1, 2, 10)
        ]
        pages, target = [], "pdi://oma.eop.gov.us/1997/*/*/*?limit=4&as=json"
        while target:
            page = json_of(await client.ask(target))
            pages += [each["pdi"] for each in page["documents"]]
            target = page["next"]
        assert pages == lines
        month = await client.ask("pdi://oma.eop.gov.us/1997/09/*/*")
        first = await client.ask("pdi://oma.eop.gov.us/*/*/01/*")
        days = await client.ask("pdi://oma.eop.gov.us/*/*/*/*?from=1997-09-02&until=1997-10")
    assert month.body.count(b"pdi://oma.eop.gov.us/1997/09/0") == 6
    assert first.body.count(b".text.1") == 9
    assert days.body.count(b".text.1") == 6


async def test_options_probes_whether_a_series_is_served(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        served = await client.ask(f"pdi://{SERIES}/", method="OPTIONS")
        document = await client.site.ask(f"{OLD}.text.1", method="OPTIONS")
        other = await client.ask("pdi://other.example.us/", method="OPTIONS")

    assert (served.status, document.status, other.status) == (204, 204, 404)
    assert "PUT" in served.headers["Allow"]


async def test_a_head_has_the_metadata(tmp_path: Path) -> None:
    async with serving_series(tmp_path, documents={f"{OLD}.text.1": TEXT}) as client:
        seen = await client.ask(f"{OLD}.text.1", method="HEAD")

    assert seen.status == 200
    assert seen.body == b""
    assert seen.headers["Content-Length"] == str(len(TEXT))
    assert seen.headers["Content-Location"] == f"{OLD}.text.1"


async def test_an_unknown_document_and_a_malformed_one(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        unknown = await client.ask(f"{OLD}.text.1")
        malformed = await client.ask("pdi://oma.eop.gov.us/1997/13/01/1")
        deleted = await client.ask(f"{OLD}.text.1", BEARER, method="DELETE")

    assert (unknown.status, malformed.status, deleted.status) == (404, 400, 405)


async def test_ranges_and_entity_tags(tmp_path: Path) -> None:
    async with serving_series(tmp_path, documents={f"{OLD}.text.1": TEXT}) as client:
        whole = await client.ask(f"{OLD}.text.1")
        part = await client.ask(f"{OLD}.text.1", ("Range", "bytes=5-9"))
        same = await client.ask(f"{OLD}.text.1", ("If-None-Match", whole.headers["ETag"]))

    assert (part.status, part.body) == (206, TEXT[5:10])
    assert same.status == 304


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ('name = "nodots"\nstore = "papers"', "name"),
        ('name = "a.us"\nstore = "nothere"', "store"),
        ('name = "a.us"\nstore = "papers"\ntokens = ["secret"]', "tokens"),
        ('name = "a.us"\nstore = "papers"\nsince = "yesterday"', "since"),
        (
            'name = "a.us"\nstore = "papers"\n[[series.delegate]]\nresolver = "http://r"',
            "delegate",
        ),
        (
            (
                'name = "a.us"\nstore = "papers"\n[[series.delegate]]\nresolver = "ftp://r"\n'
                'until = "2000-01-01"'
            ),
            "resolver",
        ),
        (
            (
                'name = "a.us"\nstore = "papers"\n[[series.delegate]]\nresolver = "http://r"\n'
                'series = "b.us"'
            ),
            "series",
        ),
    ],
)
def test_a_wrong_configuration_names_the_key(tmp_path: Path, more: str, key: str) -> None:
    with pytest.raises(BadConfig, match=key) as caught:
        write_config(tmp_path, more=f"[[series]]\n{more}\n")

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("prefix", "rest", "expected"),
    [
        ("/pdi:", "//a.us/1994/11/14/1.text.1", "pdi://a.us/1994/11/14/1.text.1"),
        ("/pdi:", "/a.us/1994/11/14/1", "pdi://a.us/1994/11/14/1"),
        ("/pdi:", "//a.us/1994%2F11%2f14%2F1", "pdi://a.us/1994/11/14/1"),
        ("/urn:pdi:", "%2F%2Fa.us%2F1994%2F11%2F14%2F1", "urn:pdi://a.us/1994/11/14/1"),
        ("/pdi:", "//a.us/1994/11/14/1%2Fx", "pdi://a.us/1994/11/14/1%2Fx"),
    ],
)
def test_slashes_of_a_pdi_may_be_merged_or_encoded(
    prefix: str, rest: str, expected: str
) -> None:
    assert pdi_target(prefix, rest) == expected
