"""References in wikitext, in their places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.bulk.place import Place
from timegate.bulk.wikitext import read_wikitext

LINK = "https://archive.today/20130203040506/http://www.dr.dk/"


def read(text: str) -> list[Place]:
    return list(read_wikitext(text, lambda link: link.startswith("https://archive.")))


def at(text: str, place: Place) -> tuple[str | None, str | None]:
    return (
        text[slice(*place.link)] if place.link else None,
        text[slice(*place.date)] if place.date else None,
    )


def test_a_citation_is_read_with_its_places() -> None:
    text = (
        "Fact.<ref>{{cite web | title=A|url= http://www.dr.dk/ |access-date=1 May 2014\n"
        f"| archive-url = {LINK} | archive-date=3 February 2013|url-status=dead}}}}</ref>"
    )

    (place,) = read(text)

    assert place.item.references == (LINK, "http://www.dr.dk/")
    assert place.item.dates == ("3 February 2013", "1 May 2014")
    assert at(text, place) == (LINK, "3 February 2013")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"[{LINK} title]", [(LINK, None)]),
        (f"See {LINK}.", [(LINK, None)]),
        (f"{{{{webarchive|url={LINK}|date=2013-02-03}}}}", [(LINK, "2013-02-03")]),
        (f"{{{{cite web|archiveurl={LINK}<!-- x -->|archivedate=}}}}", [(LINK, "")]),
        (f"{{{{a|{{{{cite|archive-url={LINK}}}}}|[[b|c]]}}}}", [(LINK, None)]),
        (f"{{{{cite|title=[[a|b]] [[c|archive-url={LINK}}}}}", [(LINK, None)]),
        (f"<!-- {LINK} --> <nowiki>{{{{cite|archive-url={LINK}}}}}</nowiki>", []),
        (f"<nowiki/>{LINK}", [(LINK, None)]),
        (f"<nowiki>{LINK} <nowiki>", [(LINK, None)]),
        ("{{cite web|url=http://a/}} http://b/", []),
        (f"<!-- {{{{cite|archive-url={LINK}}}}}", []),
    ],
)
def test_links_are_found_in_place(text: str, found: list[tuple[str, str | None]]) -> None:
    assert [at(text, place) for place in read(text)] == found


def test_a_dead_link_without_an_archive_link_has_a_place_for_one() -> None:
    text = "{{cite web|url=http://a/ |url-status=dead|date=2013}}"

    (place,) = read(text)

    assert place.item.references == ("http://a/",)
    assert place.link is not None
    assert text[: place.link.start] == "{{cite web|url=http://a/"
    assert (place.before_link, place.before_date) == (" |archive-url=", " |archive-date=")


def test_items_are_numbered_in_the_order_of_the_page() -> None:
    links = [f"https://archive.today/2013/http://{n}/" for n in range(4)]
    text = f"{links[0]} {{{{cite|archive-url={links[1]}}}}} [{links[2]}] {links[3]}"

    places = read(text)

    assert [(place.item.position, place.item.text) for place in places] == list(
        enumerate(links)
    )


@pytest.mark.parametrize(
    "piece", ["{{", "[[", "|", "{{a|", "<nowiki>", "<!--", "<pre ", "}}", "=", "[[a|{{"]
)
def test_a_hundred_thousand_open_brackets_are_read_in_one_pass(piece: str) -> None:
    text = piece * 100_000 + f"--> {LINK}"

    assert len(read(text)) <= 1


_PIECES = st.sampled_from(
    [
        "{{",
        "}}",
        "[[",
        "]]",
        "|",
        "=",
        "<!--",
        "-->",
        "<nowiki>",
        "</nowiki>",
        " ",
        "\n",
        "é",
        "cite web",
        "url",
        "archive-url",
        "archive-date",
        LINK,
        "http://a/",
        "url-status=dead",
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_places_lie_in_the_text_and_in_order(text: str) -> None:
    places = read(text)

    starts = [place.link.start for place in places if place.link]
    assert starts == sorted(starts)
    assert all(place.link is None or place.link.end <= len(text) for place in places)
