"""Two links on different lines: items of a list, or one citation."""

import pytest

from timegate.references import TextSpan
from timegate.references.own_lines import are_items, is_divided

PAGE = "http://a.example/"
COPY = "duri:2010-11:http://a.example/"


def spans(text: str) -> tuple[TextSpan, TextSpan, TextSpan]:
    """Return the two references of *text*, the first of them first, and the page."""
    copy = TextSpan(text.index(COPY), text.index(COPY) + len(COPY))
    start = text.replace(COPY, "-" * len(COPY)).index(PAGE)
    page = TextSpan(start, start + len(PAGE))
    one, other = sorted((copy, page))
    return one, other, page


def are_two(text: str) -> bool:
    one, other, page = spans(text)
    return are_items(text, one, other, dated=page)


@pytest.mark.parametrize(
    "text",
    [
        f"{COPY}\n{PAGE} accessed 4 Dec 2008",
        f"{PAGE} 2008-12-04\n{COPY}",
        f"- {PAGE}\n- {COPY}",
        f"(1) {PAGE}\n(2) Archived: {COPY}",
        f"a) {PAGE}\nb) {COPY}",
        f"Hours. {PAGE} (accessed 4 Dec 2008)\nHours. {COPY}",
    ],
)
def test_items_of_a_list_are_two_references(text: str) -> None:
    assert are_two(text)


@pytest.mark.parametrize(
    "text",
    [
        f"{PAGE} accessed 4 Dec 2008 and {COPY}",
        f"{PAGE}\n{COPY}",
        f"{PAGE} accessed 4 Dec 2008\n  {COPY}",
        f"* {PAGE} 2008-12-04\n** {COPY}",
        f"- {PAGE} 2008-12-04\n- Archive: {COPY}",
        f"{PAGE} accessed 4 Dec 2008,\n{COPY}",
        f"{PAGE} accessed 4 Dec 2008\nas {COPY}",
        f"Hours. {PAGE} (accessed 4 Dec 2008)\n{COPY}",
        f"Smith (2009). Hours. {PAGE}\nHours. {COPY}",
    ],
)
def test_the_lines_of_a_citation_are_one_reference(text: str) -> None:
    assert not are_two(text)


@pytest.mark.parametrize("gap", ["\n\n", "\r\n\r\n", ".\n \t\nThe", "\n> x\n\n"])
def test_a_blank_line_divides_paragraphs(gap: str) -> None:
    assert is_divided(gap)


@pytest.mark.parametrize("gap", ["", "\n", "\r\n", " \n - \n"])
def test_lines_of_one_paragraph_are_not_divided(gap: str) -> None:
    assert not is_divided(gap)
