"""Back and Forward in one tab: the answer is always that of the address."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.world import demo

MUSEUM = "http://museum.example/"
YEARS = {"2009": "15 June 2009", "2012": "9 May 2012", "2016": "22 January 2016"}
"""Dates, and what the copy in the answer is of."""
SLOW = 20_000


@pytest.fixture(scope="module")
def shown() -> Iterator[str]:
    with demo() as address:
        yield address


@pytest.fixture
def tab(browser: Browser, shown: str) -> Iterator[Page]:
    with browser.new_context(base_url=shown) as context:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        yield page
        assert errors == []


def start(page: Page, year: str) -> None:
    page.locator("[name=q]").fill(MUSEUM)
    page.locator("[name=at]").fill(year)
    page.get_by_role("button", name="Find a copy").click()


def expect_answer(page: Page, year: str) -> None:
    expect(page.locator("a.big")).to_contain_text(YEARS[year], timeout=SLOW)
    expect(page.locator("#progress")).to_be_hidden()
    expect(page.locator("[name=at]")).to_have_value(year)
    assert parse_qs(urlsplit(page.url).query)["at"] == [year]
    assert f"duri%3A{year}%3A" in str(page.locator("a[href*=json]").get_attribute("href"))


def search_all(page: Page) -> None:
    page.goto("/")
    for year in YEARS:
        start(page, year)
        expect_answer(page, year)


def test_back_shows_the_answer_again_without_a_search(tab: Page) -> None:
    search_all(tab)
    searches: list[str] = []
    tab.on("request", lambda sent: searches.append(sent.url) if "q=" in sent.url else None)
    for year in ("2012", "2009"):
        tab.go_back()
        expect_answer(tab, year)
    tab.evaluate("history.go(2)")
    expect_answer(tab, "2016")

    assert searches == []


@pytest.mark.parametrize("pause", [300, 1500])
def test_after_a_reload_two_times_back_shows_the_answer_of_the_address(
    tab: Page, pause: int
) -> None:
    search_all(tab)
    tab.reload()
    expect_answer(tab, "2016")
    tab.evaluate("history.back()")
    tab.wait_for_timeout(pause)
    tab.evaluate("history.back()")
    tab.wait_for_timeout(4_000)

    expect_answer(tab, "2009")
    tab.evaluate("history.back()")
    expect(tab.get_by_role("heading", name="Examples")).to_be_visible()
    expect(tab.locator("[name=q]")).to_have_value("")
    expect(tab).to_have_title("timegate")


def test_back_and_forward_shows_the_answer_of_the_address(tab: Page) -> None:
    search_all(tab)
    tab.reload()
    tab.evaluate("history.back()")
    tab.wait_for_timeout(300)
    tab.evaluate("history.forward()")
    tab.wait_for_timeout(4_000)

    expect_answer(tab, "2016")


def test_back_while_a_reloaded_page_searches_shows_the_answer_of_the_address(
    tab: Page,
) -> None:
    search_all(tab)
    start(tab, "2014")
    tab.wait_for_timeout(100)
    tab.evaluate("setTimeout(() => location.reload())")
    tab.wait_for_timeout(1_000)
    tab.evaluate("history.back()")

    expect_answer(tab, "2016")


def test_the_answer_of_a_search_that_was_left_is_dropped(tab: Page) -> None:
    search_all(tab)
    start(tab, "2013")
    tab.wait_for_timeout(300)
    start(tab, "2009")
    expect_answer(tab, "2009")
    start(tab, "2013")
    tab.wait_for_timeout(300)
    tab.go_back()
    tab.wait_for_timeout(4_000)

    expect_answer(tab, "2009")


def test_a_link_into_the_page_keeps_the_answer(tab: Page) -> None:
    search_all(tab)
    tab.evaluate("document.querySelector('#verdict').dataset.same = 'yes'")
    tab.evaluate("location.hash = '#main'")
    tab.go_back()

    expect(tab.locator("#verdict")).to_have_attribute("data-same", "yes")
    expect_answer(tab, "2016")


def test_a_timeline_that_is_not_loaded_is_not_printed(tab: Page) -> None:
    tab.route("**/timeline/**", lambda _: None)
    tab.goto(f"/?q=duri:2009:{MUSEUM}")
    expect(tab.locator("a.big")).to_be_visible(timeout=SLOW)
    heading = tab.get_by_role("heading", name="All captures")
    expect(heading).to_be_visible()
    tab.emulate_media(media="print")

    expect(heading).to_be_hidden()
    tab.unroute_all(behavior="ignoreErrors")
    tab.emulate_media(media="screen")
    tab.reload()
    expect(tab.locator(".picture")).to_have_attribute("data-state", "whole", timeout=SLOW)
    tab.emulate_media(media="print")
    expect(heading).to_be_visible()
