"""Pages with long addresses and wide tables, on a phone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.world import demo
from timegate.batch.html_report import Statistics, as_html
from timegate.batch.model import Item, ItemResult

MUSEUM = "http://museum.example/opening-hours"
LONG = f"https://archive.ph/20101105101509/{MUSEUM}"
CITATION = f"{{{{cite web|url={MUSEUM}|archive-url={LONG}|archive-date=2010-11-05}}}}"
WIDTH = 390


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with demo() as url:
        yield url


@pytest.fixture(params=["light", "dark"])
def phone(browser: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    scheme: Literal["light", "dark"] = request.param
    size = {"width": WIDTH, "height": 844}
    with browser.new_context(
        base_url=address,
        color_scheme=scheme,
        viewport=size,  # type: ignore[arg-type]
    ) as context:
        context.set_default_timeout(20_000)
        yield context.new_page()


def width(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


@pytest.mark.parametrize(
    "text",
    [
        CITATION,
        f"{CITATION} and {MUSEUM}?{'x' * 300}",
        f"https://archive.ph/{'x' * 300}",
        f"http://museum.example/{'x' * 300}%GG",
    ],
)
def test_long_addresses_break_in_every_box(phone: Page, text: str) -> None:
    phone.goto(f"/?q={quote(text, safe='')}")

    expect(phone.locator("#verdict")).to_be_visible()
    assert width(phone) <= WIDTH


def test_the_headings_of_two_copies_do_not_overlap(phone: Page) -> None:
    phone.goto("/diff/duri:2010-11:http://museum.example//20090615")

    boxes = [heading.bounding_box() for heading in phone.locator("table.diff th").all()]
    left, right = boxes
    assert left is not None
    assert right is not None
    text = phone.locator("table.diff th").first.evaluate("th => th.scrollWidth")
    assert text <= left["width"] + 1
    assert left["x"] + left["width"] <= right["x"]
    assert width(phone) <= WIDTH


def test_the_parts_of_a_page_can_be_read_without_scrolling_sideways(phone: Page) -> None:
    phone.goto("/parts/duri:2010-11:http://museum.example/gallery")

    part = phone.locator("th.part").first.bounding_box()
    assert part is not None
    assert part["width"] > WIDTH * 0.7
    region = phone.get_by_role("region", name="Parts")
    assert region.evaluate("box => box.scrollWidth - box.clientWidth") <= 0


def test_the_report_of_a_batch_can_be_read(browser: Browser, tmp_path: Path) -> None:
    statistics, gaps = Statistics(), []
    for number in range(3):
        item = Item(number, f"{MUSEUM}?{'x' * 120}", (MUSEUM,))
        report = {"memento": {"uri": LONG, "archive": "harbour"}, "time": {"delta": 90_000}}
        gaps.append(
            ItemResult(item, "substitute", 1, True, None, "in another archive", report)  # noqa: FBT003 -- final
        )
        statistics.add(gaps[-1])
    file = tmp_path / "report.html"
    file.write_text("".join(as_html("References", statistics, gaps)))
    with browser.new_context(viewport={"width": WIDTH, "height": 844}) as context:
        page = context.new_page()
        page.goto(file.as_uri())

        for column in range(3):
            box = page.locator(".gaps tbody td").nth(column).bounding_box()
            assert box is not None
            assert box["width"] > WIDTH * 0.7
        sizes = page.locator("svg:visible text").evaluate_all(
            "texts => texts.map(text => text.getBoundingClientRect().height)"
        )
        assert sizes
        assert min(sizes) > 12
        assert width(page) <= WIDTH


MARK = """() => {
    const canvas = document.querySelector(".picture canvas"), ratio = devicePixelRatio;
    const line = canvas.getContext("2d").getImageData(0, 60 * ratio, canvas.width, 1).data;
    for (let x = canvas.width - 1; x >= 0; x -= 1) if (line[4 * x + 3]) return x / ratio;
}"""


@pytest.mark.parametrize("pointer", ["touch", "mouse"])
def test_a_tap_shows_a_capture_before_a_second_one_opens_it(
    browser: Browser, address: str, pointer: str
) -> None:
    with browser.new_context(
        base_url=address,
        viewport={"width": WIDTH, "height": 844},
        has_touch=True,
        is_mobile=True,
    ) as context:
        page = context.new_page()
        page.goto("/?q=duri:2019:http://museum.example/")
        picture = page.locator(".picture")
        expect(picture).to_have_attribute("data-state", "whole", timeout=20_000)
        picture.scroll_into_view_if_needed()
        page.wait_for_function(MARK)
        box, before = picture.bounding_box(), page.url
        assert box is not None
        mark = (box["x"] + page.evaluate(MARK), box["y"] + 60)
        tap = page.touchscreen.tap if pointer == "touch" else page.mouse.click
        tap(*mark)
        expect(page.locator(".pointed")).to_contain_text("Harbour Web Archive: 2019-08-20")
        assert page.url == before
        tap(*mark)
        page.wait_for_url("**/20190820074530@harbour/**")
