"""Server-sent events of changes: a browser gets each change once, over a restart."""

import hashlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser

from tests.end_to_end.server import Running, serving
from tests.end_to_end.test_store import TOKEN, persist

PAGE = "http://example.org/followed"
LISTEN = """(address) => {
    window.seen = [];
    window.opened = 0;
    const source = new EventSource(address);
    source.addEventListener("open", () => { window.opened += 1; });
    source.addEventListener("change", (event) => {
        window.seen.push(JSON.parse(event.data).id);
    });
}"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def store_at(port: int, folder: Path) -> Iterator[Running]:
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    config = folder / "timegate.toml"
    config.write_text(
        "[archives]\nuse = []\n"
        f'[[store]]\nid = "notes"\npath = "notes"\ntokens = ["sha256:{digest}"]\n'
        "free_megabytes = 0\n"
    )
    with serving("--config", str(config), "--port", str(port)) as running:
        yield running


def test_a_browser_gets_each_change_once_over_a_restart(
    browser: Browser, tmp_path: Path
) -> None:
    port, page = free_port(), browser.new_page()
    with store_at(port, tmp_path) as server:
        write = f"{server.url}/store/notes/{PAGE}"
        persist(write, "there before")
        page.goto(f"{server.url}/healthz")
        page.evaluate(LISTEN, f"/changes/events/{PAGE}")
        page.wait_for_function("window.opened === 1")
        persist(write, "one")
        page.wait_for_function("window.seen.length === 1")
    with store_at(port, tmp_path):
        persist(write, "two")
        persist(write, "three")
        page.wait_for_function("window.seen.length === 3", timeout=60_000)
        persist(write, "four")
        page.wait_for_function("window.seen.length === 4", timeout=60_000)
    seen = page.evaluate("window.seen")
    page.close()

    assert len(set(seen)) == len(seen) == 4
