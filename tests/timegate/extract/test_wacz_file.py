"""WACZ: the members that the specification asks for, with the digests that it asks for."""

import gzip
import json
from hashlib import sha256
from io import StringIO
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest
from cdxj_indexer.main import CDXJIndexer  # type: ignore[import-untyped]

from archives.warc_index.building import index_collection
from tests import warcs
from tests.timegate.extract.test_journal import COPY, OUTCOME
from timegate import demo
from timegate.extract.wacz_file import DamagedWarc, index_lines, write_wacz

URLS = ("http://b.example/", "http://a.example/", "http://a.example/?x=1")


def a_warc(folder: Path) -> Path:
    path = folder / "data.warc.gz"
    dates = ("2016-01-22T11:20:29Z", "2016-01-22T11:20:29.250Z", "2015-01-22T11:20:29Z")
    records = [
        warcs.record(warcs.answer(url.encode(), server="test"), url=url, date=date)
        for url, date in zip(URLS, dates, strict=True)
    ]
    path.write_bytes(warcs.gzipped(*records))
    return path


def test_every_member_has_its_digest(tmp_path: Path) -> None:
    write_wacz(tmp_path / "a.wacz", a_warc(tmp_path), [(COPY, OUTCOME)], {"title": "a"})

    with ZipFile(tmp_path / "a.wacz") as package:
        names = package.namelist()
        description = package.read("datapackage.json")
        members = json.loads(description)
        for resource in members["resources"]:
            octets = package.read(resource["path"])
            assert resource["hash"] == f"sha256:{sha256(octets).hexdigest()}"
            assert resource["bytes"] == len(octets)
            if resource["path"].endswith(".gz"):
                assert package.getinfo(resource["path"]).compress_type == ZIP_STORED
        digest = json.loads(package.read("datapackage-digest.json"))
        pages = [*map(json.loads, package.read("pages/pages.jsonl").splitlines())]
    assert {*names} == {
        *(resource["path"] for resource in members["resources"]),
        *("datapackage.json", "datapackage-digest.json"),
    }
    assert digest["hash"] == f"sha256:{sha256(description).hexdigest()}"
    assert (members["profile"], members["wacz_version"]) == ("data-package", "1.1.1")
    assert members["mainPageUrl"] == "http://a.example/"
    assert pages[0]["format"] == "json-pages-1.0"
    assert (pages[1]["url"], pages[1]["ts"]) == (COPY.original, COPY.captured)
    assert (pages[1]["title"], pages[1]["parts"]) == ("A page", {"parts": 2, "saved": 1})
    assert pages[1]["source"] == COPY.uri


def test_the_index_is_that_of_cdxj_indexer(tmp_path: Path) -> None:
    warc = tmp_path / "data.warc.gz"
    warc.write_bytes((Path(demo.__file__).parent / "harbour/harbour.warc.gz").read_bytes())
    written = StringIO()
    CDXJIndexer(output=written, inputs=[str(warc)]).process_all()
    theirs = [line.split(" ", 2) for line in sorted(written.getvalue().splitlines())]

    ours = [line.decode().split(" ", 2) for line in index_lines(warc)]

    assert [line[:2] for line in ours] == [line[:2] for line in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        fields, expected = json.loads(mine[2]), json.loads(other[2])
        assert fields["digest"] == expected.pop("digest").removeprefix("sha1:")
        assert expected.items() <= fields.items()


def test_many_lines_are_sorted_in_files(tmp_path: Path) -> None:
    lines = [*index_lines(a_warc(tmp_path), at_once=1)]

    assert lines == sorted(lines)
    assert len(lines) == 3


def test_a_warc_that_cannot_be_read_again_is_not_packed(tmp_path: Path) -> None:
    warc = a_warc(tmp_path)
    warc.write_bytes(warc.read_bytes()[:-20])

    with pytest.raises(DamagedWarc, match="cannot be read again"):
        [*index_lines(warc)]


def test_our_own_collections_read_the_package(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    write_wacz(tmp_path / "mine" / "a.wacz", a_warc(tmp_path), [], {})

    assert index_collection(tmp_path / "mine").captures == 3


def test_the_index_is_compressed(tmp_path: Path) -> None:
    write_wacz(tmp_path / "a.wacz", a_warc(tmp_path), [], {})

    with ZipFile(tmp_path / "a.wacz") as package:
        index = gzip.decompress(package.read("indexes/index.cdx.gz"))
    assert [line.split()[0] for line in index.splitlines()] == [
        *(b"example,a)/", b"example,a)/?x=1", b"example,b)/")
    ]
