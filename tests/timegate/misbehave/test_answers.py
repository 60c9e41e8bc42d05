"""Correct answers: TimeGate, mementos, TimeMaps and CDX without a fault."""

import json
import re

import pytest

from tests.timegate.misbehave.asking import (
    CDX,
    NEAR_THE_PAIR,
    PAGE,
    PAIR_LATER,
    REPLAY,
    TIMEGATE,
    TIMEMAP,
    ask,
    at,
    pure,
    relations,
)
from timegate.misbehave import (
    EXAMPLE,
    Archive,
    ArchiveOptions,
    FakeCapture,
    captures_of,
    misbehaving_archive,
)
from timegate.misbehave.site import http_date, read_http_date
from timegate.misbehave.wire import WholeAnswer, WireRequest


async def test_a_timegate_redirects_to_the_nearest_capture() -> None:
    async with misbehaving_archive() as archive:
        answer = await ask(archive, TIMEGATE, headers=at(NEAR_THE_PAIR))

        links = answer.headers["Link"]
        assert answer.status == 302
        assert answer.headers["Location"] == f"{archive.url}/web/20150630235959/{PAGE}"
        assert answer.headers["Vary"] == "accept-datetime"
        assert "Memento-Datetime" not in answer.headers
        assert links.count('rel="original"') == 1
        assert f'<{archive.url}/timemap/link/{PAGE}>; rel="timemap"' in links


async def test_a_timegate_may_answer_200_with_content_location() -> None:
    async with misbehaving_archive(options=ArchiveOptions(timegate="200")) as archive:
        answer = await ask(archive, TIMEGATE, headers=at(NEAR_THE_PAIR))

        assert answer.status == 200
        assert answer.headers["Content-Location"] == f"{archive.url}/web/20150630235959/{PAGE}"
        assert answer.headers["Memento-Datetime"] == PAIR_LATER
        assert answer.headers["Vary"] == "accept-datetime"


@pytest.mark.parametrize(
    ("asked", "stamp"),
    [
        ("Sat, 01 Jan 2000 00:00:00 GMT", "20100101120000"),
        ("Fri, 01 Jan 2100 00:00:00 GMT", "20200202020202"),
        ("Tue, 30 Jun 2015 23:59:58 GMT", "20150630235958"),
        ("Tue, 15 Jun 2013 08:30:00 GMT", "20130615083000"),
    ],
)
def test_a_time_out_of_range_means_the_first_or_last(asked: str, stamp: str) -> None:
    answer = pure("none", TIMEGATE, accept_datetime=asked)

    assert answer.status == 302
    assert f"/web/{stamp}/" in (answer.value("Location") or "")


def test_no_accept_datetime_means_the_newest() -> None:
    answer = pure("none", TIMEGATE)

    assert "/web/20200202020202/" in (answer.value("Location") or "")


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "yesterday",
        "2015-06-30T23:59:59Z",
        "Tue, 30 Jun 2015 23:59:59 CET",
        "Tue, 30 jun 2015 23:59:59 GMT",
        "Mon, 30 Feb 2015 23:59:59 GMT",
        "Tue, 30 Jun 2015 24:00:00 GMT",
        "Tuesday, 30-Jun-15 23:59:59 GMT",
    ],
)
def test_an_invalid_accept_datetime_is_400_with_the_headers_of_a_timegate(asked: str) -> None:
    answer = pure("none", TIMEGATE, accept_datetime=asked)

    assert answer.status == 400
    assert answer.value("Vary") == "accept-datetime"
    assert f'<{PAGE}>; rel="original"' in (answer.value("Link") or "")


def test_two_accept_datetimes_are_400() -> None:
    archive = Archive()
    twice = (("accept-datetime", PAIR_LATER), ("accept-datetime", PAIR_LATER))

    answer = archive.reply(WireRequest("GET", TIMEGATE, twice))

    assert isinstance(answer, WholeAnswer)
    assert answer.status == 400


def test_an_unknown_page_is_404_with_original_and_timemap() -> None:
    answer = pure("none", "/timegate/http://example.org/unknown")

    assert answer.status == 404
    assert answer.value("Vary") == "accept-datetime"
    assert 'rel="original"' in (answer.value("Link") or "")
    assert 'rel="timemap"' in (answer.value("Link") or "")


def test_neighbours_are_linked_with_their_own_dates() -> None:
    found = relations(pure("none", TIMEGATE, accept_datetime=NEAR_THE_PAIR))

    assert list(found) == [
        "first memento",
        "prev memento",
        "memento",
        "next last memento",
    ]
    assert found["memento"][1] == PAIR_LATER
    assert all(
        target.split("/")[4] == f"{read_http_date(date):%Y%m%d%H%M%S}"
        for target, date in found.values()
    )


def test_a_sole_memento_is_first_and_last() -> None:
    archive = Archive(captures_of(PAGE, "2013"))

    answer = archive.reply(WireRequest("GET", TIMEGATE))

    assert isinstance(answer, WholeAnswer)
    assert list(relations(answer)) == ["first last memento"]


async def test_a_memento_has_its_date_and_original_and_no_vary() -> None:
    async with misbehaving_archive() as archive:
        answer = await ask(archive, REPLAY)

        assert answer.status == 200
        assert answer.headers["Memento-Datetime"] == "Sat, 15 Jun 2013 08:30:00 GMT"
        assert answer.headers["Link"].count('rel="original"') == 1
        assert "Vary" not in answer.headers


async def test_raw_bytes_have_the_modifier_id_() -> None:
    async with misbehaving_archive() as archive:
        answer = await ask(archive, f"/web/20130615083000id_/{PAGE}")

        assert answer.body == EXAMPLE[1].content
        assert "Memento-Datetime" in answer.headers


@pytest.mark.parametrize("modifier", ["", "id_"])
def test_an_inexact_stamp_redirects_like_an_intermediate_resource(modifier: str) -> None:
    answer = pure("none", f"/web/2013{modifier}/{PAGE}")

    assert answer.status == 302
    assert f"/web/20130615083000{modifier}/" in (answer.value("Location") or "")
    assert answer.value("Link") == f'<{PAGE}>; rel="original"'
    assert answer.value("Vary") is None


@pytest.mark.parametrize("status", [301, 404, 429, 500])
def test_an_archived_status_is_replayed_with_memento_headers(status: int) -> None:
    capture = FakeCapture(PAGE, EXAMPLE[1].at, status, location="http://example.org/moved")

    answer = Archive([capture]).reply(WireRequest("GET", REPLAY))

    assert isinstance(answer, WholeAnswer)
    assert answer.status == status
    assert answer.value("Memento-Datetime") is not None


def test_spellings_of_one_page_are_the_same_page() -> None:
    answer = pure("none", "/timegate/https://www.EXAMPLE.org/")

    assert answer.value("Location") == f"http://127.0.0.1:1/web/20200202020202/{PAGE}"


async def test_a_url_is_returned_as_it_was_written() -> None:
    odd = "http://example.org/a//b%2Fc?x=%7e;y&z"

    async with misbehaving_archive(captures_of(odd, "2013")) as archive:
        answer = await ask(archive, f"/timegate/{odd}")

        assert answer.headers["Location"] == f"{archive.url}/web/20130101000000/{odd}"
        assert archive.journal.requests[0].target == f"/timegate/{odd}"


async def test_head_answers_like_get_without_a_body() -> None:
    async with misbehaving_archive() as archive:
        for path in (TIMEGATE, TIMEMAP, REPLAY):
            get, head = await ask(archive, path), await ask(archive, path, "HEAD")

            assert head.body == b""
            assert (head.status, dict(head.headers)) == (get.status, dict(get.headers))


def test_other_methods_are_not_allowed() -> None:
    assert pure("none", TIMEGATE, "DELETE").status == 405


def test_a_link_timemap_lists_original_timegate_itself_and_every_memento() -> None:
    lines = pure("none", TIMEMAP).body.decode().splitlines()

    base = "http://127.0.0.1:1"
    assert lines[:3] == [
        f'<{PAGE}>; rel="original",',
        f'<{base}/timegate/{PAGE}>; rel="timegate",',
        (
            f'<{base}/timemap/link/{PAGE}>; rel="self"; type="application/link-format"; '
            'from="Fri, 01 Jan 2010 12:00:00 GMT"; until="Sun, 02 Feb 2020 02:02:02 GMT",'
        ),
    ]
    assert lines[3:] == [
        f'<{base}/web/{capture.stamp}/{PAGE}>; rel="{rel}"; '
        f'datetime="{http_date(capture.at)}"{end}'
        for capture, rel, end in zip(
            EXAMPLE,
            ["first memento", "memento", "memento", "memento", "last memento"],
            [",", ",", ",", ",", ""],
            strict=True,
        )
    ]


def test_json_and_cdxj_timemaps_list_the_same_mementos() -> None:
    document = json.loads(pure("none", f"/timemap/json/{PAGE}").body)
    lines = pure("none", f"/timemap/cdxj/{PAGE}").body.decode().splitlines()

    from_json = [entry["uri"] for entry in document["mementos"]["list"]]
    from_cdxj = [json.loads(line[15:])["uri"] for line in lines if not line.startswith("!")]
    assert from_json == from_cdxj
    assert len(from_json) == len(EXAMPLE)


@pytest.mark.parametrize("form", ["link", "json", "cdxj"])
def test_an_unknown_page_has_no_timemap(form: str) -> None:
    assert pure("none", f"/timemap/{form}/http://example.org/unknown").status == 404


async def read_pages(archive: Archive) -> list[str]:
    """Read a TimeMap in link-format with all its pages; return its mementos."""
    unread, read, mementos = [TIMEMAP], set[str](), list[str]()
    while unread:
        path = unread.pop(0)
        read.add(path)
        page = await ask(archive, path)
        mementos += page.mementos
        onward = re.findall(r'<([^>]*)>; rel="timemap"', page.text)
        paths = [uri.removeprefix(archive.url) for uri in onward]
        unread += [path for path in paths if path not in {*read, *unread}]
    return mementos


@pytest.mark.parametrize(("timemap", "requests"), [("whole", 1), ("pages", 3), ("index", 4)])
async def test_a_timemap_may_come_in_pages_or_as_an_index(timemap: str, requests: int) -> None:
    options = {
        "whole": ArchiveOptions(page_size=2),
        "pages": ArchiveOptions(timemap="pages", page_size=2),
        "index": ArchiveOptions(timemap="index", page_size=2),
    }[timemap]

    async with misbehaving_archive(options=options) as archive:
        mementos = await read_pages(archive)

        assert mementos == [archive.addresses.memento(capture) for capture in EXAMPLE]
        assert len(archive.journal.requests) == requests


def test_a_json_timemap_may_have_pages() -> None:
    def document(options: ArchiveOptions, page: str = "") -> dict[str, object]:
        answer = Archive(options=options).reply(
            WireRequest("GET", f"/timemap/json/{page}{PAGE}")
        )
        assert isinstance(answer, WholeAnswer)
        read: dict[str, object] = json.loads(answer.body)
        return read

    index = document(ArchiveOptions(timemap="index", page_size=2))
    second = document(ArchiveOptions(timemap="pages", page_size=2), "page2/")

    assert len(index["timemap_index"]) == 3  # type: ignore[arg-type]
    assert second["pages"] == {"next": {"uri": f"/timemap/json/page3/{PAGE}"}}


def test_pywb_cdx_is_json_lines_in_the_requested_order() -> None:
    query = "/cdx?url=http%3A%2F%2Fexample.org%2F&output=json"

    everything = pure("none", query).body.decode().splitlines()
    nearest = pure("none", f"{query}&sort=closest&closest=20150701&limit=1&fl=timestamp")

    assert [json.loads(line)["timestamp"] for line in everything] == [
        capture.stamp for capture in EXAMPLE
    ]
    assert json.loads(nearest.body) == {"timestamp": "20150630235959"}


def test_wayback_cdx_is_text_or_a_json_array() -> None:
    query = "/cdx/search/cdx?url=example.org/&fl=timestamp,original&from=2013&to=2015"

    words = pure("none", query).body.decode()
    table = json.loads(pure("none", f"{query}&output=json").body)

    assert words.splitlines()[0] == f"20130615083000 {PAGE}"
    assert table[0] == ["timestamp", "original"]
    assert [" ".join(row) for row in table[1:]] == words.splitlines()


def test_cdx_of_an_unknown_page_is_empty() -> None:
    assert pure("none", "/cdx?url=http://example.org/u&output=json").body == b""
    assert pure("none", "/cdx/search/cdx?url=http://example.org/u").body == b""
    assert pure("none", "/cdx/search/cdx?url=http://example.org/u&output=json").body == b"[]"


def test_resume_keys_lead_through_the_whole_list() -> None:
    stamps, key = list[str](), ""
    for _ in range(3):
        resume = f"&resumeKey={key}" if key else ""
        answer = pure("none", f"{CDX}&fl=timestamp&limit=2&showResumeKey=true{resume}")
        rows = json.loads(answer.body)
        stamps += [row[0] for row in rows[1:3] if row]
        key = rows[-1][0]

    assert stamps == [capture.stamp for capture in EXAMPLE]
