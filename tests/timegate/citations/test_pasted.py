"""A pasted citation: what it says, and the citation itself with a copy added."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from archives.moment import Moment
from archives.registry import load_known
from timegate.citations import Copy, PageDescription
from timegate.citations.forms import Form, reference
from timegate.citations.pasted import MOST_CARRIED, described_by, own_texts
from timegate.references.pasted import read_pasted

REGISTRY = load_known()
NOW = datetime(2026, 11, 19, tzinfo=UTC)
URL = "http://museum.example/hours"
COPY = Copy(
    uri=f"https://web.archive.org/web/20090615183020/{URL}",
    original=URL,
    captured=Moment("20090615183020"),
    archive="Internet Archive",
    archive_id="archive.org",
)


def described(text: str) -> PageDescription:
    (found,) = read_pasted(text, REGISTRY, NOW).found
    return described_by(found, text, REGISTRY)


def cited(text: str, form: Form) -> str | None:
    said = described(text)
    return reference(form, replace(COPY, pasted=said.pasted, title=said.title))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"{{{{cite news |last=Smith |date=3 May 2009 |url={URL} |title=T |language=en}}}}",
            f" |archive-url={COPY.uri} |archive-date=15 June 2009 |url-status=bot: unknown",
        ),
        (
            f"<ref>{{{{cite web |url-status=live |url={URL} |access-date=May 3, 2009}}}}</ref>",
            f" |archive-url={COPY.uri} |archive-date=June 15, 2009",
        ),
        (
            f"{{{{Internetquelle |autor=A |titel=T |abruf=2009-05-03 |url={URL}}}}}",
            f" |archiv-url={COPY.uri} |archiv-datum=2009-06-15",
        ),
        (
            f"{{{{Lien web |auteur=A |titre=T |consulté le=2009-05-03 |url={URL}}}}}",
            f" |archive-url={COPY.uri} |archive-date=2009-06-15",
        ),
    ],
)
def test_a_pasted_template_comes_back_with_the_copy_in_its_own_fields(
    before: str, after: str
) -> None:
    start, end = before.split(URL)

    assert cited(before, "cs1") == cited(before, "pasted") == f"{start}{URL}{after}{end}"


def test_empty_fields_for_the_copy_are_filled_in() -> None:
    text = f"{{{{cite web |url={URL} |archive-url= |archive-date= |title=T}}}}"

    assert cited(text, "cs1") == (
        f"{{{{cite web |url={URL} |archive-url={COPY.uri} |archive-date=2009-06-15 "
        "|url-status=bot: unknown |title=T}}"
    )


def test_a_pasted_entry_of_bibtex_comes_back_with_the_copy() -> None:
    entry = f"@online{{smith, author={{Smith, A}}, url={{{URL}}}, urldate={{2009-05-03}}}}"

    assert cited(entry, "bibtex") == cited(entry, "pasted")
    assert cited(entry, "bibtex") == entry.replace(
        f"{{{URL}}}",
        f"{{{URL}}},\n  archiveurl = {{{COPY.uri}}},\n  archivedate = {{2009-06-15}}",
    )


def test_pasted_prose_is_kept_and_the_copy_added_at_its_end() -> None:
    text = f"Smith, A. (2009). Opening hours. Museum News. {URL} (accessed 3 May 2009)"

    assert cited(text, "pasted") == f"{text}. Archived at {COPY.uri} on 15 June 2009."


@pytest.mark.parametrize(
    "text",
    [
        f"{URL} (2009-05-03)",
        f"<a href='{URL}' data-versiondate='2009-05-03'>T</a>",
        f"Smith. Opening hours in winter. {COPY.uri}, accessed 3 May 2009",
        f"TY  - ELEC\nTI  - T\nUR  - {URL}\nY2  - 2009/05/03\nER  - \n",
    ],
)
def test_other_texts_are_not_completed(text: str) -> None:
    assert described(text).pasted is None
    assert cited(text, "pasted") is None


def test_a_notation_other_than_that_of_the_citation_is_written_anew() -> None:
    text = f"{{{{cite web |url={URL} |title=T |last=Smith |access-date=3 May 2009}}}}"

    assert (cited(text, "bibtex") or "").startswith("@misc{museumexample20090615,")


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("The [[Museum]] of A{{!}}B", "The Museum of A|B"),
        ("[[Lighthouse|The light]] ''house''", "The light house"),
    ],
)
def test_the_title_is_as_the_wiki_displays_it(written: str, title: str) -> None:
    assert described(f"{{{{cite web |url={URL} |title={written}}}}}").title == title


def test_the_day_of_access_is_that_of_the_citation() -> None:
    text = f"{{{{cite web |url={URL} |access-date=3 May 2009 |date=2008-01-01}}}}"

    assert described(text).accessed == date(2009, 5, 3)


APA = f"Smith, A., & Doe, B. (2009). The hours. City. Retrieved May 3, 2009, from {URL}"


def written(text: str, form: Form) -> str:
    said = described(text)
    copy = replace(COPY, title=said.title, authors=said.authors, year=said.year)
    return reference(form, replace(copy, accessed=said.accessed, pasted=said.pasted)) or ""


@pytest.mark.parametrize(
    ("form", "begin"),
    [
        (
            "apa",
            "Smith, A., & Doe, B. (2009). The hours. museum.example. Retrieved May 3, 2009",
        ),
        ("mla", "Smith, A., and Doe, B. “The hours.” museum.example, 2009, http://"),
        ("chicago", "Smith, A., and Doe, B. “The hours.” museum.example. 2009. Accessed May 3"),
        ("iso690", "Smith, A., and Doe, B. The hours [online]. 2009 [viewed 2009-05-03]."),
        (
            "cs1",
            "{{cite web |last1=Smith |first1=A. |last2=Doe |first2=B. |date=2009 |title=The",
        ),
        ("ris", "TY  - ELEC\nAU  - Smith, A.\nAU  - Doe, B.\nTI  - The hours\nPY  - 2009\n"),
    ],
)
def test_the_styles_take_over_author_year_and_title_of_prose(form: Form, begin: str) -> None:
    assert written(APA, form).startswith(begin)


def test_bibtex_and_csl_have_author_and_year_in_their_fields() -> None:
    several = f"Smith, Anna, and Ben Doe. “The hours.” City, 2009, {URL}."

    assert "author = {Smith, A. and Doe, B.},\n" in written(APA, "bibtex")
    assert "author = {{Smith, Anna, and Ben Doe}},\n" in written(several, "bibtex")
    assert "  year = {2009},\n" in written(several, "bibtex")
    (item,) = json.loads(written(APA, "csl"))
    assert item["author"][0] == {"family": "Smith", "given": "A."}
    assert item["issued"] == {"date-parts": [[2009]]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            APA,
            "author, year, title and day of access; not work, publisher or full date",
        ),
        (
            f"{{{{cite web |url={URL} |title=T |last=A}}}}",
            "title; not author, work, publisher or date of publication",
        ),
        (
            f"The museum has other hours: {URL}",
            "nothing (no author, title, work, publisher or date of publication)",
        ),
        (f"{URL} (2009)", ""),
    ],
)
def test_what_is_taken_over_is_said_and_what_is_not(text: str, words: str) -> None:
    assert described(text).taken_over == words


TEMPLATE = f"{{{{cite web |url={URL} |title=T |access-date=3 May 2009}}}}"
ENTRY = f"@online{{a,\n title={{A {{Book}}}},\n url={{{URL}}},\n urldate={{2009-05-03}}\n}}"
RECORD = f"TY  - ELEC\nTI  - T\nUR  - {URL}\nER  -"


@pytest.mark.parametrize(
    ("text", "own"),
    [
        (
            f"A<ref>{TEMPLATE}</ref> b<ref>{{{{cite web|url=http://b.example/}}}}</ref>",
            TEMPLATE,
        ),
        (f"{TEMPLATE} and {{{{cite web|url=http://b.example/}}}}", TEMPLATE),
        (f"{ENTRY}\n@online{{b, url={{http://b.example/}}}}", ENTRY),
        (f"{RECORD}\n\nTY  - ELEC\nUR  - http://b.example/\nER  -\n", RECORD),
        (f"{APA}\r\nDoe, B. Other hours. http://b.example/ (5 May 2010)", APA),
        (f"{APA} or http://b.example/", ""),
        (f"{URL}\nhttp://b.example/", ""),
        (f"{APA}{'.' * MOST_CARRIED}\nhttp://b.example/", ""),
    ],
)
def test_one_of_several_references_has_a_text_of_its_own(text: str, own: str) -> None:
    found = read_pasted(text, REGISTRY, NOW).found

    assert next(own_texts(text, found, REGISTRY, NOW)) == own
