from hypothesis import given
from hypothesis import strategies as st

from timegate.content.main_text import PageText
from timegate.content.similarity import is_same_page, similarity, words

TEXTS = st.lists(st.sampled_from(["harbour", "quay", "amber", "letter", "bridge"]), max_size=40)


def page(text: str, language: str = "") -> PageText:
    return PageText(main=text, text=text, language=language)


@given(TEXTS, TEXTS)
def test_similarity_is_symmetric_and_a_percentage(one: list[str], other: list[str]) -> None:
    first, second = page(" ".join(one)), page(" ".join(other))
    found = similarity(first, second)
    assert found == similarity(second, first)
    assert found is None or 0 <= found <= 100


@given(TEXTS.filter(bool))
def test_a_text_is_itself(text: list[str]) -> None:
    assert similarity(page(" ".join(text)), page("  ".join(text).upper())) == 100


def test_two_pages_without_text_cannot_be_compared() -> None:
    assert similarity(PageText(), PageText()) is None
    assert is_same_page(PageText(), PageText()) is None


FRAME = "the same words of a frame around both of these pages and their footer here "


def test_another_language_is_another_page() -> None:
    one = page(FRAME + "a small house by the river", "en")
    other = page(FRAME + "een klein huis aan de rivier", "nl")
    assert similarity(one, other) == 68
    assert is_same_page(one, other) is False


def test_languages_that_are_taken_for_each_other_do_not_make_another_page() -> None:
    one = page(FRAME + "uma casa pequena junto ao rio", "pt")
    other = page(FRAME + "outra casa na beira do rio", "gl")
    assert similarity(one, other) == 68
    assert is_same_page(one, other) is True


def test_nearly_the_same_words_are_of_one_language_whatever_was_detected() -> None:
    assert is_same_page(page(FRAME, "en"), page(FRAME + "again", "nl")) is True


def test_typography_and_capitals_do_not_count() -> None:
    assert words("ﬁnd “IT”") == ["find", "it"]


def test_each_character_of_a_language_without_spaces_is_a_word() -> None:
    assert words("ページ 404") == ["ペ", "ー", "ジ", "404"]
