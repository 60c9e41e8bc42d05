"""The form of the search page: which copy is searched for."""

from datetime import UTC, datetime

import pytest

from archives.registry import load_known
from timegate.pages.form import FormFields, read_form

REGISTRY = load_known()
NOW = datetime(2026, 11, 19, tzinfo=UTC)
URL = "http://museum.example/"
PERMA = "https://perma.cc/AB12-CD34"


@pytest.mark.parametrize(
    "text",
    [
        f"{{{{cite web |url={URL} |archive-url={PERMA} |archive-date=15 June 2009}}}}",
        f"{{{{Internetquelle |url={URL} |archiv-url={PERMA} |archiv-datum=2009-06-15}}}}",
        f"@misc{{a, url={{{URL}}}, archiveurl={{{PERMA}}}, archivedate={{2009-06-15}}}}",
        f"See [Museum]({URL}) ([archived]({PERMA}), 15 June 2009).",
        f"Museum. {URL} (accessed 15 June 2009) [{PERMA}].",
        f'<a href="{URL}" data-versionurl="{PERMA}" data-versiondate="2009-06-15">M</a>',
    ],
)
def test_a_citation_with_an_own_id_of_an_archive_asks_for_the_copy_there(text: str) -> None:
    query = read_form(FormFields(text), REGISTRY, NOW).query

    assert (query.original, str(query.at)) == (URL, "2009-06-15")
    assert (query.archive, query.link, query.by_id) == ("perma-cc", PERMA, True)


def test_an_archive_link_with_its_url_in_it_is_no_own_id() -> None:
    text = f"{{{{cite web |url={URL} |archive-url=https://archive.ph/20090615/{URL}}}}}"

    query = read_form(FormFields(text), REGISTRY, NOW).query

    assert (query.archive, query.by_id) == ("archive-today", False)
