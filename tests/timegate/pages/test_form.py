"""The form field: references that are pasted among other words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.moment import Moment
from timegate.pages.form import reference_in

URL = "http://example.org/a_(b)"
PWID = f"urn:pwid:archive.org:2016-01-22T11:20:29Z:page:{URL}"
LINK = "https://web.archive.org/web/20160122112029/http://example.org/"


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
    pasted = reference_in(text)

    assert pasted is not None
    assert pasted.identifier == identifier


@pytest.mark.parametrize(
    "text",
    [
        "the museum's page, last spring",
        f"{URL} or {LINK}",
        "see http://example.org/open-\ning-hours for more",
        "",
    ],
)
def test_text_without_exactly_one_reference_has_none(text: str) -> None:
    assert reference_in(text) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (f"{URL} 2010-11", "201011"),
        (f"{URL}, 5 November 2010", "20101105"),
        (f"({URL}) [2010]", "2010"),
        (f"{URL} accessed 2010", None),
        (f"{URL} 5", None),
        (f"{URL} " + "2010 " * 100, None),
    ],
)
def test_the_rest_is_the_date_if_it_is_one_as_a_whole(text: str, at: str | None) -> None:
    pasted = reference_in(text)

    assert pasted is not None
    assert pasted.at == (None if at is None else Moment(at))


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    reference_in(text)
