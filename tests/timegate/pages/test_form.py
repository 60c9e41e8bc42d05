"""The form of the search page: which date counts, of that in the text and that in the field."""

from datetime import UTC, datetime
from urllib.parse import parse_qs, urlencode

import pytest

from archives.registry import load_known
from tests.scenario import FakeArchive
from tests.timegate.pages.served_pages import BROWSER, Html, site
from timegate.pages.choices import SeveralReferences
from timegate.pages.form import FormFields, FormQuery, read_form

REGISTRY = load_known()
NOW = datetime(2026, 11, 1, tzinfo=UTC)
URL = "http://example.org/"
CITATION = f"{{{{cite web |url={URL} |title=Page |access-date=9 May 2012}}}}"
DATED = (
    CITATION,
    f"<ref>[{URL} Page], retrieved 2012-05-09</ref>",
    f"Smith (2009). Page. {URL} (accessed 9 May 2012)",
)
STATED = (
    f"duri:2012-05-09:{URL}",
    f"https://web.archive.org/web/20120509/{URL}",
    f"See https://web.archive.org/web/20120509/{URL} for the page.",
)
FORM = ("Content-Type", "application/x-www-form-urlencoded")


def left(text: str, at: str) -> FormFields:
    """Return the form in which *at* was left from a search for another text."""
    return FormFields(text, at, FormFields("http://other.example/", at).mark)


def read(form: FormFields) -> FormQuery:
    return read_form(form, REGISTRY, NOW)


def links(query: FormQuery) -> list[dict[str, list[str]]]:
    return [parse_qs(choice.query) for choice in query.choices]


@pytest.mark.parametrize("text", DATED)
def test_the_date_of_a_text_wins_over_one_that_was_left_in_the_field(text: str) -> None:
    form = left(text, "2010")
    query = read(form)

    assert str(query.query.at) == "2012-05-09"
    assert "Not used: 2010, which was left in the Date field from an earlier search" in (
        query.remarks
    )
    assert {"q": [text], "at": ["2010"]} in links(query)
    assert query.field(form).at == ""


@pytest.mark.parametrize("text", DATED)
def test_a_date_given_with_a_text_wins_over_that_of_the_text_and_both_are_named(
    text: str,
) -> None:
    form = FormFields(text, "2010")
    query = read(form)

    assert str(query.query.at) == "2010"
    assert "Date used: 2010, the date in the Date field" in query.remarks
    assert any(said.startswith("Not used:") and "2012" in said for said in query.remarks)
    assert {"q": [text]} in links(query)
    assert query.field(form).at == "2010"


@pytest.mark.parametrize("text", STATED)
@pytest.mark.parametrize("make", [FormFields, left])
def test_a_reference_that_states_its_time_wins_over_the_field_and_the_other_is_linked(
    text: str, make: type[FormFields]
) -> None:
    form = make(text, "2010")
    query = read(form)

    assert str(query.query.at) == "2012-05-09"
    assert any("the other date was ignored: 2010" in said for said in query.remarks)
    assert links(query) == [{"q": [URL], "at": ["2010"]}]
    assert query.field(form).at == ("" if form.last else "2010")


@pytest.mark.parametrize("text", [URL, f"See {URL} for this."])
@pytest.mark.parametrize("make", [FormFields, left])
def test_a_text_without_a_date_is_searched_for_at_the_date_in_the_field(
    text: str, make: type[FormFields]
) -> None:
    query = read(make(text, "2010"))

    assert str(query.query.at) == "2010"
    assert query.choices == ()
    assert not query.is_field_cleared


def test_the_same_date_in_the_text_and_the_field_is_used_without_more_words() -> None:
    query = read(FormFields(CITATION, "9 May 2012"))

    assert str(query.query.at) == "2012-05-09"
    assert not any("field" in said for said in query.remarks)
    assert query.choices == ()


def test_a_date_that_no_search_uses_is_named_beside_that_of_the_field() -> None:
    query = read(FormFields(f"{URL} (founded 12 May 1998)", "2010"))

    assert str(query.query.at) == "2010"
    assert any(said.startswith("Not used:") and "1998" in said for said in query.remarks)


def test_a_doubt_about_the_copy_itself_stays_when_the_field_has_a_date() -> None:
    text = f"https://web.archive.org/web/20120509/{URL} (archived 9 June 2014)"

    assert read(FormFields(text)).doubt
    assert read(FormFields(text, "2010")).doubt


@pytest.mark.parametrize("form", [FormFields(URL, "2099"), FormFields(f"duri:2099:{URL}")])
def test_a_time_in_the_future_is_said_to_be_one(form: FormFields) -> None:
    assert any("2099, is in the future" in said for said in read(form).remarks)
    assert not any("future" in said for said in read(FormFields(URL, "2026")).remarks)


def test_the_same_search_sent_again_keeps_its_date() -> None:
    form = FormFields(CITATION, "2010")

    again = form._replace(q=CITATION.replace(" |", "\r\n|"), last=form.mark)

    assert not again.is_date_left
    assert str(read(again).query.at) == "2010"


def test_references_without_a_date_are_offered_with_that_of_the_field() -> None:
    text = "* http://a.example/x\n* http://b.example/ retrieved 9 May 2012\n"
    with pytest.raises(SeveralReferences) as several:
        read(FormFields(text, "2010"))

    first, second = several.value.choices
    assert parse_qs(first.query) == {"q": ["http://a.example/x"], "at": ["2010"]}
    assert first.said == ("Date used: 2010, the date in the Date field",)
    assert parse_qs(second.query)["at"] == ["2012-05-09"]
    assert several.value.lines.splitlines() == [
        "duri:2010:http://a.example/x",
        "duri:2012-05-09:http://b.example/",
    ]


async def test_a_posted_text_with_a_date_leads_to_an_address_without_the_date_left() -> None:
    async with site(FakeArchive("a", 0.0, ("20101105101500", "20120509101500"))) as served:
        page = Html(
            (
                await served.ask(f"/?{urlencode({'q': URL, 'at': '2010'})}", BROWSER)
            ).body.decode()
        )
        last = next(field["value"] for field in page.all("input") if field["name"] == "last")
        body = urlencode({"q": CITATION, "at": "2010", "last": last}).encode()
        posted = await served.ask("/", BROWSER, FORM, method="POST", body=body)
        same = urlencode({"q": URL, "at": "2010", "last": last}).encode()
        again = await served.ask("/", BROWSER, FORM, method="POST", body=same)
        answer = Html((await served.ask(posted.headers["Location"], BROWSER)).body.decode())

    assert parse_qs(posted.headers["Location"][2:]) == {"q": [CITATION]}
    assert parse_qs(again.headers["Location"][2:]) == {"q": [URL], "at": ["2010"]}
    assert "Open the copy from 9 May 2012" in answer.text


async def test_a_search_by_script_is_answered_with_the_date_that_the_field_has_to_show() -> (
    None
):
    form = left(CITATION, "2010")
    async with site(FakeArchive("a", 0.0, ("20101105101500", "20120509101500"))) as served:
        address = f"/events?{urlencode(form._asdict())}"
        text = (await served.ask(address, BROWSER)).body.decode()

    assert '<div id="searched" data-at="" data-last="" hidden>' in text
    assert 'Open the copy from <time datetime="2012-05-09' in text
    assert "Not used: 2010, which was left" in text


async def test_an_id_of_an_archive_fills_in_the_time_that_it_states() -> None:
    webcite = REGISTRY.by_id("webcite")
    assert webcite is not None
    async with site(FakeArchive("a", 0.0), extra=(webcite,)) as served:
        query = urlencode({"q": "https://www.webcitation.org/5tXYZabcd", "at": "1999"})
        for path in ("/", "/events"):
            text = (await served.ask(f"{path}?{query}", BROWSER)).body.decode()
            assert 'data-at="2010-10-17T06:03:33Z"' in text
