"""Several searches in one tab: each answer replaces the last one and its timeline."""

from playwright.sync_api import Page, Route, expect

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

BINS_END = """async ([width, from, to, figure]) => {
    const script = performance.getEntriesByType("resource")
        .find((one) => one.name.endsWith("/timeline.js")).name;
    const { drawTimeline } = await import(script);
    const place = document.createElement("div");
    place.innerHTML = figure;
    document.body.append(place);
    const timeline = drawTimeline(place.querySelector("figure.timeline"));
    Object.assign(timeline, { width, from, to });
    const times = [-5000, 0, 0, 1, 2000, 86400000, 86400000, 1600000000000];
    let bins = 0, captures = 0;
    for (const [, count] of timeline.bins({ times }, (to - from) * 3 / width)) {
        captures += count;
        if (++bins > times.length) return "endless";
    }
    timeline.stop();
    place.remove();
    return captures;
}"""

COUNT_TICKS = """async ([from, to, step, unit]) => {
    const script = performance.getEntriesByType("resource")
        .find((one) => one.name.endsWith("/timeline.js")).name;
    const { ticks } = await import(script);
    let count = 0;
    for (const time of ticks(from, to, step, unit)) {
        if (!(time >= from && time <= to)) return "out of range";
        if (++count > 100_000) return "endless";
    }
    return count;
}"""


def search(page: Page, text: str, date: str) -> None:
    """Search with the form of the page that is open, without loading a new page."""
    page.get_by_label("Reference to an archived page").fill(text)
    page.get_by_label("Date").fill(date)
    page.get_by_role("button", name="Find a copy").click()


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
    # Sizes are observed once a frame: both changes in one would be none.
    page.evaluate("new Promise((after) => requestAnimationFrame(() => setTimeout(after)))")
    page.evaluate("document.querySelector('.picture canvas').width = 1")
    page.evaluate("document.querySelector('figure.timeline').hidden = false")
    page.wait_for_function(DRAWN, timeout=RESPONDS)


NAN, INFINITY = float("nan"), float("inf")


BINNED = (
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
)
"""Width, begin and end of the picture, and the captures that its bins hold."""


def test_bins_end_for_every_width_and_range(page: Page) -> None:
    page.goto(f"/?q=duri:2005:{PAGE}")
    expect_answer(page, "13 June 2005", MARKS)
    figure = page.locator("figure.timeline").evaluate("figure => figure.outerHTML")

    for width, begin, end, captures in BINNED:
        assert page.evaluate(BINS_END, [width, begin, end, figure]) == captures


TICKS = (
    (0, 10_000, 1_000, "s", 11),
    (0, 4 * 365.25 * 864e5, 365.25 * 864e5, "y", 5),
    (0, 90 * 864e5, 30.44 * 864e5, "M", 4),
    (-62e12, -61.9e12, 365.25 * 864e5, "y", 3),
    (NAN, NAN, 365.25 * 864e5, "y", 0),
    (NAN, NAN, 1_000, "s", 0),
    (0, INFINITY, 365.25 * 864e5, "y", 0),
    (-INFINITY, INFINITY, 1_000, "s", 0),
    (8.63e15, 8.65e15, 365.25 * 864e5, "y", 0),
    (10_000, 0, 1_000, "s", 0),
    (0, 10_000, 0, "s", 0),
    (0, 10_000, NAN, "M", 0),
    (0, 864e5, -1_000, "s", 1),
    (0, 8.64e15, 1_000, "s", 1_000),
    (0, 8.64e15, 0, "M", 1_000),
)
"""Begin, end and step of the axis, its unit, and the number of its ticks."""


def test_the_ticks_of_the_axis_end_for_every_range_and_step(page: Page) -> None:
    page.goto(f"/?q=duri:2005:{PAGE}")
    expect_answer(page, "13 June 2005", MARKS)

    for begin, end, step, unit, count in TICKS:
        assert page.evaluate(COUNT_TICKS, [begin, end, step, unit]) == count


def test_zooming_before_the_first_capture_does_not_freeze_the_page(page: Page) -> None:
    pending: list[Route] = []

    def hold(route: Route) -> None:
        pending.append(route)

    page.route("**/timeline/http**", hold)
    page.goto(f"/?q=duri:2005:{PAGE}")
    for tool in ("Zoom in", "Zoom out", "Earlier", "Later", "Show all", "Requested time"):
        page.get_by_role("button", name=tool).click()
    page.locator(".picture").focus()
    for key in ("+", "-", "0", "n", "p", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
    page.locator(".picture").hover()
    page.mouse.wheel(0, -300)
    page.wait_for_function("() => true", timeout=RESPONDS)

    for route in pending:
        route.continue_()
    expect_answer(page, "13 June 2005", MARKS)
