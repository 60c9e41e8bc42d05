"""PWIDs with mistakes of notation."""

import pytest

from timegate.references.mistyped_pwids import mistyped_pwid


def test_mistakes_of_notation_are_corrected() -> None:
    named = mistyped_pwid("urn:pwid:archive.org:2016-01-22T11.20.29:page:http//museum.example")

    assert named is not None
    assert named.page == "http://museum.example"
    assert str(named.time) == "2016-01-22T11:20:29Z"
    assert named.corrected == (
        "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://museum.example"
    )


def test_a_pwid_without_coverage_is_of_a_page() -> None:
    named = mistyped_pwid("urn:pwid:archive.org:2016-01-22T11:20:29Z:http://museum.example/")

    assert named is not None
    assert named.page == "http://museum.example/"
    assert ":page:" in named.corrected


@pytest.mark.parametrize(
    "text",
    [
        "urn:pwid:archive.org:2016-22-01T11:20:29Z:page:http://museum.example/",
        "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:museum",
        "urn:pwid:archive.org:page:http://museum.example/",
    ],
)
def test_a_time_that_does_not_exist_is_not_guessed(text: str) -> None:
    assert mistyped_pwid(text) is None
