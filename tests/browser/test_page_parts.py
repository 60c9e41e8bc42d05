"""The parts of sample pages hold everything that Chromium really loads for them.

Chromium gets the sites from memory, under their own addresses, and nothing from a network.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from archives.warc_index.building import index_collection
from tests.archived_sites import (
    BLUE,
    BROKEN,
    CSS,
    FRAMES,
    IMAGE,
    JAPANESE,
    OLD,
    SITES,
    STATIC,
    ArchivedPart,
    write_warc,
)

if TYPE_CHECKING:  # Who does not run these tests may not have it.
    from playwright.sync_api import Browser, Route

MODERN: Final = "http://modern.example/a/"
_SVG: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
    b'width="9" height="9"><image href="svg.png" width="9" height="9"/></svg>'
)
_MODERN: Final = (
    ArchivedPart(
        MODERN,
        b"""<!doctype html><html><head><meta charset="utf-8"><base href="/b/">
<link rel="stylesheet" href="print.css" media="print">
<link rel="alternate stylesheet" href="alternate.css" title="other">
<link rel="preload" as="image" href="preloaded.png"><link rel="stylesheet" href=" space.css ">
<link rel="manifest" href="site.webmanifest">
<style>@import "layer.css" layer(base); @import url(screen.css) screen;
:root { --unused: url(unused.png) }
div { background-image: image-set("set.png" 1x, "set2.png" 2x) }
p::before { content: url("be\\66 ore.png") } b { list-style: url(data:image/png;base64,xx) }
</style></head><body>
<img srcset="w1.png 100w, w2.png 2000w" sizes="50px" src="w.png">
<img loading="lazy" src="lazy.png" width="1" height="1"><img src="&#97;mp.png?a=1&amp;b=2">
<img src="
tab	bed.png"><img src="with space.png"><img src="//cdn.example/c.png">
<picture><source type="image/avif" srcset="p.avif"><source srcset="p.webp">
<img src="p.png"></picture><video poster="poster.png" preload="auto"><source src="v.webm">
<track src="v.vtt" default></video>
<audio src="a.mp3" preload="auto"></audio><object data="o.png" type="image/png"></object>
<embed src="e.png" type="image/png"><input type="image" src="input.png">
<svg width="9" height="9"><image href="in-svg.png" width="9" height="9"/></svg>
<object data="o.html" type="text/html"></object>
<iframe srcdoc="<img src=&quot;srcdoc.png&quot;>"></iframe><table background="table.png"><tr><td
background="td.png">x</table><div style="border-image: url(border.png) 1">d</div><p>p</p>
<script src="s.js"></script><script type="module" src="m.js"></script>
</body></html>""",
    ),
    ArchivedPart(
        "http://modern.example/b/space.css",
        b'@import "deep/one.css"; body { background: url(sp.png) } @font-face '
        b'{ font-family: F; src: url("f.woff2") } p { font-family: F }',
        CSS,
    ),
    ArchivedPart(
        "http://modern.example/b/deep/one.css", b"h1,p { background: url(../one.png) }", CSS
    ),
    ArchivedPart("http://modern.example/b/layer.css", b"b { color: red }", CSS),
    ArchivedPart("http://modern.example/b/screen.css", b"i { color: red }", CSS),
    ArchivedPart("http://modern.example/b/print.css", b"p { background: url(pr.png) }", CSS),
    ArchivedPart("http://modern.example/b/o.html", b'<img src="in-object.png">'),
    ArchivedPart("http://modern.example/b/s.js", b"var a = 1;", "text/javascript"),
    ArchivedPart("http://modern.example/b/m.js", b"export {};", "text/javascript"),
    ArchivedPart("http://modern.example/b/one.png", BLUE, IMAGE),
    ArchivedPart("http://modern.example/b/in-svg.png", BLUE, IMAGE),
    ArchivedPart("http://modern.example/b/svg.svg", _SVG, "image/svg+xml"),
)
PAGES: Final = {
    "static": STATIC,
    "of 1998": OLD,
    "frames": FRAMES,
    "Shift_JIS": JAPANESE,
    "broken": BROKEN,
    "modern": MODERN,
}
_HELD: Final = {part.url: part for part in (*SITES, *_MODERN)}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of all sites."""
    folder = tmp_path_factory.mktemp("sites")
    write_warc(folder / "warcs", [*_HELD.values()])
    index_collection(folder / "warcs", folder / "index.sqlite")
    file = folder / "timegate.toml"
    file.write_text(
        '[archives]\nuse = []\n[[archive]]\nid = "sites"\nkind = "warc"\n'
        f'path = "{folder / "warcs"}"\nindex = "{folder / "index.sqlite"}"\n'
        'pwid = ["sites.example"]\n'
    )
    return file


def parts_of(url: str, config: Path) -> dict[str, str]:
    """Return the outcome of each part that is found in the page."""
    command = [
        sys.executable,
        "-m",
        "timegate",
        "parts",
        "--config",
        str(config),
        "--json",
        url,
    ]
    ran = subprocess.run(  # noqa: S603 -- ourselves
        command, capture_output=True, check=False, timeout=60
    )
    assert ran.returncode in (0, 1), ran.stderr.decode()
    return {part["url"]: part["outcome"] for part in json.loads(ran.stdout)["parts"]}


def loaded_by(browser: "Browser", url: str) -> set[str]:
    """Return what Chromium requests for the page, without scripts being run."""
    loaded: set[str] = set()

    def answer(route: "Route") -> None:
        asked = route.request.url
        loaded.add(asked)
        held = _HELD.get(asked)
        if held is None:
            route.fulfill(status=200, content_type=IMAGE, body=BLUE)
        else:
            route.fulfill(status=200, content_type=held.mime, body=held.body)

    context = browser.new_context(java_script_enabled=False)
    context.route("**/*", answer)
    page = context.new_page()
    page.goto(url, wait_until="networkidle")
    context.close()
    return loaded - {url}


@pytest.mark.parametrize("name", PAGES)
def test_what_chromium_loads_is_among_the_parts(
    name: str, browser: "Browser", config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = PAGES[name]

    loaded, parts = loaded_by(browser, url), parts_of(url, config)

    found = loaded & parts.keys()
    with capsys.disabled():
        unused = sorted(set(parts) - loaded)
        recall = f"{name}: {len(found)} of {len(loaded)} that Chromium loaded"
        lines = (f"  not loaded: {parts[each]} {each}" for each in unused)
        sys.stdout.write("\n".join(("", recall, *lines, "")))
    assert loaded
    assert loaded - parts.keys() == set()
