"""Citations in prose: only what their style states without a doubt is read."""

import pytest

from timegate.citations.prose import ProseCitation, read_citation_in_prose

URL = "http://museum.example/"
SMITH = ("Smith, A.",)
ANNA = ("Smith, Anna",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"Smith, A. (2009). The museum. City Museum. Retrieved May 5, 2010, from {URL}",
            ProseCitation(SMITH, "2009", "The museum"),
        ),
        (
            f"[1] van Dyk, J.-P., & O'Neil, K. (2009, May 5). Is it open? {URL}",
            ProseCitation(("van Dyk, J.-P.", "O'Neil, K."), "2009", "Is it open?"),
        ),
        (
            f"Smith, A. (2009) *The museum* [Online]. Available at: {URL} (Accessed: 2010).",
            ProseCitation(SMITH, "2009", "The museum"),
        ),
        (
            f"Smith, A. (2009) 'The museum', City Museum. Available at: {URL}.",
            ProseCitation(SMITH, "2009", "The museum"),
        ),
        (
            f"Smith, Anna. “The Museum.” City Museum, 5 May 2009, {URL}. Accessed 5 Nov. 2010.",
            ProseCitation(ANNA, "2009", "The Museum"),
        ),
        (
            f"Smith, Anna. “The Museum.” City Museum. May 5, 2009. Accessed May 2010. {URL}.",
            ProseCitation(ANNA, "2009", "The Museum"),
        ),
        (
            f'Smith, Anna. 2009. "The Museum." City Museum. {URL}.',
            ProseCitation(ANNA, "2009", "The Museum"),
        ),
        (
            f"Smith, Anna, and Ben Jones. “The Museum.” City Museum, {URL}.",
            ProseCitation(("Smith, Anna, and Ben Jones",), "", "The Museum"),
        ),
    ],
)
def test_author_year_and_title_are_read(text: str, expected: ProseCitation) -> None:
    assert read_citation_in_prose(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Smith, A. (2009). The museum of St. Louis. {URL}", ProseCitation(SMITH, "2009")),
        (
            f"Smith, A. (2009). The museum. In: A book. Part two. {URL}",
            ProseCitation(SMITH, "2009"),
        ),
        (f"Smith, A. (2009) says that it is open. {URL}", ProseCitation(SMITH, "2009")),
        (
            f"Smith, A. (2009) 'The museum's day', City Museum. {URL}",
            ProseCitation(SMITH, "2009"),
        ),
        (
            f"Smith, Anna. “The Museum.” City Museum. Accessed May 2010. {URL}.",
            ProseCitation(ANNA, "", "The Museum"),
        ),
        (
            f"Smith, Anna. “The Museum.” City Museum. Last modified May 5, 2010. {URL}.",
            ProseCitation(ANNA, "", "The Museum"),
        ),
    ],
)
def test_what_is_not_certain_is_left_out(text: str, expected: ProseCitation) -> None:
    assert read_citation_in_prose(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"The museum. (2009). City Museum. {URL}",
        f"I saw Smith, A. (2009) there. {URL}",
        f"“The museum is closed.” {URL}",
        f"Paris, France (2009). The museum. {URL}",
        f"The museum, {URL} accessed 03/04/2010",
        "",
    ],
)
def test_other_prose_says_nothing_for_certain(text: str) -> None:
    assert read_citation_in_prose(text) == ProseCitation()
