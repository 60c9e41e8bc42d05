"""Debian's Chromium over Playwright, looking at a real server.

Without Playwright or Chromium nothing here is collected; `make test-browser` installs both.
"""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
if find_spec("playwright") is None or not CHROMIUM.exists():
    collect_ignore_glob = ["test_*.py"]
else:
    from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

    from tests.browser.world import served

    ARGUMENTS = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
        *("--disable-component-update", "--disable-sync", "--no-first-run"),
    )

    @pytest.fixture(scope="session")
    def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
        """Where the server is."""
        with served(tmp_path_factory.mktemp("served")) as url:
            yield url

    @pytest.fixture(scope="session")
    def browser() -> Iterator[Browser]:
        with sync_playwright() as playwright:
            running = playwright.chromium.launch(
                executable_path=str(CHROMIUM), args=[*ARGUMENTS]
            )
            yield running
            running.close()

    @pytest.fixture
    def page(browser: Browser, address: str) -> Iterator[Page]:
        """Open a page that must not complain: console errors and exceptions fail the test."""
        context = browser.new_context(base_url=address)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(20_000)
        opened = context.new_page()
        errors: list[str] = []
        opened.on("console", lambda told: _note(errors, told, address))
        opened.on("pageerror", lambda error: errors.append(str(error)))
        yield opened
        context.close()
        assert errors == []

    def _note(errors: list[str], told: ConsoleMessage, address: str) -> None:
        # An archive to which a test goes may lack an icon; that is not ours.
        if told.type in ("error", "warning") and told.location["url"].startswith(address):
            errors.append(told.text)

    @pytest.fixture(scope="session")
    def screenshots() -> Path | None:
        """Where pictures are kept; None unless TIMEGATE_SCREENSHOTS asks for new ones."""
        if not os.environ.get("TIMEGATE_SCREENSHOTS"):
            return None
        return Path(__file__).parents[2] / "docs" / "screenshots"
