"""`/timegate/`: RFC 7089 to the letter, and a verdict on every response."""

import json

import http_sf
import pytest

from archives.formats.linkformat import parse_header
from tests.scenario import NEVER, FakeArchive
from tests.timegate.endpoints.served import serving

AT = ("Accept-Datetime", "Fri, 22 Jan 2016 11:20:29 GMT")
EXACT = "20160122112029"
LATER = "20160125112029"
URL = "http://example.org/"


async def test_a_timegate_redirects_with_every_header_of_the_rfc() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(f"/timegate/{URL}", AT)

    links = parse_header(seen.headers["Link"])
    assert seen.status == 302
    assert seen.headers["Location"] == f"http://a/{EXACT}/{URL}"
    assert "accept-datetime" in seen.headers["Vary"]
    assert "Memento-Datetime" not in seen.headers
    assert [link.target for link in links if "original" in link.rels] == [URL]
    assert any("timemap" in link.rels for link in links)
    memento = next(link for link in links if "memento" in link.rels)
    assert memento.params["datetime"] == AT[1]
    assert json.loads(seen.body)["memento"]["uri"] == seen.headers["Location"]


async def test_the_verdict_is_a_structured_field() -> None:
    async with serving(FakeArchive("a", 0.0, (LATER,)), FakeArchive("b", NEVER)) as site:
        seen = await site.ask(f"/timegate/{URL}", AT)

    field = seen.headers["Memento-Precision"]
    assert http_sf.parse(field.encode(), tltype="dictionary")
    assert field.startswith("match=approximate, ")
    assert f"delta={3 * 86_400}" in field
    assert "sources=partial;asked=2;failed=1" in field


async def test_head_is_get_without_the_body() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        got = await site.ask(f"/timegate/{URL}", AT)
        head = await site.ask(f"/timegate/{URL}", AT, method="HEAD")

    assert head.body == b""
    assert head.status == got.status
    assert {n: v for n, v in head.headers.items() if n != "Date"} == {
        n: v for n, v in got.headers.items() if n != "Date"
    }


@pytest.mark.parametrize("blank", [(), (("Accept-Datetime", ""),)])
async def test_without_a_time_the_newest_is_given(blank: tuple[tuple[str, str], ...]) -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT, LATER))) as site:
        seen = await site.ask(f"/timegate/{URL}", *blank)

    assert seen.headers["Location"] == f"http://a/{LATER}/{URL}"


@pytest.mark.parametrize(
    "fields",
    [
        (("Accept-Datetime", "yesterday"),),
        (("Accept-Datetime", "Fri, 31 Feb 2016 11:20:29 GMT"),),
        (AT, AT),
    ],
)
async def test_a_bad_time_is_400_with_the_headers_of_a_timegate(
    fields: tuple[tuple[str, str], ...],
) -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(f"/timegate/{URL}", *fields)
        asked = site.world.requests()

    problem = json.loads(seen.body)
    assert seen.status == problem["status"] == 400
    assert problem["type"].endswith("/bad-accept-datetime")
    assert "accept-datetime" in seen.headers["Vary"]
    assert 'rel="original"' in seen.headers["Link"]
    assert asked == 0


async def test_no_memento_is_404_only_if_every_archive_has_answered() -> None:
    async with serving(FakeArchive("a", 0.0)) as site:
        absent = await site.ask(f"/timegate/{URL}", AT)
    async with serving(FakeArchive("a", 0.0), FakeArchive("b", error=True)) as site:
        failed = await site.ask(f"/timegate/{URL}", AT)
    async with serving(FakeArchive("a", NEVER)) as site:
        silent = await site.ask(f"/timegate/{URL}", AT)

    assert (absent.status, failed.status, silent.status) == (404, 504, 504)
    assert json.loads(absent.body)["type"].endswith("/no-memento")
    assert "not every one was queried for http" in json.loads(absent.body)["detail"]
    assert json.loads(absent.body)["unasked"][-1]["archives"]
    assert json.loads(failed.body)["type"].endswith("/upstream-incomplete")
    assert int(failed.headers["Retry-After"]) >= 1
    assert failed.headers["Cache-Control"] == "no-store"
    assert "accept-datetime" in absent.headers["Vary"]


@pytest.mark.parametrize(
    "original",
    [
        "http://example.org//a//b%2Fc?x=%7e;y&z=http://other/",
        "http://example.org/a/../b/",
        "http://example.org/?",
        "http://example.org/%25C3",
    ],
)
async def test_the_url_reaches_archives_byte_for_byte(original: str) -> None:
    archive = FakeArchive("a", 0.0, (EXACT,), holds=original)
    async with serving(archive) as site:
        seen = await site.ask(f"/timegate/{original}", AT)

    assert archive.asked[0][0] == original
    assert seen.headers["Location"].endswith(original)


async def test_a_url_that_was_encoded_as_a_whole_is_decoded_once() -> None:
    archive = FakeArchive("a", 0.0, (EXACT,), holds="http://example.org/a%20b")
    async with serving(archive) as site:
        await site.ask("/timegate/http%3A%2F%2Fexample.org%2Fa%2520b", AT)

    assert archive.asked[0][0] == "http://example.org/a%20b"


async def test_a_repeated_request_is_answered_from_the_cache() -> None:
    archive = FakeArchive("a", 0.0, (EXACT,))
    async with serving(archive) as site:
        for _ in range(3):
            await site.ask(f"/timegate/{URL}", AT)
        await site.ask(f"/timegate/{URL}", AT, ("Cache-Control", "no-cache"))
        missing = await site.ask(f"/timegate/{URL}x", AT, ("Cache-Control", "only-if-cached"))

    assert len(archive.asked) == 2
    assert missing.status == 504
    assert json.loads(missing.body)["type"].endswith("/not-cached")


async def test_an_applied_preference_is_stated() -> None:
    async with serving(
        FakeArchive("a", 0.0, (LATER,)), FakeArchive("b", 0.0, (EXACT,))
    ) as site:
        only = await site.ask(f"/timegate/{URL}", AT, ("Prefer", "archives=a, foo=bar"))
        exact = await site.ask(
            f"/timegate/{URL}", AT, ("Prefer", 'archives="a", precision=exact')
        )

    assert only.headers["Location"].startswith("http://a/")
    assert only.headers["Preference-Applied"] == "archives=a"
    assert exact.status == 404
    unmet = json.loads(exact.body)
    assert unmet["type"].endswith("/precision-unmet")
    assert unmet["alternatives"][0]["uri"] == f"http://a/{LATER}/{URL}"


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/timegate/ftp://example.org/", 422),
        ("/timegate/nonsense", 400),
        ("/timegate/http://example.org/%zz", 400),
        ("/timegate/", 400),
        ("/timegate/http://example.org/" + "a" * 9000, 414),
    ],
)
async def test_unusable_urls_have_their_status_and_problem_type(
    target: str, status: int
) -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(target, AT)

    assert seen.status == json.loads(seen.body)["status"] == status
    assert seen.headers["Content-Type"] == "application/problem+json"
    assert site.world.requests() == 0


async def test_a_repaired_url_is_reported() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask("/timegate/example.org/", AT)

    assert seen.status == 302
    assert 'syntax=repaired;diag="scheme-assumed"' in seen.headers["Memento-Precision"]


async def test_an_archive_that_contradicts_itself_is_never_called_exact() -> None:
    liar = FakeArchive("a", 0.0, (EXACT,), doubts=("Memento-Datetime says otherwise",))
    async with serving(liar) as site:
        seen = await site.ask(f"/timegate/{URL}", AT)

    assert seen.headers["Memento-Precision"].startswith("match=approximate, ")
    assert 'doubt="Memento-Datetime says otherwise"' in seen.headers["Memento-Precision"]


@pytest.mark.parametrize("wish", ["exclude=a", "archives=nowhere"])
async def test_a_choice_that_leaves_no_archive_is_not_reported_as_no_memento(
    wish: str,
) -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(f"/timegate/{URL}", AT, ("Prefer", wish))

    assert seen.status == 400
    assert "no archive is left to query" in json.loads(seen.body)["detail"]
    assert "accept-datetime" in seen.headers["Vary"]


async def test_no_archive_in_use_is_reported_as_such() -> None:
    async with serving() as site:
        seen = await site.ask(f"/timegate/{URL}", AT)

    assert seen.status == 404
    assert "no archive could be queried" in json.loads(seen.body)["detail"]


@pytest.mark.parametrize(
    "identifier", [f"urn:pwid:a.example:2016-01-22Z:page:{URL}", f"DURI:2016:{URL}"]
)
async def test_an_identifier_with_a_time_is_referred_to_resolve(
    identifier: str,
) -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        refused = await site.ask(f"/timegate/{identifier}")
        other = await site.ask("/timegate/ftp://example.org/")

    assert refused.status == other.status == 422
    assert "/resolve/" in json.loads(refused.body)["detail"]
    assert "/resolve/" not in json.loads(other.body)["detail"]


async def test_after_no_cache_the_same_address_has_the_new_answer() -> None:
    archive = FakeArchive("a", 0.0, (LATER,))
    plain: tuple[tuple[str, str], ...] = (AT, ("Accept", "text/html"))
    async with serving(archive) as site:
        old = [
            await site.ask(f"/timegate/{URL}", AT),
            await site.ask(f"/timegate/{URL}", *plain),
        ]
        archive.stamps = (EXACT,)
        fresh = await site.ask(f"/timegate/{URL}", AT, ("Cache-Control", "no-cache"))
        new = [
            await site.ask(f"/timegate/{URL}", AT),
            await site.ask(f"/timegate/{URL}", *plain),
        ]

    assert {seen.headers["Location"] for seen in old} == {f"http://a/{LATER}/{URL}"}
    assert {seen.headers["Location"] for seen in (fresh, *new)} == {f"http://a/{EXACT}/{URL}"}
    assert len(archive.asked) == 2


@pytest.mark.parametrize(
    ("rest", "status", "asked"),
    [
        ("?also=http://other.example/", 302, URL),
        ("?also=true", 404, f"{URL}?also=true"),
        ("?also=http://other.example/&id=1", 404, f"{URL}?also=http://other.example/&id=1"),
        ("?wait=3", 404, f"{URL}?wait=3"),
        ("?also=http://", 400, None),
    ],
)
async def test_only_equivalent_urls_are_no_part_of_the_url(
    rest: str, status: int, asked: str | None
) -> None:
    archive = FakeArchive("a", 0.0, (EXACT,))
    async with serving(archive) as site:
        seen = await site.ask(f"/timegate/{URL}{rest}", AT)

    assert seen.status == status
    assert next((url for url, _ in archive.asked), None) == asked


@pytest.mark.parametrize("value", ["yesterday", "2016-01-22", "2016-13-22T11:20:29.5Z"])
async def test_a_bad_time_is_400_for_a_lenient_client_too(value: str) -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(
            f"/timegate/{URL}", ("Accept-Datetime", value), ("Prefer", "handling=lenient")
        )

    assert seen.status == 400


async def test_a_fraction_is_sent_to_archives_as_its_second() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(
            f"/timegate/{URL}",
            ("Accept-Datetime", "2016-01-22T11:20:29.25Z"),
            ("Prefer", "handling=lenient"),
        )

    assert seen.headers["Location"] == f"http://a/{EXACT}/{URL}"
    assert "match=exact" not in seen.headers["Memento-Precision"]
