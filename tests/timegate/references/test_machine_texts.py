"""Links in the output of programs."""

import pytest

from timegate.references.links import find_links
from timegate.references.machine_texts import named_targets, pages_of, without_hosts

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


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("See Severn_ today.\n\n.. _Severn: http://a.example/\n", "Severn_"),
        ("See `The Severn`_.\n\n.. _The Severn: http://a.example/\n", "`The Severn`_"),
        ("See [a][1].\n\n[1]: http://a.example/\n", "][1]"),
        ("See [Severn].\n\n[Severn]: <http://a.example/> 'Title'\n", "[Severn]"),
    ],
)
def test_a_target_belongs_where_it_is_named(text: str, name: str) -> None:
    ((use, target),) = named_targets(text).values()

    assert (text[slice(*use)], text[slice(*target)]) == (name, "http://a.example/")


@pytest.mark.parametrize(
    "text",
    [
        "See.\n\n[1]: http://a.example/\n",
        "See [1] and [1].\n\n[1]: http://a.example/\n",
        "See [1](http://b.example/).\n\n[1]: http://a.example/\n",
        "See [1].\n\n[1]: http://a.example/ (accessed 5 November 2010)\n",
        "See my_Severn_.\n\n.. _Severn: http://a.example/\n",
    ],
)
def test_a_target_that_is_not_named_once_stays_where_it_is(text: str) -> None:
    assert named_targets(text) == {}
