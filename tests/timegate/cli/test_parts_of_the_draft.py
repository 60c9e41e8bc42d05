"""The example of the PWID draft: a page of a shop, and the parts that SolrWayback found."""

from pathlib import Path

from click.testing import CliRunner

from archives.warc_index.building import index_collection
from tests import warcs
from timegate.cli import main

SHOP = "http://www.susanlegetoej.dk"
PAGE = f"{SHOP}/shop/handskedyr-siameser-killing-8681p.html"
AT = "2008-11-29T01:19:16Z"
PARTS = {
    "/images/ddcss/SK113_Master_NF.css": "2008-11-29T00:41:42Z",
    "/shop/css/print.css": "2008-11-29T00:39:47Z",
    "/images/ddcss/SK113_Basket_NF.css": "2008-11-29T00:40:06Z",
    "/images/ddcss/SK113_TopMenu_NF.css": "2008-11-29T00:40:00Z",
    "/images/ddcss/SK113_SearchPage_NF.css": "2008-11-29T00:40:00Z",
    "/images/ddcss/SK113_Productmenu_NF.css": "2008-11-29T00:40:35Z",
    "/images/ddcss/SK113_SpaceTop_NF.css": "2008-11-29T00:40:22Z",
    "/images/ddcss/SK113_SpaceLeft_NF.css": "2008-11-29T00:40:24Z",
    "/images/ddcss/SK113_SpaceBottom_NF.css": "2008-11-29T00:40:23Z",
    "/images/ddcss/SK113_SpaceRight_NF.css": "2008-11-29T00:40:25Z",
    "/images/ddcss/SK113_ProductInfo_NF.css": "2008-11-29T00:37:23Z",
    "/Shop/js/Variants.js": "2008-11-29T00:37:24Z",
    "/Shop/js/Media.js": "2009-03-03T11:53:00Z",
    "/images/design/print.gif": "2009-03-03T11:53:02Z",
    "/Shop/js/Scroll.js": "2009-03-03T11:54:19Z",
    "/Shop/js/Shop5Common.js": "2009-03-03T11:54:09Z",
    "/images/602551.jpg": "2006-11-20T20:16:03Z",
}
"""The URLs and times of draft-pwid-urn-specification-08, section Assignment."""


def _named(path: str) -> str:
    if path.endswith(".css"):
        return f'<link rel="stylesheet" href="{path}">'
    if path.endswith(".js"):
        return f'<script src="{path}"></script>'
    return f'<img src="{path}">'


def test_the_parts_are_those_of_the_draft(tmp_path: Path) -> None:
    folder = tmp_path / "warcs"
    folder.mkdir()
    page = "".join(map(_named, PARTS)).encode()
    records = [warcs.response(PAGE, AT, page)]
    records += [
        warcs.record(warcs.answer(b"", mime="text/css"), url=SHOP + path, date=date)
        for path, date in PARTS.items()
    ]
    (folder / "shop.warc").write_bytes(b"".join(records))
    index_collection(folder, tmp_path / "index.sqlite")
    config = tmp_path / "timegate.toml"
    config.write_text(
        '[archives]\nuse = []\n[[archive]]\nid = "shop"\nkind = "warc"\n'
        f'path = "{folder}"\nindex = "{tmp_path / "index.sqlite"}"\npwid = ["netarkivet.dk"]\n'
    )
    wanted = f"urn:pwid:netarkivet.dk:{AT}:page:{PAGE}"

    result = CliRunner().invoke(main, ["parts", "--config", str(config), wanted])

    assert result.stdout.split() == [
        wanted,
        *(f"urn:pwid:netarkivet.dk:{date}:part:{SHOP}{path}" for path, date in PARTS.items()),
    ]
    assert "17 of 17 parts found" in result.stderr
    assert result.exit_code == 0
