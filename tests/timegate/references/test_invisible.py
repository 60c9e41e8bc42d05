"""Characters that cannot be seen: they are taken out, and positions are those of the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.references import TextSpan
from timegate.references.invisible import VisibleText

HIDDEN = st.sampled_from("\u00ad\u200b\u200e\u200f\u2060\ufeff")
PIECES = st.lists(st.one_of(st.text("ab c/.", min_size=1, max_size=5), HIDDEN), max_size=12)


@given(PIECES, st.data())
def test_a_place_in_the_visible_text_is_the_same_words_in_the_text(
    pieces: list[str], data: st.DataObject
) -> None:
    text = "".join(pieces)
    visible = VisibleText.of(text)
    start = data.draw(st.integers(0, len(visible.text)))
    end = data.draw(st.integers(start, len(visible.text)))

    place = visible.in_text(TextSpan(start, end))

    if start < end:
        assert VisibleText.of(text[slice(*place)]).text == visible.text[start:end]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("soft\u00adhyphen", "softhyphen"),
        ("http://a.example/\u200bb", "http://a.example/b"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", None),
        ("a\u200cb", "ab"),
    ],
)
def test_a_joiner_between_letters_that_need_it_stays(text: str, shown: str | None) -> None:
    assert VisibleText.of(text).text == (text if shown is None else shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Content-Transfer-Encoding: quoted-printable\n\na?b=3D1=\n2=20\n", "a?b=12\n"),
        ("a?b=3D1&c=3D2 soft=\r\nbreak", "a?b=1&c=2 softbreak"),
        ("a?b=3D1&c=3D2", None),
        ("a?b=3D1&c=2\nd", None),
        ("a?b=3D1&c=3D2&d=e\nf", None),
        ("a=\nb", None),
    ],
)
def test_mail_is_decoded_if_it_says_so_or_all_of_it_is_encoded(
    text: str, shown: str | None
) -> None:
    found = VisibleText.of(text).text

    assert (found[-len(shown) :] if shown else found) == (shown or text)


def test_a_place_in_decoded_mail_is_that_in_the_text() -> None:
    text = "Content-Transfer-Encoding: quoted-printable\n\nsee http://a.example/?b=3D1=\n2 now"
    visible = VisibleText.of(text)
    start = visible.text.index("http")

    place = visible.in_text(TextSpan(start, start + len("http://a.example/?b=12")))

    assert text[slice(*place)] == "http://a.example/?b=3D1=\n2"


def test_slashes_in_json_lose_their_escapes() -> None:
    assert VisibleText.of('{"a": "b", "c":"http:\\/\\/a.example\\/"}').text.endswith(
        '"http://a.example/"}'
    )
    assert VisibleText.of("C:\\/\\/ and more").text == "C:\\/\\/ and more"
