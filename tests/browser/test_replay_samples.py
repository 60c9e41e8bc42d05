"""pywb's own sample WARCs: shown as pywb shows them, and put together from a remote pywb."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.test_replay import OURS, PYWB, difference, originals, shown
from tests.end_to_end.pywb import ENVIRONMENT, Pywb, running_pywb
from tests.end_to_end.server import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SAMPLES = ENVIRONMENT / "sample_archive" / "warcs"
FILES = ("iana.warc.gz", "example2.warc.gz", "example-wpull.warc.gz")
PAGES = (
    ("http://www.iana.org/", "20140126200624"),
    ("http://www.iana.org/numbers", "20140126200651"),
    ("http://www.iana.org/protocols", "20140126200715"),
    ("http://www.iana.org/time-zones", "20140126200737"),
    ("http://www.iana.org/domains/root", "20140126200912"),
    ("http://example.com/", "20160225042329"),
)


def copy_samples(folder: Path) -> None:
    for name in FILES:
        shutil.copy(SAMPLES / name, folder / name)


@pytest.fixture(scope="module")
def pywb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pywb]:
    root = tmp_path_factory.mktemp("pywb")
    with running_pywb("plain", root, copy_samples) as running:
        yield running


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the samples as a collection."""
    folder = tmp_path_factory.mktemp("samples")
    copy_samples(folder)
    subprocess.run([sys.executable, "-m", "timegate", "index", str(folder)], check=True)  # noqa: S603 -- our own words
    config = folder.parent / "samples.toml"
    config.write_text(
        f"""
        [archives]
        use = []
        [reconstruct]
        enabled = true
        [[archive]]
        id = "samples"
        kind = "warc"
        path = "{folder}"
        """
    )
    with serving("--config", str(config)) as server:
        yield server.url


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory, pywb: Pywb) -> Iterator[str]:
    """Reconstruct pages from a pywb that is queried over the network."""
    config = tmp_path_factory.mktemp("remote") / "timegate.toml"
    config.write_text(
        f"""
        [archives]
        use = []
        [reconstruct]
        enabled = true
        [[archive]]
        id = "pywb"
        kind = "memento"
        timegate = "{pywb.url}"
        timemap = "{pywb.url}timemap/link/"
        replay = "{pywb.url}{{time14}}/{{uri}}"
        raw = "{pywb.url}{{time14}}id_/{{uri}}"
        """
    )
    with serving("--config", str(config)) as server:
        yield server.url


@pytest.mark.parametrize(("url", "stamp"), PAGES)
def test_a_sample_page_looks_as_in_pywb(
    browser: "Browser", gate: str, pywb: Pywb, url: str, stamp: str
) -> None:
    ours = f"{gate}/view/{stamp}-{stamp}@samples.mp_/{url}"
    compare(browser, ours, f"{pywb.url}{stamp}mp_/{url}")


@pytest.mark.parametrize(("url", "stamp"), PAGES)
def test_a_sample_page_is_put_together_from_a_remote_archive(
    browser: "Browser", remote: str, pywb: Pywb, url: str, stamp: str
) -> None:
    ours = f"{remote}/reconstruct/{stamp}-{stamp}@pywb.mp_/{url}"
    compare(browser, ours, f"{pywb.url}{stamp}mp_/{url}")


def compare(browser: "Browser", ours: str, theirs: str) -> None:
    """Assert that the page at *ours* has the parts, and looks, of that at *theirs*."""
    loaded, their_picture = shown(browser, theirs)
    expected = {part for part in originals(loaded, PYWB) if not is_script(part)}
    found, our_picture = shown(browser, ours)
    if not expected <= originals(found, OURS):
        # On a busy machine a part may come after the page was called idle.
        found, our_picture = shown(browser, ours)

    assert expected - originals(found, OURS) == set()
    assert difference(browser, our_picture, their_picture) < 0.01


def is_script(part: str) -> bool:
    """Scripts are loaded by pywb, and not run here."""
    return part.partition("?")[0].endswith(".js")
