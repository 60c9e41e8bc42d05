"""References in every notation; untrusted text never leaves its field."""

import json
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.moment import Moment
from timegate.citations import Copy
from timegate.citations.forms import FORMS, LABELS, Form, reference
from timegate.identifiers import parse

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
                'data-versiondate="2016-01-22">www.dr.dk/</a>'
            ),
        ),
        (
            "cs1",
            (
                "{{cite web |title=www.dr.dk/ |url=http://www.dr.dk/ |website=www.dr.dk "
                "|archive-url=https://web.archive.org/web/20160122112029/http://www.dr.dk/ "
                "|archive-date=2016-01-22 |url-status=bot: unknown}}"
            ),
        ),
        (
            "wikitext",
            (
                "[https://web.archive.org/web/20160122112029/http://www.dr.dk/ www.dr.dk/], "
                "captured 2016-01-22T11:20:29Z by Internet Archive"
            ),
        ),
        (
            "bibtex",
            (
                "@misc{drdk20160122,\n"
                "  title = {{www.dr.dk/}},\n"
                "  url = {https://web.archive.org/web/20160122112029/http://www.dr.dk/},\n"
                "  urldate = {2016-01-22},\n"
                "  note = {Captured 2016-01-22T11:20:29Z by Internet Archive. "
                "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/},\n}"
            ),
        ),
        (
            "apa",
            (
                "www.dr.dk/. (n.d.). www.dr.dk. Captured January 22, 2016, by Internet "
                f"Archive. {COPY.uri}"
            ),
        ),
        (
            "mla",
            (
                "“www.dr.dk/.” www.dr.dk, http://www.dr.dk/. Internet Archive, captured "
                f"22 Jan. 2016, {COPY.uri}."
            ),
        ),
        (
            "chicago",
            (
                "www.dr.dk. “www.dr.dk/.” Captured January 22, 2016, by Internet Archive. "
                f"{COPY.uri}."
            ),
        ),
        (
            "ris",
            (
                "TY  - ELEC\nTI  - www.dr.dk/\nT2  - www.dr.dk\nY2  - 2016/01/22\n"
                f"UR  - {COPY.uri}\nDB  - Internet Archive\n"
                "N1  - Captured 2016-01-22T11:20:29Z. Original: http://www.dr.dk/\n"
                "N1  - urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/\n"
                "ER  - "
            ),
        ),
        (
            "iso690",
            (
                "www.dr.dk/ [online]. Captured 2016-01-22T11:20:29Z. Archived by: Internet "
                "Archive. Available from: "
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
    assert item["URL"] == COPY.original
    assert item["archive_location"] == COPY.uri
    assert item["accessed"] == {"date-parts": [[2016, 1, 22]]}


def test_iso_690_states_the_day_of_viewing_if_it_is_known() -> None:
    written = reference("iso690", replace(COPY, viewed=date(2026, 11, 16)))

    assert "[viewed 2026-11-16]" in (written or "")


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("cs1", "|access-date=2026-11-16}}"),
        ("apa", f"Retrieved November 16, 2026, from {COPY.uri}"),
        ("mla", "Accessed 16 Nov. 2026."),
        ("chicago", f"Accessed November 16, 2026. {COPY.uri}."),
    ],
)
def test_the_day_of_viewing_is_stated_as_the_notation_asks(form: Form, written: str) -> None:
    text = reference(form, replace(COPY, viewed=date(2026, 11, 16))) or ""

    assert text.endswith(written)


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

    assert f"Captured {apa}, by" in (reference("apa", coarse) or "")
    assert f"captured {mla}, https" in (reference("mla", coarse) or "")


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
