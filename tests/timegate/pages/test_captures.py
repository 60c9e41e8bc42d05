"""The page of all captures: complete without scripts, and honest about what is missing."""

from dataclasses import replace
from urllib.parse import quote

import pytest

from tests.scenario import NEVER, FakeArchive
from tests.timegate.endpoints.served import Seen
from tests.timegate.pages.served_pages import BROWSER, Html, dechunked, site

URL = "http://example.org/"
PAGE = f"/timemap/html/{URL}"
ENCODED = f"/timemap/html/{quote(URL, safe='')}"
OLD = ("20050613120000", "20050613130000", "20050701000000")
NEW = ("20160122112029", "20160125112029")


def both() -> tuple[FakeArchive, FakeArchive]:
    return FakeArchive("a", 0.0, OLD), FakeArchive("b", 0.0, NEW, status=404)


def page_of(seen: Seen) -> Html:
    is_chunked = seen.headers.get("Transfer-Encoding") == "chunked"
    return Html((dechunked(seen.body) if is_chunked else seen.body).decode())


async def test_the_page_counts_the_captures_and_names_the_first_and_the_last() -> None:
    async with site(*both()) as served:
        seen = await served.ask(PAGE, BROWSER)

    page = page_of(seen)
    assert seen.status == 200
    assert "5 captures in 2 of 2 archives that were asked, from 13 June 2005" in page.text
    assert "to 25 January 2016, 11:20:29 UTC (b)" in page.text
    assert f"http://a/{OLD[0]}/{URL}" in page.links
    assert f"/timemap/link/{quote(URL)}?wait=0.5" in page.links
    assert "Calendar of 2016" in page.text


async def test_years_and_days_are_tables_with_labels_and_links() -> None:
    async with site(*both()) as served:
        page = page_of(await served.ask(f"{ENCODED}?from=2005&to=2005", BROWSER))

    labels = {
        link["aria-label"]: link["href"] for link in page.all("a") if "aria-label" in link
    }
    assert labels["June 2005: 2 captures"] == f"{ENCODED}?from=2005-06&to=2005-06#list"
    assert labels["13 June 2005: 2 captures"] == f"{ENCODED}?from=2005-06-13&to=2005-06-13#list"
    assert "Calendar of 2005" in page.text
    assert {header["scope"] for header in page.all("th")} == {"col", "row"}


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("archive=a", 3),
        ("archive=none", 0),
        ("status=2xx", 3),
        ("status=4xx", 2),
        ("status=4xx&archive=a", 0),
        ("status=nonsense", 5),
        ("from=2016", 2),
        ("to=2005-06", 2),
        ("from=June+2005&to=July+2005", 3),
        ("from=13+June+2005&to=2005-06-13", 2),
        ("from=2017&to=2004", 0),
        ("page=99999", 5),
        ("page=-1", 5),
        ("page=%00&x=y", 5),
    ],
)
async def test_the_form_filters_the_list(query: str, count: int) -> None:
    async with site(*both()) as served:
        seen = await served.ask(f"{ENCODED}?{query}", BROWSER)

    words = f"1 to {count} of {count} captures" if count else "no capture fits the filter"
    assert seen.status == 200
    assert words in page_of(seen).text
    headings = {heading.get("id") for heading in page_of(seen).all("h2")}
    assert ({"years", "holders"} <= headings) == bool(count)
    assert bool(count) or not {"years", "holders"} & headings


async def test_a_date_that_cannot_be_read_is_said() -> None:
    async with site(*both()) as served:
        seen = await served.ask(f"{ENCODED}?from=thirteenth", BROWSER)

    assert seen.status == 400
    assert "A date of the form was ignored" in page_of(seen).text


async def test_parameters_of_the_url_belong_to_the_url() -> None:
    url = "http://example.org/?from=2016"
    async with site(FakeArchive("a", 0.0, OLD, holds=url)) as served:
        seen = await served.ask(f"/timemap/html/{url}", BROWSER)

    assert "3 captures in 1 of 1 archive that was asked" in page_of(seen).text


async def test_an_archive_without_a_list_is_named_with_the_reason() -> None:
    async with site(*both(), FakeArchive("c", NEVER)) as served:
        page = page_of(await served.ask(PAGE, BROWSER))

    assert "Reading the lists of 3 archives: a, b, c." in page.text
    assert "This list is not complete" in page.text
    assert "c: No answer in time." in page.text


async def test_captures_without_a_status_are_counted_when_they_are_left_out() -> None:
    archives = FakeArchive("a", 0.0, OLD), FakeArchive("b", 0.0, NEW, status=None)
    async with site(*archives) as served:
        page = page_of(await served.ask(f"{ENCODED}?status=2xx", BROWSER))

    assert "3 captures of 5 captures; 2 more are left out because their archives do not" in (
        page.text
    )


async def test_an_archive_that_is_in_use_but_not_asked_is_named() -> None:
    async with site(*both()) as served:
        page = page_of(await served.ask(PAGE, ("Prefer", 'archives="a"'), BROWSER))

    assert "Asked: a. Not asked for this page, though in use: b." in page.text


async def test_a_collection_that_is_read_on_site_is_not_called_in_use() -> None:
    vault = replace(FakeArchive("vault").entry, use=True, access="onsite-only")
    async with site(*both(), extra=(vault,)) as served:
        page = page_of(await served.ask(PAGE, BROWSER))

    assert "Not asked, because they can only be read on site: " in page.text
    assert "though in use" not in page.text


async def test_without_captures_the_answer_is_a_problem_and_never_a_false_404() -> None:
    async with site(FakeArchive("a", 0.0), FakeArchive("b", 0.0)) as served:
        none = await served.ask(PAGE, BROWSER)
    async with site(FakeArchive("a", 0.0), FakeArchive("b", NEVER)) as served:
        shown = page_of(await served.ask(PAGE, BROWSER))
        unknown = await served.ask(PAGE)

    assert none.status == 404
    assert unknown.status == 504
    assert "No archive that answered lists a capture." in shown.text


async def test_a_long_list_is_paged_and_another_page_asks_no_archive() -> None:
    stamps = tuple(f"2016010100{n:04}" for n in range(60))
    archive = FakeArchive("a", 0.0, stamps)
    async with site(archive) as served:
        first = page_of(await served.ask(PAGE, BROWSER))
        archive.stamps = ()
        second = page_of(await served.ask(f"{ENCODED}?page=2", BROWSER))

    assert "1 to 50 of 60 captures" in first.text
    assert f"{ENCODED}?page=2#list" in first.links
    assert "51 to 60 of 60 captures" in second.text


async def test_no_cache_reads_the_lists_again() -> None:
    archive = FakeArchive("a", 0.0, OLD)
    async with site(archive) as served:
        await served.ask(PAGE, BROWSER)
        archive.stamps = NEW
        seen = await served.ask(PAGE, BROWSER, ("Cache-Control", "no-cache"))

    assert "2 captures" in page_of(seen).text


async def test_a_hostile_address_is_no_link() -> None:
    class Hostile(FakeArchive):
        def captures(self, original: str) -> list[object]:  # type: ignore[override]
            found = super().captures(original)
            return [capture._replace(uri="javascript:alert(1)") for capture in found]

    async with site(Hostile("a", 0.0, OLD)) as served:
        page = page_of(await served.ask(PAGE, BROWSER))

    assert not any("javascript" in link for link in page.links)


@pytest.mark.parametrize("stamp", ["00010101000000", "99991231235959"])
async def test_the_first_and_the_last_year_have_a_calendar(stamp: str) -> None:
    async with site(FakeArchive("a", 0.0, (stamp,))) as served:
        seen = await served.ask(PAGE, BROWSER)

    assert seen.status == 200
    assert f"Calendar of {stamp[:4]}" in page_of(seen).text


async def test_the_years_are_those_between_the_dates_of_the_form() -> None:
    async with site(*both()) as served:
        page = page_of(await served.ask(f"{ENCODED}?from=2005-06-13&to=2005-06-13", BROWSER))

    labels = {link.get("aria-label") for link in page.all("a")}
    assert "June 2005: 2 captures" in labels
    assert not {"July 2005: 1 capture", "January 2016: 2 captures"} & labels


@pytest.mark.parametrize(
    ("query", "year"), [("year=2005", "2005"), ("year=1999", "2016"), ("year=banana", "2016")]
)
async def test_the_calendar_opens_at_a_year_with_captures(query: str, year: str) -> None:
    async with site(*both()) as served:
        page = page_of(await served.ask(f"{ENCODED}?{query}", BROWSER))

    assert f"Calendar of {year}" in page.text
    assert "5 captures in 2 of 2 archives" in page.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("from=2010&to=2009", "No capture can fit, because From (2010) is after To (2009)."),
        ("status=banana", "The status banana was ignored: it is none of 2xx, 3xx"),
        ("from=banana", "A date of the form was ignored:"),
    ],
)
async def test_a_filter_that_cannot_be_meant_is_explained(query: str, words: str) -> None:
    async with site(*both()) as served:
        seen = await served.ask(f"{ENCODED}?{query}", BROWSER)

    assert seen.status == (400 if query == "from=banana" else 200)
    assert words in page_of(seen).text


async def test_a_filter_from_and_to_the_same_time_is_no_mistake() -> None:
    async with site(*both()) as served:
        seen = await served.ask(f"{ENCODED}?from=2005-06-13&to=2005", BROWSER)

    assert seen.status == 200
    assert "No capture can fit" not in page_of(seen).text
