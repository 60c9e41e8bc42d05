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


def test_a_copy_that_is_opened_repeats_the_verdict_of_its_answer(
    browser: Browser, shown: str
) -> None:
    with browser.new_context(base_url=shown) as context:
        page = context.new_page()
        for year, verdict, banner in (
            ("1990", "More than a year away", "banner poor"),
            ("2008-03-01", "As requested", "banner good"),
        ):
            page.goto(f"/?q=duri:{year}:http://museum.example/")
            page.locator("a.big").click(timeout=20_000)
            page.wait_for_url("**/view/20080301090000@harbour/**")

            expect(page.locator(".answered")).to_contain_text(verdict)
            expect(page.locator("header.banner")).to_have_class(banner)
            expect(page.locator(".when")).not_to_contain_text("Requested")
            page.get_by_role("link", name="Back to the answer").click()
            expect(page.locator("#verdict")).to_contain_text(verdict, timeout=20_000)

        copy = "/view/20101105101500@harbour/http://museum.example/"
        page.goto(copy)
        expect(page.locator(".when")).to_contain_text("Captured 5 November 2010")
        expect(page.locator(".answered")).to_be_hidden()
        expect(page.locator("header.banner")).to_have_class("banner")


def test_the_copy_that_was_found_is_the_one_that_is_looked_at(
    browser: Browser, shown: str
) -> None:
    with browser.new_context(base_url=shown) as context:
        page = context.new_page()
        text = "Museum, http://museum.example/ (accessed 9 May 2012)"
        for reference, copy in (
            ("duri:2012-05:http://museum.example/", "9 May 2012"),
            ("duri:2014-03-01:http://museum.example/", "28 February 2014"),
            (text, "9 May 2012"),
        ):
            page.goto("/")
            page.locator("[name=q]").fill(reference)
            page.get_by_role("button", name="Find a copy").click()
            expect(page.locator("a.big")).to_contain_text(copy, timeout=20_000)
            cited = page.locator("#cite-pasted").count()
            page.get_by_role("link", name="Is it the same page?").click()
            expect(page.locator(".points")).to_contain_text("Same page", timeout=30_000)

            expect(page.locator("a.big")).to_contain_text(copy)
            expect(page.locator("[name=q]")).to_have_value(reference)
            assert page.locator("#cite-pasted").count() == cited
