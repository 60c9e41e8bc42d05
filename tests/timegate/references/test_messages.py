"""Dates of messages and events."""

import pytest

from timegate.references import TextSpan
from timegate.references.messages import is_of_message, is_told, signatures
from timegate.text.written_dates import find_dates


@pytest.mark.parametrize(
    "text",
    [
        "[12/03/2019, 21:05:33] Anna: look",
        "12/03/2019, 21:05 - Anna: look",
        "2019-03-12 21:05 <anna> look",
        "Anna, [12 March 2019 at 21:05]:\nlook",
        "Anna \u2014 12/03/2019 9:05 PM\nlook",
        "Posted: Tue Mar 12, 2019 9:05 pm    Post subject: dead link\n\nlook",
        "by anna \u00bb Tue Mar 12, 2019 9:05 pm\n\nlook",
        "Anna @anna \u00b7 Mar 12, 2019\nlook",
    ],
)
def test_the_date_of_a_message_is_recognised(text: str) -> None:
    (date,) = find_dates(text)

    assert is_of_message(text, date)


def test_a_date_at_the_beginning_of_a_line_is_no_message_of_its_own() -> None:
    text = "2019-03-12 http://museum.example/a"
    (date,) = find_dates(text)

    assert not is_of_message(text, date)


@pytest.mark.parametrize(
    ("words", "told"),
    [(" burst on ", True), (" was closed on ", True), (" was accessed on ", False)],
)
def test_a_sentence_may_tell_what_happened_on_a_date(words: str, *, told: bool) -> None:
    text = f"http://museum.example/a{words}5 May 2010."
    (date,) = find_dates(text)
    link = TextSpan(0, len("http://museum.example/a"))

    assert is_told(text, link, date) is told


@pytest.mark.parametrize(
    "end", ["-- ", "Best regards", "Viele Gr\u00fc\u00dfe", "Cordialement,"]
)
def test_a_message_ends_before_the_name_of_its_author(end: str) -> None:
    text = f"I looked.\n\n{end}\nAnna\nhttp://anna.example\n\nP.S. http://a.example"

    (signature,) = signatures(text)

    assert text[slice(*signature)].strip() == f"{end}\nAnna\nhttp://anna.example"


def test_a_line_of_thanks_with_more_words_ends_no_message() -> None:
    assert not signatures("Thanks for the link to\nhttp://a.example/x\n")
