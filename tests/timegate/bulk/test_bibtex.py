"""References in BibTeX, in their places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.bulk.bibtex import read_bibtex
from timegate.bulk.place import Place

LINK = "https://archive.today/20130203040506/http://www.dr.dk/a_b"


def read(text: str) -> list[Place]:
    return list(read_bibtex(text, lambda link: link.startswith("https://archive.")))


def test_an_entry_is_read_with_its_dates_in_order_of_preference() -> None:
    text = (
        "% @misc{no, url={http://no/}}\n@string{a = {http://b/}}\n"
        '@online{key,\n  title = {A {B} "C"},\n  url = {http://www.dr.dk/},\n'
        '  year = 2015, month = mar,\n  urldate = "2016-02-03",\n}\n'
    )

    (place,) = read(text)

    assert place.item.references == ("http://www.dr.dk/",)
    assert place.item.dates == ("2016-02-03", "mar 2015", "2015")
    assert place.link is None


@pytest.mark.parametrize(
    "field",
    [
        f"url = {{{LINK}}}",
        f'URL="{LINK}"',
        f"howpublished = {{\\url{{{LINK}}}}}",
        f"note = {{Archived at {LINK}.}}",
        f"url = {{http://www.dr.dk/}}, note = {{\\href{{{LINK}}}{{copy}}}}",
    ],
)
def test_an_archive_link_is_found_in_place(field: str) -> None:
    text = f"@misc{{key, title={{T}}, {field}, archivedate = {{2013-02-03}} }}"

    (place,) = read(text)

    assert place.item.references[0] == LINK
    assert place.link is not None
    assert text[slice(*place.link)] == LINK
    assert place.date is not None
    assert text[slice(*place.date)] == "2013-02-03"


def test_escaped_signs_are_read_as_the_signs() -> None:
    (place,) = read(r"@misc{a, url = {http://a/b\_c\%20d}}")

    assert place.item.text == "http://a/b_c%20d"


def test_one_brace_too_few_spoils_one_entry() -> None:
    places = read("@misc{a, title={x, url={http://a/}\n}\n@misc{b, url={http://b/}}\n")

    assert places[-1].item.text == "http://b/"


@pytest.mark.parametrize("piece", ["@a{x={", '@a{x="', "\n@a{x={", "{", "@a{b,c=d ", "a=b,"])
def test_a_hundred_thousand_openings_are_read_in_one_pass(piece: str) -> None:
    assert read("@misc{" + piece * 100_000) == []


_PIECES = st.sampled_from(
    [
        "@misc{",
        "\n@misc{",
        "}",
        "{",
        '"',
        "=",
        ",",
        "#",
        "url",
        "note",
        "date",
        "2016",
        " ",
        "key,",
        LINK,
        "http://a/",
        "\\url{",
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_places_hold_the_link(text: str) -> None:
    for place in read(text):
        assert place.link is None or text[slice(*place.link)] == place.item.text
