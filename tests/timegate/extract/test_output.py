"""The files of an extraction: complete under their name, or in a folder to continue from."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.timegate.extract.test_journal import COPY
from timegate.batch.journal import BadJournal
from timegate.extract.output import ExtractionOutput

INFO = {"software": "test", "description": "words"}


def opened(path: Path, *, resume: bool = False) -> ExtractionOutput:
    return ExtractionOutput(path, INFO, "binding", resume=resume)


@pytest.mark.parametrize("name", ["out.warc", "out.warc.gz", "out.wacz"])
def test_the_output_gets_its_name_when_it_is_complete(tmp_path: Path, name: str) -> None:
    with opened(tmp_path / name) as output:
        assert [path.name for path in tmp_path.iterdir()] == [f"{name}.part"]
        output.finish()

    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_without_copies_nothing_remains(tmp_path: Path) -> None:
    with opened(tmp_path / "out.warc.gz"):
        pass

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_exists_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "out.warc").write_text("precious")

    with pytest.raises(FileExistsError):
        opened(tmp_path / "out.warc")

    assert (tmp_path / "out.warc").read_text() == "precious"
    assert len([*tmp_path.iterdir()]) == 1


def test_an_interrupted_run_is_continued_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "out.warc.gz"
    output = opened(path)
    output.journal.note(COPY, output.warc.end)
    output.warc.add_metadata("<urn:uuid:1>", {"lost": "with the process"})
    output.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)

    with pytest.raises(BadJournal, match="continue with --resume"):
        opened(path)
    with opened(path, resume=True) as again:
        assert again.is_resumed
        assert again.journal.copies
        again.finish()

    assert [file.name for file in tmp_path.iterdir()] == ["out.warc.gz"]


def test_a_list_that_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="list"), opened(tmp_path / "out.warc.gz"):
        raise ValueError("list")

    assert list(tmp_path.iterdir()) == []


def test_a_package_contains_the_warc(tmp_path: Path) -> None:
    with opened(tmp_path / "out.wacz") as output:
        output.finish()

    with ZipFile(tmp_path / "out.wacz") as package:
        assert b'"title": "out.wacz"' in package.read("datapackage.json")
        assert package.testzip() is None
