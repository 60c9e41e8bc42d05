"""The page in a real browser: by mouse and by keyboard, with scripts and without."""

from typing import Literal
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from tests.browser.world import MARKS, NEWS, NEWS_MARKS, PAGE

EXACT = f"urn:pwid:second.example:2016-01-22T11:20:29Z:page:{PAGE}"
NEAR = f"urn:pwid:first.example:2016-01-22T11:20:29Z:page:{PAGE}"


def ask(page: Page, text: str, date: str = "") -> None:
    page.goto("/")
    page.get_by_label("Reference to an archived page").fill(text)
    page.get_by_label("Date").fill(date)
    page.get_by_role("button", name="Find a copy").click()


@pytest.mark.parametrize(
    ("text", "date", "verdict", "copy"),
    [
        (EXACT, "", "Exactly as requested", "22 January 2016, 11:20:29 UTC"),
        (NEAR, "", "A substitute from another archive", "22 January 2016, 11:20:29 UTC"),
        (EXACT.replace(":page:", ":\npage:"), "", "Exactly as requested", "22 January 2016"),
        (f"duri:2005:{PAGE}", "", "As requested", "13 June 2005, 12:00:00 UTC"),
        (f"tdb:2005:{PAGE}", "", "As requested", "13 June 2005, 12:00:00 UTC"),
        (
            f"https://web.archive.org/web/20130615083000/{PAGE}",
            "",
            "A substitute from another archive",
            "15 June 2013, 08:30:00 UTC",
        ),
        (PAGE, "June 2005", "As requested", "13 June 2005, 12:00:00 UTC"),
        (PAGE, "2017", "Some weeks away", "1 March 2018, 10:10:10 UTC"),
        (PAGE, "", "The newest copy that was found", "2 February 2020, 02:02:02 UTC"),
    ],
)
def test_every_kind_of_reference_is_answered_with_its_verdict(
    page: Page, text: str, date: str, verdict: str, copy: str
) -> None:
    ask(page, text, date)

    expect(page.locator("#verdict")).to_contain_text(verdict)
    expect(page.locator("a.big")).to_contain_text(f"Open the copy from {copy}")
    expect(page.locator("#verdict")).to_be_focused()
    assert "q=" in page.url


def test_progress_is_shown_while_archives_answer(page: Page) -> None:
    page.goto("/")
    page.evaluate(
        """() => {
            window.lines = [];
            const line = document.getElementById("progress-line");
            new MutationObserver(() => lines.push(line.textContent))
                .observe(line, { childList: true, characterData: true, subtree: true });
        }"""
    )
    page.get_by_label("Reference to an archived page").fill(f"duri:2003:{PAGE}")
    page.keyboard.press("Enter")

    expect(page.locator("#verdict")).to_be_visible()
    lines = page.evaluate("lines")
    assert lines[0] == "Searching the archives."
    assert any("of 4 archives have answered, waiting for" in line for line in lines)
    expect(page.locator("#progress")).to_be_hidden()


def test_a_mistake_is_marked_at_its_character_without_loading_a_page(page: Page) -> None:
    ask(page, EXACT.replace("01-22", "13-22"))

    expect(page.locator("#verdict")).to_contain_text("The reference cannot be read")
    expect(page.locator(".caret mark")).to_have_text("1")


def test_the_timeline_has_a_mark_for_every_capture(page: Page) -> None:
    ask(page, NEAR)

    expect(page.locator(".picture")).to_have_attribute("data-state", "whole")
    expect(page.locator(".picture")).to_have_attribute("data-marks", str(MARKS))
    expect(page.locator("#timeline-summary")).to_contain_text(
        f"{MARKS} captures in 3 archives, from 2005-06-13 12:00:00 UTC"
    )
    expect(page.locator("#timeline-summary")).to_contain_text(
        "No list from The Silent Archive."
    )


def test_thousands_of_captures_are_drawn_and_can_be_browsed(page: Page) -> None:
    ask(page, NEWS, "June 2011")
    picture = page.locator(".picture")

    expect(picture).to_have_attribute("data-marks", str(NEWS_MARKS))
    expect(picture).to_have_attribute("data-state", "whole")
    for tool in ("Zoom in", "Zoom in", "Later", "Earlier", "Zoom out", "Requested time"):
        page.get_by_role("button", name=tool).click()
    picture.press("n")
    expect(page.locator(".pointed")).to_contain_text("2011-06-")


def test_the_timeline_can_be_used_by_keyboard(page: Page) -> None:
    ask(page, NEAR)
    picture = page.locator(".picture")
    expect(picture).to_have_attribute("data-state", "whole")

    picture.focus()
    for key in ("+", "+", "ArrowLeft", "ArrowRight", "-", "0", "n"):
        page.keyboard.press(key)
    expect(page.locator(".pointed")).to_have_text("National Library: 2016-01-22 11:20:29 UTC")
    page.keyboard.press("n")
    expect(page.locator(".pointed")).to_have_text("National Library: 2018-03-01 10:10:10 UTC")
    page.keyboard.press("p")
    page.keyboard.press("p")
    expect(page.locator(".pointed")).to_have_text("The First Archive: 2015-06-30 23:59:59 UTC")
    page.keyboard.press("Enter")

    page.wait_for_url("**/web/20150630235959/http://example.org/")


def test_a_click_opens_a_capture_and_wheel_and_drag_move_the_timeline(
    page: Page,
) -> None:
    ask(page, NEAR)
    picture = page.locator(".picture")
    expect(picture).to_have_attribute("data-state", "whole")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None

    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.mouse.wheel(0, -300)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + 40, steps=4)
    page.mouse.up()
    page.get_by_role("button", name="Show all").click()
    page.mouse.move(*_first_mark(page))
    expect(page.locator(".pointed")).to_have_text(
        "University Collection: 2005-06-13 12:00:00 UTC"
    )
    page.mouse.click(*_first_mark(page))

    page.wait_for_url("**/web/20050613120000/http://example.org/")


def _first_mark(page: Page) -> tuple[float, float]:
    """Return where the oldest capture is: 4 of 108 parts from the left, in the first lane."""
    box = page.locator(".picture").bounding_box()
    assert box is not None
    return box["x"] + box["width"] * 4 / 108, box["y"] + 56


@pytest.mark.parametrize(
    ("button", "begins"),
    [
        ("PWID", f"urn:pwid:second.example:2016-01-22T11:20:29Z:page:{PAGE}"),
        ("duri", f"duri:2016-01-22T11:20:29Z:{PAGE}"),
        ("Archive link", "http://127.0.0.1:"),
        ("Robust Link", f'<a href="{PAGE}" data-originalurl'),
        ("Wikipedia", "{{cite web |title="),
        ("BibTeX", "@misc{exampleorg20160122,\n  title"),
        ("CSL-JSON", '[\n  {\n    "id"'),
        ("ISO 690", "example.org [online]. Archived 2016-01-22T11:20:29Z"),
    ],
)
def test_a_button_copies_its_text(page: Page, button: str, begins: str) -> None:
    ask(page, EXACT)

    page.get_by_role("button", name=button, exact=True).click()

    expect(page.locator(".copied")).to_have_text(f"{button} copied.")
    assert page.evaluate("navigator.clipboard.readText()").startswith(begins)


def test_a_printed_answer_has_the_citations(page: Page) -> None:
    ask(page, EXACT)
    texts = page.locator("details.texts")
    expect(texts).not_to_have_attribute("open", "")

    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(texts).to_have_attribute("open", "")

    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(texts).not_to_have_attribute("open", "")


def test_everything_can_be_reached_by_keyboard(page: Page) -> None:
    page.goto("/")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "q":
            break
    page.keyboard.type(EXACT)
    page.keyboard.press("Enter")
    expect(page.locator("#verdict")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("a.big")).to_be_focused()
    page.keyboard.press("Enter")

    page.wait_for_url("**/web/20160122112029/http://example.org/")


def test_a_link_to_an_answer_shows_the_answer(page: Page) -> None:
    ask(page, EXACT)
    expect(page.locator("#verdict")).to_be_visible()
    page.reload()
    expect(page.locator("#verdict")).to_contain_text("Exactly as requested")
    page.go_back()

    expect(page.get_by_role("heading", name="Examples")).to_be_visible()


def test_the_answer_is_shown_without_scripts(browser: Browser, address: str) -> None:
    with browser.new_context(base_url=address, java_script_enabled=False) as context:
        page = context.new_page()

        ask(page, EXACT)

        assert page.locator("#verdict").inner_text().endswith("Exactly as requested")
        assert page.locator("a.big").is_visible()
        assert page.locator("#cite-pwid").is_visible()
        assert page.locator(".copies").is_hidden()
        assert page.get_by_text("The timeline needs JavaScript.").is_visible()
        assert page.get_by_role("row", name="University Collection").is_visible()


def test_a_reference_to_another_time_shows_the_differences_first(page: Page) -> None:
    page.goto(f"/resolve/{NEAR}")

    expect(page.locator("#verdict")).to_contain_text("A substitute from another archive")


PLACES = {
    "home": "/",
    "answer": f"/?q={NEAR}",
    "history": f"/?q=urn:pwid:second.example:2011-06-14T20:47:18Z:page:{NEWS}",
    "refusal": "/?q=duri:2016-13:http://example.org/",
    "list": f"/list/2016/{PAGE}",
    "captures": f"/timemap/html/{NEWS}",
    "calendar": "/timemap/html/http%3A%2F%2Fexample.org%2F?from=2015&to=2015&status=2xx",
    "nothing": "/?q=http://nothing.example/",
    "no captures": "/timemap/html/http://nothing.example/",
    "archives": "/archives",
    "archive": "/archives/internet-archive",
    "problem": "/resolve/duri:2016-13:http://example.org/",
}
OTHER_PLACES = {
    "doubt": f"/?q={quote(f'Ann was born on 5 June 2005. {PAGE}')}",
    "several": f"/?q={quote(f'{PAGE} and {NEWS}')}",
    "opaque": "/?q=https://perma.cc/T6ME-YA37",
    "no link": "/?q=hello%20world",
    "about": "/about",
    "documents": "/docs",
    "document": "/docs/http",
    "api": "/docs/api",
    "collections": "/collections",
    "cite": f"/cite?id={quote(EXACT)}",
}
SIZES = {"wide": 1100, "phone": 390}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("place", PLACES)
def test_every_page_is_accessible_and_fits_its_width(
    browser: Browser,
    address: str,
    place: str,
    size: str,
    scheme: Literal["light", "dark"],
) -> None:
    look(browser, address, PLACES[place], size, scheme)


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("phone", "dark")])
@pytest.mark.parametrize("place", OTHER_PLACES)
def test_every_other_page_is_accessible_and_fits_its_width(
    browser: Browser,
    address: str,
    place: str,
    size: str,
    scheme: Literal["light", "dark"],
) -> None:
    look(browser, address, OTHER_PLACES[place], size, scheme)


def look(
    browser: Browser, address: str, path: str, size: str, scheme: Literal["light", "dark"]
) -> None:
    with browser.new_context(
        base_url=address,
        color_scheme=scheme,
        viewport={"width": SIZES[size], "height": 800},
    ) as context:
        page = context.new_page()
        page.goto(path)
        if page.locator(".picture").count():
            expect(page.locator(".picture")).to_have_attribute("data-state", "whole")

        found = Axe().run(page)
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")

    assert found.violations_count == 0, found.generate_report()
    assert overflow <= 0
