"""Several searches in one tab: each answer replaces the last one and its timeline."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.world import MARKS, NEWS, NEWS_MARKS, PAGE

SEARCHES = (
    (f"duri:2005:{PAGE}", "", "13 June 2005, 12:00:00 UTC", MARKS),
    (NEWS, "June 2011", "June 2011", NEWS_MARKS),
    (PAGE, "2017", "1 March 2018, 10:10:10 UTC", MARKS),
    (PAGE, "", "2 February 2020, 02:02:02 UTC", MARKS),
)
"""Reference, date, the copy in the answer, and the number of captures in its timeline."""

RESPONDS = 5_000
"""Milliseconds within which a page that is not frozen runs a script."""

DRAWN = """() => {
    const canvas = document.querySelector(".picture canvas");
    if (!canvas || !canvas.width || !canvas.height) return false;
    const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return all.data.some((value) => value !== 0);
}"""

COUNT_OBSERVERS = """() => {
    window.observed = new Set();
    const { observe, disconnect } = ResizeObserver.prototype;
    ResizeObserver.prototype.observe = function (...given) {
        observed.add(this);
        return observe.apply(this, given);
    };
    ResizeObserver.prototype.disconnect = function () {
        observed.delete(this);
        return disconnect.apply(this);
    };
    window.listening = new Set();
    const { addEventListener, removeEventListener } = MediaQueryList.prototype;
    MediaQueryList.prototype.addEventListener = function (type, listener) {
        listening.add(listener);
        return addEventListener.call(this, type, listener);
    };
    MediaQueryList.prototype.removeEventListener = function (type, listener) {
        listening.delete(listener);
        return removeEventListener.call(this, type, listener);
    };
}"""

BINS_END = """async ([width, from, to]) => {
    const script = performance.getEntriesByType("resource")
        .find((one) => one.name.endsWith("/timeline.js")).name;
    const { drawTimeline } = await import(script);
    const timeline = drawTimeline(document.querySelector("figure.timeline"));
    Object.assign(timeline, { width, from, to });
    const times = [-5000, 0, 0, 1, 2000, 86400000, 86400000, 1600000000000];
    let bins = 0, captures = 0;
    for (const [, count] of timeline.bins({ times }, (to - from) * 3 / width)) {
        captures += count;
        if (++bins > times.length) return "endless";
    }
    timeline.figure.remove();
    return captures;
}"""


def search(page: Page, text: str, date: str) -> None:
    """Search with the form of the page that is open, without loading a new page."""
    page.get_by_label("A reference to an archived page").fill(text)
    page.get_by_label("Date").fill(date)
    page.get_by_role("button", name="Find the copy").click()


def expect_answer(page: Page, copy: str, marks: int) -> None:
    expect(page.locator("a.big")).to_contain_text(copy)
    expect(page.locator(".picture")).to_have_attribute("data-state", "whole")
    expect(page.locator(".picture")).to_have_attribute("data-marks", str(marks))
    page.wait_for_function(DRAWN, timeout=RESPONDS)


def test_every_search_in_one_tab_is_answered_and_its_timeline_drawn(page: Page) -> None:
    page.goto("/")
    page.evaluate("window.sameDocument = true")
    for text, date, copy, marks in SEARCHES:
        search(page, text, date)
        expect_answer(page, copy, marks)

    # A new width or colour scheme draws the timeline again.
    page.set_viewport_size({"width": 500, "height": 800})
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(DRAWN, timeout=RESPONDS)
    assert page.evaluate("window.sameDocument")


def test_the_timeline_of_an_earlier_search_is_no_longer_observed(page: Page) -> None:
    page.add_init_script(f"({COUNT_OBSERVERS})()")
    page.goto("/")
    for text, date, copy, marks in SEARCHES:
        search(page, text, date)
        expect_answer(page, copy, marks)

        assert page.evaluate("[observed.size, listening.size]") == [1, 1]


def test_a_timeline_without_width_is_drawn_when_it_has_one_again(page: Page) -> None:
    page.goto(f"/?q=duri:2005:{PAGE}")
    expect_answer(page, "13 June 2005", MARKS)

    page.evaluate("document.querySelector('figure.timeline').hidden = true")
    page.wait_for_function("() => true", timeout=RESPONDS)
    page.evaluate("document.querySelector('.picture canvas').width = 1")
    page.evaluate("document.querySelector('figure.timeline').hidden = false")
    page.wait_for_function(DRAWN, timeout=RESPONDS)


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("width", "begin", "end", "captures"),
    [
        (900, -1e4, 2e12, 8),
        (900, 0, 1e4, 4),
        (0, -1e4, 2e12, 8),
        (-0.0, -1e4, 2e12, 8),
        (-900, -1e4, 2e12, 8),
        (NAN, -1e4, 2e12, 8),
        (INFINITY, -1e4, 2e12, 8),
        (1e300, -1e4, 2e12, 8),
        (1e-300, -1e4, 2e12, 8),
        (900, 0, 0, 2),
        (0, 0, 0, 2),
        (900, 2e12, -1e4, 0),
        (900, NAN, NAN, 0),
        (900, -INFINITY, INFINITY, 8),
    ],
)
def test_bins_end_for_every_width_and_range(
    page: Page, width: float, begin: float, end: float, captures: int
) -> None:
    page.goto(f"/?q=duri:2005:{PAGE}")
    expect_answer(page, "13 June 2005", MARKS)

    assert page.evaluate(BINS_END, [width, begin, end]) == captures
