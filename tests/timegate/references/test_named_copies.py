"""Copies of a page that a field of its entry names."""

import pytest

from timegate.references.named_copies import copies_of

PAGE = "http://www.museum.example/a/"


@pytest.mark.parametrize(
    "name",
    [
        f"urn:pwid:archive.org:2015-08-19T06:41:10Z:page:{PAGE}",
        f"duri:2015-08-19:{PAGE}",
        f"https://web.archive.org/web/20150819064110/{PAGE}",
        "https://archive.ph/20150819064110/https://museum.example/a",
    ],
)
def test_a_copy_of_the_page_is_found_in_a_note(name: str) -> None:
    assert [*copies_of([PAGE], f"Archived at {name}.")] == [name]


def test_a_copy_of_another_page_is_none_of_it() -> None:
    note = "https://web.archive.org/web/20150819064110/http://other.example/"

    assert not [*copies_of([PAGE], note)]
