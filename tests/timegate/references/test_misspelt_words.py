"""Misspelt words of access, which are read, and words near to them, which are not."""

import pytest

from timegate.references.misspelt_words import respelled


@pytest.mark.parametrize(
    ("misspelt", "plain"),
    [
        ("acessed", "viewed"),
        ("accesed", "viewed"),
        ("acccessed", "viewed"),
        ("Retreived", "Viewed"),
        ("retrived", "viewed"),
        ("dowloaded", "viewed"),
        ("abgeruffen", "besucht"),
        ("consultdo", "visitado"),
        ("consutlé", "visité"),
        ("geraadplegd", "bezocht"),
    ],
)
def test_a_misspelt_word_is_written_as_another_of_the_same_length(
    misspelt: str, plain: str
) -> None:
    text = f"URL ({misspelt} 5 May 2010)"

    assert respelled(text) == text.replace(misspelt, plain.ljust(len(misspelt)))


@pytest.mark.parametrize(
    "word",
    [
        "accessed",
        "assessed",
        "acceded",
        "accused",
        "retrieve",
        "retried",
        "angerufen",
        "abberufen",
        "ausgerufen",
        "consulato",
        "consultando",
        "insulted",
        "visite",
        "posited",
        "success",
        "recess",
        "angriff",
    ],
)
def test_other_words_stay(word: str) -> None:
    assert respelled(f"a {word} b") == f"a {word} b"


def test_parts_of_addresses_stay() -> None:
    text = "http://museum.example/acessed/ acessed@museum.example"

    assert respelled(text) == text
