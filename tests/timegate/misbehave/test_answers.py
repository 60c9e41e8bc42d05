"""The archive of our own: right by default, and each fault does what its name says."""

import asyncio
import gzip
import json
import re
import ssl
import warnings
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import pytest
from aiohttp import ClientSession, ClientTimeout
from multidict import CIMultiDictProxy
from yarl import URL

from timegate.misbehave import (
    EXAMPLE,
    FAULTS,
    Archive,
    ArchiveOptions,
    FakeCapture,
    captures_of,
    misbehaving_archive,
)
from timegate.misbehave.faults import fault_named
from timegate.misbehave.faults.transport import POISON
from timegate.misbehave.site import http_date, read_http_date
from timegate.misbehave.wire import WholeAnswer, WireRequest

PAGE: Final = "http://example.org/"
NEAR_THE_PAIR: Final = "Wed, 01 Jul 2015 00:00:30 GMT"
PAIR_LATER: Final = "Tue, 30 Jun 2015 23:59:59 GMT"
PATIENCE: Final = 20.0
SMALL: Final = ArchiveOptions(
    interval=0.001, patience=10.0, bulk=200_000, bomb=5_000_000, delay=0.0
)
TIMEGATE: Final = f"/timegate/{PAGE}"
TIMEMAP: Final = f"/timemap/link/{PAGE}"
REPLAY: Final = f"/web/20130615083000/{PAGE}"
CDX: Final = "/cdx/search/cdx?url=example.org/&output=json"


@dataclass(frozen=True, slots=True)
class Seen:
    status: int
    headers: CIMultiDictProxy[str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def mementos(self) -> list[str]:
        """The addresses of mementos in a link-format body, in order."""
        return re.findall(r'<([^>]*)>[^<]*rel="[a-z ]*memento"', self.text)


async def ask(
    archive: Archive, path: str, method: str = "GET", headers: Mapping[str, str] | None = None
) -> Seen:
    async with (
        ClientSession(auto_decompress=False, timeout=ClientTimeout(PATIENCE)) as session,
        session.request(
            method,
            URL(archive.url + path, encoded=True),
            headers=headers,
            allow_redirects=False,
        ) as reply,
    ):
        return Seen(reply.status, reply.headers, await reply.read())


async def ask_raw(archive: Archive, path: str, method: str = "GET", at_most: int = -1) -> bytes:
    """Return the bytes on the wire, to the end or *at_most* so many of them."""
    async with asyncio.timeout(PATIENCE):
        host, port = archive.url.rpartition("/")[2].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        close = "Connection: close\r\n"
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n".encode())
        try:
            return await (reader.read() if at_most < 0 else reader.readexactly(at_most))
        finally:
            writer.close()
            await writer.wait_closed()


def at(when: str) -> dict[str, str]:
    return {"Accept-Datetime": when}


def pure(fault: str, path: str, method: str = "GET", **headers: str) -> WholeAnswer:
    """Return a fault's answer without a socket in between."""
    archive = Archive(fault=fault, options=SMALL)
    archive.url = "http://127.0.0.1:1"
    fields = tuple((name.replace("_", "-").lower(), v) for name, v in headers.items())
    answer = archive.reply(WireRequest(method, path, fields))
    assert isinstance(answer, WholeAnswer)
    return answer


def relations(answer: WholeAnswer) -> dict[str, tuple[str, str]]:
    """Return target and date of each memento link in the Link field, by its relation."""
    found = re.findall(
        r'<([^>]*)>; rel="([a-z ]*memento)"; datetime="([^"]*)"', answer.value("Link") or ""
    )
    return {rel: (target, date) for target, rel, date in found}


# Right by default


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
def test_a_bad_accept_datetime_is_400_with_the_headers_of_a_timegate(asked: str) -> None:
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


async def test_raw_bytes_are_below_id_() -> None:
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


def test_spellings_of_one_page_fall_together() -> None:
    answer = pure("none", "/timegate/https://www.EXAMPLE.org/")

    assert answer.value("Location") == f"http://127.0.0.1:1/web/20200202020202/{PAGE}"


async def test_a_url_comes_back_as_it_was_written() -> None:
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


async def followed(archive: Archive) -> list[str]:
    """Read a link TimeMap with all the pages it leads to; return its mementos."""
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
        mementos = await followed(archive)

        assert mementos == [archive.addresses.memento(capture) for capture in EXAMPLE]
        assert len(archive.journal.requests) == requests


def test_a_json_timemap_pages_too() -> None:
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


def test_pywb_cdx_is_json_lines_sorted_as_asked() -> None:
    query = "/cdx?url=http%3A%2F%2Fexample.org%2F&output=json"

    everything = pure("none", query).body.decode().splitlines()
    nearest = pure("none", f"{query}&sort=closest&closest=20150701&limit=1&fl=timestamp")

    assert [json.loads(line)["timestamp"] for line in everything] == [
        capture.stamp for capture in EXAMPLE
    ]
    assert json.loads(nearest.body) == {"timestamp": "20150630235959"}


def test_wayback_cdx_comes_as_words_or_as_one_array() -> None:
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


# The journal


async def test_the_journal_keeps_requests_in_order_and_who_closed() -> None:
    async with misbehaving_archive() as archive:
        await ask(archive, TIMEGATE, "HEAD", {"X-Mine": "1"})
        await ask(archive, TIMEMAP)
        async with asyncio.timeout(PATIENCE):
            await archive.journal.until_closed(2)

        first, second = archive.journal.requests
        assert (first.method, first.target) == ("HEAD", TIMEGATE)
        assert first.values("x-mine") == ["1"]
        assert (second.method, second.target) == ("GET", TIMEMAP)
        assert [closing.by for closing in archive.journal.closings] == ["client", "client"]


async def test_the_journal_tells_when_a_client_leaves_a_silence() -> None:
    async with misbehaving_archive(fault="hang", options=SMALL) as archive:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(archive.url).port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            await archive.journal.until_requested()
            writer.close()
            await archive.journal.until_closed()

        assert archive.journal.closings[0].by == "client"
        assert await reader.read() == b""


@pytest.mark.parametrize("fault", ["hang", "drip-head", "drip-body", "tls-hung"])
async def test_patience_ends_what_never_ends(fault: str) -> None:
    options = ArchiveOptions(interval=0.001, patience=0.05)

    async with misbehaving_archive(fault=fault, options=options) as archive:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(archive.url).port)
        writer.write(b"GET /timegate/http://example.org/ HTTP/1.1\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            await archive.journal.until_closed()

        assert archive.journal.closings[0].by == "archive"
        await comes_to_an_end(reader)
        writer.close()


async def comes_to_an_end(reader: asyncio.StreamReader) -> None:
    """Read until the connection is closed or reset; TimeoutError if it is neither."""
    async with asyncio.timeout(PATIENCE):
        with suppress(ConnectionError):
            await reader.read()


async def test_hang_reads_the_request_and_says_nothing() -> None:
    options = ArchiveOptions(interval=0.001, patience=0.05)

    async with misbehaving_archive(fault="hang", options=options) as archive:
        raw = await ask_raw(archive, TIMEGATE)

        assert raw == b""
        assert len(archive.journal.requests) == 1


async def test_leaving_the_block_ends_open_connections() -> None:
    async with misbehaving_archive(fault="hang", options=SMALL) as archive:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(archive.url).port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await archive.journal.until_requested()

    await comes_to_an_end(reader)
    writer.close()
    assert archive.journal.closings[0].by == "archive"


def test_an_unknown_fault_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(ValueError, match=r"no fault 'loop'; there are .*loop-self"):
        fault_named("loop")


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_every_fault_has_a_name_and_a_sentence(fault: object) -> None:
    assert isinstance(fault, type(FAULTS["none"]))
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fault.name)
    assert fault.sentence.endswith(".")


# Refusals


@pytest.mark.parametrize("path", [TIMEGATE, TIMEMAP, CDX])
async def test_a_bot_challenge_is_a_200_in_html(path: str) -> None:
    async with misbehaving_archive(fault="bot-challenge") as archive:
        answer = await ask(archive, path)
        replay = await ask(archive, REPLAY)

        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/html")
        assert "Memento-Datetime" not in answer.headers
        assert "Memento-Datetime" in replay.headers


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("too-many-seconds", 429),
        ("too-many-date", 429),
        ("too-many-silent", 429),
        ("unavailable", 503),
        ("forbidden", 403),
        ("server-error", 500),
    ],
)
def test_refusals_have_their_status_and_no_memento_datetime(fault: str, status: int) -> None:
    for path in (TIMEGATE, TIMEMAP, REPLAY, CDX):
        answer = pure(fault, path)

        assert answer.status == status
        assert answer.value("Memento-Datetime") is None


def test_retry_after_comes_in_seconds_as_a_date_or_not_at_all() -> None:
    assert pure("too-many-seconds", TIMEGATE).value("Retry-After") == "120"
    assert read_http_date(pure("too-many-date", TIMEGATE).value("Retry-After") or "")
    assert pure("too-many-silent", TIMEGATE).value("Retry-After") is None
    assert pure("unavailable", TIMEGATE).value("Retry-After") == "120"


def test_a_block_page_is_a_200_that_is_no_memento() -> None:
    answer = pure("block-page", REPLAY)

    assert (answer.status, answer.value("Memento-Datetime")) == (200, None)


def test_slow_is_right_after_the_delay() -> None:
    archive = Archive(fault="slow", options=ArchiveOptions(delay=7.0))

    answer = archive.reply(WireRequest("GET", TIMEGATE))

    assert isinstance(answer, WholeAnswer)
    assert (answer.status, answer.delay) == (302, 7.0)


@pytest.mark.parametrize(("fault", "asked"), [("close-at-once", 0), ("close-unanswered", 1)])
async def test_a_connection_is_closed_without_an_answer(fault: str, asked: int) -> None:
    async with misbehaving_archive(fault=fault) as archive:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(archive.url).port)
        if asked:
            writer.write(b"GET / HTTP/1.1\r\n\r\n")

        assert await reader.read() == b""
        assert len(archive.journal.requests) == asked
        writer.close()


async def test_reset_ends_with_a_tcp_reset() -> None:
    async with misbehaving_archive(fault="reset") as archive:
        with pytest.raises(ConnectionResetError):
            await ask_raw(archive, TIMEGATE)


# Redirects


def location(answer: WholeAnswer) -> str:
    assert answer.status == 302
    return answer.value("Location") or ""


def test_loop_self_leads_to_itself() -> None:
    assert location(pure("loop-self", TIMEGATE)).endswith(TIMEGATE)


def test_loop_pair_leads_there_and_back() -> None:
    there = location(pure("loop-pair", TIMEGATE))
    back = location(pure("loop-pair", there.removeprefix("http://127.0.0.1:1")))

    assert there.endswith(f"/hop/1/{PAGE}")
    assert back.endswith(TIMEGATE)


def test_loop_fifty_is_right_after_fifty_redirects() -> None:
    path, hops = TIMEGATE, 0
    while "/web/" not in path:
        path = location(pure("loop-fifty", path)).removeprefix("http://127.0.0.1:1")
        hops += 1

    assert hops == 51


def test_redirect_nowhere_has_no_location() -> None:
    assert location(pure("redirect-nowhere", TIMEGATE)) == ""


def test_multiple_choices_lists_the_captures() -> None:
    answer = pure("multiple-choices", TIMEGATE)

    assert answer.status == 300
    assert answer.body.count(b"<li>") == len(EXAMPLE)


@pytest.mark.parametrize(
    ("fault", "target"),
    [
        ("redirect-metadata", "http://169.254.169.254/latest/meta-data/"),
        ("redirect-file", "file:///etc/passwd"),
        ("redirect-elsewhere", f"http://elsewhere.example/web/20130615083000/{PAGE}"),
        ("redirect-private", f"http://10.0.0.1/web/20130615083000/{PAGE}"),
    ],
)
def test_redirects_lead_where_no_archive_should(fault: str, target: str) -> None:
    assert location(pure(fault, TIMEGATE)) == target
    assert location(pure(fault, REPLAY)) == target


async def test_redirect_downgrade_leads_from_https_to_http() -> None:
    async with (
        misbehaving_archive(fault="redirect-downgrade") as archive,
        ClientSession() as session,
        session.get(
            URL(archive.url + TIMEGATE, encoded=True),
            ssl=archive.client_tls(),
            allow_redirects=False,
        ) as reply,
    ):
        assert archive.url.startswith("https://127.0.0.1")
        assert reply.headers["Location"].startswith("http://127.0.0.1")


# Dates

STYLES: Final = (ArchiveOptions(timegate="302"), ArchiveOptions(timegate="200"))


def dated(fault: str, options: ArchiveOptions, path: str = TIMEGATE) -> WholeAnswer:
    archive = Archive(fault=fault, options=options)
    answer = archive.reply(WireRequest("GET", path, (("accept-datetime", NEAR_THE_PAIR),)))
    assert isinstance(answer, WholeAnswer)
    return answer


@pytest.mark.parametrize("options", STYLES)
def test_datetime_missing_leaves_no_date_at_all(options: ArchiveOptions) -> None:
    for path in (TIMEGATE, REPLAY):
        answer = dated("datetime-missing", options, path)

        assert answer.value("Memento-Datetime") is None
        assert "datetime=" not in (answer.value("Link") or "")


def test_datetime_wrong_contradicts_links_and_address() -> None:
    answer = dated("datetime-wrong", STYLES[1])
    replay = pure("datetime-wrong", REPLAY)

    assert replay.value("Memento-Datetime") == "Fri, 15 Jun 2012 08:30:00 GMT"
    assert answer.value("Memento-Datetime") == "Mon, 30 Jun 2014 23:59:59 GMT"
    assert relations(answer)["memento"][1] == PAIR_LATER


@pytest.mark.parametrize(
    ("fault", "date"),
    [
        ("datetime-future", "Thu, 01 Jan 2150 00:00:00 GMT"),
        ("datetime-ancient", "Tue, 01 Jan 1901 00:00:00 GMT"),
        ("datetime-unparsable", "sometime in 2013"),
    ],
)
def test_impossible_dates_stand_in_header_links_and_timemap(fault: str, date: str) -> None:
    timegate, timemap = dated(fault, STYLES[1]), dated(fault, STYLES[0], TIMEMAP)

    assert timegate.value("Memento-Datetime") == date
    assert relations(timegate)["memento"][1] == date
    assert timemap.body.decode().count(f'datetime="{date}"') == len(EXAMPLE)


def test_stamp_differs_by_a_day_and_still_replays() -> None:
    target, date = relations(dated("stamp-differs", STYLES[0]))["memento"]
    replay = pure("stamp-differs", target)

    assert "/web/20150701235959/" in target
    assert date == replay.value("Memento-Datetime") == PAIR_LATER


@pytest.mark.parametrize("options", STYLES)
def test_echo_asked_repeats_what_was_asked(options: ArchiveOptions) -> None:
    answer = dated("echo-asked", options)

    target, date = relations(answer)["memento"]
    assert date == NEAR_THE_PAIR
    assert "/web/20150630235959/" in target
    if options.timegate == "200":
        assert answer.value("Memento-Datetime") == NEAR_THE_PAIR


def test_wrong_closest_is_the_farthest() -> None:
    assert "/web/20100101120000/" in location(dated("wrong-closest", STYLES[0]))


def test_first_and_last_lead_to_the_chosen_one_with_dates_of_their_own() -> None:
    found = relations(dated("first-last-chosen", STYLES[0]))

    assert found["first memento"][0] == found["memento"][0]
    assert found["first memento"][1] == http_date(EXAMPLE[0].at)


def test_claims_everything_holds_any_page_at_any_second() -> None:
    unheard = "http://unheard.example/of"

    timegate = pure("claims-everything", f"/timegate/{unheard}", accept_datetime=NEAR_THE_PAIR)
    replay = pure("claims-everything", f"/web/20150701000030/{unheard}")

    assert location(timegate).endswith(f"/web/20150701000030/{unheard}")
    assert replay.value("Memento-Datetime") == NEAR_THE_PAIR


@pytest.mark.parametrize("status", [301, 404, 429])
def test_archived_errors_are_mementos(status: int) -> None:
    answer = pure(f"archived-{status}", REPLAY)

    assert answer.status == status
    assert answer.value("Memento-Datetime") == "Sat, 15 Jun 2013 08:30:00 GMT"


# TimeMaps

RIGHT: Final = pure("none", TIMEMAP).body.decode()


@pytest.mark.parametrize(
    ("fault", "shows"),
    [
        ("rel-reordered", 'datetime="Fri, 01 Jan 2010 12:00:00 GMT"; rel="memento first"'),
        ("rel-unquoted", "; rel=memento; datetime="),
        ("single-quotes", "; rel='first memento'; datetime='Fri, 01 Jan 2010 12:00:00 GMT'"),
        (
            "extra-parameters",
            '; title="a, b; <c> \\"d\\""; license="http://example.org/l"; alone',
        ),
        ("no-commas", 'GMT"\n<http://'),
    ],
)
def test_links_are_written_otherwise(fault: str, shows: str) -> None:
    text = pure(fault, TIMEMAP).body.decode()

    assert shows in text
    assert all(f"/web/{capture.stamp}/" in text for capture in EXAMPLE)


def test_bytes_around_the_links_are_odd() -> None:
    assert pure("no-final-newline", TIMEMAP).body.decode() == RIGHT.rstrip("\n")
    assert pure("byte-order-mark", TIMEMAP).body == b"\xef\xbb\xbf" + RIGHT.encode()
    with pytest.raises(UnicodeDecodeError):
        pure("latin-1", TIMEMAP).body.decode()


def test_an_unbalanced_quote_or_bracket_stands_before_the_last_link() -> None:
    quote = pure("unbalanced-quote", TIMEMAP).body.decode()
    bracket = pure("unbalanced-bracket", TIMEMAP).body.decode()

    assert quote.count('"') % 2 == 1
    assert bracket.count("<") == bracket.count(">") + 1
    assert quote.splitlines()[-1] == bracket.splitlines()[-1] == RIGHT.splitlines()[-1]


@pytest.mark.parametrize(
    ("fault", "filling", "share"),
    [("endless-link", b"a", 1), ("comma-flood", b",", 1), ("huge-attribute", b"a", 10)],
)
async def test_too_much_of_one_thing_follows_the_right_links(
    fault: str, filling: bytes, share: int
) -> None:
    options = ArchiveOptions(bulk=1_000_000)

    async with misbehaving_archive(fault=fault, options=options) as archive:
        answer = await ask(archive, TIMEMAP)

        assert answer.body.count(filling) >= 0.9 * options.bulk / share - 65_536
        assert len(answer.mementos) >= len(EXAMPLE)


@pytest.mark.parametrize(
    ("fault", "order"),
    [
        ("newest-first", [4, 3, 2, 1, 0]),
        ("duplicates", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
    ],
)
async def test_mementos_stand_in_another_order(fault: str, order: list[int]) -> None:
    async with misbehaving_archive(fault=fault) as archive:
        answer = await ask(archive, TIMEMAP)

        expected = [archive.addresses.memento(EXAMPLE[index]) for index in order]
        assert answer.mementos == expected


async def test_shuffled_is_the_same_set_in_the_same_disorder() -> None:
    async with misbehaving_archive(fault="shuffled") as archive:
        first, second = await ask(archive, TIMEMAP), await ask(archive, TIMEMAP)

        assert first.mementos == second.mementos != sorted(first.mementos)
        assert len(set(first.mementos)) == len(EXAMPLE)


def onward(fault: str, path: str) -> str:
    body = pure(fault, path).body.decode()
    (target,) = re.findall(r'<([^>]*)>; rel="timemap"', body)
    return str(target).removeprefix("http://127.0.0.1:1")


def test_a_page_ring_comes_round() -> None:
    second = onward("page-ring", TIMEMAP)

    assert second == f"/timemap/link/page2/{PAGE}"
    assert onward("page-ring", onward("page-ring", second)) == second


def test_endless_pages_go_on() -> None:
    assert onward("page-endless", f"/timemap/link/page99/{PAGE}").endswith(f"/page100/{PAGE}")


def test_an_index_of_itself_lists_itself_and_no_memento() -> None:
    assert onward("index-of-itself", TIMEMAP) == TIMEMAP
    assert b"memento" not in pure("index-of-itself", TIMEMAP).body


@pytest.mark.parametrize("output", ["json", "text"])
def test_a_resume_ring_gives_the_same_rows_and_key_again(output: str) -> None:
    query = f"/cdx/search/cdx?url=example.org/&output={output}&limit=2&showResumeKey=true"

    first = pure("resume-ring", query).body.decode()
    key = json.loads(first)[-1][0] if output == "json" else first.splitlines()[-1]
    second = pure("resume-ring", f"{query}&resumeKey={key}").body.decode()

    assert first == second
    assert first.count("20100101120000") == 2


async def test_truncated_bodies_break_off() -> None:
    for fault, ending in (("truncated-length", None), ("truncated-chunks", b"0\r\n\r\n")):
        async with misbehaving_archive(fault=fault) as archive:
            head, _, body = (await ask_raw(archive, TIMEMAP)).partition(b"\r\n\r\n")

            length = re.search(rb"Content-Length: (\d+)", head)
            assert len(body) < (int(length[1]) if length else 10**9)
            assert ending is None or ending not in body


async def test_a_truncated_close_cannot_be_told_from_a_whole_body() -> None:
    async with misbehaving_archive(fault="truncated-close") as archive:
        answer = await ask(archive, TIMEMAP)

        assert answer.status == 200
        assert 0 < len(answer.mementos) < len(EXAMPLE)


# Heads


async def test_a_thousand_headers_are_sent() -> None:
    async with misbehaving_archive(fault="thousand-headers") as archive:
        raw = await ask_raw(archive, TIMEGATE)

        assert raw.startswith(b"HTTP/1.1 302 Found\r\n")
        assert raw.count(b"\r\nX-Filler-") == 1000


async def test_a_huge_header_is_sent() -> None:
    async with misbehaving_archive(fault="huge-header", options=SMALL) as archive:
        raw = await ask_raw(archive, TIMEGATE)

        assert b"\r\nX-Filler: " + b"z" * (SMALL.bulk // 10) + b"\r\n" in raw


async def test_a_flood_of_100_continue_comes_before_the_answer() -> None:
    async with misbehaving_archive(fault="continue-flood", options=SMALL) as archive:
        flood = b"HTTP/1.1 100 Continue\r\n\r\n" * (SMALL.bulk // 100)
        raw = await ask_raw(archive, TIMEGATE)

        assert raw.startswith(flood + b"HTTP/1.1 302 Found\r\n")


async def test_a_nul_and_two_lengths_go_out_as_they_are() -> None:
    async with misbehaving_archive(fault="nul-in-header") as archive:
        assert b"X-Filler: a\0b\r\n" in await ask_raw(archive, TIMEGATE)
    async with misbehaving_archive(fault="two-lengths") as archive:
        assert (await ask_raw(archive, REPLAY)).count(b"Content-Length: ") == 2


async def test_browser_headers_bring_a_cookie() -> None:
    async with misbehaving_archive(fault="browser-headers") as archive:
        answer = await ask(archive, TIMEGATE)

        assert answer.headers["Set-Cookie"] == "spy=1; Path=/"
        assert "rel=preload" in ",".join(answer.headers.getall("Link"))


@pytest.mark.parametrize("status", [204, 205, 206, 304, 416])
async def test_bodies_come_where_none_belong_and_the_connection_stays(status: int) -> None:
    async with misbehaving_archive(fault=f"status-{status}", options=SMALL) as archive:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(archive.url).port)
        for asked in (1, 2):
            writer.write(f"GET {TIMEGATE} HTTP/1.1\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(4 if status == 206 else len(POISON))

            assert head.startswith(f"HTTP/1.1 {status} ".encode())
            assert body == (b"part" if status == 206 else POISON)
            assert archive.journal.request_count == asked
        writer.close()


async def test_head_is_answered_with_a_body_and_get_rightly() -> None:
    async with misbehaving_archive(fault="head-with-body", options=SMALL) as archive:
        head = await ask_raw(archive, REPLAY, "HEAD")
        get = await ask(archive, REPLAY)

        assert head.endswith(b"\r\n\r\n" + POISON)
        assert get.body == EXAMPLE[1].content


# Codings


def inflated(data: bytes) -> int:
    """Return how much *data* unpacks to, its checksum checked, without keeping it."""
    stream, size = zlib.decompressobj(31), 0
    while data and not stream.eof:
        size += len(stream.decompress(data, 65_536))
        data = stream.unconsumed_tail
    assert stream.eof
    return size


@pytest.mark.parametrize("path", [TIMEMAP, CDX, REPLAY])
async def test_a_gzip_bomb_is_small_on_the_wire(path: str) -> None:
    async with misbehaving_archive(fault="gzip-bomb", options=SMALL) as archive:
        answer = await ask(archive, path)

        assert answer.headers["Content-Encoding"] == "gzip"
        assert inflated(answer.body) >= SMALL.bomb
        assert len(answer.body) * 100 < SMALL.bomb


async def test_a_nested_bomb_is_smaller_still() -> None:
    async with misbehaving_archive(fault="gzip-nested", options=SMALL) as archive:
        answer = await ask(archive, TIMEMAP)

        assert answer.headers["Content-Encoding"] == "gzip, gzip"
        assert inflated(gzip.decompress(answer.body)) >= SMALL.bomb


async def test_gzip_members_are_many() -> None:
    async with misbehaving_archive(fault="gzip-members", options=SMALL) as archive:
        answer = await ask(archive, TIMEMAP)

        assert gzip.decompress(answer.body) == b"\n" * (SMALL.bulk // 100)


@pytest.mark.parametrize(("fault", "coding"), [("brotli-bomb", "br"), ("zstd-bomb", "zstd")])
async def test_other_bombs_are_small_on_the_wire_too(fault: str, coding: str) -> None:
    """Seen through aiohttp's own decoding, which knows both where their libraries are there."""
    async with (
        misbehaving_archive(fault=fault, options=SMALL) as archive,
        ClientSession(timeout=ClientTimeout(PATIENCE)) as session,
    ):
        packed = await ask(archive, TIMEMAP)
        async with session.get(URL(archive.url + TIMEMAP, encoded=True)) as reply:
            size = sum([len(part) async for part in reply.content.iter_chunked(65_536)])

        assert packed.headers["Content-Encoding"] == coding
        assert len(packed.body) * 100 < SMALL.bomb <= size


def test_content_encoding_lies() -> None:
    assert pure("says-gzip", TIMEMAP).value("Content-Encoding") == "gzip"
    assert pure("says-gzip", TIMEMAP).body.decode() == RIGHT
    assert pure("says-gzip-twice", TIMEMAP).value("Content-Encoding") == "gzip, gzip"
    assert gzip.decompress(pure("says-gzip-twice", TIMEMAP).body).decode() == RIGHT
    assert pure("says-unknown", TIMEMAP).value("Content-Encoding") == "x-shuffled"


# Trickles


@pytest.mark.parametrize(("fault", "ended"), [("drip-head", False), ("drip-body", True)])
async def test_a_trickle_sends_byte_after_byte_until_the_client_leaves(
    fault: str, *, ended: bool
) -> None:
    async with misbehaving_archive(fault=fault, options=SMALL) as archive:
        raw = await ask_raw(archive, TIMEMAP, at_most=300)
        async with asyncio.timeout(PATIENCE):
            await archive.journal.until_closed()

        assert (b"\r\n\r\n" in raw) is ended
        assert archive.journal.closings[0].by == "client"


# TLS


async def handshake(archive: Archive, context: ssl.SSLContext) -> None:
    port = URL(archive.url).port
    async with asyncio.timeout(0.2 if archive.faults[0].silent else PATIENCE):
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("tls-expired", "certificate has expired"),
        ("tls-self-signed", "self-signed certificate"),
        ("tls-wrong-host", "IP address mismatch"),
    ],
)
async def test_a_bad_certificate_fails_for_its_own_reason(fault: str, complaint: str) -> None:
    async with misbehaving_archive(fault=fault) as archive:
        with pytest.raises(ssl.SSLCertVerificationError, match=complaint):
            await handshake(archive, archive.client_tls())


async def test_an_outdated_archive_speaks_with_outdated_clients_alone() -> None:
    async with misbehaving_archive(fault="tls-outdated") as archive:
        old = archive.client_tls()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            old.minimum_version = ssl.TLSVersion.TLSv1
        old.set_ciphers("ALL:@SECLEVEL=0")

        await handshake(archive, old)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await handshake(archive, archive.client_tls())


async def test_a_good_certificate_is_trusted_by_who_knows_the_authority() -> None:
    async with misbehaving_archive(fault="tls-right") as archive:
        await handshake(archive, archive.client_tls())

        with pytest.raises(ssl.SSLCertVerificationError):
            await handshake(archive, ssl.create_default_context())


async def test_a_hung_handshake_is_never_answered() -> None:
    async with misbehaving_archive(fault="tls-hung", options=SMALL) as archive:
        with pytest.raises(TimeoutError):
            await handshake(archive, archive.client_tls())
        async with asyncio.timeout(PATIENCE):
            await archive.journal.until_closed()

        assert archive.url.startswith("https://")
        assert archive.journal.requests == []
