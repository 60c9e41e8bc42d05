"""References in every notation; untrusted text never leaves its field."""

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from html.parser import HTMLParser
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.moment import Moment
from archives.registry import load_known
from timegate.citations import Copy, PageDescription, PastedCitation, access_day
from timegate.citations.forms import (
    FORMS,
    FORMS_OF_COPIES,
    LABELS,
    Form,
    description_words,
    pasted_words,
    reference,
)
from timegate.identifiers import parse
from timegate.references import Item, TextSpan
from timegate.references.model import ReferencePlace
from timegate.references.pasted import read_pasted

REGISTRY = load_known()
NOW = datetime(2026, 11, 19, 9, tzinfo=UTC)

COPY = Copy(
    uri="https://web.archive.org/web/20160122112029/http://www.dr.dk/",
    original="http://www.dr.dk/",
    captured=Moment("20160122112029"),
    archive="Internet Archive",
    archive_id="archive.org",
)
HOSTILE = replace(
    COPY,
    title="50 % of {{tricks}} | [x] \\input{y} <b>&''~~~~",
    original="http://www.dr.dk/a|b}}{{c[d]'e\"f%20g?h=1&i=2",
)


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("pwid", "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/"),
        ("duri", "duri:2016-01-22T11:20:29Z:http://www.dr.dk/"),
        ("link", "https://web.archive.org/web/20160122112029/http://www.dr.dk/"),
        (
            "robust-link",
            (
                '<a href="http://www.dr.dk/" data-originalurl="http://www.dr.dk/" '
                f'data-versionurl="{COPY.uri}" '
                'data-versiondate="2016-01-22">www.dr.dk</a>'
            ),
        ),
        (
            "cs1",
            (
                "{{cite web |title=www.dr.dk |url=http://www.dr.dk/ |website=www.dr.dk "
                "|archive-url=https://web.archive.org/web/20160122112029/http://www.dr.dk/ "
                "|archive-date=2016-01-22 |url-status=bot: unknown}}"
            ),
        ),
        (
            "wikitext",
            (
                "[https://web.archive.org/web/20160122112029/http://www.dr.dk/ www.dr.dk], "
                "archived 2016-01-22T11:20:29Z by Internet Archive from http://www.dr.dk/"
            ),
        ),
        (
            "bibtex",
            (
                "@misc{drdk20160122,\n"
                "  title = {{www.dr.dk}},\n"
                "  url = {https://web.archive.org/web/20160122112029/http://www.dr.dk/},\n"
                "  note = {Archived 2016-01-22T11:20:29Z by Internet Archive from "
                "http://www.dr.dk/. "
                "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/},\n}"
            ),
        ),
        (
            "apa",
            (
                "www.dr.dk. (n.d.). www.dr.dk. http://www.dr.dk/; archived January 22, 2016, "
                f"by Internet Archive, {COPY.uri}"
            ),
        ),
        (
            "mla",
            (
                "“www.dr.dk.” www.dr.dk, http://www.dr.dk/. Internet Archive, archived "
                f"22 Jan. 2016, {COPY.uri}."
            ),
        ),
        (
            "chicago",
            (
                "www.dr.dk. “www.dr.dk.” http://www.dr.dk/. Archived January 22, 2016, by "
                f"Internet Archive. {COPY.uri}."
            ),
        ),
        (
            "ris",
            (
                "TY  - ELEC\nTI  - www.dr.dk\nT2  - www.dr.dk\n"
                f"UR  - {COPY.uri}\nDB  - Internet Archive\n"
                "N1  - Archived 2016-01-22T11:20:29Z by Internet Archive from "
                "http://www.dr.dk/\n"
                "N1  - urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/\n"
                "ER  - "
            ),
        ),
        (
            "iso690",
            (
                "www.dr.dk [online]. Archived 2016-01-22T11:20:29Z by Internet Archive. "
                "Available from: "
                "https://web.archive.org/web/20160122112029/http://www.dr.dk/. "
                "Original: http://www.dr.dk/. "
                "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/"
            ),
        ),
    ],
)
def test_a_copy_is_written_in_each_notation(form: Form, written: str) -> None:
    assert reference(form, COPY) == written


def test_csl_has_the_fields_that_citation_programs_read() -> None:
    (item,) = json.loads(reference("csl", COPY) or "")

    assert item["type"] == "webpage"
    assert item["URL"] == item["archive_location"] == COPY.uri
    assert f"from {COPY.original}. urn:pwid:" in item["note"]
    assert "accessed" not in item


READ: Final = replace(COPY, accessed=date(2026, 11, 16))
"""A copy of a page whose reader states when."""


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("cs1", " |access-date=2026-11-16"),
        ("apa", "Retrieved November 16, 2026, from "),
        ("mla", " Accessed 16 Nov. 2026."),
        ("chicago", " Accessed November 16, 2026."),
        ("iso690", " [viewed 2026-11-16]"),
        ("bibtex", "  urldate = {2026-11-16},\n"),
        ("ris", "Y2  - 2026/11/16\n"),
    ],
)
def test_the_day_of_access_is_stated_as_the_style_asks_and_only_if_known(
    form: Form, written: str
) -> None:
    text = reference(form, READ) or ""

    assert written in text
    assert text.replace(written, "") == reference(form, COPY)


def test_the_day_of_access_is_a_date_of_csl() -> None:
    (item,) = json.loads(reference("csl", READ) or "")

    assert item["accessed"] == {"date-parts": [[2026, 11, 16]]}


@pytest.mark.parametrize(
    "form", [form for form in FORMS_OF_COPIES if form not in ("pwid", "duri", "link")]
)
def test_every_style_has_the_address_of_the_copy_and_that_of_the_original(form: Form) -> None:
    copy = replace(COPY, original="http://www.dr.dk/news", uri="https://archive.ph/AbCdE")

    written = reference(form, copy) or ""

    assert copy.uri in written
    outside = re.sub(r"(?:urn:pwid|duri):\S+", "", written)
    assert copy.original in outside


@pytest.mark.parametrize("form", FORMS_OF_COPIES)
def test_a_citation_is_read_again_as_one_reference_to_the_copy(form: Form) -> None:
    page = "http://museum.example/hours"
    copy = replace(
        COPY,
        original=page,
        uri=f"https://web.archive.org/web/20160122112029/{page}",
        title="When we open",
    )
    for stated in (copy, replace(copy, accessed=READ.accessed)):
        pasted = read_pasted(reference(form, stated) or "", REGISTRY, NOW)

        read = [parse(found.identifier, REGISTRY) for found in pasted.found]
        (reading,) = [*read, *filter(None, [pasted.reading])]
        assert (str(reading.identifier.time), reading.identifier.item) == (
            str(COPY.captured),
            page,
        )


@pytest.mark.parametrize(
    ("text", "day"),
    [("", None), ("2016-01-22", (2016, 1, 22)), (" 5 November 2010 ", (2010, 11, 5))],
)
def test_a_day_of_access_is_read_in_the_usual_notations(
    text: str, day: tuple[int, int, int] | None
) -> None:
    assert access_day(text, NOW) == (day and date(*day))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2016", "is not a day"),
        ("banana", "is not a time"),
        ("2099-01-01", "is in the future"),
        ("2026-11-20", "is in the future"),
    ],
)
def test_no_day_and_a_day_in_the_future_are_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        access_day(text, NOW)


def test_a_day_that_has_begun_in_the_earliest_time_zone_is_not_in_the_future() -> None:
    assert access_day("2026-11-20", NOW.replace(hour=11)) == date(2026, 11, 20)


def test_the_state_of_the_original_is_stated_if_it_is_known() -> None:
    assert "|url-status=live" in (reference("cs1", replace(COPY, url_status="live")) or "")


@pytest.mark.parametrize(
    ("digits", "apa", "mla"),
    [("2016", "2016", "2016"), ("201601", "January 2016", "Jan. 2016")],
)
def test_a_coarse_time_is_written_no_more_precisely_than_it_is(
    digits: str, apa: str, mla: str
) -> None:
    coarse = replace(COPY, captured=Moment(digits))

    assert f"archived {apa}, by" in (reference("apa", coarse) or "")
    assert f"archived {mla}, https" in (reference("mla", coarse) or "")


def test_each_form_has_a_name_for_people() -> None:
    assert set(LABELS) == set(FORMS)


@pytest.mark.parametrize("form", ["cs1", "wikitext"])
def test_untrusted_text_does_not_end_a_parameter_of_wikitext(form: Form) -> None:
    written = reference(form, HOSTILE) or ""

    inside = written.removeprefix("{{cite web ").removesuffix("}}").removeprefix("[")
    assert "{{" not in inside
    assert "}}" not in inside
    assert "''" not in inside
    assert "~~~" not in inside
    assert written.count("|") == (6 if form == "cs1" else 0)
    assert written.count("]") == (0 if form == "cs1" else 1)


def test_untrusted_text_does_not_end_a_field_of_bibtex() -> None:
    written = reference("bibtex", HOSTILE) or ""

    title = written.splitlines()[1]
    assert title == (
        r"  title = {{50 \% of \{\{tricks\}\} | [x] \textbackslash{}input\{y\} <b>\&''"
        + r"\textasciitilde{}" * 4
        + "}},"
    )


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_robust_link_is_one_link_for_any_title() -> None:
    tags = _Tags()

    tags.feed(reference("robust-link", HOSTILE) or "")

    ((tag, attributes),) = tags.tags
    assert tag == "a"
    assert set(attributes) == {
        "href",
        "data-originalurl",
        "data-versionurl",
        "data-versiondate",
    }


@pytest.mark.parametrize("form", FORMS)
def test_addresses_other_than_http_are_not_cited(form: Form) -> None:
    assert reference(form, replace(COPY, uri="javascript:alert(1)")) is None
    assert reference(form, replace(COPY, original="javascript:alert(1)")) is None


def test_an_archive_without_an_id_has_no_pwid() -> None:
    nameless = replace(COPY, archive_id=None)

    assert reference("pwid", nameless) is None
    assert "duri:2016" in (reference("iso690", nameless) or "")


@given(st.text(max_size=400), st.sampled_from(FORMS))
def test_a_title_never_breaks_the_line_or_the_notation(title: str, form: Form) -> None:
    written = reference(form, replace(COPY, title=title)) or ""

    assert len(written) < 10_000
    if form == "bibtex":
        assert _balanced(written)
    if form == "csl":
        assert json.loads(written)
    if form == "ris":
        assert all(line[2:6] == "  - " for line in written.split("\n"))
    if form == "pwid":
        assert parse(written).conforming


def _balanced(text: str) -> bool:
    plain = text.replace("\\{", "").replace("\\}", "")
    return plain.count("{") == plain.count("}")


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("The museum's opening", "The museum's opening"),
        ("Q&A > Home ~ a_b", "Q&A > Home ~ a_b"),
        ("''x'' &amp; ~~~~ __TOC__", "&#39;&#39;x&#39;&#39; &#38;amp; "),
        ("<b> {{x}} [a|b]", "&#60;b&#62; &#123;&#123;x&#125;&#125; &#91;a&#124;b&#93;"),
    ],
)
def test_wikitext_has_entities_only_where_a_character_is_markup(
    title: str, written: str
) -> None:
    text = reference("wikitext", replace(COPY, title=title)) or ""

    assert f" {written}" in text
    assert "~~~" not in text
    assert "__" not in text


def placed(text: str, link: TextSpan | None, before_link: str = "") -> PastedCitation:
    place = ReferencePlace(Item(0, text, (text,)), link, before_link=before_link)
    return PastedCitation(text, "wikitext", place, ())


@pytest.mark.parametrize(
    ("pasted", "words"),
    [
        (placed("a", None), ", unchanged: its own archive link was not checked"),
        (placed("a", TextSpan(0, 1)), ", with a new archive link in place of its own. The new"),
        (placed("a", TextSpan(1, 1), " |archive-url="), ", with the copy added"),
    ],
)
def test_it_is_said_what_was_done_to_a_pasted_citation(
    pasted: PastedCitation, words: str
) -> None:
    said = pasted_words(replace(COPY, pasted=pasted), "8 days later")

    assert said.startswith(f"The citation from your text is under Wikipedia{words}")


def test_the_styles_that_take_over_a_description_are_named_without_its_own() -> None:
    described = PageDescription("T", pasted=placed("a", None))

    assert description_words(described).startswith(
        "APA, MLA, Chicago, ISO 690, BibTeX, RIS and"
    )
    assert description_words(PageDescription()) == ""
