"""Quotations beside links in prose: only what clearly belongs to the link is used."""

from datetime import UTC, datetime

import pytest

from archives.registry import Registry
from timegate.references.bibtex import read_bibtex
from timegate.references.model import place_of
from timegate.references.prose import read_prose
from timegate.references.quotations import APART, SEVERAL, only_quotation

NOW = datetime(2020, 1, 1, tzinfo=UTC)
URL = "http://museum.example/"


def items(text: str) -> list[tuple[str, str]]:
    """Return the quotation of each link, and what is said of it."""
    places = [place_of(found).item for found in read_prose(text, Registry([]))]
    return [(item.quote, item.said) for item in places]


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        (f"The museum is 'open all year' ({URL}, accessed 5 November 2010).", "open all year"),
        (f'The museum is "open all year" ({URL}).', "open all year"),
        (f"The museum is \u201copen all year\u201d, {URL}", "open all year"),
        (
            f"The museum\u2019s site says: \u201cIt\u2019s open all year\u201d <{URL}>",
            "It\u2019s open all year",
        ),
        (
            f"Das Museum ist \u201eganzjährig geöffnet\u201c ({URL}, abgerufen am 5.11.2010).",
            "ganzjährig geöffnet",
        ),
        (
            f"Die Seite schreibt: \u00bbganzjährig geöffnet\u00ab (Quelle: {URL})",
            "ganzjährig geöffnet",
        ),
        (
            f"Le musée est \u00ab\u00a0ouvert toute l\u2019année\u00a0\u00bb ({URL})",
            "ouvert toute l\u2019année",
        ),
        (
            f"El museo está \u00ababierto todo el año\u00bb ({URL}).",
            "abierto todo el año",
        ),
        (f"Muzeum jest \u201eotwarte cały rok\u201d ({URL}).", "otwarte cały rok"),
        (
            f"Музей \u00abоткрыт круглый год\u00bb ({URL})",  # noqa: RUF001
            "",
        ),
        (
            f"Сайт пишет: \u00abоткрыт круглый год\u00bb ({URL})",  # noqa: RUF001
            "открыт круглый год",
        ),
        (
            f"博物館は「年中無休です」と書く ({URL})",
            "",
        ),
        (
            f"博物館は「年中無休です」({URL})",
            "年中無休です",
        ),
        (f'It is "open all year" ([source]({URL})).', "open all year"),
        (f"It was ``open all year'' ({URL}).", "open all year"),
        (f'According to {URL}, the tower is "open all year".', "open all year"),
        # Titles of citations, and single words, are no quotations.
        (f'Smith, J. "Opening hours of museums." {URL}', ""),
        (f'"Opening hours of museums", {URL}, accessed 5 November 2010', ""),
        (f'See the article "Opening hours of museums" ({URL}).', ""),
        (f'The so-called "museum" ({URL}) is closed.', ""),
        (f"The museum's tower isn't open ({URL}).", ""),
        (f'He was "there all day". The museum is at {URL}', ""),
    ],
)
def test_a_quotation_that_clearly_belongs_to_the_link_is_used(text: str, quote: str) -> None:
    assert [found for found, _ in items(text)] == [quote]


def test_a_doubt_is_not_used_but_said() -> None:
    several = f'It is "open all year" and "free of charge" ({URL}).'
    apart = f'It is "open all year", as the web page of the museum tells, see {URL}.'

    assert items(several) == [("", SEVERAL)]
    assert items(apart) == [("", APART)]


def test_each_link_has_its_own_quotation() -> None:
    other = "http://tower.example/"
    text = (
        f'The museum is "open all year" ({URL}), and the tower is "closed in winter" ({other}).'
    )

    assert [quote for quote, _ in items(text)] == ["open all year", "closed in winter"]


def test_a_quotation_of_another_paragraph_is_none() -> None:
    assert items(f'It is "open all year".\n\n({URL})') == [("", "")]


@pytest.mark.parametrize(
    ("field", "quote"),
    [
        ("note = {``open all year''}", "open all year"),
        ("note = {The site says \\enquote{open all year}.}", "open all year"),
        ("quote = {open all year}", "open all year"),
        ('annote = {"open all year"}', "open all year"),
        ("note = {``open all year'' and ``free of charge''}", ""),
        ("note = {accessed 5 November 2010}", ""),
    ],
)
def test_notes_of_bibtex_have_quotations(field: str, quote: str) -> None:
    text = f"@misc{{m, title = {{Museum}}, url = {{{URL}}}, {field}}}"
    assert [place.item.quote for place in read_bibtex(text, lambda _: False)] == [quote]


def test_hostile_text_takes_no_long_time() -> None:
    """Marks without an end are read once for each kind, within the reach of the link."""
    assert only_quotation('"' * 100_000) == ""
    assert len(items(("is \u201c" * 5000) + URL)) == 1
