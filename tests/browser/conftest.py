"""Debian's Chromium over Playwright, looking at a real server.

Only collected where a run names this folder, as `make test-browser` does: nobody else needs a
browser, and Playwright's own event loop does not let tests of asyncio run beside it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.world import served

if TYPE_CHECKING:  # Who does not run these tests may not have it.
    from playwright.sync_api import Browser, ConsoleMessage, Page

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
)
HERE = Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leave this folder to runs that name it."""
    named = [Path(str(word).partition("::")[0]).resolve() for word in config.args]
    meant = any(path == HERE or HERE in path.parents for path in named)
    return None if meant else True


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the server is."""
    with served(tmp_path_factory.mktemp("served")) as url:
        yield url


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 -- see above

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS])
        yield running
        running.close()


@pytest.fixture
def page(browser: "Browser", address: str) -> Iterator["Page"]:
    """Open a page; errors in its console and exceptions fail the test."""
    context = browser.new_context(base_url=address)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(20_000)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("console", lambda message: _note(errors, message, address))
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert errors == []


def _note(errors: list[str], message: "ConsoleMessage", address: str) -> None:
    # An archive to which a test goes may lack an icon; that is not ours.
    if message.type in ("error", "warning") and message.location["url"].startswith(address):
        errors.append(message.text)
