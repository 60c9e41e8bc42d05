"""Whole pages in a browser: parts are shown as pywb shows them, and nothing else happens."""

import base64
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import archived_sites as sites
from tests.archived_sites import ArchivedPart, write_warc
from tests.browser.hostile_pages import HOSTILE
from tests.end_to_end.pywb import running_pywb
from tests.end_to_end.server import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

VIEWPORT = {"width": 800, "height": 600}
OURS = re.compile(r"/(?:view|reconstruct)/[^/]*(?:cs|im|fr|oe|mp)_/(.*)")
PYWB = re.compile(r"/demo/[0-9]*[a-z_]*/(https?:.*)")


@contextmanager
def replaying(folder: Path, archives: dict[str, tuple[ArchivedPart, ...]]) -> Iterator[str]:
    """Serve *archives*, with reconstruction; yields the address."""
    config = "[archives]\nuse = []\n[reconstruct]\nenabled = true\n"
    for name, parts in archives.items():
        write_warc(folder / name, parts)
        config += f'[[archive]]\nid = "{name}"\nname = "The {name} archive"\nkind = "warc"\n'
        config += f'path = "{folder / name}"\npwid = ["{name}.example"]\n'
    (folder / "timegate.toml").write_text(config)
    with serving("--config", str(folder / "timegate.toml")) as server:
        yield server.url


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with replaying(tmp_path_factory.mktemp("sites"), sites.ARCHIVES) as url:
        yield url


@pytest.fixture(scope="module")
def pywb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("pywb")
    with running_pywb("plain", root, lambda folder: write_warc(folder, sites.SITES)) as running:
        yield running.url


@contextmanager
def logged(browser: "Browser") -> Iterator[tuple["Page", list[str], list["Request"]]]:
    """Open a page; yields it, the addresses that were answered with 200, and all requests."""
    context = browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    page, loaded, requests = context.new_page(), list[str](), list["Request"]()
    context.on("request", lambda request: requests.append(request))  # noqa: PLW0108 -- Playwright marks it
    context.on(
        "response", lambda answer: loaded.append(answer.url) if answer.status == 200 else None
    )
    yield page, loaded, requests
    context.close()


def shown(browser: "Browser", address: str) -> tuple[set[str], bytes]:
    """Return the addresses that were loaded for a page, and its picture."""
    with logged(browser) as (page, loaded, _):
        page.goto(address, wait_until="networkidle")
        return set(loaded), page.screenshot()


def originals(addresses: set[str], pattern: re.Pattern[str]) -> set[str]:
    return {found[1] for address in addresses if (found := pattern.search(address))}


_DIFFERENCE = """async ([one, other]) => {
  const pixels = async (png) => {
    const answer = await fetch('data:image/png;base64,' + png);
    const image = await createImageBitmap(await answer.blob());
    const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
    canvas.drawImage(image, 0, 0);
    return canvas.getImageData(0, 0, image.width, image.height).data;
  };
  const [a, b] = [await pixels(one), await pixels(other)];
  let differing = 0;
  for (let i = 0; i < a.length; i += 4)
    if ([0, 1, 2].some(n => Math.abs(a[i + n] - b[i + n]) > 30)) differing++;
  return a.length === b.length ? differing * 4 / a.length : 1;
}"""


def difference(browser: "Browser", one: bytes, other: bytes) -> float:
    """Return the share of pixels in which two pictures differ."""
    page = browser.new_page()
    try:
        pictures = [base64.b64encode(png).decode() for png in (one, other)]
        return float(page.evaluate(_DIFFERENCE, pictures))
    finally:
        page.close()


@pytest.mark.parametrize(
    ("url", "stamp"),
    [
        (sites.STATIC, sites.STAMP),
        (sites.OLD, "19980301000000"),
        (sites.FRAMES, sites.STAMP),
        (sites.JAPANESE, sites.STAMP),
        (sites.BROKEN, sites.STAMP),
    ],
)
def test_a_page_looks_as_in_pywb_with_the_same_parts(
    browser: "Browser", gate: str, pywb: str, url: str, stamp: str
) -> None:
    ours, our_picture = shown(browser, f"{gate}/view/{stamp}-{stamp}@first.mp_/{url}")
    theirs, their_picture = shown(browser, f"{pywb}{stamp}mp_/{url}")

    lacking = originals(theirs, PYWB) - originals(ours, OURS)

    assert {part for part in lacking if not part.endswith("/icon.png")} == set()
    assert difference(browser, our_picture, their_picture) < 0.01


def test_the_frame_says_what_is_shown_and_links_keep_the_date(
    browser: "Browser", gate: str
) -> None:
    with logged(browser) as (page, _, _):
        page.goto(f"{gate}/view/20100601/{sites.STATIC}", wait_until="networkidle")
        banner = page.locator("header.banner").inner_text()
        page.frame_locator("body > iframe").get_by_text("Far").click()
        page.wait_for_url(f"{gate}/view/20100601/http://far.example/")
        away = page.locator(".away").inner_text()

    assert "Captured 1 June 2010, 12:00:00 UTC by The first archive" in banner
    assert "within the requested time" in banner.lower()
    assert away.startswith("This copy is 9 years after the date that you follow.")


def test_a_link_in_a_frame_of_the_page_stays_in_it(browser: "Browser", gate: str) -> None:
    with logged(browser) as (page, _, _):
        page.goto(f"{gate}/view/20100601/{sites.STATIC}", wait_until="networkidle")
        outer = page.frame_locator("body > iframe")
        outer.frame_locator("iframe").get_by_text("stays").click()
        outer.frame_locator("iframe").get_by_text("Inner page").wait_for()

        assert page.url == f"{gate}/view/20100601/{sites.STATIC}"


def test_parts_come_from_three_archives_and_the_frame_lists_them(
    browser: "Browser", gate: str
) -> None:
    with logged(browser) as (page, loaded, _):
        page.goto(f"{gate}/reconstruct/20100601/{sites.SCATTERED}", wait_until="networkidle")
        parts = originals({*loaded}, OURS)
        before = [address for address in loaded if "/parts/" in address]
        page.get_by_text("Where the parts come from").click()
        listed = page.frame_locator("iframe.parts")
        listed.get_by_text("Parts of a page").wait_for()
        table = listed.locator("table").inner_text()

    names = {part.removeprefix(sites.SCATTERED) for part in parts}
    assert names == {"", "s.css", "a.png", "b.png", "c.png"}
    assert before == []  # the list costs requests: it is read when someone opens it
    assert "The second archive" in table
    assert "The third archive" in table


class _Counting(BaseHTTPRequestHandler):
    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def attacker() -> Iterator[tuple[str, list[str]]]:
    """A server that must hear nothing: its address, and what it heard."""
    seen: list[str] = []
    handler = type("Handler", (_Counting,), {"seen": seen})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", seen
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def hostile(
    tmp_path_factory: pytest.TempPathFactory, attacker: tuple[str, list[str]]
) -> Iterator[str]:
    pages = tuple(
        ArchivedPart(
            f"http://hostile.example/{name}",
            f"<title>{name}</title>{markup.format(x=attacker[0])}<p>end".encode(),
        )
        for name, markup in HOSTILE.items()
    )
    with replaying(tmp_path_factory.mktemp("hostile"), {"first": pages}) as url:
        yield url


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("route", ["view", "reconstruct"])
def test_a_hostile_page_neither_runs_nor_reaches_out(
    browser: "Browser", hostile: str, attacker: tuple[str, list[str]], name: str, route: str
) -> None:
    with logged(browser) as (page, _, requests):
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        page.goto(f"{hostile}/{route}/2010/http://hostile.example/{name}")
        page.wait_for_load_state("networkidle")
        frame = page.frame_locator("body > iframe")
        for inert in ("#l", "#b"):
            if frame.locator(inert).count():
                frame.locator(inert).click()
        page.wait_for_timeout(300)
        titles = [each.title() for each in page.frames if "mp_/" in each.url]
        workers = page.context.service_workers

        assert page.url == f"{hostile}/{route}/2010/http://hostile.example/{name}"

    assert [each.url for each in requests if not each.url.startswith((hostile, "data:"))] == []
    assert "ran" not in titles
    assert (dialogs, workers, attacker[1]) == ([], [], [])


def test_the_document_itself_is_as_safe_without_its_frame(
    browser: "Browser", hostile: str, attacker: tuple[str, list[str]]
) -> None:
    with logged(browser) as (page, _, requests):
        for name in HOSTILE:
            stamp = sites.STAMP
            page.goto(f"{hostile}/view/2010-{stamp}@first.mp_/http://hostile.example/{name}")
            page.wait_for_load_state("networkidle")
            assert page.title() != "ran"

    assert [each.url for each in requests if not each.url.startswith((hostile, "data:"))] == []
    assert attacker[1] == []
