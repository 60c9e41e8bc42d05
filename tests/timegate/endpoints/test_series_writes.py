"""Writing to a series: minting, versions, formats, bindings, assertions, refusals."""

import hashlib
from pathlib import Path

import pytest

from tests.timegate.series.serving import (
    BEARER,
    SERIES,
    json_of,
    serving_series,
    today,
)

NAME = f"pdi://{SERIES}/"


async def test_numbers_begin_with_1_and_go_on_over_a_restart(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        first = [await client.mint(f"document {n}") for n in range(3)]
    async with serving_series(tmp_path) as client:
        last = await client.mint("another")

    assert [*first, last] == [f"{NAME}{today()}/{n}.text.1" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("target", [NAME, f"/urn:{NAME}"])
async def test_the_request_target_itself_mints(tmp_path: Path, target: str) -> None:
    async with serving_series(tmp_path) as client:
        seen = await client.site.ask(
            target, BEARER, ("Content-Type", "text/html"), method="PUT", body=b"<p>"
        )

    assert seen.status == 201
    assert seen.headers["Content-Location"] == f"{NAME}{today()}/1.html.1"


async def test_a_post_to_the_series_mints(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        seen = await client.put(f"/series/{SERIES}", "x", {"format": "text"}, method="POST")

    assert (seen.status, json_of(seen)["pdi"]) == (201, f"{NAME}{today()}/1.text.1")


async def test_other_bytes_are_a_version_and_the_same_change_nothing(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        pdi = await client.mint("one")
        document = pdi.removesuffix(".text.1")
        same = await client.put(pdi, "one")
        html = await client.put(f"{document}.html", "<p>one")
        other = await client.put(f"{document}.text", "two")
        again = await client.put(f"{document}.text.1", "one")
        late = await client.put(f"{document}.xml.1", "<a/>")
        old = await client.ask(pdi)
        first = await client.put(f"{document}.text.1", "three")

    results = [(s.status, json_of(s)["pdi"]) for s in (same, html, other, again, late, first)]
    assert results == [
        (200, f"{document}.text.1"),
        (201, f"{document}.html.1"),
        (201, f"{document}.text.2"),
        (200, f"{document}.text.1"),
        (201, f"{document}.xml.1"),
        (201, f"{document}.text.3"),
    ]
    assert old.body == b"one"


@pytest.mark.parametrize(
    ("target", "parameters", "status"),
    [
        (f"{NAME}1997/09/01/1.text", {}, 404),
        ("pdi://other.example.us/", {"format": "text"}, 405),
        ("pdi://other.example.us/1997/09/01/1.text.1", {}, 404),
        (f"{NAME}*/*/*/*.text", {}, 405),
        (f"{NAME}1997/09/01/1.text.1%23char=1,2", {}, 405),
        (NAME, {"format": "nonsense"}, 400),
        (NAME, {"format": "te_xt"}, 400),
        (NAME, {"format": "text", "id": "*"}, 400),
        (NAME, {"format": "text", "color": "red"}, 400),
    ],
)
async def test_what_cannot_be_written_is_refused(
    tmp_path: Path, target: str, parameters: dict[str, str], status: int
) -> None:
    async with serving_series(tmp_path) as client:
        seen = await client.put(target, "x", parameters)

    assert seen.status == status


async def test_only_a_token_of_the_series_writes(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        without = await client.ask(f"{NAME}?format=text", method="PUT", body=b"x")
        wrong = ("Authorization", "Bearer nonsense")
        with_wrong = await client.ask(f"{NAME}?format=text", wrong, method="PUT", body=b"x")

    assert (without.status, with_wrong.status) == (401, 401)
    assert "Bearer" in without.headers["WWW-Authenticate"]


async def test_a_given_id_is_taken_once_a_day(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        first = await client.mint("x", "html", id="http://www.whitehouse.gov/")
        second = await client.put(
            NAME, "y", {"format": "html", "id": "http://www.whitehouse.gov/"}
        )
        seen = await client.ask(first)

    encoded = "http:%2f%2fwww%2ewhitehouse%2egov%2f"
    assert first == f"{NAME}{today()}/{encoded}.html.1"
    assert second.status == 409
    assert seen.body == b"x"


@pytest.mark.parametrize(
    ("form", "content_type", "token"),
    [
        (None, "text/plain", "text"),
        (None, "text/plain; charset=utf-8", "utf-8"),
        (None, "text/plain; charset=Shift_JIS", "shift%5fjis"),
        (None, "message/header", "header"),
        (None, "text/xml", "xml"),
        (None, "application/xml", "application+xml"),
        (None, "image/svg+xml", "svg%2bxml"),
        (None, "audio/mpeg", "audio+mpeg"),
        (None, "application/vnd.ms-excel", "vnd%2ems-excel"),
        ("mpeg", "video/mpeg", "mpeg"),
        ("HTML", "text/html", "html"),
        ("image+png", None, "image+png"),
        ("utf-8", None, "utf-8"),
    ],
)
async def test_the_format_follows_the_media_type(
    tmp_path: Path, form: str | None, content_type: str | None, token: str
) -> None:
    parameters = {} if form is None else {"format": form}
    headers = [] if content_type is None else [("Content-Type", content_type)]
    async with serving_series(tmp_path) as client:
        seen = await client.put(NAME, "x", parameters, *headers)
        pdi = json_of(seen)["pdi"]
        read = await client.ask(pdi)

    assert pdi == f"{NAME}{today()}/1.{token}.1"
    assert read.status == 200
    assert read.headers["Content-Location"] == pdi


async def test_contradictions_are_refused(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        type_of = ("Content-Type", "text/plain")
        format_and_type = await client.put(NAME, "x", {"format": "html"}, type_of)
        multi_octet = await client.put(NAME, "Ålesund", {"format": "text"})
        digest = ("Repr-Digest", "sha-256=:AAAA:")
        wrong_digest = await client.put(NAME, "x", {"format": "text"}, digest)

    assert (format_and_type.status, multi_octet.status, wrong_digest.status) == (400, 400, 400)
    assert "utf-8" in json_of(multi_octet)["detail"]


async def test_a_binding_redirects_until_the_bytes_are_known(tmp_path: Path) -> None:
    body = b"the report"
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    uri = "https://example.org/report.txt"
    async with serving_series(tmp_path) as client:
        bound = await client.put(NAME, "", {"format": "text", "bind": uri, "digest": digest})
        pdi = json_of(bound)["pdi"]
        redirected = await client.ask(pdi)
        completed = await client.put(pdi, body)
        direct = await client.ask(pdi)
        other = await client.put(pdi, "another")
    async with serving_series(tmp_path) as client:
        again = await client.ask(pdi)

    assert bound.status == 201
    assert (redirected.status, redirected.headers["Location"]) == (302, uri)
    assert "match=promised" in redirected.headers["Memento-Precision"]
    assert (completed.status, json_of(completed)["pdi"]) == (201, pdi)
    assert (direct.status, direct.body) == (200, body)
    assert json_of(other)["version"] == 2
    assert again.body == body


async def test_a_binding_to_a_pdi_or_an_identifier(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        target = await client.mint("here")
        to_pdi = await client.mint("", "text", bind=target)
        seen = await client.ask(to_pdi)
        script = await client.put(NAME, "", {"format": "html", "bind": "javascript:alert(1)"})

    assert (seen.status, seen.headers["Location"]) == (302, f"http://gate.example/{target}")
    assert script.status == 400


async def test_assertions_are_listed_with_who_and_when(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        pdi = await client.mint("words and words")
        document = pdi.removesuffix(".text.1")
        form = ("Content-Type", "application/json")
        body = '{"key": "signed", "value": "yes, \\u00e9\\nindeed"}'
        about_it = await client.put(pdi, body, None, form, method="POST")
        part = await client.put(
            f"{pdi}%23char=0,5",
            '{"key": "out of context", "value": "x"}',
            None,
            form,
            method="POST",
        )
        unknown = await client.put(
            f"{NAME}1997/01/01/9.text.1", body, None, form, method="POST"
        )
        wrong = await client.put(pdi, "[]", None, form, method="POST")
    async with serving_series(tmp_path) as client:
        described = json_of(await client.ask(f"uri-res/N2C?urn:{document}"))

    assert (about_it.status, part.status, unknown.status, wrong.status) == (201, 201, 404, 400)
    first, second = described["assertions"]
    assert (first["about"], first["key"], first["who"]) == (pdi, "signed", "alice")
    assert first["value"] == "yes, é\nindeed"
    assert second["about"] == f"{pdi}#char=0,5"


async def test_the_catalogue_is_rebuilt_from_the_files(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        pdi = await client.mint("one")
        await client.put(pdi, "two")
        await client.put(pdi, '{"key": "a", "value": "b"}', None, method="POST")
        before = await client.ask(f"uri-res/N2C?{pdi}")
    for file in (tmp_path / "papers" / ".timegate").glob("series.sqlite*"):
        file.unlink()
    async with serving_series(tmp_path) as client:
        after = await client.ask(f"uri-res/N2C?{pdi}")
        following = await client.mint("three")

    assert json_of(after) == json_of(before)
    assert following == f"{NAME}{today()}/2.text.1"


async def test_a_damaged_catalogue_is_built_again(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        pdi = await client.mint("one")
    catalogue = tmp_path / "papers" / ".timegate" / "series.sqlite"
    for side in ("-wal", "-shm"):
        catalogue.with_name(catalogue.name + side).unlink(missing_ok=True)
    catalogue.write_bytes(b"no database at all" * 100)
    async with serving_series(tmp_path) as client:
        seen = await client.ask(pdi)

    assert seen.body == b"one"


async def test_if_match_prevents_a_lost_update(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        pdi = await client.mint("one")
        etag = (await client.ask(pdi)).headers["ETag"]
        first = await client.put(pdi, "two", None, ("If-Match", etag))
        second = await client.put(pdi, "three", None, ("If-Match", etag))

    assert (first.status, second.status) == (201, 412)
