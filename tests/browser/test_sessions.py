"""Whole sessions in one tab: in light, dark, on a phone, and without scripts."""

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.world import NEWS, PAGE, demo

pytestmark = pytest.mark.timeout(300)
ANSWER_IN = 30_000
"""Milliseconds for an answer; the machine may be busy."""


class Mode(NamedTuple):
    """How the pages are looked at."""

    scheme: Literal["light", "dark"] = "light"
    width: int = 1100
    scripts: bool = True
    touch: bool = False


MODES = {
    "light": Mode(),
    "dark": Mode(scheme="dark"),
    "phone": Mode(width=390, touch=True),
    "without scripts": Mode(scripts=False),
}
SEARCHES = (
    (f"urn:pwid:second.example:2016-01-22T11:20:29Z:page:{PAGE}", "", "exact"),
    (f"urn:pwid:first.example:2016-01-22T11:20:29Z:page:{PAGE}", "", "substitute"),
    (f"duri:2005:{PAGE}", "", "within"),
    (PAGE, "2017", "approximate"),
    (NEWS, "June 2011", "within"),
    (PAGE, "", "within"),
    (f"https://web.archive.org/web/20130615083000/{PAGE}", "", "substitute"),
    ("http://nothing.example/", "2010", "none"),
    (NEWS, "14 June 2011", "approximate"),
    (PAGE, "June 2005", "within"),
)
"""Reference, date, and the match of the answer."""


def opened(browser: Browser, address: str, mode: Mode) -> BrowserContext:
    context = browser.new_context(
        base_url=address,
        color_scheme=mode.scheme,
        viewport={"width": mode.width, "height": 800},
        java_script_enabled=mode.scripts,
        has_touch=mode.touch,
    )
    context.set_default_timeout(ANSWER_IN)
    expect.set_options(timeout=ANSWER_IN)
    return context


@pytest.fixture(params=MODES)
def context(
    request: pytest.FixtureRequest, browser: Browser, address: str
) -> Iterator[BrowserContext]:
    with opened(browser, address, MODES[request.param]) as one:
        yield one


def search(page: Page, text: str, date: str, match: str) -> None:
    page.locator("[name=q]").fill(text)
    page.locator("[name=at]").fill(date)
    page.get_by_role("button", name="Find a copy").click()
    expect(page.locator("#verdict")).to_have_attribute("data-match", match)
    expect(page.locator("#ask [name=q]")).to_have_value(text)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_session_in_one_tab(context: BrowserContext) -> None:
    """Ten searches, one after the other; back and forward; a reload in the middle."""
    errors: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto("/")
    for number, (text, date, match) in enumerate(SEARCHES):
        search(page, text, date, match)
        if number == 4:
            page.reload()
            expect(page.locator("#verdict")).to_have_attribute("data-match", match)

    page.go_back()
    expect(page.locator("#verdict")).to_have_attribute("data-match", SEARCHES[-2][2])
    page.go_back()
    expect(page.locator("#verdict")).to_have_attribute("data-match", "none")
    page.go_forward()
    expect(page.locator("#verdict")).to_have_attribute("data-match", SEARCHES[-2][2])
    page.go_forward()
    expect(page.locator("#verdict")).to_have_attribute("data-match", SEARCHES[-1][2])
    assert errors == []


def test_two_tabs_do_not_disturb_each_other(context: BrowserContext) -> None:
    first, second = context.new_page(), context.new_page()
    first.goto("/")
    second.goto("/")
    for text, date, match in SEARCHES[:2]:
        search(first, text, date, match)
        search(second, NEWS, "June 2011", "within")

    expect(first.locator("#verdict")).to_have_attribute("data-match", "substitute")
    expect(first.locator(".place")).to_contain_text("/web/20160122112029/http://example.org/")
    expect(second.locator(".place")).to_contain_text(NEWS)


class Memory(NamedTuple):
    """What a tab holds after a garbage collection."""

    heap: int
    nodes: int
    listeners: int


def memory_of(page: Page) -> Memory:
    client = page.context.new_cdp_session(page)
    for _ in range(2):
        client.send("HeapProfiler.collectGarbage")
    counters: dict[str, Any] = client.send("Memory.getDOMCounters")
    used: dict[str, Any] = client.send("Runtime.getHeapUsage")
    client.detach()
    return Memory(used["usedSize"], counters["nodes"], counters["jsEventListeners"])


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_the_memory_of_a_tab_stays_flat_over_twenty_searches(
    browser: Browser, address: str, mode: Mode
) -> None:
    with opened(browser, address, mode) as context:
        page = context.new_page()
        page.goto("/")
        seen = []
        for number in range(24):
            text, date, match = SEARCHES[(4, 2)[number % 2]]
            search(page, text, date, match)
            if mode.scripts:
                expect(page.locator(".picture")).to_have_attribute("data-state", "whole")
            if number in (3, 23):
                seen.append(memory_of(page))

    before, after = seen
    # One detached timeline with 4,200 captures would be some 600 kB, one answer 300 nodes.
    assert after.heap - before.heap < 600_000, seen
    assert after.nodes - before.nodes < 300, seen
    assert after.listeners - before.listeners < 10, seen


@pytest.fixture(scope="module")
def shown() -> Iterator[str]:
    with demo() as address:
        yield address


PAINTED_BEFORE_THE_END = """() => {
    const [painted] = performance.getEntriesByName("first-contentful-paint");
    const [loaded] = performance.getEntriesByType("navigation");
    return painted.startTime < loaded.responseEnd;
}"""


@pytest.mark.parametrize(("mode", "at"), [("light", "2008"), ("without scripts", "2009-01")])
def test_a_shared_link_shows_its_page_before_the_answer(
    browser: Browser, shown: str, mode: str, at: str
) -> None:
    with opened(browser, shown, MODES[mode]) as context:
        page = context.new_page()
        # The slow archive of the demo answers after three seconds.
        page.goto(f"/?q=http://museum.example/&at={at}")

        expect(page.locator(".waiting").first).to_have_text(
            "Searching 2 archives: Harbour Web Archive, Lantern Library."
        )
        expect(page.locator("p.waiting.found")).to_have_count(2)
        expect(page.locator("#verdict")).to_be_visible()
        expect(page.locator(".waiting").first).to_be_hidden()
        if MODES[mode].scripts:
            assert page.evaluate(PAINTED_BEFORE_THE_END)


def test_enter_searches_and_the_json_of_the_answer_is_the_same(
    browser: Browser, address: str
) -> None:
    with opened(browser, address, Mode()) as context:
        page = context.new_page()
        page.goto("/")
        expect(page.locator("[name=q]")).to_be_focused()
        page.keyboard.type(SEARCHES[0][0])
        page.keyboard.press("Enter")
        expect(page.locator("#verdict")).to_have_attribute("data-match", "exact")
        headline = page.locator("#verdict").inner_text()

        link = page.get_by_role("link", name="This answer as JSON").get_attribute("href")
        document = page.request.get(link or "").json()

    assert document["match"]["value"] == "exact"
    assert headline.endswith(document["headline"])


def test_a_tap_shows_a_capture_before_it_opens(browser: Browser, address: str) -> None:
    with opened(browser, address, MODES["phone"]) as context:
        page = context.new_page()
        page.goto(f"/?q=duri:2005:{PAGE}")
        picture = page.locator(".picture")
        expect(picture).to_have_attribute("data-state", "whole")
        picture.scroll_into_view_if_needed()
        box = picture.bounding_box()
        assert box is not None
        # The oldest capture is 4 of 108 parts from the left, in the first lane.
        x, y = box["x"] + box["width"] * 4 / 108, box["y"] + 56

        page.touchscreen.tap(x, y)
        expect(page.locator(".pointed")).to_have_text(
            "University Collection: 2005-06-13 12:00:00 UTC"
        )
        expect(page.get_by_role("link", name="Open this capture")).to_have_attribute(
            "href", re.compile("/web/20050613120000/http://example.org/$")
        )
        assert page.url.startswith(address)
        page.touchscreen.tap(x, y)
        page.wait_for_url("**/web/20050613120000/http://example.org/")


def test_all_captures_can_be_filtered_by_year_day_and_form(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"/?q=duri:2005:{PAGE}")
    page.get_by_role("link", name="All captures by year, day and archive", exact=True).click()
    expect(page.locator(".words")).to_contain_text("8 captures in 3 of 4 archives")
    expect(page.locator("#missing")).to_have_text("This list is not complete")

    page.get_by_role("link", name="2015", exact=True).click()
    expect(page.locator("#calendar")).to_have_text("Calendar of 2015")
    page.get_by_role("link", name="30 June 2015: 2 captures").click()
    expect(page.locator("#list")).to_contain_text("1 to 2 of 2 captures")

    page.get_by_label("Archive", exact=True).select_option(label="National Library")
    page.get_by_label("From").fill("2016")
    page.get_by_label("To", exact=True).fill("")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#list")).to_contain_text("1 to 2 of 2 captures")
    row = page.locator("#list ~ table").get_by_role("row", name="22 January 2016")
    expect(row).to_contain_text("National Library")
    page.get_by_role("link", name="22 January 2016, 11:20:29 UTC").last.click()
    page.wait_for_url("**/web/20160122112029/http://example.org/")
