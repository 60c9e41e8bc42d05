"""The actual responses of pywb 2.10 in its three modes: documentation for adapters.

Seen with plain aiohttp, redirects not followed. ``{base}`` is the address of the collection.
"""

import json
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import pytest
from aiohttp import ClientSession
from multidict import CIMultiDictProxy
from yarl import URL

from tests.end_to_end import pywb as held
from tests.end_to_end.pywb import Mode, Pywb

MODES: Final[tuple[Mode, ...]] = ("framed", "plain", "exact")
NEAR_THE_PAIR: Final = "Wed, 01 Jul 2015 00:00:30 GMT"
PAIR_LATER: Final = "Tue, 30 Jun 2015 23:59:59 GMT"
PAIR_EARLIER: Final = "Tue, 30 Jun 2015 23:59:58 GMT"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: CIMultiDictProxy[str]
    body: str

    @property
    def memento_datetime(self) -> str | None:
        return self.headers.get("Memento-Datetime")

    @property
    def link(self) -> str:
        return self.headers.get("Link", "")


async def ask(url: str, accept_datetime: str | None = None, *, method: str = "GET") -> Answer:
    headers = {} if accept_datetime is None else {"Accept-Datetime": accept_datetime}
    async with (
        ClientSession() as session,
        session.request(
            method, URL(url, encoded=True), headers=headers, allow_redirects=False
        ) as reply,
    ):
        return Answer(reply.status, reply.headers, await reply.text())


@pytest.fixture(params=MODES)
def any_pywb(request: pytest.FixtureRequest) -> Pywb:
    pywb = request.getfixturevalue(f"{request.param}_pywb")
    assert isinstance(pywb, Pywb)
    return pywb


def base_links(pywb: Pywb, original: str) -> str:
    """Return the three links that every answer about a known page begins with."""
    return (
        f'<{original}>; rel="original", '
        f'<{pywb.url}{original}>; rel="timegate", '
        f'<{pywb.url}timemap/link/{original}>; rel="timemap"; type="application/link-format"'
    )


# The TimeGate: {base}URI-R


async def test_a_plain_timegate_answers_200_with_content_location(plain_pywb: Pywb) -> None:
    answer = await ask(plain_pywb.url + held.OFTEN, NEAR_THE_PAIR)

    memento = f"{plain_pywb.url}20150630235959/{held.OFTEN}"
    assert answer.status == 200
    assert answer.memento_datetime == PAIR_LATER
    assert answer.headers["Vary"] == "accept-datetime"
    assert answer.headers["Content-Location"] == memento
    assert answer.link == (
        base_links(plain_pywb, held.OFTEN)
        + f', <{memento}>; rel="memento"; datetime="{PAIR_LATER}"; collection="demo"'
    )


async def test_an_exact_timegate_redirects_with_307(exact_pywb: Pywb) -> None:
    answer = await ask(exact_pywb.url + held.OFTEN, NEAR_THE_PAIR)

    memento = f"{exact_pywb.url}20150630235959/{held.OFTEN}"
    assert answer.status == 307
    assert answer.headers["Location"] == memento
    assert answer.headers["Vary"] == "accept-datetime"
    assert answer.memento_datetime is None
    assert answer.link == (
        base_links(exact_pywb, held.OFTEN)
        + f', <{memento}>; rel="memento"; datetime="{PAIR_LATER}"'
    )


async def test_a_framed_timegate_names_the_memento_in_its_links_alone(
    framed_pywb: Pywb,
) -> None:
    """The body is the frame, an HTML page about the archive; the copy is at its mp_ address."""
    answer = await ask(framed_pywb.url + held.OFTEN, NEAR_THE_PAIR)

    memento = f"{framed_pywb.url}20150630235959mp_/{held.OFTEN}"
    assert answer.status == 200
    assert answer.memento_datetime is None
    assert "Content-Location" not in answer.headers
    assert answer.headers["Vary"] == "accept-datetime"
    assert answer.link == (
        base_links(framed_pywb, held.OFTEN)
        + f', <{memento}>; rel="memento"; datetime="{PAIR_LATER}"'
    )


async def test_a_framed_pywb_is_a_200_style_timegate_below_mp_(framed_pywb: Pywb) -> None:
    """So {base}mp_/URI-R is the TimeGate to use with a framed pywb."""
    answer = await ask(f"{framed_pywb.url}mp_/{held.OFTEN}", NEAR_THE_PAIR)

    assert answer.status == 200
    assert answer.memento_datetime == PAIR_LATER
    assert answer.headers["Content-Location"] == (
        f"{framed_pywb.url}20150630235959mp_/{held.OFTEN}"
    )


async def test_head_answers_like_get_at_the_timegate(any_pywb: Pywb) -> None:
    url = any_pywb.url + held.OFTEN

    head = await ask(url, NEAR_THE_PAIR, method="HEAD")
    get = await ask(url, NEAR_THE_PAIR)

    assert head.body == ""
    assert (head.status, head.link) == (get.status, get.link)
    assert head.memento_datetime == get.memento_datetime
    assert head.headers.get("Location") == get.headers.get("Location")


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        (PAIR_EARLIER, PAIR_EARLIER),
        (PAIR_LATER, PAIR_LATER),
        ("Sat, 01 Jan 2000 00:00:00 GMT", "Fri, 01 Jan 2010 12:00:00 GMT"),
        ("Sat, 01 Jan 2050 00:00:00 GMT", "Sun, 02 Feb 2020 02:02:02 GMT"),
        (None, "Sun, 02 Feb 2020 02:02:02 GMT"),
    ],
)
async def test_the_timegate_chooses_the_nearest_to_the_second(
    any_pywb: Pywb, asked: str | None, chosen: str
) -> None:
    answer = await ask(any_pywb.url + held.OFTEN, asked)

    assert f'rel="memento"; datetime="{chosen}"' in answer.link


async def test_a_timegate_never_links_first_last_prev_or_next(any_pywb: Pywb) -> None:
    answer = await ask(any_pywb.url + held.OFTEN, NEAR_THE_PAIR)

    assert all(word not in answer.link for word in ("first", "last", "prev", "next"))


async def test_a_senseless_accept_datetime_is_400_without_memento_headers(
    any_pywb: Pywb,
) -> None:
    answer = await ask(any_pywb.url + held.OFTEN, "yesterday")

    assert answer.status == 400
    assert "Link" not in answer.headers
    assert "Vary" not in answer.headers


async def test_an_unknown_page_is_a_bare_404_at_the_timegate(any_pywb: Pywb) -> None:
    answer = await ask(any_pywb.url + held.UNKNOWN, NEAR_THE_PAIR)

    assert answer.status == 404
    assert answer.memento_datetime is None
    assert "Link" not in answer.headers


async def test_an_unknown_collection_is_a_404_like_an_unknown_page(any_pywb: Pywb) -> None:
    """A mistyped collection in a configuration looks like an archive that holds nothing."""
    answer = await ask(any_pywb.url.replace("/demo/", "/nope/") + held.OFTEN)

    assert answer.status == 404
    assert answer.headers["Content-Type"] == "text/html"


# Archived errors and redirects


@pytest.mark.parametrize(
    ("original", "status"), [(held.MOVED, 301), (held.GONE, 404), (held.REFUSED, 429)]
)
async def test_a_plain_timegate_answers_with_the_archived_status(
    plain_pywb: Pywb, original: str, status: int
) -> None:
    """A 429 with Memento-Datetime is a copy of a refusal, not a refusal."""
    answer = await ask(plain_pywb.url + original, NEAR_THE_PAIR)

    assert answer.status == status
    assert answer.memento_datetime is not None
    assert answer.headers["Vary"] == "accept-datetime"


async def test_a_plain_timegate_redirects_to_the_asked_time_for_an_archived_301(
    plain_pywb: Pywb,
) -> None:
    """Its Location carries the *asked* second, which is no capture of the target."""
    answer = await ask(plain_pywb.url + held.MOVED, NEAR_THE_PAIR)

    assert answer.headers["Location"] == f"{plain_pywb.url}20150701000030/{held.ONCE}"
    assert answer.headers["Content-Location"] == f"{plain_pywb.url}20130303030300/{held.MOVED}"


@pytest.mark.parametrize("original", [held.MOVED, held.GONE, held.REFUSED])
async def test_an_exact_timegate_does_not_send_the_archived_status(
    exact_pywb: Pywb, original: str
) -> None:
    answer = await ask(exact_pywb.url + original, NEAR_THE_PAIR)

    assert answer.status == 307


async def test_a_raw_archived_redirect_points_at_the_original_not_at_a_memento(
    any_pywb: Pywb,
) -> None:
    answer = await ask(f"{any_pywb.url}20130303030300id_/{held.MOVED}")

    assert answer.status == 301
    assert answer.headers["Location"] == held.ONCE
    assert answer.memento_datetime == "Sun, 03 Mar 2013 03:03:00 GMT"


async def test_the_retry_after_of_an_archived_429_comes_under_another_name(
    any_pywb: Pywb,
) -> None:
    answer = await ask(f"{any_pywb.url}20160606060606id_/{held.REFUSED}")

    assert answer.status == 429
    assert "Retry-After" not in answer.headers
    assert answer.headers["X-Archive-Orig-Retry-After"] == "60"


# Mementos: {base}{stamp}{modifier}/URI-R


async def test_raw_bytes_come_with_memento_headers_below_id_(any_pywb: Pywb) -> None:
    answer = await ask(f"{any_pywb.url}20150630235959id_/{held.OFTEN}")

    assert answer.status == 200
    assert answer.body == "<html><body>20150630235959</body></html>"
    assert answer.memento_datetime == PAIR_LATER
    assert "Vary" not in answer.headers
    assert f'<{held.OFTEN}>; rel="original"' in answer.link


@pytest.mark.parametrize("modifier", ["id_", "mp_"])
async def test_an_inexact_stamp_is_answered_with_the_nearest_copy_at_once(
    plain_pywb: Pywb, modifier: str
) -> None:
    answer = await ask(f"{plain_pywb.url}2016{modifier}/{held.OFTEN}")

    assert answer.status == 200
    assert answer.memento_datetime == PAIR_LATER
    assert answer.headers["Content-Location"] == (
        f"{plain_pywb.url}20150630235959{modifier}/{held.OFTEN}"
    )


async def test_an_exact_pywb_redirects_an_inexact_stamp_with_one_link(exact_pywb: Pywb) -> None:
    """No Vary, no Memento-Datetime, one original link: RFC 7089's intermediate resource."""
    answer = await ask(f"{exact_pywb.url}2016id_/{held.OFTEN}")

    assert answer.status == 307
    assert answer.headers["Location"] == f"{exact_pywb.url}20150630235959id_/{held.OFTEN}"
    assert answer.link == f'<{held.OFTEN}>; rel="original"'
    assert "Vary" not in answer.headers


@pytest.mark.parametrize("original", [held.OFTEN, held.UNKNOWN])
@pytest.mark.parametrize(
    ("stamp", "claimed"),
    [
        ("2016", "Sat, 31 Dec 2016 23:59:59 GMT"),
        ("20160102030405", "Sat, 02 Jan 2016 03:04:05 GMT"),
    ],
)
async def test_a_framed_pywb_claims_any_page_at_any_time(
    framed_pywb: Pywb, original: str, stamp: str, claimed: str
) -> None:
    """The frame's Memento-Datetime repeats the URL's digits, held or not: worth nothing."""
    answer = await ask(f"{framed_pywb.url}{stamp}/{original}")

    assert answer.status == 200
    assert answer.memento_datetime == claimed


async def test_a_framed_pywb_is_correct_below_id_(framed_pywb: Pywb) -> None:
    near = await ask(f"{framed_pywb.url}2016id_/{held.OFTEN}")
    unknown = await ask(f"{framed_pywb.url}2016id_/{held.UNKNOWN}")

    assert near.memento_datetime == PAIR_LATER
    assert unknown.status == 404


async def test_a_revisit_is_replayed_with_its_own_time_and_the_first_ones_bytes(
    any_pywb: Pywb,
) -> None:
    answer = await ask(f"{any_pywb.url}{held.SEEN_AGAIN}id_/{held.UNCHANGED}")

    assert answer.status == 200
    assert answer.memento_datetime == "Sat, 01 Jun 2019 00:00:00 GMT"
    assert answer.body == held.FIRST_SEEN.body


@pytest.mark.parametrize("original", [held.QUERY, held.SLASHES])
async def test_query_double_slash_and_encoded_slash_survive(
    any_pywb: Pywb, original: str
) -> None:
    answer = await ask(any_pywb.url + original)

    assert base_links(any_pywb, original) in answer.link


async def test_variants_are_one_and_the_original_link_names_the_captured_one(
    plain_pywb: Pywb,
) -> None:
    """Asked for https, it answers with the http capture, and says so."""
    answer = await ask(plain_pywb.url + held.VARIANTS[1], "Sat, 01 Jan 2011 00:00:00 GMT")

    assert f'<{held.VARIANTS[0]}>; rel="original"' in answer.link
    assert answer.headers["Content-Location"] == (
        f"{plain_pywb.url}20110101000000/{held.VARIANTS[0]}"
    )


async def test_a_framed_timegate_does_not_name_the_captured_variant(
    framed_pywb: Pywb,
) -> None:
    answer = await ask(framed_pywb.url + held.VARIANTS[1], "Sat, 01 Jan 2011 00:00:00 GMT")

    assert f'<{held.VARIANTS[1]}>; rel="original"' in answer.link
    assert f"20110101000000mp_/{held.VARIANTS[1]}>" in answer.link


# TimeMaps: {base}timemap/{link,json,cdxj}/URI-R


async def test_a_link_timemap_lists_every_capture_oldest_first(any_pywb: Pywb) -> None:
    """`self` has `from` and no `until`; nothing is called first or last."""
    answer = await ask(f"{any_pywb.url}timemap/link/{held.FIFTY}")

    lines = answer.body.splitlines()
    modifier = "mp_" if any_pywb.mode == "framed" else ""
    assert answer.headers["Content-Type"] == "application/link-format"
    assert lines[0] == (
        f'<{any_pywb.url}timemap/link/{held.FIFTY}>; rel="self"; '
        'type="application/link-format"; from="Sun, 01 Jan 2012 12:00:00 GMT",'
    )
    assert lines[1] == f'<{any_pywb.url}{held.FIFTY}>; rel="timegate",'
    assert lines[2] == f'<{held.FIFTY}>; rel="original",'
    assert [line.partition(">")[0] for line in lines[3:]] == [
        f"<{any_pywb.url}{stamp}{modifier}/{held.FIFTY}" for stamp in held.FIFTY_STAMPS
    ]
    assert lines[3].endswith(
        '; rel="memento"; datetime="Sun, 01 Jan 2012 12:00:00 GMT"; collection="demo",'
    )


async def test_a_link_timemap_ends_with_a_newline_and_no_comma(any_pywb: Pywb) -> None:
    answer = await ask(f"{any_pywb.url}timemap/link/{held.ONCE}")

    assert answer.body.endswith('collection="demo"\n')


async def test_a_timemap_has_vary_and_links_like_a_timegate(any_pywb: Pywb) -> None:
    answer = await ask(f"{any_pywb.url}timemap/link/{held.ONCE}")

    assert answer.headers["Vary"] == "accept-datetime"
    assert answer.link == base_links(any_pywb, held.ONCE)


async def test_accept_datetime_hides_older_captures_from_a_timemap(any_pywb: Pywb) -> None:
    """It is taken for `from=`: never send Accept-Datetime when asking for a TimeMap."""
    answer = await ask(f"{any_pywb.url}timemap/link/{held.OFTEN}", NEAR_THE_PAIR)

    assert answer.body.count('rel="memento"') == 1
    assert "20200202020202" in answer.body


async def test_a_timemap_holds_the_variants_under_their_own_urls(any_pywb: Pywb) -> None:
    answer = await ask(f"{any_pywb.url}timemap/link/{held.VARIANTS[1]}")

    assert answer.body.count('rel="memento"') == 3
    assert all(f"/{variant}>" in answer.body for variant in held.VARIANTS)


async def test_a_json_timemap_is_cdx_as_json_lines(any_pywb: Pywb) -> None:
    answer = await ask(f"{any_pywb.url}timemap/json/{held.UNCHANGED}")

    rows = [json.loads(line) for line in answer.body.splitlines()]
    assert answer.headers["Content-Type"] == "text/x-ndjson"
    assert [row["timestamp"] for row in rows] == [held.FIRST_SEEN.stamp, held.SEEN_AGAIN]
    assert rows[0]["url"] == held.UNCHANGED
    assert (rows[0]["mime"], rows[0]["status"]) == ("text/html", "200")


async def test_a_revisit_has_a_mime_of_its_own_and_no_status_in_the_index(
    any_pywb: Pywb,
) -> None:
    answer = await ask(f"{any_pywb.url}timemap/json/{held.UNCHANGED}")

    revisit = json.loads(answer.body.splitlines()[1])
    assert revisit["mime"] == "warc/revisit"
    assert "status" not in revisit


async def test_a_cdxj_timemap_has_key_stamp_and_json_on_each_line(any_pywb: Pywb) -> None:
    answer = await ask(f"{any_pywb.url}timemap/cdxj/{held.ONCE}")

    key, stamp, block = answer.body.rstrip("\n").split(" ", 2)
    assert answer.headers["Content-Type"] == "text/x-cdxj"
    assert (key, stamp) == ("org,example)/once", "20130303030303")
    assert json.loads(block)["url"] == held.ONCE


@pytest.mark.parametrize(
    ("form", "content_type"),
    [("link", "application/link-format"), ("json", "text/x-ndjson"), ("cdxj", "text/x-cdxj")],
)
async def test_an_unknown_page_is_an_empty_404_at_the_timemap(
    any_pywb: Pywb, form: str, content_type: str
) -> None:
    answer = await ask(f"{any_pywb.url}timemap/{form}/{held.UNKNOWN}")

    assert (answer.status, answer.body) == (404, "")
    assert answer.headers["Content-Type"] == content_type


# CDX: {base}cdx?url=


async def ask_cdx(pywb: Pywb, original: str, query: str) -> Answer:
    return await ask(f"{pywb.url}cdx?url={quote(original, safe='')}&{query}")


async def test_cdx_sorts_by_nearness_when_asked(any_pywb: Pywb) -> None:
    query = "output=json&sort=closest&closest=20150701000030&limit=2&fields=timestamp,url"

    answer = await ask_cdx(any_pywb, held.OFTEN, query)

    assert answer.headers["Content-Type"] == "text/x-ndjson"
    assert [json.loads(line)["timestamp"] for line in answer.body.splitlines()] == [
        "20150630235959",
        "20150630235958",
    ]


async def test_cdx_takes_fl_as_well_as_fields(any_pywb: Pywb) -> None:
    answer = await ask_cdx(any_pywb, held.ONCE, "output=json&fl=timestamp")

    assert json.loads(answer.body) == {"timestamp": "20130303030303"}


async def test_cdx_bounds_are_included_and_may_be_years(any_pywb: Pywb) -> None:
    answer = await ask_cdx(any_pywb, held.OFTEN, "output=json&fl=timestamp&from=2015&to=2015")

    assert len(answer.body.splitlines()) == 2


async def test_cdx_ignores_pages_of_a_small_index(any_pywb: Pywb) -> None:
    """A client that requests pages until one is empty never ends: page 1 is page 0 again."""
    first = await ask_cdx(any_pywb, held.OFTEN, "output=json&page=0")
    second = await ask_cdx(any_pywb, held.OFTEN, "output=json&page=1")

    assert first.body == second.body


async def test_an_unknown_page_is_an_empty_200_at_the_cdx_server(any_pywb: Pywb) -> None:
    answer = await ask_cdx(any_pywb, held.UNKNOWN, "output=json")

    assert (answer.status, answer.body) == (200, "")


async def test_cdx_answers_a_bad_query_with_400_and_json(any_pywb: Pywb) -> None:
    answer = await ask_cdx(any_pywb, held.OFTEN, "output=nope")

    assert answer.status == 400
    assert json.loads(answer.body) == {"message": "output=nope not supported"}
