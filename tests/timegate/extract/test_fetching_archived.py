"""Headers of the archived answer: those that the archive tells, and no others."""

from collections.abc import Mapping
from tempfile import SpooledTemporaryFile

import pytest

from archives.registry import load_known
from timegate.extract.fetching import Fetched, Fields, archived_fields

WHEN = "Fri, 22 Jan 2016 11:20:29 GMT"
REGISTRY = load_known()
VIEW = "https://web.archive.org/web/20160122112029id_/http://www.dr.dk/"


def told(headers: Mapping[str, str], status: int = 200, *, dated: bool = True) -> Fields | None:
    known = {"memento-datetime": WHEN, **headers} if dated else headers
    with SpooledTemporaryFile[bytes]() as body:
        return archived_fields(Fetched(VIEW, status, known, body, 12, "sha1:X"), REGISTRY)


def test_headers_set_aside_come_back_under_their_names() -> None:
    fields = told(
        {
            "content-type": "text/html",
            "x-archive-orig-server": "nginx",
            "x-archive-orig-last-modified": WHEN,
            "x-archive-src": "X.warc.gz",
            "server": "the archive's own",
        }
    )

    assert fields == [
        ("Server", "nginx"),
        ("Last-Modified", WHEN),
        ("Content-Type", "text/html"),
    ]


def test_a_type_that_is_told_outranks_that_of_the_answer() -> None:
    fields = told({"content-type": "text/plain", "x-archive-orig-content-type": "text/html"})

    assert fields == [("Content-Type", "text/html")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content-encoding", "gzip"),
        ("transfer-encoding", "chunked"),
        ("content-length", "99"),
        ("set-cookie", "a=b, c=d"),
        ("x-weird", "a\x00b"),
        ("x-w\u00e9ird", "a"),
        ("x-long", "x" * 3000),
    ],
)
def test_what_is_not_true_of_the_bytes_or_cannot_be_told_is_left_out(
    name: str, value: str
) -> None:
    assert told({"x-archive-orig-a": "b", f"x-archive-orig-{name}": value}) == [("A", "b")]


@pytest.mark.parametrize("kind", ["", "application/octet-stream", "Application/Octet-Stream;x"])
def test_a_type_that_may_stand_for_none_is_not_written(kind: str) -> None:
    assert told({"x-archive-orig-a": "b", "content-type": kind}) == [("A", "b")]


def test_an_opaque_type_that_was_archived_is_written() -> None:
    opaque = "application/octet-stream"

    assert told({"x-archive-orig-content-type": opaque, "content-type": opaque}) == [
        ("Content-Type", opaque)
    ]


def test_a_status_set_aside_is_no_header_but_one_that_a_site_sent_is() -> None:
    assert told({"x-archive-orig-a": "b", "x-archive-orig-status": "999"}) == [("A", "b")]
    assert told({"x-archive-orig-status": "999"}) == []
    assert told({"x-archive-orig-status": "404"}) == [("Status", "404")]
    assert told({"x-archive-orig-status": "200 OK"}) == [("Status", "200 OK")]


def test_a_length_that_is_right_stays() -> None:
    assert told({"x-archive-orig-content-length": "12"}) == [("Content-Length", "12")]


def test_a_page_without_headers_of_its_own_is_no_answer() -> None:
    assert told({"content-type": "text/html"}) is None
    assert told({"x-archive-orig-server": "nginx"}, dated=False) is None


def test_an_archived_error_is_an_answer_also_without_headers() -> None:
    assert told({"content-type": "text/html"}, 404) == [("Content-Type", "text/html")]
    assert told({}, 500) == []


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/web/20160122112030id_/http://www.dr.dk/forside", "http://www.dr.dk/forside"),
        ("https://web.archive.org/web/2016/http://b.example/", "http://b.example/"),
    ],
)
def test_where_a_redirect_led_is_read_out_of_the_link_it_became(
    location: str, target: str
) -> None:
    assert told({"location": location}, 301) == [("Location", target)]


def test_where_a_redirect_led_is_not_guessed() -> None:
    assert told({"location": "http://[/"}, 301) == []
    assert told({"location": "/login"}, 302) == []
    assert told({"location": "/web/2016/http://b.example/"}, 201) == []


def test_a_target_that_is_told_outranks_the_link() -> None:
    headers = {"location": "/web/2016/http://b.example/", "x-archive-orig-location": "/c"}

    assert told(headers, 302) == [("Location", "/c")]
