"""A series in a browser: by date, a document with its versions, and how to cite it."""

import hashlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest

from tests.timegate.series.serving import SERIES, write_config

if TYPE_CHECKING:  # Who does not run these tests may not have it.
    from playwright.sync_api import Browser

OLD = f"pdi://{SERIES}/1997/09/01/1"
DOCUMENTS: dict[str, bytes] = {
    f"{OLD}.html.1": b"<h1>A speech</h1><p>Of the year 1997.",
    f"{OLD}.text.1": b"A speech, of the year 1997. It is long enough to have a part.",
    f"{OLD}.text.2": b"A speech of the year 1997. It is long enough to have a part too.",
    f"pdi://{SERIES}/1998/02/03/1.text.1": b"Another one",
}


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a series; its address."""
    folder: Path = tmp_path_factory.mktemp("series")
    write_config(folder)
    file = folder / "timegate.toml"
    file.write_text(file.read_text().replace('base_url = "http://gate.example"\n', ""))
    for pdi, body in DOCUMENTS.items():
        mint = [sys.executable, "-m", "timegate", "mint", "--config", str(file), "--in-place"]
        subprocess.run([*mint, pdi, "-"], input=body, check=True, capture_output=True)  # noqa: S603 -- ours
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "timegate", "serve", "--config", str(file)]
    with subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.PIPE) as server:  # noqa: S603 -- ours
        assert server.stderr is not None
        server.stderr.readline()
        yield f"http://127.0.0.1:{port}"
        server.terminate()


def test_a_reader_goes_from_the_series_to_a_part_of_a_document(
    browser: "Browser", series: str
) -> None:
    from playwright.sync_api import expect  # noqa: PLC0415 -- see above

    with browser.new_context(base_url=series) as context:
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto("/series")
        for link in (SERIES, "1997", "1997-09", "1997-09-01"):
            page.get_by_role("main").get_by_role("link", name=link, exact=True).last.click()
        page.get_by_role("link", name=f"{OLD}.text.2").click()

        expect(page.get_by_role("heading", level=1)).to_have_text(OLD)
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(3)
        expect(rows.first).to_contain_text("text")
        cited = page.locator("dl code")
        expect(cited.filter(has_text=f"{OLD}.html.1").first).to_be_visible()
        part = f"{OLD}.text.2#char=37,51"
        expect(cited.filter(has_text=part).first).to_be_visible()
        digest = hashlib.sha256(DOCUMENTS[f"{OLD}.text.2"]).hexdigest()
        expect(rows.first).to_contain_text(digest)
        page.locator("tbody").get_by_role("link", name="text", exact=True).first.click()
        expect(page.locator("body")).to_contain_text("A speech of the year 1997.")
        assert not errors
    with urlopen(f"{series}/{part.replace('#', '%23')}") as answer:  # noqa: S310 -- ours
        assert answer.read() == DOCUMENTS[f"{OLD}.text.2"][37:51]


def test_the_pages_of_a_series_fit_a_phone(browser: "Browser", series: str) -> None:
    paths = ("", f"/{SERIES}", f"/{SERIES}/1997/09/01")
    with browser.new_context(
        base_url=series, viewport={"width": 390, "height": 800}
    ) as context:
        page = context.new_page()
        for path in paths:
            page.goto(f"/series{path}")
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("link", name=f"{OLD}.text.2").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
