"""robust.js on a page of another site, and the page of citations."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page, expect

from tests.browser.world import demo

MUSEUM = "http://museum.example/"
BODY = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Article</title>
<meta property="article:published_time" content="2010-11-07T10:00:00Z">
<script src="{server}/static/robust.js" defer></script></head><body><h1>Article</h1>
<p><a id="plain" href="{museum}">A link</a></p>
<p><a id="dated" href="{museum}" data-versiondate="2016-01-22">A dated link</a></p>
<p><a id="lost" href="http://nothing.example/x">A link that no archive knows</a></p>
<p><a id="off" href="{museum}" data-robust="off">Without an offer</a></p>
<p><a id="here" href="#top">Within the page</a></p></body></html>"""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with demo() as address:
        yield address


@pytest.fixture(scope="module")
def article(service: str) -> Iterator[str]:
    """Serve an article at another origin, with a strict policy for styles."""

    class Article(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = BODY.format(server=service, museum=MUSEUM).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            policy = f"default-src 'none'; script-src {service}; connect-src {service}"
            self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Article)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def reader(browser: Browser, article: str) -> Iterator[tuple[Page, list[str]]]:
    """Open the article; yields the page and the addresses that it requests."""
    with browser.new_context() as context:
        page = context.new_page()
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        page.goto(article)
        yield page, requested


def test_nothing_is_requested_before_a_reader_accepts_the_offer(
    reader: tuple[Page, list[str]],
) -> None:
    page, requested = reader

    page.locator("#plain").hover()

    expect(page.locator(".timegate-robust button")).to_be_visible()
    assert not [url for url in requested if "/resolve/" in url]


@pytest.mark.parametrize(
    ("link", "captured"),
    [("#plain", "2010-11-05T10:15:00Z"), ("#dated", "2016-01-22T11:20:29Z")],
)
def test_the_archived_version_is_offered_with_its_verdict(
    reader: tuple[Page, list[str]], link: str, captured: str
) -> None:
    page, _ = reader

    page.locator(link).hover()
    page.locator(".timegate-robust button").click()

    found = page.locator(".timegate-robust a").first
    expect(found).to_have_text(f"Archived version of {captured}", timeout=20_000)
    expect(page.locator(".timegate-robust p").nth(1)).not_to_be_empty()


def test_the_offer_stays_within_the_window_at_its_lower_edge(
    reader: tuple[Page, list[str]],
) -> None:
    page, _ = reader
    page.evaluate("document.body.style.paddingTop = '250px'")
    link = page.locator("#plain").bounding_box()
    assert link is not None
    page.set_viewport_size({"width": 800, "height": int(link["y"]) + 30})
    page.mouse.move(link["x"] + 5, link["y"] + 5)
    inside = "box => box.getBoundingClientRect().bottom <= innerHeight"

    expect(page.locator(".timegate-robust button")).to_be_visible()
    assert page.locator(".timegate-robust").evaluate(inside)
    page.locator(".timegate-robust button").click()
    expect(page.locator(".timegate-robust a").first).to_be_visible(timeout=20_000)
    assert page.locator(".timegate-robust").evaluate(inside)


def test_a_page_that_no_archive_has_is_reported_as_such(
    reader: tuple[Page, list[str]],
) -> None:
    page, _ = reader

    page.locator("#lost").hover()
    page.locator(".timegate-robust button").click()

    expect(page.locator(".timegate-robust p").first).to_contain_text("archive", timeout=20_000)
    expect(page.locator(".timegate-robust a", has_text="Archived version")).to_have_count(0)


def test_the_keyboard_reaches_the_offer_and_escape_closes_it(
    reader: tuple[Page, list[str]],
) -> None:
    page, _ = reader

    page.locator("#plain").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".timegate-robust a").first).to_be_visible(timeout=20_000)
    page.keyboard.press("Escape")

    expect(page.locator(".timegate-robust")).to_have_count(0)


@pytest.mark.parametrize("link", ["#off", "#here"])
def test_links_that_are_no_references_have_no_offer(
    reader: tuple[Page, list[str]], link: str
) -> None:
    page, _ = reader

    page.locator(link).hover()

    expect(page.locator(".timegate-robust")).to_have_count(0)


def test_the_page_of_citations_has_the_title_and_is_accessible(
    browser: Browser, service: str
) -> None:
    with browser.new_context(base_url=service) as context:
        page = context.new_page()
        page.goto(f"/cite?id=duri:2010-11:{MUSEUM}")

        expect(page.get_by_label("Title of the page")).to_have_value("The Lighthouse Museum")
        page.get_by_label("State of the original").select_option("dead")
        page.get_by_role("button", name="Update the citations").click()

        expect(page.locator("#cite-cs1")).to_contain_text("url-status=dead")
        assert Axe().run(page).violations_count == 0


@pytest.mark.parametrize(
    "path",
    ["/about", "/collections", "/collections/harbour", "/docs", "/docs/http", "/docs/api"],
)
def test_documents_are_pages_that_fit_a_phone(
    browser: Browser, service: str, path: str
) -> None:
    size = {"width": 390, "height": 844}
    with browser.new_context(base_url=service, viewport=size) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(path)

        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert Axe().run(page).violations_count == 0
