"""Screenshots of the pages for docs/screenshots: ``make screenshots``.

Each is one look at a page of local archives or of the demo; look at them after a change.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple
from urllib.parse import quote

from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.world import NEWS, PAGE, demo, served
from tests.end_to_end.server import running_timegate

FOLDER: Final = Path(__file__).parents[2] / "docs" / "screenshots"
_WIDE: Final = 1000
_PHONE: Final = 390
_CITED: Final = f"urn:pwid:second.example:2011-06-14T20:47:18Z:page:{NEWS}"
_MUSEUM: Final = "http://museum.example/"


class Shot(NamedTuple):
    """One screenshot."""

    path: str
    width: int = _WIDE
    height: int = 760
    scheme: Literal["light", "dark"] = "light"
    full: bool = False
    """Whether it shows the whole page."""
    place: str = ""
    """The element that it begins with."""


LOCAL: Final = {
    "home": Shot("/"),
    "home-phone": Shot("/", _PHONE),
    "verdict-exact": Shot(f"/?q=urn:pwid:second.example:2016-01-22T11:20:29Z:page:{PAGE}"),
    "verdict-within": Shot(f"/?q=duri:2005:{PAGE}"),
    "verdict-near": Shot(f"/?q={PAGE}&at=2017"),
    "verdict-years": Shot(f"/?q={PAGE}&at=1996"),
    "verdict-substitute": Shot(f"/?q=urn:pwid:first.example:2016-01-22T11:20:29Z:page:{PAGE}"),
    "verdict-incomplete": Shot("/?q=http://nothing.example/&at=2010"),
    "history-wide-light": Shot(f"/?q={_CITED}", full=True),
    "history-wide-dark": Shot(f"/?q={_CITED}", scheme="dark", full=True),
    "history-phone": Shot(f"/?q={_CITED}", _PHONE, 844),
    "captures": Shot(f"/timemap/html/{NEWS}", height=1000),
    "captures-dark": Shot(f"/timemap/html/{NEWS}", height=1000, scheme="dark"),
    "captures-phone": Shot(f"/timemap/html/{NEWS}", _PHONE, 844),
    "calendar": Shot("/timemap/html/http%3A%2F%2Fnews.example%2F?year=2011", place="#calendar"),
    "calendar-phone": Shot(
        "/timemap/html/http%3A%2F%2Fnews.example%2F?year=2011",
        _PHONE,
        844,
        place="#calendar",
    ),
    "list": Shot(
        "/timemap/html/http%3A%2F%2Fnews.example%2F?from=2011-06&to=2011-06", place="#holders"
    ),
    "choices": Shot(f"/?q={quote(f'Two pages: {PAGE} (accessed 5 May 2005), and {NEWS}')}"),
    "archives": Shot("/archives"),
    "archives-phone": Shot("/archives", _PHONE, 844),
    "error": Shot("/?q=duri:2016-13:http://example.org/"),
    "error-address": Shot("/resolve/duri:2016-13:http://example.org/"),
}
DEMO: Final = {
    "demo": Shot("/"),
    "cite": Shot(
        f"/cite?id={quote(f'urn:pwid:harbour.example:2010-11-05T10:15:00Z:page:{_MUSEUM}')}"
    ),
    "collection": Shot("/collections/harbour"),
    "verdict-doubt": Shot(
        f"/?q={quote(f'Smith, J. (2010, November 5). Opening hours. {_MUSEUM}')}", height=900
    ),
    "verdict-none": Shot(f"/?q=duri:2010:{_MUSEUM}never-there"),
    "verdict-not-asked": Shot(
        "/?q=urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"
    ),
    "verdict-on-site": Shot(
        f"/?q=urn:pwid:vault.example:2016-01-22T11:20:29Z:page:{_MUSEUM}", height=900
    ),
}
OFFLINE: Final = {"offline": Shot(f"/?q=duri:2005:{PAGE}")}


@contextmanager
def offline(folder: Path) -> Iterator[str]:
    """Serve ``timegate`` over archives that no name server knows (RFC 6761 6.4)."""
    config = folder / "offline.toml"
    config.write_text(
        'contact = "mailto:you@example.org"\n[archives]\nuse = []\n'
        + "".join(
            f'[[archive]]\nid = "{name}"\nname = "{name.title()} Archive"\nkind = "memento"\n'
            f'timegate = "http://{name}.invalid/timegate/"\n'
            for name in ("first", "second", "third")
        )
    )
    with running_timegate(folder, {}, "--config", str(config)) as running:
        yield running.url


def take(browser: Browser, address: str, shots: dict[str, Shot]) -> None:
    """Write *shots* of the server at *address*."""
    for name, shot in shots.items():
        with browser.new_context(
            base_url=address,
            color_scheme=shot.scheme,
            viewport={"width": shot.width, "height": shot.height},
            reduced_motion="reduce",
        ) as context:
            context.set_default_timeout(60_000)
            page = context.new_page()
            page.goto(shot.path)
            if page.locator(".picture").count():
                expect(page.locator(".picture")).to_have_attribute(
                    "data-state", "whole", timeout=60_000
                )
            if shot.place:
                page.locator(shot.place).evaluate("place => place.scrollIntoView()")
            page.evaluate("new Promise(requestAnimationFrame)")
            page.screenshot(path=FOLDER / f"{name}.png", full_page=shot.full)


def _made(parent: str, name: str) -> Path:
    folder = Path(parent, name)
    folder.mkdir()
    return folder


def main() -> None:
    """Replace all screenshots."""
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS])
        with served(_made(folder, "local")) as address:
            take(browser, address, LOCAL)
        with demo() as address:
            take(browser, address, DEMO)
        with offline(_made(folder, "offline")) as address:
            take(browser, address, OFFLINE)
        browser.close()


if __name__ == "__main__":
    main()
