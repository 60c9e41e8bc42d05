"""Choices of the search page: which of several references, and all of them at once."""

from datetime import UTC, datetime
from urllib.parse import parse_qs, quote

import pytest

from archives.registry import load_known
from tests.scenario import FakeArchive
from tests.timegate.pages.served_pages import BROWSER, Html, site
from timegate.pages.choices import SeveralReferences
from timegate.pages.form import FormFields, read_form

REGISTRY = load_known()
NOW = datetime(2026, 11, 1, tzinfo=UTC)
MIXED = (
    "* http://a.example/x retrieved 5 November 2010\n"
    "* https://archive.ph/XyZ12\n"
    "* https://web.archive.org/web/*/http://b.example/\n"
    "* http://c.example/y\n"
)


def several(text: str) -> SeveralReferences:
    with pytest.raises(SeveralReferences) as raised:
        read_form(FormFields(text), REGISTRY, NOW)
    return raised.value


def test_references_that_no_batch_can_resolve_are_named_with_the_reason() -> None:
    found = several(MIXED)

    assert found.count == 4
    assert found.lines.splitlines() == [
        "duri:2010-11-05:http://a.example/x",
        "http://c.example/y",
    ]
    assert found.left_out == (
        ("https://archive.ph/XyZ12", "the archive link does not contain the URL of the page"),
        ("http://b.example/", "a list of captures, which names none of them"),
    )


def test_the_link_of_an_id_of_an_archive_searches_for_it_as_it_is() -> None:
    searches = [parse_qs(choice.query)["q"] for choice in several(MIXED).choices]

    assert ["https://archive.ph/XyZ12"] in searches


async def test_several_references_lead_to_the_commands_for_all_of_them() -> None:
    known = tuple(e for e in REGISTRY.entries if e.id in ("archive-today", "internet-archive"))
    async with site(FakeArchive("a", 0.0), extra=known) as served:
        seen = await served.ask(f"/?q={quote(MIXED, safe='')}", BROWSER)

    page = Html(seen.body.decode())
    assert "timegate resolve --batch article.wiki --output new.wiki" in page.text
    assert "/docs/batch" in page.links
    assert (
        "curl -H 'Prefer: wait=5' --data-binary @list.txt https://gate.example/resolve"
        in page.text
    )
    assert "They are 2 of the 4 references, without:" in page.text


TWO = (
    "A<ref>{{cite web |url=http://a.example/ |title=A |last=Smith |url-status=dead}}</ref>\n"
    "B<ref>{{cite web |url=http://b.example/ |title=B |access-date=5 May 2010}}</ref>\n"
)


def test_the_reference_that_is_chosen_keeps_its_citation() -> None:
    first, second = several(TWO).choices

    chosen = read_form(FormFields.of(second.query), REGISTRY, NOW)
    assert chosen.described.title == "B"
    assert str(chosen.query.at) == "2010-05-05"
    described = read_form(FormFields.of(first.query), REGISTRY, NOW).described
    assert (described.title, described.url_status) == ("A", "dead")
    assert described.pasted is not None
    assert "|last=Smith" in described.pasted.text


def test_a_search_with_another_date_keeps_the_citation() -> None:
    text = "The museum, http://museum.example/ accessed 03/04/2010"

    for choice in read_form(FormFields(text), REGISTRY, NOW).choices:
        other = read_form(FormFields.of(choice.query), REGISTRY, NOW)
        assert other.described.pasted is not None
        assert other.described.pasted.text == text


async def test_nothing_is_promised_of_links_that_no_batch_tries() -> None:
    async with site(FakeArchive("a", 0.0)) as served:
        seen = await served.ask(f"/?q={quote(MIXED, safe='')}", BROWSER)

    text = " ".join(Html(seen.body.decode()).text.split())
    assert "Whether a link still works is not tried." in text
    assert "All other links stay" in text
