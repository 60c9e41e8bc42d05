"""Every example list of the PWID drafts: extracted to a WACZ that pywb replays.

The archives that the lists name are collections that hold what they ask for. Pages embed parts
that lie in three archives.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.request import ProxyHandler, build_opener
from zipfile import ZipFile

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from archives.registry import load_known
from archives.warc_index.building import index_collection
from tests import warcs
from tests.end_to_end.pywb import running_pywb_over_wacz
from timegate.identifiers import parse

ROOT: Final = Path(__file__).parents[2]
LISTS: Final = ROOT / "tests" / "data" / "pwid_lists"
VALIDATOR: Final = ROOT / ".venv-wacz"
NAMES: Final = (
    *("shop.printed.txt", "shop.solrwayback.xml"),
    *("references.printed.txt", "references2017.xml"),
)
"""Each list once or twice; `tests/timegate/references` reads them in all formats."""
STYLE: Final = "http://parts.example/style.css"
IMAGE: Final = "http://parts.example/image.png"
FONT: Final = "http://parts.example/font.woff"
LOST: Final = "http://parts.example/lost.gif"


class Held(NamedTuple):
    """A capture in one of the archives."""

    archive: str
    url: str
    date: str
    body: bytes
    mime: str = "text/html"

    @property
    def stamp(self) -> str:
        return "".join(filter(str.isdigit, self.date))


def page_of(url: str) -> bytes:
    embedded = f'<link rel="stylesheet" href="{STYLE}"><img src="{IMAGE}">'
    return f"<html><title>Page of {url}</title>{embedded}</html>".encode()


def named_in(name: str) -> Iterator[Held]:
    """Yield the captures that the list *name* asks for."""
    for line in (LISTS / f"{name.partition('.')[0]}.lines.txt").read_text().splitlines():
        identifier = parse(line, load_known()).identifier
        assert identifier.archive
        assert identifier.item
        assert identifier.time
        archive = identifier.archive.partition(".")[0]
        if getattr(identifier, "precision", "page") == "part":
            body, mime = line.encode(), "text/css"
        else:
            body, mime = page_of(identifier.item), "text/html"
        yield Held(archive, identifier.item, str(identifier.time), body, mime)


PARTS: Final = (
    Held(
        "archive", STYLE, "2017-01-01T00:00:00Z", f"b{{src:url({FONT})}}".encode(), "text/css"
    ),
    Held("netarkivet", IMAGE, "2017-01-02T00:00:00Z", b"\x89PNG image", "image/png"),
    Held("third", FONT, "2017-01-03T00:00:00Z", b"wOFF font", "font/woff"),
)
CONFIG: Final = """\
[[archive]]
id = "{0}"
kind = "warc"
path = "{1}"
pwid = ["{0}.{2}"]
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three archives with everything that the lists ask for."""
    folder = tmp_path_factory.mktemp("archives")
    lists = {name.partition(".")[0] for name in NAMES}
    captures = {held for name in lists for held in named_in(name)} | {*PARTS}
    text = "[archives]\nuse = []\n"
    for archive, suffix in (("archive", "org"), ("netarkivet", "dk"), ("third", "example")):
        (folder / archive).mkdir()
        records = [
            warcs.record(
                warcs.answer(held.body, mime=held.mime, server="test"),
                url=held.url,
                date=held.date,
                payload_digest=warcs.digest(held.body),
            )
            for held in sorted(captures)
            if held.archive == archive
        ]
        (folder / archive / "a.warc.gz").write_bytes(warcs.gzipped(*records))
        index_collection(folder / archive)
        text += CONFIG.format(archive, folder / archive, suffix)
    (folder / "timegate.toml").write_text(text)
    return folder / "timegate.toml"


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "timegate", "extract", *words]


def extracted(config: Path, given: Path, out: Path, *options: str) -> list[dict[str, object]]:
    words = command("--config", str(config), str(given), "-o", str(out), "--json", *options)
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603 -- ourselves
    assert out.exists(), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def validated(wacz: Path) -> None:
    if not (VALIDATOR / "ready").exists():
        raise RuntimeError("wacz is not installed: run `make .venv-wacz/ready`")
    words = [str(VALIDATOR / "bin" / "wacz"), "validate", "-f", str(wacz)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603 -- our own words
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Validation succeeded" in done.stdout


def replayed(base: str, stamp: str, url: str) -> bytes:
    opener = build_opener(ProxyHandler({}))
    with opener.open(f"{base}{stamp}id_/{url}", timeout=30) as response:
        octets = response.read()
    assert isinstance(octets, bytes)
    return octets


@pytest.mark.parametrize("name", NAMES)
def test_pywb_replays_the_package_of_every_example_list(
    config: Path, name: str, tmp_path: Path
) -> None:
    wanted = [*named_in(name)]

    rows = extracted(config, LISTS / name, tmp_path / "out.wacz")

    assert len(rows) == len(wanted)
    assert all(row["record"] for row in rows)
    validated(tmp_path / "out.wacz")
    pages = [held for held in wanted if held.mime == "text/html"]
    for row in rows:
        assert (row.get("parts") == {"parts": 3, "saved": 3}) is bool(pages), row["why"]
    with running_pywb_over_wacz(tmp_path, tmp_path / "out.wacz") as pywb:
        for held in {*wanted, *(PARTS if pages else ())}:
            assert replayed(pywb.url, held.stamp, held.url) == held.body
    with ZipFile(tmp_path / "out.wacz") as package:
        lines = package.read("pages/pages.jsonl").splitlines()
    titles = [json.loads(line)["title"] for line in lines[1:]]
    assert {*titles} == {f"Page of {held.url}" for held in pages}


class Written(NamedTuple):
    """A record, without what differs between two runs."""

    kind: str
    url: str | None
    date: str | None
    digest: str | None
    source: str | None
    block: bytes


def records(warc: Path) -> Counter[Written]:
    """Return the records of a WARC, and how often each is in it."""
    with warc.open("rb") as file:
        return Counter(
            Written(
                record.rec_type,
                head("WARC-Target-URI"),
                head("WARC-Date") if record.rec_type != "metadata" else None,
                head("WARC-Payload-Digest") if record.rec_type != "metadata" else None,
                head("WARC-Source-URI"),
                _block(record.rec_type, record.content_stream().read()),
            )
            for record in ArchiveIterator(file, check_digests="raise")
            if record.rec_type != "warcinfo" and (head := record.rec_headers.get_header)
        )


BY_FIRST_PAGE = (b"embedded-by", b"as", b"offset", b"coherence")
"""What the record of a part says of the page that led to it first. Pages that embed the same
part are read at the same time, and any of them may be first."""


def _block(kind: str, block: bytes) -> bytes:
    """Return what a record says; the ids of records are new in each run."""
    if kind != "metadata":
        return block
    said = dict(line.split(b": ", 1) for line in block.splitlines())
    if b"embedded-by" in said:
        said = {name: value for name, value in said.items() if name not in BY_FIRST_PAGE}
    parts = json.loads(said.pop(b"parts", b'{"list": []}'))["list"]
    said.pop(b"report", None)
    return repr((sorted(said.items()), [(part["url"], part["uri"]) for part in parts])).encode()


def test_a_killed_extraction_ends_like_one_that_was_not_killed(
    config: Path, tmp_path: Path
) -> None:
    given = tmp_path / "list.txt"
    lines = [line for name in ("references", "shop") for line in read_lines(name)]
    given.write_text("\n".join(lines * 8) + "\n")
    extracted(config, given, tmp_path / "whole.warc.gz")

    words = command("--config", str(config), str(given), "-o", str(tmp_path / "out.warc.gz"))
    kills = 0
    for _ in range(200):
        if _killed(words + (["--resume"] if kills else []), tmp_path / "out.warc.gz.part"):
            kills += 1
        else:
            break

    assert kills > 1
    assert not (tmp_path / "out.warc.gz.part").exists()
    assert records(tmp_path / "out.warc.gz") == records(tmp_path / "whole.warc.gz")


def read_lines(name: str) -> list[str]:
    return (LISTS / f"{name}.lines.txt").read_text().splitlines()


def _killed(words: list[str], folder: Path) -> bool:
    """Run *words* until a few more entries are written, then kill it; False if it ended."""
    journal = folder / "written"
    before = journal.stat().st_size if journal.exists() else 0
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:  # noqa: S603 -- ourselves
        while process.poll() is None:
            if journal.exists() and journal.stat().st_size > before + 18_000:
                os.kill(process.pid, signal.SIGKILL)
                process.wait(30)
                return True
            time.sleep(0.002)
        assert process.stderr is not None
        assert process.returncode in (0, 1), process.stderr.read().decode()
    return False


def test_what_no_archive_holds_is_missed_and_said(config: Path, tmp_path: Path) -> None:
    body = f'<html><img src="{LOST}"><img src="{IMAGE}"></html>'.encode()
    folder = config.parent / "third"
    url, date = "http://third.example/", "2017-02-02T00:00:00Z"
    block = warcs.answer(body, server="test")
    (folder / "b.warc.gz").write_bytes(
        warcs.gzipped(
            warcs.record(block, url=url, date=date, payload_digest=warcs.digest(body))
        )
    )
    index_collection(folder)
    (tmp_path / "list").write_text(f"urn:pwid:third.example:{date}:page:{url}\n{url} 2017\n")

    page, file = extracted(config, tmp_path / "list", tmp_path / "out.wacz")
    rows = extracted(config, tmp_path / "list", tmp_path / "all.wacz", "--pages")

    page, file = sorted((page, file), key=lambda row: "parts" not in row)
    assert (page["parts"], page["code"]) == ({"parts": 2, "saved": 1}, 1)
    assert str(page["why"]).endswith("with 1 of 2 parts")
    assert file["code"] == 0
    assert [row["parts"] for row in rows] == [{"parts": 2, "saved": 1}] * 2
