"""The parts of an extracted page: what is saved, and what is said of the rest."""

import json
from pathlib import Path

import pytest

from archives.errors import Unreachable
from archives.model import Memento
from archives.registry import load_known
from tests.fakes import Canned, FakeFetcher
from tests.timegate.extract.copies import DATED, PAGE, RAW, URI, a_result
from tests.timegate.extract.test_run import records
from timegate.extract.fetching import FoundCopy
from timegate.extract.run import Extracted, Extraction
from timegate.extract.saved_parts import SavedPart, SavedParts
from timegate.extract.warc_file import WarcFile
from timegate.parts.composite import CompositeMemento, Outcome, Part

STAMP = "20160122112029"
ROOT = Memento(STAMP, URI, PAGE, "test")
HEAD = {**DATED, "X-Archive-Orig-Server": "nginx"}


def part(name: str, outcome: Outcome = "found", *, variant: bool = False) -> Part:
    url = f"{PAGE}{name}"
    memento = Memento(STAMP, f"http://archive.example/{STAMP}id_/{url}", url, "test")
    held = memento if outcome == "found" else None
    return Part(url, "image", "img src", PAGE, outcome, is_variant=variant, memento=held)


@pytest.mark.parametrize(
    ("parts", "words", "complete"),
    [
        (SavedParts(), "nothing is embedded", True),
        (SavedParts((SavedPart(part("a"), "<1>"),)), "with 1 part", True),
        (SavedParts((SavedPart(part("a"), "<1>"),) * 2), "with all 2 parts", True),
        (SavedParts((SavedPart(part("a", "missing")),)), "with 0 of 1 part", False),
        (SavedParts((SavedPart(part("a")),)), "with 0 of 1 part", False),
        (
            SavedParts((SavedPart(part("a"), "<1>"), SavedPart(part("b", variant=True)))),
            "with 1 part",
            True,
        ),
        (SavedParts((), ("a frame was not read",)), "nothing is embedded; a frame", False),
        (SavedParts(failure="the parts are not known"), "the parts are not known", False),
    ],
)
def test_a_page_is_complete_with_all_that_it_embeds(
    parts: SavedParts, words: str, *, complete: bool
) -> None:
    assert parts.words.startswith(words)
    assert parts.is_complete is complete


async def extracted(
    path: Path, found: CompositeMemento | Unreachable, asked: str, *, pages: bool = False
) -> tuple[Extracted, FakeFetcher]:
    fetch = FakeFetcher(lambda request: Canned(200, HEAD, request.url.encode()))
    outcomes: list[Extracted] = []

    async def parts(copy: FoundCopy) -> CompositeMemento:
        assert copy.uri == URI
        if isinstance(found, Unreachable):
            raise found
        return found

    result = a_result()
    assert isinstance(result.report, dict)
    result.report["coverage"] = {"value": "as-requested", "req": asked, "got": "page"}
    with WarcFile(path, {}) as warc:
        run = Extraction({"test": fetch}, load_known(), warc, parts=parts, all_pages=pages)
        await run.complete([result], 1, outcomes.append)
    return outcomes[0], fetch


COMPOSITE = CompositeMemento(ROOT, (part("a"), part("b", "missing"), part("c")))


async def test_a_page_is_saved_with_its_parts(tmp_path: Path) -> None:
    outcome, _ = await extracted(tmp_path / "a.warc", COMPOSITE, "page")

    assert outcome.parts == {"parts": 3, "saved": 2}
    assert (outcome.code, outcome.why) == (1, "words; with 2 of 3 parts")
    written = records(tmp_path / "a.warc")
    copies = {r.head["WARC-Target-URI"]: r for r in written if r.kind == "response"}
    assert copies.keys() == {PAGE, f"{PAGE}a", f"{PAGE}c"}
    about = {r.head["WARC-Refers-To"]: r.body for r in written if r.kind == "metadata"}
    assert about.keys() == {r.head["WARC-Record-ID"] for r in copies.values()}
    assert (
        b'embedded-by: "http://a.example/"' in about[copies[f"{PAGE}a"].head["WARC-Record-ID"]]
    )
    page = about[copies[PAGE].head["WARC-Record-ID"]].decode()
    listed = json.loads(page.partition("parts: ")[2].splitlines()[0])["list"]
    assert [(each["url"], each["outcome"], "record" in each) for each in listed] == [
        (f"{PAGE}a", "found", True),
        (f"{PAGE}b", "missing", False),
        (f"{PAGE}c", "found", True),
    ]


@pytest.mark.parametrize(("asked", "pages"), [("part", False), ("part", True), ("", False)])
async def test_a_file_is_saved_without_parts(
    tmp_path: Path, asked: str, *, pages: bool
) -> None:
    outcome, fetch = await extracted(tmp_path / "a.warc", COMPOSITE, asked, pages=pages)

    assert (outcome.parts, outcome.code) == (None, 0)
    assert fetch.lines == [f"GET {RAW}"]


async def test_without_an_extent_pages_are_saved_on_request(tmp_path: Path) -> None:
    outcome, _ = await extracted(tmp_path / "a.warc", COMPOSITE, "", pages=True)

    assert outcome.parts == {"parts": 3, "saved": 2}


async def test_a_page_whose_parts_are_not_known_is_not_called_complete(tmp_path: Path) -> None:
    trouble = Unreachable("test", URI, "no answer")

    outcome, _ = await extracted(tmp_path / "a.warc", trouble, "page")

    assert outcome.record is not None
    assert (outcome.code, outcome.parts) == (1, {"parts": 0, "saved": 0})
    assert outcome.why == "words; the parts are not known: test no answer"
