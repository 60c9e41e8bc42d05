"""Quotations and comparisons in a browser: the passage is highlighted, changes are shown."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, expect

from archives.model import Memento
from tests.archived_sites import ArchivedPart
from tests.browser.test_replay import replaying
from tests.browser.world import demo
from timegate.content.findings import CopyText
from timegate.content.fragments import read_quote
from timegate.content.main_text import PageText, extract
from timegate.extract.quote_search import looked_at

FILLER = "".join(f"<p>Paragraph {n} says nothing of interest.</p>" for n in range(150))
PAGE = f"""<!doctype html><meta charset="utf-8"><title>Lamps</title><h1>Lamps &amp; horns</h1>
<p>The horn is silent.</p>{FILLER}
<p>In the end, the keeper&rsquo;s lamp \u2013 oil-fed, 9,5&nbsp;kg &amp; <b>very</b>
bright \u2013 was sold.</p><p>Nobody came.</p><ul><li>One boat left.</li></ul>
<p>For years it was said that the horn is silent. It is not.</p>
<p>{" ".join(f"word{n}" for n in range(80))}</p>{FILLER}""".encode()
COUNTED = """async source => {
  const image = await createImageBitmap(await (await fetch(source)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const data = canvas.getImageData(0, 0, image.width, image.height).data;
  let found = 0;
  for (let at = 0; at < data.length; at += 4)
    found += (data[at] === 1 && data[at + 1] === 2 && data[at + 2] === 254)
      || (data[at] === 233 && data[at + 1] === 210 && data[at + 2] === 253);
  return found;
}"""


class Copy(BaseHTTPRequestHandler):
    """Serves one page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def copy() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Copy) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/copy"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "words",
    [
        "the keeper's lamp - oil-fed, 9,5 kg & very bright - was sold",
        "was sold. Nobody came. One boat left.",
        " ".join(f"word{n}" for n in range(3, 77)),
        "#:~:text=said%20that-,the%20horn%20is%20silent",
        "the keeper's lamp was oil-fed, 9,5 kg & very bright - was sold",
    ],
)
def test_the_link_to_a_quotation_scrolls_there_and_highlights_it(
    browser: Browser, copy: str, words: str
) -> None:
    text, wanted = extract(PAGE, "text/html"), read_quote(words)
    assert isinstance(text, PageText)
    assert wanted is not None
    memento = Memento("20120101000000", copy, copy, "a")
    seen = looked_at(wanted, CopyText(memento, text, PAGE))
    assert seen.has_it

    with browser.new_context() as context:
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.goto(seen.address())
        page.add_style_tag(content="::target-text { background: #0102fe; color: #0102fe }")
        page.wait_for_function("scrollY > 500")
        shot = base64.b64encode(page.screenshot()).decode()
        blank = context.new_page()
        assert blank.evaluate(COUNTED, f"data:image/png;base64,{shot}") > 500


def test_two_copies_are_side_by_side(browser: Browser) -> None:
    with demo() as address, browser.new_context(base_url=address) as context:
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.goto("/resolve/duri:2010-11:http://museum.example/?as=html&quote=open+all+years")
        expect(page.locator(".quotation")).to_have_attribute("data-quote", "near")
        page.get_by_role("link", name="Compare this copy with that of 15 June 2009").click()
        # The older copy is on the left.
        expect(page.locator("table.diff del")).to_have_text("The lamp room is open again.")
        expect(page.locator("table.diff ins")).to_have_text(
            "New: the fog horn, on Sundays at noon."
        )
        page.goto("/timemap/html/http://museum.example/")
        page.get_by_role("link", name="Compare the copy of 15 June 2009").click()
        expect(page.locator("h1")).to_have_text("Two copies side by side")


LAMP = "the keeper's lamp - oil-fed, 9,5 kg & very bright - was sold"
STYLED = PAGE.replace(
    b"<h1>", b"<style>::target-text { background: #0102fe; color: #0102fe }</style><h1>", 1
)


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    part = ArchivedPart("http://lamps.example/", STYLED, date="2012-01-01T00:00:00Z")
    with replaying(tmp_path_factory.mktemp("lamps"), {"lamps": (part,)}) as url:
        yield url


def highlighted(browser: Browser, address: str) -> int:
    """Return how many pixels are highlighted at *address*, after the page has settled."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(address, wait_until="networkidle")
        page.wait_for_timeout(1_500)
        shot = base64.b64encode(page.screenshot()).decode()
        blank = context.new_page()
        found: int = blank.evaluate(COUNTED, f"data:image/png;base64,{shot}")
        return found


def handed_out(replay: str) -> str:
    """Return the link of the report to the copy with the quotation, once it is indexed."""
    asked = f"{replay}/resolve/duri:2012-01-01:http://lamps.example/?"
    asked += urlencode({"quote": LAMP, "as": "json"})
    status = ""
    for _ in range(60):
        try:
            with urlopen(asked, timeout=30) as answer:  # noqa: S310 -- loopback
                quote = json.load(answer)["quote"]
        except HTTPError as error:
            quote = {"status": f"{error}"}
        status = quote["status"]
        if status == "found":
            return str(quote["memento"])
        time.sleep(0.5)
    raise AssertionError(status)


def test_the_link_that_is_handed_out_for_an_own_collection_is_highlighted(
    browser: Browser, replay: str
) -> None:
    link = handed_out(replay)

    assert ":~:text=" in link
    assert highlighted(browser, link) > 500


def test_a_program_gets_the_copy_at_the_link_that_is_handed_out(replay: str) -> None:
    link = handed_out(replay).partition("#")[0]
    with urlopen(link, timeout=30) as answer:  # noqa: S310 -- loopback
        octets = answer.read()

    assert answer.headers["Memento-Datetime"] == "Sun, 01 Jan 2012 00:00:00 GMT"
    assert b"oil-fed" in octets


def test_nothing_is_highlighted_in_the_frame_of_a_page(browser: Browser, replay: str) -> None:
    """Browsers pass no text directive on to a frame; the link leads past it therefore."""
    fragment = handed_out(replay).partition("#")[2]

    assert (
        highlighted(browser, f"{replay}/view/20120101000000/http://lamps.example/#{fragment}")
        == 0
    )
