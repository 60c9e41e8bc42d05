"""Pasted text: one identifier as it is, or the references among other words."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.registry import load_known
from timegate.references.pasted import NoReference, Pasted, read_pasted

REGISTRY = load_known()
NOW = datetime(2026, 11, 1, tzinfo=UTC)
URL = "http://example.org/a_(b)"
PWID = f"urn:pwid:archive.org:2016-01-22T11:20:29Z:page:{URL}"
LINK = "https://web.archive.org/web/20160122112029/http://example.org/"


def read(text: str) -> Pasted:
    return read_pasted(text, REGISTRY, NOW)


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        (f"Smith, J. (2010). Title. {URL} (accessed 5 November 2010).", URL),
        (f"see ({URL}), and others", URL),
        (f"Archived: <{LINK}>.", LINK),
        (f"„{PWID}“ is cited", PWID),
        (f'the copy "{PWID}".', PWID),
        (f"{URL} and again {URL}.", URL),
        ("HTTP://EXAMPLE.ORG/, they say", "HTTP://EXAMPLE.ORG/"),
    ],
)
def test_the_one_reference_in_a_sentence_is_taken(text: str, identifier: str) -> None:
    assert [found.identifier for found in read(text).found] == [identifier]


@pytest.mark.parametrize("text", ["the museum's page, last spring", "", "see 5 and 6"])
def test_text_without_a_reference_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{URL}\n{LINK}",
        f"duri:2010:{URL}\nduri:2011:{URL}",
        f"{URL} or {LINK}",
        f"1. {URL}\n\n2. {LINK}",
        f"{URL},{LINK}",
    ],
)
def test_several_references_are_never_glued(text: str) -> None:
    assert len(read(text).found) == 2


@pytest.mark.parametrize(
    "text",
    [
        PWID,
        f"  {PWID.replace(':page:', f':{chr(10)}  page:')}\n",
        "https://web.archive.org/web/20160122112029/\nhttp://example.org/",
        "http://example.org/open-\ning-hours",
        "example.org",
    ],
)
def test_an_identifier_broken_into_lines_is_one(text: str) -> None:
    assert read(text).reading is not None


@pytest.mark.parametrize(
    ("text", "at", "basis"),
    [
        (f"{URL} 2010-11", "201011", "beside"),
        (f"{URL}, 5 November 2010", "20101105", "beside"),
        (f"({URL}) [2010]", "2010", "beside"),
        (f"{URL}\n2010", "2010", "beside"),
        (f"{URL} accessed 2010", "2010", "accessed"),
    ],
)
def test_a_date_beside_the_reference_is_used(text: str, at: str, basis: str) -> None:
    (found,) = read(text).found

    assert found.at == Moment(at)
    assert found.dates.used is not None
    assert found.dates.used.basis == basis


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read(text)
    except Malformed:
        return


@pytest.mark.parametrize(
    "text",
    [
        "asdf qwer",
        "mailto:jane@mail.example",
        "jane.doe@mail.example wrote about it in 2011",
        "see file.txt and README.md for more, v2.0.1",
        "ev1l dot example dot com slash path",
        "ftp://ftp.example.org/pub/file.txt (accessed 1 May 1999)",
        "duri:2004-02-30:http://ids.example.org/a",
        "urn:pwid:archive.org:2016-13-22T11:20:29Z:page:http://ids.example.dk/x",
        "urn:pwid:archive.org:2014-05-03T10:00:00Z:page:",
        "{{cite tweet |number=1234567890 |user=x |title=t |date=3 May 2014}}",
        "duri:2014:",
    ],
)
def test_nothing_is_found_where_there_is_no_reference(text: str) -> None:
    with pytest.raises(Malformed):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "asdf qwer",
        '"Opening hours". Lighthouse Museum. Archived from the original on 5 November 2010.',
        "[1] <Opening hours>",
        "Lorem ipsum " * 1000,
    ],
)
def test_words_without_a_link_are_told_what_to_write(text: str) -> None:
    with pytest.raises(NoReference, match="there is no link in this text: write a URL"):
        read(text)


def test_a_date_of_access_in_the_future_is_not_used() -> None:
    (found,) = read(f"{URL} (accessed 5 December 2026)").found

    assert (found.at, found.dates.doubt) == (None, True)


@pytest.mark.parametrize(
    ("lines", "url"),
    [
        ("http://museum.example/a/b/\nc-d", "http://museum.example/a/b/c-d"),
        ("http://museum.example/long/path?x=\n12", "http://museum.example/long/path?x=12"),
        ("http://museum.example/a\n/b", "http://museum.example/a/b"),
        (f"http://museum.example/{'a' * 40}\nword", f"http://museum.example/{'a' * 40}word"),
    ],
)
def test_lines_are_joined_where_a_link_may_be_broken(lines: str, url: str) -> None:
    reading = read(lines).reading

    assert reading is not None
    assert reading.identifier.item == url


@pytest.mark.parametrize(
    "lines", ["http://museum.example/\nmuseum", "http://museum.example/a\nHours\nPrices"]
)
def test_a_line_of_a_single_word_is_not_joined(lines: str) -> None:
    pasted = read(lines)

    assert pasted.reading is None
    assert [found.identifier for found in pasted.found] == [lines.split(maxsplit=1)[0]]
