"""Sentences on the state of a page at a date."""

import pytest

from timegate.references import TextSpan
from timegate.references.page_states import is_of_state
from timegate.text.written_dates import find_dates


def says_so(text: str) -> bool:
    start = text.index("http")
    link = TextSpan(start, start + len("http://a.example/x"))
    return is_of_state(text, link, next(find_dates(text)))


@pytest.mark.parametrize(
    "text",
    [
        "http://a.example/x as it was in October 2001",
        "What did http://a.example/x say on 14 June 2013?",
        "what the page said on 7 September 2019: http://a.example/x",
        "On 5 May 2010 I visited http://a.example/x",
        "On 5 May 2010 I looked at the price list, http://a.example/x",
        "Am 5. Mai 2010 habe ich http://a.example/x gelesen",
        "The page http://a.example/x was still up when I looked on 5 May 2010",
        "Die Seite http://a.example/x habe ich am 5. Mai 2010 zum ersten Mal gesehen",
        "Cette page http://a.example/x, je l'ai vue le 5 mai 2010",
        "http://a.example/x war am 5. Mai 2010 noch online",
        "The page as I saw it on 5 May 2010: http://a.example/x",
        "I found it on 5 May 2010 at http://a.example/x",
    ],
)
def test_a_sentence_on_a_page_says_when_it_was_so(text: str) -> None:
    assert says_so(text)


@pytest.mark.parametrize(
    "text",
    [
        "http://a.example/x went live on 14 June 2013",
        "On 5 May 2010 I saw the exhibition, http://a.example/x",
        "On 5 May 2010 we opened http://a.example/x but it did not load",
        "Den Film http://a.example/x habe ich am 5. Mai 2010 gesehen",
        "http://a.example/x war am 5. Mai 2010 nicht mehr online",
        "The twins lived near http://a.example/x when I visited them on 5 May 2010",
        "What did he say on 14 June 2013? http://a.example/x",
        "On 5 May 2010 I visited the castle http://a.example/x",
    ],
)
def test_a_sentence_on_something_else_does_not(text: str) -> None:
    assert not says_so(text)
