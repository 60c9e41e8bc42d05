"""`/resolve/` and `/{identifier}`: every notation, as redirect, report or page."""

import json

import pytest

from archives.adapters import KINDS
from archives.model import ArchiveEntry
from tests.scenario import LIMITS, FakeArchive
from tests.timegate.endpoints.served import serving
from timegate.endpoints.resolve import Resolve
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences

EXACT = "20160122112029"
LATER = "20160125112029"
URL = "http://example.org/"
PWID = f"urn:pwid:a.example:2016-01-22T11:20:29Z:page:{URL}"


@pytest.mark.parametrize(
    "identifier",
    [
        PWID,
        f"pwid:a.example:2016-01-22_11.20.29Z:page:{URL}",
        f"duri:2016-01-22T11:20:29Z:{URL}",
        f"duri:2016:{URL}",
        f"https://a.host/{EXACT}/{URL}",
        URL,
        PWID.replace(":", "%3A").replace("/", "%2F"),
    ],
)
async def test_every_notation_redirects_to_the_memento(identifier: str) -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        below = await site.ask(f"/resolve/{identifier}")
        at_root = await site.ask(f"/{identifier}")

    assert below.status == at_root.status == 302
    assert below.headers["Location"] == at_root.headers["Location"] == f"http://a/{EXACT}/{URL}"
    assert "accept-datetime" not in below.headers["Vary"]
    assert "Memento-Datetime" not in below.headers


async def test_only_the_named_archive_is_queried() -> None:
    other = FakeArchive("b", 0.0, (EXACT,))
    async with serving(FakeArchive("a", 0.0, (EXACT,)), other) as site:
        await site.ask(f"/resolve/{PWID}")

    assert other.asked == []


@pytest.mark.parametrize("how", [("?as=json", ()), ("", (("Accept", "application/json"),))])
async def test_the_report_describes_the_resolution(
    how: tuple[str, tuple[tuple[str, str], ...]],
) -> None:
    parameters, headers = how
    async with serving(FakeArchive("a", 0.0, (LATER,)), FakeArchive("b", error=True)) as site:
        seen = await site.ask(f"/resolve/{PWID}{parameters}", *headers)

    report = json.loads(seen.body)
    assert seen.status == 200
    assert report["identifier"] == PWID
    assert report["match"]["value"] == "approximate"
    assert report["time"]["delta"] == 3 * 86_400
    assert report["memento"]["datetime"] == "2016-01-25T11:20:29Z"
    assert report["cite"]["pwid"] == f"urn:pwid:a.example:2016-01-25T11:20:29Z:page:{URL}"
    assert {(a["archive"], a["outcome"]) for a in report["attempts"]} == {
        ("a", "found"),
        ("b", "unknown"),
    }


async def test_a_browser_gets_a_page_where_the_memento_differs() -> None:
    browser = ("Accept", "text/html,application/xhtml+xml")
    async with serving(FakeArchive("a", 0.0, (EXACT, LATER))) as site:
        good = await site.ask(f"/resolve/{PWID}", browser)
        worse = await site.ask(f"/resolve/{PWID.replace('11:20:29', '11:20:30')}", browser)
        forced = await site.ask(
            f"/resolve/{PWID.replace('11:20:29', '11:20:30')}?as=redirect", browser
        )

    assert good.status == forced.status == 302
    assert worse.status == 200
    assert worse.headers["Content-Type"].startswith("text/html")
    assert worse.headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert f'href="http://a/{EXACT}/{URL}"'.encode() in worse.body


async def test_the_page_shows_hostile_text_as_text() -> None:
    hostile = "http://example.org/%3Cscript%3Ealert(1)%3C/script%3E?'onload=x"
    async with serving(FakeArchive("a", 0.0, (LATER,), holds=hostile)) as site:
        seen = await site.ask(f"/resolve/duri:2010:{hostile}?as=html")

    assert seen.status == 200
    assert b"<script>" not in seen.body
    assert b"'onload" not in seen.body


async def test_a_thing_is_answered_with_303_to_its_document() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(f"/resolve/tdb:2016:{URL}")

    assert seen.status == 303
    assert seen.headers["Location"] == f"https://gate.example/resolve/duri:2016:{URL}"


@pytest.mark.parametrize(
    ("target", "status", "kind"),
    [
        ("/resolve/urn:pwid:a.example:2016-02-30Z:page:http://x.org/", 400, "bad-identifier"),
        ("/resolve/duri:2016:mailto:a@b.c", 422, "not-negotiable"),
        ("/resolve/duri:2016:duri:2016:http://a.dk/", 422, "not-negotiable"),
        (
            f"/resolve/{'https://web.archive.org/web/2016/' * 7}http://a.dk/",
            422,
            "not-negotiable",
        ),
        ("/resolve/pdi://a.us/1997/09/01/1.text.1", 404, "unknown-archive"),
        (f"/resolve/{PWID}?precision=very", 400, "bad-parameter"),
        (f"/resolve/{PWID}?wait=0", 400, "bad-parameter"),
        (f"/resolve/{PWID}?as=xml", 400, "bad-parameter"),
        (f"/resolve/{PWID}?precision=any&precision=exact", 400, "bad-parameter"),
        (f"/resolve/{PWID}?archives=nope", 400, "bad-parameter"),
        ("/nothing-here", 400, "bad-identifier"),
    ],
)
async def test_each_error_has_its_status_and_problem_type(
    target: str, status: int, kind: str
) -> None:
    archive = FakeArchive("a", 0.0, (EXACT,))
    async with serving(archive) as site:
        seen = await site.ask(target)

    problem = json.loads(seen.body)
    assert (seen.status, problem["type"].rpartition("/")[2]) == (status, kind)
    assert problem["detail"]
    assert archive.asked == []


async def test_strict_handling_rejects_what_is_otherwise_repaired() -> None:
    repaired = PWID.replace("Z:page", ":page")
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        lenient = await site.ask(f"/resolve/{repaired}")
        strict = await site.ask(f"/resolve/{repaired}", ("Prefer", "handling=strict"))

    assert lenient.status == 302
    assert 'diag="missing-zone"' in lenient.headers["Memento-Precision"]
    assert strict.status == 400


async def test_an_unknown_archive_is_replaced_by_others_unless_only_it_is_acceptable() -> None:
    stranger = PWID.replace("a.example", "nowhere.example")
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        other = await site.ask(f"/resolve/{stranger}")
        refused = await site.ask(f"/resolve/{stranger}?precision=archive")

    assert "match=substitute" in other.headers["Memento-Precision"]
    assert refused.status == 404


async def test_a_problem_names_the_restricted_archive_and_its_contact() -> None:
    closed = ArchiveEntry(
        id="closed",
        name="The Closed Archive",
        kind=KINDS["none"],
        use=False,
        because="on site",
        access="onsite-only",
        limits=LIMITS,
        access_note="reading room",
        pwid=("closed.example",),
        hosts=("closed.host",),
    )
    async with serving(FakeArchive("a", 0.0), extra=(closed,)) as site:
        seen = await site.ask(f"/resolve/{PWID.replace('a.example', 'closed.example')}")

    problem = json.loads(seen.body)
    assert seen.status == 404
    assert problem["type"].endswith("/restricted-archive")
    assert "reading room" in problem["detail"]
    assert problem["detail"].endswith("; no other archive has a copy")
    assert '<https://closed.host/>; rel="help"' in seen.headers["Link"]


async def test_a_404_says_that_no_other_archive_was_queried() -> None:
    closed = ArchiveEntry(
        id="closed",
        name="The Closed Archive",
        kind=KINDS["none"],
        use=False,
        because="on site",
        access="onsite-only",
        limits=LIMITS,
        pwid=("closed.example",),
    )
    reference = PWID.replace("a.example", "closed.example")
    async with serving(FakeArchive("a", 0.0, (EXACT,)), extra=(closed,)) as site:
        seen = await site.ask(f"/resolve/{reference}?precision=archive")

    assert json.loads(seen.body)["detail"].endswith("; no other archive was queried")
    assert '<https://closed.example/>; rel="help"' in seen.headers["Link"]
    assert "sources=partial;asked=0" in seen.headers["Memento-Precision"]


async def test_a_404_says_that_the_named_archive_was_not_queried() -> None:
    async with serving(FakeArchive("a", 0.0), FakeArchive("b", 0.0)) as site:
        spared = await site.ask(f"/resolve/{PWID}?exclude=a")
        unknown = await site.ask(f"/resolve/{PWID.replace('a.example', 'gone.example')}")
        asked = await site.ask(f"/resolve/{PWID}")

    details = [json.loads(seen.body)["detail"] for seen in (spared, unknown, asked)]
    assert details[0].endswith("; a, the archive that the reference names, was not queried")
    assert details[1].endswith(
        "; the archive that the reference names, gone.example, is not registered"
    )
    assert "named" not in details[2]


async def test_many_identifiers_at_once_are_answered_line_by_line() -> None:
    body = f'{PWID}\n"duri:2016:{URL}"\n{{"identifier": "nonsense"}}\n\n'.encode()
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask("/resolve", method="POST", body=body)

    text = seen.body.replace(b"\r\n", b"\n").decode()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert seen.headers["Content-Type"] == "application/x-ndjson"
    assert {line["input"]: line["status"] for line in lines} == {
        PWID: 200,
        f"duri:2016:{URL}": 200,
        "nonsense": 400,
    }


class Failing(Resolve):
    """A `Resolve` that raises an unforeseen exception for some identifiers."""

    async def line(self, text: str, preferences: Preferences, context: RequestContext) -> bytes:
        if "broken" in text:
            raise OverflowError("http://secret.example/")
        return await super().line(text, preferences, context)


async def test_an_exception_in_a_line_affects_only_its_row() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,)), resolving=Failing) as site:
        body = f"http://broken.example/\n{URL}\n".encode()
        seen = await site.ask("/resolve", method="POST", body=body)

    lines = [json.loads(line) for line in seen.body.splitlines() if line.startswith(b"{")]
    rows = {line["input"]: line for line in lines}
    assert {text: line["status"] for text, line in rows.items()} == {
        "http://broken.example/": 500,
        URL: 200,
    }
    assert "internal error" in rows["http://broken.example/"]["detail"]
    assert b"secret" not in seen.body
    assert seen.body.endswith(b"0\r\n\r\n")


async def test_too_many_identifiers_at_once_are_rejected() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        lines = await site.ask("/resolve", method="POST", body=b"x\n" * 1001)
        wrong = await site.ask("/resolve?wait=0", method="POST", body=b"x\n")

    assert lines.status == 413
    assert wrong.status == 400


async def test_a_lost_memento_is_not_recommended_with_verify_head() -> None:
    lost = FakeArchive("a", 0.0, (EXACT,), lost=True)
    async with serving(lost, FakeArchive("b", 0.0, (LATER,))) as site:
        believed = await site.ask(f"/resolve/duri:2016-01-22T11:20:29Z:{URL}")
        checked = await site.ask(f"/resolve/duri:2016-01-22T11:20:29Z:{URL}?verify=head")
        wished = await site.ask(
            f"/resolve/duri:2016-01-22T11:20:29Z:{URL}", ("Prefer", "verify=head")
        )

    assert believed.headers["Location"].startswith("http://a/")
    assert checked.headers["Location"].startswith("http://b/")
    assert wished.headers["Location"].startswith("http://b/")
    assert "sources=partial" in checked.headers["Memento-Precision"]


async def test_the_query_of_the_url_stays_part_of_it() -> None:
    async with serving(FakeArchive("a")) as site:
        seen = await site.ask(f"/resolve/{URL}?as=xml?as=redirect")

    assert seen.headers["Link"].startswith(f'<{URL}?as=xml>; rel="original"')


async def test_an_unmet_precision_is_504_while_an_archive_has_not_answered() -> None:
    archives = FakeArchive("a", 0.0, (LATER,)), FakeArchive("b", 0.0, error=True)
    async with serving(*archives) as site:
        seen = await site.ask(f"/resolve/duri:2016-01-22T11:20:29Z:{URL}?precision=exact")

    problem = json.loads(seen.body)
    assert seen.status == 504
    assert problem["type"].endswith("/upstream-incomplete")
    assert problem["detail"].startswith("the best copy so far is ")
    assert problem["alternatives"][0]["archive"] == "a"
    assert sorted(each["outcome"] for each in problem["archives"]) == ["found", "unknown"]
    assert seen.headers["Cache-Control"] == "no-store"
    assert seen.headers["Retry-After"]


async def test_an_unknown_archive_with_precision_archive_is_404_without_queries() -> None:
    archive = FakeArchive("a", 0.0, (EXACT,))
    unknown = PWID.replace("a.example", "nowhere.example")
    async with serving(archive) as site:
        seen = await site.ask(f"/resolve/{unknown}?precision=archive")

    assert seen.status == 404
    assert json.loads(seen.body)["type"].endswith("/unknown-archive")
    assert archive.asked == []


async def test_a_list_may_be_spread_over_several_parameters() -> None:
    asked = f"/resolve/duri:2016:{URL}?exclude=a&exclude=b"
    archives = FakeArchive("a", 0.0, (EXACT,)), FakeArchive("b", 0.0, (EXACT,))
    async with serving(*archives, FakeArchive("c", 0.0, (LATER,))) as site:
        seen = await site.ask(asked)

    assert seen.headers["Location"].startswith("http://c/")


async def test_a_404_says_that_the_archive_has_none_before_the_time() -> None:
    async with serving(FakeArchive("a", 0.0, (LATER,))) as site:
        seen = await site.ask(f"/resolve/duri:2016-01-22:{URL}?direction=before")

    assert seen.status == 404
    assert "holds no copy before the requested time" in json.loads(seen.body)["detail"]
