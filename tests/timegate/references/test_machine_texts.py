"""Links in the output of programs."""

from timegate.references.links import find_links
from timegate.references.machine_texts import pages_of, without_hosts

_LOG = (
    "--2014-03-12 12:41:07--  http://museum.example/a\nResolving www.museum.example... failed\n"
)
_HEADERS = (
    '<http://museum.example/>; rel="original", '
    '<http://archive.example/timemap/link/http://museum.example/>; rel="timemap"'
)


def pages(text: str) -> list[str]:
    return [link.identifier for link in pages_of(text, [*find_links(text)])]


def test_hosts_in_a_log_are_no_pages() -> None:
    shown = without_hosts(_LOG)

    assert pages(shown) == ["http://museum.example/a"]
    assert shown.endswith("failed\n")
    assert len(shown) == len(_LOG)


def test_hosts_in_other_texts_stay() -> None:
    assert without_hosts("Resolving www.museum.example") == "Resolving www.museum.example"


def test_a_timemap_beside_its_original_is_no_page() -> None:
    assert pages(_HEADERS) == ["http://museum.example/"]


def test_a_memento_is_a_page_unless_the_headers_are_its_own() -> None:
    link = '<http://archive.example/2010/http://museum.example/>; rel="prev memento"'
    text = f"{_HEADERS}, {link}"

    assert len(pages(text)) == 2
    assert len(pages(f"Memento-Datetime: Fri, 05 Nov 2010 20:15:00 GMT\nLink: {text}")) == 1


def test_a_request_names_its_page_in_two_lines() -> None:
    text = "GET /a HTTP/1.1\nAccept: */*\nHost: www.museum.example\n"

    assert pages(text) == ["http://www.museum.example/a"]
