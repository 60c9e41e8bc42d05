"""The demo in a browser: every example of its front page."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.world import demo


@pytest.fixture(scope="module")
def shown() -> Iterator[str]:
    with demo() as address:
        yield address


@pytest.mark.parametrize(
    ("kind", "verdict", "copy"),
    [
        ("PWID", "Exactly as requested", "15 June 2009, 18:30:12 UTC"),
        ("duri", "As requested", "22 January 2016, 11:20:29 UTC"),
        ("Archive link", "A substitute from another archive", "9 May 2012, 12:00:00 UTC"),
        ("URL and date", "As requested", "5 November 2010, 10:15:00 UTC"),
    ],
)
def test_every_example_of_the_front_page_has_its_answer(
    browser: Browser, shown: str, kind: str, verdict: str, copy: str
) -> None:
    with browser.new_context(base_url=shown) as context:
        page = context.new_page()
        page.goto("/")

        page.locator(".examples div", has_text=kind).get_by_role("link").click()

        expect(page.locator("#verdict")).to_contain_text(verdict, timeout=20_000)
        expect(page.locator("a.big")).to_contain_text(copy)
        expect(page.locator(".picture")).to_have_attribute(
            "data-state", "whole", timeout=20_000
        )
        expect(page.locator("#timeline-summary")).to_contain_text("in 2 archives")
        page.locator("a.big").click()
        archived = page.frame_locator("body > iframe")  # with the verdict around it
        expect(archived.get_by_role("heading", name="The Lighthouse Museum")).to_be_visible()
