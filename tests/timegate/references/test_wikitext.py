"""Reading references and their positions from wikitext."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.references.model import ReferencePlace
from timegate.references.wikitext import read_wikitext

LINK = "https://archive.today/20130203040506/http://www.dr.dk/"


def read(text: str) -> list[ReferencePlace]:
    return list(read_wikitext(text, lambda link: link.startswith("https://archive.")))


def at(text: str, place: ReferencePlace) -> tuple[str | None, str | None]:
    return (
        text[slice(*place.link)] if place.link else None,
        text[slice(*place.date)] if place.date else None,
    )


def test_a_citation_is_read_with_its_positions() -> None:
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
        (f"({LINK})", [(LINK, None)]),
        (f"{LINK}a_(b), or [{LINK}c. there]", [(f"{LINK}a_(b)", None), (f"{LINK}c.", None)]),
        (f"{{{{cite|url=http://a/|archive-url={'x' * 20_000}}}}}", []),
    ],
)
def test_links_are_found_in_place(text: str, found: list[tuple[str, str | None]]) -> None:
    assert [at(text, place) for place in read(text)] == found


@pytest.mark.parametrize(
    "after", ["{{dead link|date=March 2015}}", " {{Dead link}}</ref>", ". {{toter Link}}"]
)
def test_a_citation_with_a_tag_after_it_is_of_a_dead_link(after: str) -> None:
    text = f"<ref>{{{{cite web|url=http://a.example/|access-date=2010-11-05}}}}{after}"

    (place,) = read(text)

    assert (place.item.dates, place.item.doubt) == (("2010-11-05",), False)
    assert place.before_link == " |archive-url="


def test_when_a_link_was_found_dead_is_not_when_the_page_was_seen() -> None:
    (place,) = read("{{cite web|url=http://a.example/}} {{dead link|date=March 2015}}")

    assert place.item.dates == ()
    assert place.item.doubt
    assert "March 2015" in place.item.said


@pytest.mark.parametrize(
    "between", ["</ref><ref>", " [http://b/ b] ", "\n\n", " {{cite web|title=b}} ", "<!-- "]
)
def test_a_tag_is_of_what_is_right_before_it(between: str) -> None:
    assert not read(f"{{{{cite web|url=http://a/}}}}{between}{{{{dead link}}}}")


def test_a_template_whose_parameters_are_not_known_gets_no_link() -> None:
    (place,) = read("{{Webbref|url=http://a/|hämtdatum=2010-11-05}} {{död länk}}")

    assert place.link is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (f"{LINK}?a{{{{=}}}}b{{{{!}}}}c", f"{LINK}?a=b|c"),
        (f"{LINK}?a&amp;b&#61;c&copy=d", f"{LINK}?a&b=c&copy=d"),
        (f"<nowiki>{LINK}?a|b</nowiki>", f"{LINK}?a|b"),
        (f"<!-- old -->{LINK}<!-- x -->b", f"{LINK}b"),
        (f"{LINK} {{{{dead link|date=May 2015}}}}", LINK),
    ],
)
def test_a_link_is_read_as_the_page_shows_it(written: str, meant: str) -> None:
    text = f"{{{{cite web|url=http://a/|archive-url={written}|archive-date=2013}}}}"

    (place,) = read(text)

    assert place.item.text == meant
    assert place.item.trouble == ""
    assert at(text, place) == (written, "2013")


def test_a_bare_link_is_read_as_the_page_shows_it() -> None:
    written = f"{LINK}?a{{{{=}}}}b&amp;c"

    (place,) = read(f"[{written} there]")

    assert place.item.text == f"{LINK}?a=b&c"
    assert at(f"[{written} there]", place) == (written, None)


@pytest.mark.parametrize("template", ["cite|archive-url", "webarchive|url"])
def test_a_link_with_a_template_in_it_is_reported(template: str) -> None:
    (place,) = read(f"{{{{{template}={LINK}{{{{urlencode:a b}}}}}}}}")

    assert "a template in the link" in place.item.trouble


@pytest.mark.parametrize(
    ("link", "date", "accessed"),
    [
        ("archiv-url", "archiv-datum", "abruf"),
        ("archivurl", "Archivdatum", "zugriff"),
        ("arkivurl", "arkivdato", "besøgsdato"),
        ("archive-url", "archive-date", "consulté le"),
        ("urlarchivo", "fechaarchivo", "fechaacceso"),
    ],
)
def test_citations_of_other_encyclopedias_are_read(link: str, date: str, accessed: str) -> None:
    text = f"{{{{Quelle|url=http://a/|{link}={LINK}|{date}=2013-02-03|{accessed}=2012}}}}"

    (place,) = read(text)

    assert place.item.references == (LINK, "http://a/")
    assert place.item.dates == ("2013-02-03", "2012")
    assert at(text, place) == (LINK, "2013-02-03")


@pytest.mark.parametrize(
    "template", ["Webarchiv|wayback=20130203040506", "Lien archive|horodatage archive=2013"]
)
def test_a_copy_named_by_its_timestamp_is_read_but_not_rewritten(template: str) -> None:
    stamp = template.partition("=")[2]

    first, second = read(f"{{{{{template}|url=http://a/}}}} [{LINK} x] {{{{{template}}}}}")

    link = f"https://web.archive.org/web/{stamp}/http://a/"
    assert (first.item.references, first.link) == ((link, "http://a/"), None)
    assert second.item.text == LINK


@pytest.mark.parametrize(
    ("template", "link"),
    [
        ("Internetquelle|offline=1", " |archiv-url="),
        ("Kilde www|url-status=dead", " |arkivurl="),
        ("Lien web|brisé le=2 mai 2015", " |archive-url="),
    ],
)
def test_a_missing_link_gets_the_parameter_name_of_the_template(
    template: str, link: str
) -> None:
    (place,) = read(f"{{{{{template}|url=http://a/}}}}")

    assert place.before_link == link


def test_a_dead_link_without_an_archive_link_has_a_place_for_one() -> None:
    text = "{{cite web|url=http://a/ |url-status=dead|date=2013}}"

    (place,) = read(text)

    assert place.item.references == ("http://a/",)
    assert place.link is not None
    assert text[: place.link.start] == "{{cite web|url=http://a/"
    assert (place.before_link, place.before_date) == (" |archive-url=", " |archive-date=")


def test_a_date_that_is_there_is_filled_in_and_not_added() -> None:
    text = "{{cite web|url=http://a/|url-status=dead|archive-date=x}}"

    (place,) = read(text)

    assert at(text, place) == ("", "x")
    assert (place.before_link, place.before_date) == (" |archive-url=", "")


def test_a_webarchive_without_a_link_is_not_a_reference() -> None:
    assert read("{{webarchive|date=2013}} {{webarchive|url=|date=2013}}") == []


def test_items_are_numbered_in_the_order_of_the_page() -> None:
    links = [f"https://archive.today/2013/http://{n}/" for n in range(4)]
    text = f"{links[0]} {{{{cite|archive-url={links[1]}}}}} [{links[2]}] {links[3]}"

    places = read(text)

    assert [(place.item.position, place.item.text) for place in places] == list(
        enumerate(links)
    )


@pytest.mark.parametrize(
    "piece",
    ["{{", "[[", "|", "{{a|", "<nowiki>", "<!--", "<pre ", "}}", "=", "[[a|{{", "{{=}}"],
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
def test_positions_are_in_the_text_and_in_order(text: str) -> None:
    places = read(text)

    starts = [place.link.start for place in places if place.link]
    assert starts == sorted(starts)
    assert all(place.link is None or place.link.end <= len(text) for place in places)
