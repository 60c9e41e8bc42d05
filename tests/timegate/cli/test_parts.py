"""`timegate parts`: the list, the exit codes, and what is said besides."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from archives.warc_index.building import index_collection
from tests import warcs
from timegate.cli import main

PAGE = "http://shop.example/cat.html"
IMAGE = "http://shop.example/cat.jpg"
AT = "2008-11-29T01:19:16Z"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A collection with a page of which one part is missing, and one without parts."""
    folder = tmp_path / "warcs"
    folder.mkdir()
    html = f'<img src="{IMAGE}"><img src="gone.gif">'.encode()
    records = (
        warcs.response(PAGE, AT, html),
        warcs.response(IMAGE, "2008-11-29T01:19:20Z", b"image"),
        warcs.response("http://shop.example/plain", AT, b"<p>nothing</p>"),
    )
    (folder / "a.warc").write_bytes(b"".join(records))
    index_collection(folder, tmp_path / "index.sqlite")
    file = tmp_path / "timegate.toml"
    file.write_text(
        '[archives]\nuse = []\n[[archive]]\nid = "mine"\nkind = "warc"\n'
        f'path = "{folder}"\nindex = "{tmp_path / "index.sqlite"}"\npwid = ["mine.example"]\n'
    )
    return file


def run(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["parts", "--config", str(config), *arguments])


def test_the_page_and_its_parts_are_printed_as_pwids(config: Path) -> None:
    result = run(config, f"duri:{AT}:{PAGE}")

    assert result.stdout.split() == [
        f"urn:pwid:mine.example:{AT}:page:{PAGE}",
        f"urn:pwid:mine.example:2008-11-29T01:19:20Z:part:{IMAGE}",
    ]
    assert "1 of 2 parts found, 1 missing" in result.stderr
    assert result.exit_code == 1


def test_a_page_without_parts_is_complete(config: Path) -> None:
    result = run(config, f"duri:{AT}:http://shop.example/plain")

    assert result.exit_code == 0
    assert "nothing is embedded in it" in result.stderr


def test_json_says_everything(config: Path) -> None:
    result = run(config, "--json", "--at", AT, PAGE)

    document = json.loads(result.stdout)
    assert document["summary"]["coherence"] == "probably-violative"
    assert [part["outcome"] for part in document["parts"]] == ["found", "missing"]
    assert document["requests"] == 0


@pytest.mark.parametrize("form", ["json", "uri-list", "linkset", "csv"])
def test_each_format_is_printed(config: Path, form: str) -> None:
    assert IMAGE in run(config, "--format", form, f"duri:{AT}:{PAGE}").stdout


@pytest.mark.parametrize(
    ("identifier", "code", "said"),
    [
        ("urn:pwid:x", 2, "urn:pwid:x"),
        ("http://shop.example/never", 3, "No archive"),
        (f"urn:pwid:mine.example:{AT}:page:~id", 4, "item id"),
    ],
)
def test_what_has_no_page_ends_with_its_exit_code(
    config: Path, identifier: str, code: int, said: str
) -> None:
    result = run(config, identifier)

    assert (result.exit_code, result.stdout) == (code, "")
    assert said in result.stderr


def test_resolve_says_what_it_found_if_asked_for_the_page(config: Path) -> None:
    arguments = ["resolve", "--config", str(config), "--verify", "page", f"duri:{AT}:{PAGE}"]

    result = CliRunner().invoke(main, arguments)

    assert "1 of 2 parts found, 1 missing" in result.stdout
    assert result.exit_code == 1


def test_an_archive_that_did_not_answer_about_the_page_leaves_the_code_open() -> None:
    words = ["parts", "--demo", "--wait", "0.3"]
    exact = "urn:pwid:harbour.example:2009-06-15T18:30:12Z:page:http://museum.example/"

    late = CliRunner().invoke(main, [*words, "http://museum.example/"])
    named = CliRunner().invoke(main, [*words, exact])
    patient = CliRunner().invoke(main, ["parts", "--demo", "http://museum.example/"])

    assert "1 of 2 archives did not answer" in late.stderr
    assert (late.exit_code, named.exit_code, patient.exit_code) == (4, 0, 0)
    assert "did not answer" not in patient.stderr


def test_every_format_ends_with_its_last_line(config: Path) -> None:
    for form in ("json", "uri-list", "linkset", "csv"):
        assert run(config, "--format", form, f"duri:{AT}:{PAGE}").stdout.endswith("\n")
