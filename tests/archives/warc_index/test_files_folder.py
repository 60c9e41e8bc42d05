"""Listing the files of a folder."""

from pathlib import Path

import pytest

from archives.warc_index.files import files_in
from archives.warc_index.model import LocalFiles
from tests.archives.warc_index.folders import LONG_AGO, put


def listed_files(folder: Path) -> tuple[list[str], list[str]]:
    """Return the paths, and the problems."""
    complaints: list[str] = []
    found = files_in(
        LocalFiles.of(folder), lambda file, _offset, why: complaints.append(f"{file}: {why}")
    )
    return list(found.files), complaints


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.warc", "warc"),
        ("a.WARC.GZ", "warc"),
        ("a.arc", "warc"),
        ("a.arc.gz", "warc"),
        ("a.wacz", "wacz"),
        ("a.cdx", "cdx"),
        ("a.cdxj.gz", "cdx"),
        ("a.warc.gz.open", None),
        ("a.html", None),
        (".hidden.warc.gz", None),
        (".hidden/a.warc.gz", None),
    ],
)
def test_the_suffix_of_a_file_is_its_kind(tmp_path: Path, name: str, kind: str | None) -> None:
    put(tmp_path, name, b"12345")

    found = files_in(LocalFiles.of(tmp_path), lambda *_: None)

    assert list(found.files.values()) == ([(name, kind, 5, LONG_AGO)] if kind else [])


def test_links_are_followed_inside_the_collection_only(tmp_path: Path) -> None:
    secret = put(tmp_path, "outside/secret.warc.gz", b"")
    inside = put(tmp_path, "own/real.warc.gz", b"")
    own = tmp_path / "own"
    (own / "out.warc.gz").symlink_to(secret)
    (own / "in.warc.gz").symlink_to(inside)
    (own / "folder").symlink_to(tmp_path / "outside")
    (own / "loop").symlink_to(own)
    (own / "nowhere.warc.gz").symlink_to(own / "missing")

    paths, complaints = listed_files(own)

    assert paths == ["in.warc.gz", "real.warc.gz"]
    assert complaints == [
        "nowhere.warc.gz: cannot be read: No such file or directory",
        "out.warc.gz: left out: it is a link out of the collection",
    ]


def test_a_link_to_a_folder_with_the_same_prefix_is_not_followed(tmp_path: Path) -> None:
    secret = put(tmp_path, "own-secrets/a.warc.gz", b"")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "a.warc.gz").symlink_to(secret)

    assert listed_files(tmp_path / "own")[0] == []


def test_the_depth_of_folders_is_limited(tmp_path: Path) -> None:
    put(tmp_path, "d/" * 16 + "a.warc", b"")
    put(tmp_path, "e/" * 17 + "b.warc", b"")

    paths, complaints = listed_files(tmp_path)

    assert paths == ["d/" * 16 + "a.warc"]
    assert len(complaints) == 1


def test_unprintable_names_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, "a\udcff.warc", b"")
    put(tmp_path, "a\nb.warc", b"")

    paths, complaints = listed_files(tmp_path)

    assert paths == []
    assert len(complaints) == 2
    assert all(complaint.isprintable() for complaint in complaints)
