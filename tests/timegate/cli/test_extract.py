"""`timegate extract` over the demo: other tools can read the files, and bytes are unchanged."""

import json
from io import StringIO
from pathlib import Path

import pytest
from cdxj_indexer.main import CDXJIndexer  # type: ignore[import-untyped]
from click.testing import CliRunner, Result
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from archives.warc_index.building import index_collection
from tests import warcs
from tests.end_to_end.server import running_demo
from timegate.cli import main
from timegate.demo import HARBOUR

LIST = """\
duri:2010:http://museum.example/
urn:pwid:harbour.example:2010-11-05T10:15:00Z:page:http://museum.example/
http://museum.example/logo.png 2010
http://museum.example/visit
http://museum.example/exhibitions/1987
http://museum.example/opening-hours 2010-11-05
"""


def extract(folder: Path, *arguments: str, given: str = LIST) -> Result:
    out = str(folder / "out.warc.gz")
    words = ["extract", "--demo", "--trust", "harbour", "-", "-o", out, *arguments]
    return CliRunner().invoke(main, words, input=given)


def bodies(path: Path) -> dict[tuple[str, str], bytes]:
    with path.open("rb") as file:
        return {
            (
                record.rec_headers.get_header("WARC-Target-URI"),
                record.rec_headers.get_header("WARC-Date"),
            ): record.content_stream().read()
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        }


def test_the_extracted_bytes_are_those_that_were_captured(tmp_path: Path) -> None:
    result = extract(tmp_path)

    assert result.stderr == f"6 references, 6 saved in {tmp_path / 'out.warc.gz'}\n"
    # Two of the copies are an archived redirect and an archived error.
    assert result.exit_code == 1
    captured = {(page.url, page.date): page.body for page in HARBOUR}
    copies = bodies(tmp_path / "out.warc.gz")
    assert len(copies) == 5
    assert copies.items() <= captured.items()


def test_cdxj_indexer_and_our_index_find_the_same_captures(tmp_path: Path) -> None:
    extract(tmp_path)
    written = StringIO()

    CDXJIndexer(output=written, inputs=[str(tmp_path / "out.warc.gz")]).process_all()
    ours = CliRunner().invoke(main, ["index", "--json", str(tmp_path / "out.warc.gz")])

    lines = [line.split(" ", 2) for line in written.getvalue().splitlines()]
    found = {(stamp, json.loads(row)["status"]) for _, stamp, row in lines}
    assert len(lines) == json.loads(ours.stdout)["captures"] == 5
    assert {("20190820074600", "301"), ("20190820074610", "404")} <= found


def test_references_without_bytes_are_reported(tmp_path: Path) -> None:
    given = "http://museum.example/ 2010\nhttp://nowhere.example/\nnonsense:\n"

    result = extract(tmp_path, given=given)

    assert result.exit_code == 3
    assert "3 references, 1 saved in" in result.stderr
    assert "  http://nowhere.example/: no copy found\n" in result.stderr
    assert "  nonsense:: " in result.stderr


def test_each_reference_is_a_line_of_json(tmp_path: Path) -> None:
    result = extract(tmp_path, "--json", given="http://museum.example/ 2010\nnonsense:\n")

    had, refused = sorted(map(json.loads, result.stdout.splitlines()), key=lambda o: o["code"])
    assert (had["outcome"], had["code"]) == ("within", 0)
    assert had["record"].startswith("<urn:uuid:")
    assert had["memento"]["archive"] == "harbour"
    assert (refused["outcome"], refused["record"], refused["memento"]) == (
        "refused",
        None,
        None,
    )


def test_without_any_bytes_no_file_is_written(tmp_path: Path) -> None:
    result = extract(tmp_path, given="http://nowhere.example/\n")

    assert result.exit_code == 3
    assert "was not written" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_only_exact_mementos_are_extracted_on_request(tmp_path: Path) -> None:
    given = "http://museum.example/ 2012\nhttp://museum.example/ 2010\n"

    result = extract(tmp_path, "--tolerance", "1d", given=given)

    assert result.exit_code == 1
    assert "less than asked: " in result.stderr
    assert len(bodies(tmp_path / "out.warc.gz")) == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--at", "2016"), "put dates into the list"),
        (("--trust", "harbor"), "Did you mean harbour?"),
    ],
)
def test_bad_usage_is_explained(tmp_path: Path, arguments: tuple[str, ...], why: str) -> None:
    result = extract(tmp_path, *arguments)

    assert result.exit_code == 2
    assert why in result.stderr


def test_unusable_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "out.warc.gz").write_text("precious")
    words = ["extract", "--demo", "/no/such/list", "-o", str(tmp_path / "new.warc.gz")]

    taken = extract(tmp_path)
    missing = CliRunner().invoke(main, words)
    nowhere = CliRunner().invoke(main, [*words[:2], "-", "-o", "/no/such/folder/a.warc"])

    assert (taken.exit_code, missing.exit_code, nowhere.exit_code) == (2, 2, 1)
    assert "out.warc.gz already exists: choose another name" in taken.stderr
    assert "/no/such/list: cannot be read" in missing.stderr
    assert "/no/such/folder/a.warc" in nowhere.stderr


def test_mementos_are_fetched_over_the_network(tmp_path: Path) -> None:
    with running_demo() as server:
        base = f"{server.url}/collections/harbour"
        config = tmp_path / "timegate.toml"
        config.write_text(
            "[archives]\nuse = []\n[[archive]]\nid = 'remote'\nkind = 'memento'\n"
            f"timegate = '{base}/timegate/'\ntimemap = '{base}/timemap/link/'\n"
            f"replay = '{base}/{{time14}}/{{uri}}'\nraw = '{base}/{{time14}}id_/{{uri}}'\n"
        )
        words = ["extract", "--config", str(config), "-", "-o", str(tmp_path / "out.warc.gz")]

        result = CliRunner().invoke(main, words, input=LIST.replace("harbour.example", "x.y"))

    assert "6 references, 6 saved in" in result.stderr
    captured = {(page.url, page.date): page.body for page in HARBOUR}
    copies = bodies(tmp_path / "out.warc.gz")
    assert len(copies) == 5
    assert copies.items() <= captured.items()


def test_if_an_archive_does_not_give_the_bytes_the_next_one_is_queried(tmp_path: Path) -> None:
    def archive(name: str, base: str, raw: str) -> str:
        return (
            f"[[archive]]\nid = '{name}'\nkind = 'memento'\npwid = ['{name}.example']\n"
            f"timegate = '{base}/timegate/'\nreplay = '{base}/{{time14}}/{{uri}}'\n"
            f"raw = '{base}/{raw}/{{uri}}'\n"
        )

    with running_demo() as server:
        base = f"{server.url}/collections/harbour"
        config = tmp_path / "timegate.toml"
        archives = archive("broken", base, "no-such-view/{time14}") + archive(
            "whole", base, "{time14}id_"
        )
        config.write_text(f"[archives]\nuse = []\n{archives}")
        words = [
            "extract",
            "--json",
            "--verify",
            "none",
            "--config",
            str(config),
            "-",
            "-o",
            str(tmp_path / "o.warc"),
        ]
        given = "urn:pwid:broken.example:2010-11-05T10:15:00Z:page:http://museum.example/\n"

        result = CliRunner().invoke(main, words, input=given)

    row = json.loads(result.stdout)
    assert (row["memento"]["archive"], row["outcome"]) == ("whole", "substitute")
    assert "; instead of broken: " in row["why"]
    assert "1 reference could not be fetched: trying other archives" in result.stderr
    assert "1 reference, 1 saved in" in result.stderr
    assert len(bodies(tmp_path / "o.warc")) == 1


def test_captures_of_one_second_are_extracted_with_their_own_bytes(tmp_path: Path) -> None:
    url, fractions = "http://a.example/", ("100", "250", "900")
    dates = [f"2020-01-01T00:00:00.{fraction}Z" for fraction in fractions]
    (tmp_path / "mine").mkdir()
    records = (
        warcs.record(warcs.answer(date.encode(), server="test"), url=url, date=date)
        for date in dates
    )
    (tmp_path / "mine" / "one.warc.gz").write_bytes(warcs.gzipped(*records))
    index_collection(tmp_path / "mine")
    config = tmp_path / "timegate.toml"
    config.write_text(
        '[archives]\nuse = []\n[[archive]]\nid = "mine"\nkind = "warc"\n'
        f'path = "{tmp_path / "mine"}"\npwid = ["mine.example"]\n'
    )
    given = "".join(f"urn:pwid:mine.example:{date}:page:{url}\n" for date in dates)
    out = tmp_path / "out.warc.gz"

    result = CliRunner().invoke(
        main, ["extract", "--config", str(config), "-", "-o", str(out)], input=given
    )

    assert result.exit_code == 0, result.stderr
    assert bodies(out) == {(url, date): date.encode() for date in dates}


def test_a_part_of_a_collection_is_its_file_as_requested(tmp_path: Path) -> None:
    given = "urn:pwid:harbour.example:2010-11-05T10:15:00Z:part:http://museum.example/\n"

    result = extract(tmp_path, "--json", given=given)

    row = json.loads(result.stdout)
    assert (row["outcome"], row["code"]) == ("exact", 0)
    assert "parts" not in row


def test_an_unfinished_extraction_is_continued_only_on_request(tmp_path: Path) -> None:
    (tmp_path / "out.warc.gz.part").mkdir()

    refused = extract(tmp_path)
    resumed = extract(tmp_path, "--resume")

    assert refused.exit_code == 2
    assert "continue with --resume, or remove the folder" in refused.stderr
    assert "6 references, 6 saved in" in resumed.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out.warc.gz"]


def test_a_name_that_is_neither_warc_nor_wacz_is_refused(tmp_path: Path) -> None:
    words = ["extract", "--demo", "-", "-o", str(tmp_path / "copies.zip")]

    result = CliRunner().invoke(main, words, input=LIST)

    assert result.exit_code == 2
    assert "must end in .warc.gz, .warc or .wacz" in result.stderr
