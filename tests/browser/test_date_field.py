"""The Date field over several searches in one tab: a date that was left is of no other text."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.world import PAGE

CITATION = f"{{{{cite web |url={PAGE} |title=Page |access-date=22 January 2016}}}}"


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def tab(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(base_url=address, java_script_enabled=request.param)
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


def search(page: Page, text: str, date: str | None = None) -> None:
    """Search for *text*; without *date* the field stays as it is."""
    page.locator("#ask [name=q]").fill(text)
    if date is not None:
        page.locator("#ask [name=at]").fill(date)
    page.get_by_role("button", name="Find a copy").click()
    expect(page.locator("#ask [name=q]")).to_have_value(text)
    expect(page.locator("#verdict")).to_be_visible()


def test_a_date_left_from_an_earlier_search_is_not_that_of_the_next_text(tab: Page) -> None:
    tab.goto("/")
    search(tab, PAGE, "2005")
    expect(tab.locator(".asked")).to_contain_text("2005")

    search(tab, CITATION)
    expect(tab.locator(".asked")).to_contain_text("22 January 2016")
    expect(tab.locator("#ask [name=at]")).to_have_value("")
    assert "at=" not in tab.url


def test_the_date_that_was_not_used_is_one_link_away(page: Page) -> None:
    page.goto("/")
    search(page, PAGE, "2005")
    search(page, CITATION)
    expect(page.locator("#outcome")).to_contain_text("Not used: 2005, which was left in the")

    page.get_by_role("link", name="2005", exact=True).click()
    expect(page.locator(".asked")).to_contain_text("2005")
    expect(page.locator("#outcome")).to_contain_text("Date used: 2005, the date in the Date")
    expect(page.locator("#outcome")).to_contain_text("Not used: 22 January 2016")


def test_a_date_stays_for_the_next_text_without_one(tab: Page) -> None:
    tab.goto("/")
    search(tab, PAGE, "2005")
    search(tab, f"{PAGE}#more")
    expect(tab.locator(".asked")).to_contain_text("2005")
    expect(tab.locator("#ask [name=at]")).to_have_value("2005")


def test_an_id_of_an_archive_fills_the_time_that_it_states_in(tab: Page) -> None:
    tab.goto("/")
    search(tab, "https://www.webcitation.org/5tXYZabcd")
    expect(tab.locator("#ask [name=at]")).to_have_value("2010-10-17T06:03:33Z")
