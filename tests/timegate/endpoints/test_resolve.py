"""`/resolve/` and `/{identifier}`: every notation, as redirect, report or page."""

import asyncio
import json
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.kinds import KINDS
from archives.model import ArchiveEntry
from archives.registry import entry_from, load_known
from tests.scenario import LIMITS, FakeArchive, World
from tests.timegate.endpoints.served import QUICK, entries, resolve_of, serving
from timegate.endpoints.resolve import BatchLine, Resolve
from timegate.pages.choices import SeveralReferences
from timegate.references.pasted import read_pasted
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences
from timegate.responses.answers import Answers
from timegate.responses.model import ClientRequest
from timegate.responses.referral import REFERRAL_RELATION

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


@pytest.mark.parametrize(
    "target",
    [
        PWID,
        f"DURI:2016:{URL}",
        f"pwid:a.example:2016-01-22_11.20.29Z:page:{URL}",
        "pdi://a.us/2016/01/22/http:%2f%2fexample%2eorg%2f.html.1",
        "PDI://a.us/2016/01/22/http:%2f%2fexample%2eorg%2f.html.1",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_an_identifier_may_be_the_target_of_a_request(target: str, method: str) -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(target, method=method)

    assert seen.status == 302
    assert seen.headers["Location"] == f"http://a/{EXACT}/{URL}"


async def test_a_later_identifier_as_target_is_refused_with_the_way_to_write_it() -> None:
    request = f"GET duri:2016:{URL} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        try:
            writer.write(request)
            first = await reader.readuntil(b"\r\n\r\n")
            writer.write(request)
            later = await reader.read(-1)
        finally:
            writer.close()

    assert first.startswith(b"HTTP/1.1 302 ")
    assert b" 400 Bad Request\r\n" in later
    assert b"GET /urn:pwid:" in later


async def test_the_query_of_a_target_belongs_to_the_page() -> None:
    archive = FakeArchive("a", 0.0, (EXACT,), holds=f"{URL}?as=json")
    async with serving(archive) as site:
        seen = await site.ask(f"duri:2016:{URL}?as=json")

    assert seen.headers["Location"] == f"http://a/{EXACT}/{URL}?as=json"


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
        ("/resolve/pdi://a.us/1997/09/01/1.text.1%23char=37,51", 404, "unknown-archive"),
        ("/resolve/https://a.host/20160122112029/", 400, "bad-identifier"),
        (f"/resolve/{PWID}?precision=very", 400, "bad-parameter"),
        (f"/resolve/{PWID}?wait=0", 400, "bad-parameter"),
        (f"/resolve/{PWID}?as=xml", 400, "bad-parameter"),
        (f"/resolve/{PWID}?precision=any&precision=exact", 400, "bad-parameter"),
        (f"/resolve/{PWID}?archives=nope", 400, "bad-parameter"),
        ("/nothing-here", 404, "not-found"),
        ("/openapi", 404, "not-found"),
        ("/resolve/nothing-here", 400, "bad-identifier"),
        ("/__wb/sparkline?url=example.org&output=json", 404, "not-found"),
        ("/save/http://example.org/", 404, "not-found"),
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


@pytest.mark.parametrize(
    "query", ["verify=head", "direction=asc", "as=json&tolerence=1", "as=xml"]
)
@pytest.mark.parametrize("prefix", ["duri:2016:", "urn:pwid:a.example:2016-01-22Z:page:", ""])
async def test_at_the_root_the_query_belongs_to_the_page(prefix: str, query: str) -> None:
    page = f"http://example.org/a?{query}"
    archive = FakeArchive("a", 0.0, (EXACT,), holds=page)
    async with serving(archive) as site:
        seen = await site.ask(f"/{prefix}{page}")

    assert seen.status == 302
    assert seen.headers["Location"] == f"http://a/{EXACT}/{page}"
    assert "uri=same" in seen.headers["Memento-Precision"]


@given(
    st.lists(st.sampled_from([*"abs=&?+/:;,.~-_", "%26", "%3f", "as=", "wait="]), max_size=20)
)
async def test_at_the_root_no_query_is_ever_changed(pieces: list[str]) -> None:
    archive = FakeArchive("a", 0.0, (EXACT,))
    world = World(archive, deadlines=QUICK)
    registry = entries(world)
    resolve = resolve_of(Answers(world.resolver, registry, "https://gate.example"), registry)
    page = f"http://example.org/a?{''.join(pieces)}&as=json"
    async with world.coalescer:
        await resolve.whole(ClientRequest("GET", f"duri:2016:{page}", {}))

    assert archive.asked[0][0] == page


async def test_a_misspelled_parameter_is_refused_with_the_name_and_the_encoded_url() -> None:
    archive = FakeArchive("a", 0.0, (EXACT,))
    async with serving(archive) as site:
        seen = await site.ask(f"/resolve/{URL}?as=json&tolerence=24h")
        encoded = json.loads(seen.body)["encoded"]
        followed = await site.ask(encoded)

    problem = json.loads(seen.body)
    assert (seen.status, problem["parameter"]) == (400, "tolerence")
    assert "write tolerance;" in problem["detail"]
    assert problem["detail"].endswith(encoded)
    assert encoded == "/resolve/http%3A%2F%2Fexample.org%2F%3Ftolerence%3D24h?as=json"
    assert followed.status == 404
    assert archive.asked[0][0] == f"{URL}?tolerence=24h"


async def test_a_bad_value_is_refused_with_the_encoded_url() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(f"/resolve/{URL}?direction=asc")

    encoded = "/resolve/http%3A%2F%2Fexample.org%2F%3Fdirection%3Dasc"
    assert json.loads(seen.body)["encoded"] == encoded


async def test_the_document_of_a_thing_keeps_the_query_and_the_parameters() -> None:
    page = f"{URL}?as=json"
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        at_root = await site.ask(f"/tdb:2016:{page}")
        below = await site.ask(f"/resolve/tdb:2016:{URL}?archives=a&wait=3")

    encoded = "duri%3A2016%3Ahttp%3A%2F%2Fexample.org%2F%3Fas%3Djson"
    assert at_root.headers["Location"] == f"https://gate.example/resolve/{encoded}"
    assert below.headers["Location"].endswith(f"/resolve/duri:2016:{URL}?archives=a&wait=3")


@pytest.mark.parametrize(
    ("query", "name"), [("tolerence=1h", "tolerence"), ("lang=de", "lang"), ("as=html", "as")]
)
async def test_a_batch_refuses_parameters_that_it_does_not_have(query: str, name: str) -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(f"/resolve?{query}", method="POST", body=URL.encode())

    assert (seen.status, json.loads(seen.body)["parameter"]) == (400, name)


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
    assert problem["detail"].endswith("; no other archive that was queried has a copy")
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
    assert details[0].startswith("a, the archive that the reference names, was not queried (")
    assert details[1].endswith(
        "; the archive that the reference names, gone.example, is not registered"
    )
    assert "named" not in details[2]


def switched_off(name: str, **facts: object) -> ArchiveEntry:
    return entry_from(
        {
            "id": name,
            "kind": "memento",
            "use": False,
            "because": "too slow",
            "timegate": f"https://{name}.host/",
            "replay": f"https://{name}.host/{{time14}}/{{uri}}",
            "pwid": [f"{name}.example"],
            **facts,
        },
        "a test",
    )


OFF = PWID.replace("a.example", "off.example")
REFERRED = f"https://off.host/{EXACT}/{URL}"


async def test_a_404_for_an_archive_that_is_off_refers_to_it_and_claims_no_absence() -> None:
    async with serving(FakeArchive("a", 0.0), extra=(switched_off("off"),)) as site:
        seen = await site.ask(f"/{OFF}")

    problem = json.loads(seen.body)
    assert seen.status == 404
    assert problem["type"].endswith("/archive-not-asked")
    assert "(not in use: too slow); no other archive that was queried" in problem["detail"]
    assert "every archive" not in problem["detail"]
    assert problem["referral"]["uri"] == REFERRED
    assert problem["referral"]["checked"] is False
    alternate = f'<{REFERRED}>; rel="alternate {REFERRAL_RELATION}"'
    assert alternate in seen.headers["Link"]
    assert "sources=partial;asked=1;failed=0;unasked=1" in seen.headers["Memento-Precision"]


async def test_a_silent_archive_beside_it_makes_it_a_504_with_the_referral() -> None:
    archives = (FakeArchive("a", 0.0), FakeArchive("b", 0.0, error=True))
    async with serving(*archives, extra=(switched_off("off"),)) as site:
        seen = await site.ask(f"/{OFF}")

    problem = json.loads(seen.body)
    assert (seen.status, problem["type"][-19:]) == (504, "upstream-incomplete")
    assert "off, the archive that the reference names, was not queried" in problem["detail"]
    assert problem["referral"]["uri"] == REFERRED
    assert f"<{REFERRED}>" in seen.headers["Link"]
    assert "sources=partial;asked=2;failed=1;unasked=1" in seen.headers["Memento-Precision"]


async def test_a_substitute_comes_with_the_referral() -> None:
    archive = FakeArchive("a", 0.0, (EXACT,))
    async with serving(archive, extra=(switched_off("off"),)) as site:
        redirect = await site.ask(f"/{OFF}")
        report = json.loads((await site.ask(f"/resolve/{OFF}?as=json")).body)
        unmet = await site.ask(f"/resolve/{OFF}?tolerance=0s&direction=after&exclude=b")

    assert redirect.status == unmet.status == 302
    assert f"<{REFERRED}>" in redirect.headers["Link"]
    assert json.loads(redirect.body)["referral"]["uri"] == REFERRED
    assert report["referral"]["uri"] == REFERRED
    assert report["sources"] == {"value": "partial", "asked": 1, "failed": 0, "unasked": 1}
    assert report["words"].endswith("; the requested archive was not queried")


async def test_a_copy_in_the_named_archive_comes_without_a_referral() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(f"/resolve/{PWID}?as=json")

    assert json.loads(seen.body)["referral"] is None
    assert "alternate" not in seen.headers["Link"]


@pytest.mark.parametrize(
    ("parameters", "status", "kind"),
    [
        ("precision=archive", 404, "archive-not-asked"),
        ("archives=a&precision=archive", 400, "bad-parameter"),
        ("tolerance=1h", 404, "precision-unmet"),
    ],
)
async def test_every_problem_with_a_named_archive_refers_to_it(
    parameters: str, status: int, kind: str
) -> None:
    archive = FakeArchive("a", 0.0, (LATER,))
    async with serving(archive, extra=(switched_off("off"),)) as site:
        seen = await site.ask(f"/resolve/{OFF}?{parameters}")

    problem = json.loads(seen.body)
    assert (seen.status, problem["type"].rpartition("/")[2]) == (status, kind)
    assert problem["referral"]["uri"] == REFERRED
    assert f"<{REFERRED}>" in seen.headers["Link"]


async def test_a_link_into_an_archive_without_an_archive_id_names_it() -> None:
    nameless = switched_off("off", pwid=[], forms=[{"template": "off.host/{time}/{uri}"}])
    async with serving(FakeArchive("a", 0.0), extra=(nameless,)) as site:
        seen = await site.ask(f"/resolve/{REFERRED}?precision=archive")

    assert json.loads(seen.body)["type"].endswith("/archive-not-asked")
    assert json.loads(seen.body)["referral"]["uri"] == REFERRED


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


@pytest.mark.parametrize(
    "body",
    [
        f"<part>\n{PWID}\n</part>\n<part>\nurn:pwid:b.example:2016Z:part:x\n</part>\n",
        f'["{PWID}", {{"pwid": "urn:pwid:b.example:2016Z:part:x"}}]',
        f"  {PWID[:28]}\n  {PWID[28:]}\n\n  urn:pwid:b.example:2016Z:part:x\n",
    ],
)
async def test_a_list_in_another_format_is_answered_line_by_line(body: str) -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask("/resolve", method="POST", body=body.encode())

    lines = [json.loads(line) for line in seen.body.splitlines() if line.startswith(b"{")]
    assert {line["input"]: line["status"] for line in lines} == {
        PWID: 200,
        "urn:pwid:b.example:2016Z:part:x": 400,
    }


def _objects(body: bytes) -> list[dict[str, Any]]:
    """Return the rows between the sizes of the chunks."""
    return [json.loads(line) for line in body.splitlines() if line.startswith(b"{")]


async def test_a_line_whose_date_is_in_doubt_is_answered_and_says_so() -> None:
    body = f"{URL} (published 2010)\n{URL} (03/04/2016)\n{URL} (accessed 22 January 2016)\n"
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask("/resolve", method="POST", body=body.encode())

    rows = {row["input"]: row for row in _objects(seen.body)}
    assert [rows[line]["status"] for line in body.splitlines()] == [200, 200, 200]
    published, either, certain = (rows[line] for line in body.splitlines())
    assert published["headline"] == "Found, but another date may be meant"
    assert published["read"]["reference"] == URL
    assert published["read"]["doubt"] is True
    assert "it may be 2016-04-03 or 2016-03-04" in " ".join(either["read"]["said"])
    assert "read" not in certain


async def test_the_lines_that_the_page_shows_are_accepted_as_a_batch() -> None:
    text = (
        "http://museum.example/ (2010) and http://museum.example/visit, "
        "@article{a, doi={10.1000/182}, year={2001}}"
    )
    found = read_pasted(text, load_known(), datetime.now(UTC)).found
    shown = SeveralReferences(found).lines
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask("/resolve", method="POST", body=shown.encode())

    assert len(found) > 1
    assert len(_objects(seen.body)) == len(found)
    assert {row["status"] for row in _objects(seen.body)} <= {200, 404}


async def test_a_list_that_cannot_be_read_is_a_problem() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask("/resolve", method="POST", body=b'["http://a.example/", ')

    assert seen.status == 400
    assert json.loads(seen.body)["type"].endswith("/bad-list")


class Failing(Resolve):
    """A `Resolve` that raises an unforeseen exception for some identifiers."""

    async def line(
        self, line: BatchLine, preferences: Preferences, context: RequestContext
    ) -> bytes:
        if "broken" in line.identifier:
            raise OverflowError("http://secret.example/")
        return await super().line(line, preferences, context)


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


async def test_a_lost_memento_is_not_recommended_unless_verification_is_declined() -> None:
    lost = FakeArchive("a", 0.0, (EXACT,), lost=True)
    reference = f"/resolve/duri:2016-01-22T11:20:29Z:{URL}"
    async with serving(lost, FakeArchive("b", 0.0, (LATER,))) as site:
        promised = await site.ask(f"{reference}?verify=none")
        declined = await site.ask(reference, ("Prefer", "verify=none"))
        checked = await site.ask(reference)

    assert promised.headers["Location"].startswith("http://a/")
    assert promised.headers["Memento-Precision"].startswith("match=promised, evidence=promised")
    assert declined.headers["Location"].startswith("http://a/")
    assert checked.headers["Location"].startswith("http://b/")
    assert "evidence=delivered" in checked.headers["Memento-Precision"]
    assert "sources=partial" in checked.headers["Memento-Precision"]


async def test_a_timegate_promises_without_a_further_request() -> None:
    archive = FakeArchive("a", 0.0, (EXACT,))
    async with serving(archive) as site:
        date = ("Accept-Datetime", "Fri, 22 Jan 2016 11:20:29 GMT")
        seen = await site.ask(f"/timegate/{URL}", date)

    assert seen.headers["Memento-Precision"].startswith("match=exact, evidence=promised")
    assert archive.probed == []


async def test_the_report_has_each_hop_to_the_memento() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(f"/resolve/duri:2016-01-22T11:20:29Z:{URL}?as=json")

    address = f"http://a/{EXACT}/{URL}"
    assert json.loads(seen.body)["checks"] == [
        {
            "archive": "a",
            "uri": address,
            "outcome": "delivered",
            "reason": None,
            "hops": [{"url": address, "status": 200, "datetime": "2016-01-22T11:20:29Z"}],
            "cached": False,
        }
    ]


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


async def test_lines_of_a_batch_may_have_equivalent_urls() -> None:
    bad = json.dumps({"identifier": f"duri:2016:{URL}", "also": ["ftp://a.example/"]})
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        all_lines = await site.ask(
            "/resolve?also=http://b.example/", method="POST", body=URL.encode()
        )
        one_line = await site.ask("/resolve", method="POST", body=bad.encode())

    assert all_lines.status == 400
    assert b"write it into its line" in all_lines.body
    lines = one_line.body.splitlines()
    [row] = [json.loads(line) for line in lines if line.startswith(b"{")]
    assert (row["input"], row["status"]) == (f"duri:2016:{URL}", 400)
    assert row["detail"] == "also must be http or https URLs, at most 5"


async def test_a_batch_does_not_look_for_the_parts_of_pages() -> None:
    async with serving(FakeArchive("a", stamps=("20160122112029",))) as site:
        by_parameter = await site.ask("/resolve?verify=page", method="POST", body=b"x")
        by_prefer = await site.ask(
            "/resolve", ("Prefer", "verify=page"), method="POST", body=b"x"
        )

    assert (by_parameter.status, by_prefer.status) == (400, 400)
    assert "one identifier" in json.loads(by_parameter.body)["detail"]


class ReadingSlowly(Resolve):
    """A handler that reads a list only while other requests are served."""

    def __init__(self, *parts: object) -> None:
        super().__init__(*parts)  # type: ignore[arg-type]
        self._now = self._when_others_are_served
        loop, self.served = asyncio.get_running_loop(), threading.Event()
        loop.call_later(0.05, self.served.set)

    def _when_others_are_served(self) -> datetime:
        assert self.served.wait(20)
        return datetime(2026, 11, 1, tzinfo=UTC)


async def test_the_event_loop_goes_on_while_a_list_is_read() -> None:
    body = b"<list>" + b"<item>http://example.org/ 2016</item>" * 20 + b"</list>"
    async with serving(FakeArchive("a", 0.0, (EXACT,)), resolving=ReadingSlowly) as site:
        seen = await site.ask("/resolve", method="POST", body=body)

    assert seen.status == 200


async def test_no_reference_is_looked_for_in_an_endless_line() -> None:
    async with serving(FakeArchive("a", 0.0, (EXACT,))) as site:
        seen = await site.ask(
            "/resolve",
            method="POST",
            body=b"http://a.example/ 2016, " * 40_000 + b"\n" + URL.encode(),
        )

    rows = [json.loads(line) for line in seen.body.splitlines() if line.startswith(b"{")]
    assert sorted(row["status"] for row in rows) == [200, 414]
