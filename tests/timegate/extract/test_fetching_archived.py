"""Headers of the archived response, as far as the archive sends them."""

from collections.abc import Mapping
from tempfile import SpooledTemporaryFile

import pytest

from archives.registry import load_known
from timegate.extract.fetching import Fetched, Fields, archived_fields

WHEN = "Fri, 22 Jan 2016 11:20:29 GMT"
REGISTRY = load_known()
VIEW = "https://web.archive.org/web/20160122112029id_/http://www.dr.dk/"


def fields_of(
    headers: Mapping[str, str], status: int = 200, *, dated: bool = True
) -> Fields | None:
    known = {"memento-datetime": WHEN, **headers} if dated else headers
    with SpooledTemporaryFile[bytes]() as body:
        return archived_fields(Fetched(VIEW, status, known, body, 12, "sha1:X"), REGISTRY)


def test_archived_headers_get_their_names_back() -> None:
    fields = fields_of(
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


def test_an_archived_type_outranks_that_of_the_answer() -> None:
    fields = fields_of(
        {"content-type": "text/plain", "x-archive-orig-content-type": "text/html"}
    )

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
def test_headers_that_do_not_fit_the_bytes_are_left_out(name: str, value: str) -> None:
    assert fields_of({"x-archive-orig-a": "b", f"x-archive-orig-{name}": value}) == [("A", "b")]


@pytest.mark.parametrize("kind", ["", "application/octet-stream", "Application/Octet-Stream;x"])
def test_a_type_that_may_mean_none_is_not_written(kind: str) -> None:
    assert fields_of({"x-archive-orig-a": "b", "content-type": kind}) == [("A", "b")]


def test_an_opaque_type_that_was_archived_is_written() -> None:
    opaque = "application/octet-stream"

    assert fields_of({"x-archive-orig-content-type": opaque, "content-type": opaque}) == [
        ("Content-Type", opaque)
    ]


def test_the_status_of_our_collections_is_not_a_header_but_that_of_a_site_is() -> None:
    assert fields_of({"x-archive-orig-a": "b", "x-archive-orig-status": "999"}) == [("A", "b")]
    assert fields_of({"x-archive-orig-status": "999"}) == []
    assert fields_of({"x-archive-orig-status": "404"}) == [("Status", "404")]
    assert fields_of({"x-archive-orig-status": "200 OK"}) == [("Status", "200 OK")]


def test_a_correct_length_stays() -> None:
    assert fields_of({"x-archive-orig-content-length": "12"}) == [("Content-Length", "12")]


def test_a_page_without_archived_headers_is_not_a_response() -> None:
    assert fields_of({"content-type": "text/html"}) is None
    assert fields_of({"x-archive-orig-server": "nginx"}, dated=False) is None


def test_an_archived_error_is_a_response_even_without_headers() -> None:
    assert fields_of({"content-type": "text/html"}, 404) == [("Content-Type", "text/html")]
    assert fields_of({}, 500) == []


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/web/20160122112030id_/http://www.dr.dk/forside", "http://www.dr.dk/forside"),
        ("https://web.archive.org/web/2016/http://b.example/", "http://b.example/"),
    ],
)
def test_the_target_of_a_redirect_is_read_from_the_rewritten_link(
    location: str, target: str
) -> None:
    assert fields_of({"location": location}, 301) == [("Location", target)]


@pytest.mark.parametrize(
    "location", ["/forside", "//m.dr.dk/", "http://b.example/c", "https://www.dr.dk/"]
)
def test_a_target_that_the_archive_did_not_rewrite_is_written_as_archived(
    location: str,
) -> None:
    assert fields_of({"location": location}, 302) == [("Location", location)]


def test_the_target_of_a_redirect_is_not_guessed() -> None:
    assert fields_of({"location": "http://[/"}, 301) == []
    assert fields_of({"location": "https://web.archive.org/login"}, 302) == []
    assert fields_of({"location": "/web/2016/http://b.example/"}, 201) == []


def test_an_archived_target_outranks_the_rewritten_link() -> None:
    headers = {"location": "/web/2016/http://b.example/", "x-archive-orig-location": "/c"}

    assert fields_of(headers, 302) == [("Location", "/c")]
