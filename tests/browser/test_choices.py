"""A text with several references: the page lists them, and the user chooses one."""

from typing import Literal, NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from tests.browser.world import NEWS, PAGE

TEXT = f"Smith (2004). One. {PAGE} (accessed 5 June 2005).\nDoe. Two. {NEWS} (03/04/2011)"
"""Two references; the date of the second can be read in two ways."""


class Look(NamedTuple):
    """How the page is looked at."""

    scripts: bool = True
    width: int = 1000
    scheme: Literal["light", "dark"] = "light"


LOOKS = {
    "light": Look(),
    "dark": Look(scheme="dark"),
    "phone": Look(width=390),
    "no script": Look(scripts=False),
}


def paste(page: Page, text: str) -> None:
    page.goto("/")
    page.locator("[name=q]").fill(text)
    page.get_by_role("button", name="Find a copy").click()
    expect(page.locator("#verdict")).to_have_attribute("data-match", "several")


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
def test_one_of_several_references_is_chosen(
    browser: Browser, address: str, look: Look
) -> None:
    with browser.new_context(
        base_url=address,
        java_script_enabled=look.scripts,
        color_scheme=look.scheme,
        viewport={"width": look.width, "height": 800},
    ) as context:
        page = context.new_page()
        paste(page, TEXT)

        choices = page.locator(".choices li")
        expect(choices).to_have_count(2)
        expect(choices.nth(0)).to_contain_text("5 June 2005, the date of access")
        expect(choices.nth(1)).to_contain_text("it may be 2011-04-03 or 2011-03-04")
        width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        if look.scripts:
            assert page.evaluate(width) <= 0
            assert Axe().run(page).violations_count == 0

        choices.nth(0).get_by_role("link").click()
        expect(page.locator("#verdict")).not_to_have_attribute("data-match", "several")
        expect(page.locator("#verdict")).to_contain_text("some days away")


LONG = "".join(f"* [{PAGE}p{n} Page {n}] retrieved 5 November 2010\n" for n in range(300))
"""A text that no address can hold."""


@pytest.mark.parametrize("scripts", [True, False])
def test_a_long_text_is_read_to_its_end(
    browser: Browser, address: str, *, scripts: bool
) -> None:
    with browser.new_context(base_url=address, java_script_enabled=scripts) as context:
        page = context.new_page()
        page.goto("/")
        page.locator("[name=q]").press("Control+a")
        page.keyboard.insert_text(LONG)
        page.get_by_role("button", name="Find a copy").click()

        choices = page.locator(".choices li")
        expect(choices).to_have_count(300)
        expect(choices.last).to_contain_text(f"{PAGE}p299")
        expect(choices.last).to_contain_text("5 November 2010, the date of access")


def test_a_text_beyond_the_limit_is_not_cut_and_not_sent(page: Page) -> None:
    page.goto("/")
    page.locator("[name=q]").fill("é" * 100_001)

    expect(page.locator("#q-over")).to_contain_text("The text has 100,001 characters")
    expect(page.locator("#q-over")).to_contain_text("timegate resolve --batch FILE")
    page.get_by_role("button", name="Find a copy").click()
    expect(page.locator("[name=q]")).to_be_focused()
    assert page.url.endswith("/")
    assert Axe().run(page).violations_count == 0

    page.locator("[name=q]").fill(PAGE)
    expect(page.locator("#q-over")).to_be_hidden()
    page.get_by_role("button", name="Find a copy").click()
    expect(page.locator("#verdict")).to_contain_text("The newest copy")


def test_a_choice_with_a_doubtful_date_is_never_ticked(page: Page) -> None:
    paste(page, TEXT)

    page.locator(".choices li").nth(1).get_by_role("link").click()

    expect(page.locator("#verdict")).not_to_have_attribute("data-match", "several")
    expect(page.locator("#verdict")).not_to_have_class("verdict good")
    page.go_back()
    expect(page.locator(".choices li")).to_have_count(2)


CITED = (
    f"A<ref>{{{{cite web |url={PAGE} |title=The page |last=Smith |access-date=5 June 2005}}}}"
    f"</ref> and<ref>{{{{cite web |url={NEWS} |title=News |access-date=5 June 2005}}}}</ref>"
)


def test_a_chosen_reference_keeps_its_citation_also_in_the_form_of_citations(
    browser: Browser, address: str
) -> None:
    with browser.new_context(base_url=address) as context:
        page = context.new_page()
        paste(page, CITED)
        page.locator(".choices li").nth(0).get_by_role("link").click()

        cited = page.locator("#cite-cs1")
        expect(cited).to_contain_text("|title=The page |last=Smith |access-date=5 June 2005}}")
        expect(cited).to_contain_text("|archive-url=")
        page.get_by_role("link", name="Citations with the title of the page").click()
        expect(page.get_by_label("Title of the page")).to_have_value("The page")
        expect(cited).to_contain_text("|last=Smith |access-date=5 June 2005}}")
        page.get_by_label("When you read the page").fill("2099-01-01")
        page.get_by_role("button", name="Update the citations").click()

        field = page.get_by_label("When you read the page")
        expect(field).to_be_focused()
        expect(field).to_have_accessible_description(
            "2099-01-01 is in the future: it is the day on which you read the page. "
            "The citations below do not state it."
        )
        expect(page.get_by_label("Title of the page")).to_have_value("The page")
        assert Axe().run(page).violations_count == 0
