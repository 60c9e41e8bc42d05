"""The parts of a page in a real pywb and in a collection of our own, asked over HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from archives.warc_index.building import index_collection
from tests import warcs
from tests.end_to_end.pywb import running_pywb
from tests.end_to_end.server import Running, serving
from tests.end_to_end.test_serving import ask

SHOP: Final = "http://shop.example/"
PAGE: Final = f"{SHOP}toys/cat.html"
AT: Final = "2008-11-29T01:19:16Z"
HTML: Final = b"""<html><head><link rel="stylesheet" href="/css/a.css"></head><body>
<img src="/img/cat.jpg" srcset="/img/cat2.jpg 2x"><iframe src="/frame.html"></iframe>
<img src="http://cdn.example/x.png"><img src="/img/gone.gif"><img src="/img/error.gif">
<a href="/other.html">other</a></body></html>"""


def _captured(
    path: str,
    date: str,
    payload: bytes,
    mime: str = "text/html",
    *,
    status: str = "200 OK",
    **fields: str,
) -> bytes:
    url = path if path.startswith("http") else SHOP + path
    return warcs.record(
        warcs.answer(payload, status, mime, **fields),
        url=url,
        date=date,
        payload_digest=warcs.digest(payload),
    )


IN_PYWB: Final = (
    _captured("toys/cat.html", AT, HTML),
    _captured(
        "css/a.css",
        "2008-12-24T00:00:00Z",
        b"@import 'b.css'; h1 { background: url(/img/h1.png) }",
        "text/css",
        last_modified="Wed, 01 Oct 2008 10:00:00 GMT",
    ),
    _captured(
        "css/b.css",
        "2009-03-03T11:53:00Z",
        b"p { color: red }",
        "text/css",
        last_modified="Mon, 02 Mar 2009 10:00:00 GMT",
    ),
    _captured("img/h1.png", "2008-11-01T00:00:00Z", b"the same", "image/png"),
    _captured("img/h1.png", "2009-01-01T00:00:00Z", b"the same", "image/png"),
    _captured("img/cat.jpg", AT, b"a cat", "image/jpeg"),
    _captured("img/cat2.jpg", AT, b"a large cat", "image/jpeg"),
    _captured("frame.html", "2008-11-29T01:20:16Z", b'<img src="/img/cat.jpg">'),
    _captured("img/error.gif", AT, b"no", "text/html", status="404 Not Found"),
)
IN_COLLECTION: Final = (
    _captured("http://cdn.example/x.png", "2008-11-28T01:19:16Z", b"x", "image/png"),
)


def _configured(pywb: str, folder: Path, index: Path) -> str:
    return f"""
[archives]
use = []

[[archive]]
id = "pywb"
kind = "memento"
timegate = "{pywb}"
timemap = "{pywb}timemap/link/"
replay = "{pywb}{{time14}}/{{uri}}"
raw = "{pywb}{{time14}}id_/{{uri}}"
cdx = "{pywb}cdx"
dialect = "pywb-cdxj"
pwid = ["pywb.example"]

[[archive]]
id = "mine"
kind = "warc"
path = "{folder}"
index = "{index}"
pwid = ["mine.example"]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server over pywb, which holds the page, and a collection, which holds one part."""
    folder, root = tmp_path_factory.mktemp("mine"), tmp_path_factory.mktemp("pywb")
    (folder / "mine.warc").write_bytes(b"".join(IN_COLLECTION))
    index = tmp_path_factory.mktemp("index") / "mine.sqlite"
    index_collection(folder, index)

    def write(archive: Path) -> None:
        (archive / "shop.warc").write_bytes(b"".join(IN_PYWB))

    config = tmp_path_factory.mktemp("config") / "timegate.toml"
    with running_pywb("framed", root, write) as pywb:
        config.write_text(_configured(pywb.url, folder, index))
        with serving("--config", str(config)) as running:
            yield running


def test_every_part_is_found_where_it_is_and_judged(server: Running) -> None:
    _, _, body = ask(f"{server.url}/parts/urn:pwid:pywb.example:{AT}:page:{PAGE}?as=json")

    document = json.loads(body)
    found = {
        part["url"].removeprefix(SHOP): (
            part["outcome"],
            part["memento"] and part["memento"]["archive"],
            part["offset"],
            part["coherence"],
        )
        for part in document["parts"]
    }
    assert found == {
        "css/a.css": ("found", "pywb", 2_155_244, "prima-facie-coherent"),
        "img/cat.jpg": ("found", "pywb", 0, "prima-facie-coherent"),
        "img/cat2.jpg": ("variant", None, None, None),
        "frame.html": ("found", "pywb", 60, "probably-violative"),
        "http://cdn.example/x.png": ("found", "mine", -86_400, "possibly-coherent"),
        "img/gone.gif": ("missing", None, None, None),
        "img/error.gif": ("missing", "pywb", 0, None),
        "css/b.css": ("found", "pywb", 8_159_624, "prima-facie-violative"),
        "img/h1.png": ("found", "pywb", -2_423_956, "prima-facie-coherent"),
    }
    assert document["unread"] == []
    assert 0 < document["requests"] <= 60


def test_the_verdict_sums_the_parts_up_only_if_they_were_looked_for(server: Running) -> None:
    target = f"/resolve/urn:pwid:pywb.example:{AT}:page:{PAGE}"

    _, plain, without = ask(f"{server.url}{target}?as=json")
    _, whole, body = ask(f"{server.url}{target}?as=json&verify=page")

    assert "parts" not in plain["Memento-Precision"]
    assert (
        'parts=8;found=6;missing=2, spread="-P28DT1H19M16S/P94DT10H33M44S"'
        in (whole["Memento-Precision"])
    )
    report = json.loads(body)
    assert report["match"]["value"] == json.loads(without)["match"]["value"]
    assert report["parts"] == {"value": 8, "found": 6, "missing": 2}
    assert report["coherence"]["value"] == "prima-facie-violative"
