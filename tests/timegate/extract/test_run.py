"""From results to a WARC that other programs can read."""

import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from archives.errors import ArchiveError, Unreachable
from archives.registry import load_known
from archives.warc.captures import captures_in
from tests.fakes import Canned, FakeFetcher
from tests.timegate.extract.copies import DATED, PAGE, RAW, URI, a_result
from timegate.batch.model import ItemResult
from timegate.extract.journal import ExtractionState
from timegate.extract.run import ArchiveWaits, Extracted, Extraction, FailedArchives
from timegate.extract.warc_file import WarcFile

ARCHIVED = {**DATED, "Content-Type": "text/html", "X-Archive-Orig-Server": "nginx"}
ANSWER = Canned(200, ARCHIVED, b"<p>A page")


class Read(NamedTuple):
    kind: str
    head: dict[str, str]
    http: str | None
    body: bytes


def records(path: Path) -> list[Read]:
    with path.open("rb") as file:
        return [
            Read(
                record.rec_type,
                dict(record.rec_headers.headers),
                None if record.http_headers is None else str(record.http_headers),
                record.content_stream().read(),
            )
            for record in ArchiveIterator(file, check_digests="raise")
        ]


async def extracted(
    path: Path, answer: Canned | ArchiveError, *results: ItemResult, strict: bool = False
) -> tuple[list[Extracted], FakeFetcher]:
    fetch = FakeFetcher({RAW: answer})
    outcomes: list[Extracted] = []
    with WarcFile(path, {"software": "test"}) as warc:
        extraction = Extraction({"test": fetch}, load_known(), warc, strict=strict)
        await extraction.complete(results, 2, outcomes.append)
    return outcomes, fetch


@pytest.mark.parametrize("name", ["out.warc", "out.warc.gz"])
async def test_a_copy_is_a_response_with_the_archived_headers(
    name: str, tmp_path: Path
) -> None:
    await extracted(tmp_path / name, ANSWER, a_result())

    info, response, verdict = records(tmp_path / name)
    assert (info.kind, info.body) == ("warcinfo", b"software: test\r\n")
    assert response.kind == "response"
    assert response.head["WARC-Target-URI"] == PAGE
    assert response.head["WARC-Date"] == "2016-01-22T11:20:29Z"
    assert response.head["WARC-Source-URI"] == URI
    assert response.head["WARC-Warcinfo-ID"] == info.head["WARC-Record-ID"]
    assert response.http == "HTTP/1.1 200\r\nServer: nginx\r\nContent-Type: text/html\r\n"
    assert response.body == b"<p>A page"
    assert verdict.head["WARC-Refers-To"] == response.head["WARC-Record-ID"]
    members = dict(line.split(": ", 1) for line in verdict.body.decode().splitlines())
    assert json.loads(members["reference"]) == PAGE
    assert json.loads(members["report"]) == a_result().report


async def test_bytes_without_headers_are_a_resource(tmp_path: Path) -> None:
    answer = Canned(200, {**DATED, "Content-Type": "image/png"}, b"\x89PNG")

    await extracted(tmp_path / "out.warc", answer, a_result())

    _, resource, _ = records(tmp_path / "out.warc")
    assert (resource.kind, resource.http, resource.body) == ("resource", None, b"\x89PNG")
    assert resource.head["Content-Type"] == "image/png"


async def test_a_copy_without_type_gets_none(tmp_path: Path) -> None:
    answer = Canned(200, {**DATED, "Content-Type": "application/octet-stream"}, b"x")

    await extracted(tmp_path / "out.warc", answer, a_result())

    _, resource, _ = records(tmp_path / "out.warc")
    assert resource.kind == "resource"
    assert "Content-Type" not in resource.head


async def test_a_status_outside_of_http_is_written_as_archived(tmp_path: Path) -> None:
    answer = Canned(200, {**ARCHIVED, "X-Archive-Orig-Status": "999"}, b"denied")

    await extracted(tmp_path / "out.warc", answer, a_result())

    _, response, _ = records(tmp_path / "out.warc")
    assert response.http == "HTTP/1.1 999\r\nServer: nginx\r\nContent-Type: text/html\r\n"


@pytest.mark.parametrize("answer", [ANSWER, Canned(200, DATED, b"x"), Canned(404, DATED)])
async def test_our_own_reader_finds_the_copy_and_nothing_else(
    answer: Canned, tmp_path: Path
) -> None:
    await extracted(tmp_path / "out.warc.gz", answer, a_result())

    found = list(captures_in(BytesIO((tmp_path / "out.warc.gz").read_bytes())))

    assert [getattr(one, "url", one) for one in found] == [PAGE]


async def test_a_copy_of_two_references_is_fetched_once(tmp_path: Path) -> None:
    outcomes, fetch = await extracted(
        tmp_path / "a.warc", ANSWER, a_result(), a_result(position=1)
    )

    assert fetch.lines == [f"GET {RAW}"]
    assert len({outcome.record for outcome in outcomes}) == 1
    kinds = [record.kind for record in records(tmp_path / "a.warc")]
    assert kinds == ["warcinfo", "response", "metadata", "metadata"]


async def tried(path: Path, *rounds: ItemResult) -> tuple[list[Extracted], FailedArchives]:
    """Try one copy after the other of one reference; only the archive ``good`` gives any."""
    down = FakeFetcher(lambda request: Unreachable("bad", request.url, "no answer"))
    good = FakeFetcher(lambda _: ANSWER)
    fetchers = {"good": good, "bad": down, "worse": down, "worst": down}
    outcomes: list[Extracted] = []
    with WarcFile(path, {}) as warc:
        extraction = Extraction(fetchers, load_known(), warc)
        for attempt, result in enumerate(rounds):
            await extraction.complete([result], 1, outcomes.append, attempt)
    return outcomes, extraction.choices


async def test_if_the_bytes_cannot_be_fetched_another_archive_is_tried(tmp_path: Path) -> None:
    outcomes, choices = await tried(tmp_path / "a.warc", a_result(archive="bad"))

    assert outcomes == []
    assert choices.again(0) == [0]
    assert choices.again(1) == []
    assert choices.without(a_result().item) == {"bad"}


async def test_the_copy_of_the_next_archive_is_used_and_reported(tmp_path: Path) -> None:
    outcomes, _ = await tried(
        tmp_path / "a.warc", a_result(archive="bad"), a_result(code=1, archive="good")
    )

    ((_, record, why, code, _),) = outcomes
    assert record is not None
    assert (why, code) == ("words; instead of bad: no answer", 1)
    verdict = records(tmp_path / "a.warc")[-1]
    assert b'passed-over: ["bad: no answer"]' in verdict.body


async def test_after_the_third_archive_it_is_unknown_and_says_why(tmp_path: Path) -> None:
    names = ("bad", "worse", "worst")
    copies = [a_result(f"{URI}?{name}", archive=name) for name in names]

    outcomes, choices = await tried(tmp_path / "a.warc", *copies)

    why = "; ".join(f"{name}: no answer" for name in names)
    assert [(o.record, o.why, o.code) for o in outcomes] == [(None, why, 4)]
    assert [choices.again(attempt) for attempt in range(3)] == [[0], [0], []]
    assert [record.kind for record in records(tmp_path / "a.warc")] == ["warcinfo"]


async def test_without_another_copy_the_outcome_is_unknown_not_absent(tmp_path: Path) -> None:
    outcomes, _ = await tried(
        tmp_path / "a.warc", a_result(archive="bad"), a_result(None, code=3)
    )

    assert [(o.record, o.why, o.code) for o in outcomes] == [
        (None, "bad: no answer; elsewhere: words", 4)
    ]


async def test_strict_extraction_omits_what_is_less_than_asked(tmp_path: Path) -> None:
    lenient, _ = await extracted(tmp_path / "a.warc", ANSWER, a_result(code=1))
    strict, fetch = await extracted(tmp_path / "b.warc", ANSWER, a_result(code=1), strict=True)

    assert lenient[0].record is not None
    assert (strict[0].record, strict[0].code) == (None, 1)
    assert fetch.lines == []


async def test_a_result_without_copy_needs_no_request(tmp_path: Path) -> None:
    outcomes, fetch = await extracted(tmp_path / "a.warc", ANSWER, a_result(None, code=3))

    assert [(outcome.record, outcome.code) for outcome in outcomes] == [(None, 3)]
    assert fetch.lines == []


async def test_an_archive_that_asks_to_wait_is_queried_again(tmp_path: Path) -> None:
    answers = iter([Canned(429), Canned(503), ANSWER])
    fetch = FakeFetcher(lambda _: next(answers))
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    outcomes: list[Extracted] = []
    with WarcFile(tmp_path / "a.warc", {}) as warc:
        patience = ArchiveWaits(pause=pause)
        extraction = Extraction({"test": fetch}, load_known(), warc, patience=patience)
        await extraction.complete([a_result()], 1, outcomes.append)

    assert outcomes[0].record is not None
    assert pauses == [10, 10]


def other(name: str, position: int) -> ItemResult:
    """Return a result for another page."""
    result = a_result(URI + name, RAW + name)
    report = {**(result.report or {}), "original": PAGE + name}
    item = result.item._replace(position=position)
    return replace(result, report=report, item=item)


async def test_a_payload_that_is_there_already_is_a_revisit(tmp_path: Path) -> None:
    fetch = FakeFetcher(lambda _: ANSWER)
    with WarcFile(tmp_path / "a.warc.gz", {}) as warc:
        extraction = Extraction({"test": fetch}, load_known(), warc)
        await extraction.complete([a_result(), other("b", 1)], 1, lambda _: None)

    _, first, _, second, _ = records(tmp_path / "a.warc.gz")
    assert (first.kind, second.kind, second.body) == ("response", "revisit", b"")
    assert second.head["WARC-Refers-To"] == first.head["WARC-Record-ID"]
    assert second.head["WARC-Refers-To-Target-URI"] == PAGE
    assert second.head["WARC-Refers-To-Date"] == first.head["WARC-Date"]
    assert second.head["WARC-Payload-Digest"] == first.head["WARC-Payload-Digest"]
    assert second.head["WARC-Source-URI"] == f"{URI}b"
    assert second.http == first.http


async def test_payloads_without_headers_are_not_revisits(tmp_path: Path) -> None:
    fetch = FakeFetcher(lambda _: Canned(200, DATED, b"x"))
    with WarcFile(tmp_path / "a.warc", {}) as warc:
        extraction = Extraction({"test": fetch}, load_known(), warc)
        await extraction.complete([a_result(), other("b", 1)], 1, lambda _: None)

    kinds = [record.kind for record in records(tmp_path / "a.warc")]
    assert kinds == ["warcinfo", "resource", "metadata", "resource", "metadata"]


async def test_what_an_earlier_run_did_is_not_done_again(tmp_path: Path) -> None:
    state, fetch = ExtractionState(), FakeFetcher(lambda _: ANSWER)
    outcomes: list[Extracted] = []
    with WarcFile(tmp_path / "a.warc", {}) as warc:
        for results in ([a_result()], [a_result(), other("b", 1)]):
            run = Extraction({"test": fetch}, load_known(), warc, state=state)
            await run.complete(results, 1, outcomes.append)

    first, again, new = outcomes
    assert first == again
    assert new.record != first.record
    assert fetch.lines == [f"GET {RAW}", f"GET {RAW}b"]


def test_a_file_name_cannot_end_a_field(tmp_path: Path) -> None:
    path = tmp_path / "a\r\nWARC-Type: x\udcff.warc"

    with WarcFile(path, {"description": "of b\r\nc: d\udcff"}):
        pass

    (info,) = records(path)
    assert info.head["WARC-Filename"] == "a??WARC-Type: x?.warc"
    assert info.body == b"description: of b??c: d?\r\n"
