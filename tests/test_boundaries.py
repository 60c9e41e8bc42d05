"""What nobody foresees is raised at every boundary, and costs one thing only.

Boundaries are the places that catch `Exception`, or enter a `Containment`. A test finds them in
the source and compares them with the list here.
"""

import ast
import asyncio
import io
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO, cast

import msgspec
import pytest

from archives.errors import ArchiveError, Internal, UnforeseenLog
from archives.model import Closest, Memento
from archives.moment import Moment
from archives.registry import load_known
from archives.source import Request
from archives.warc.captures import FileOpener, RecordLocation, open_local
from archives.warc.files import Damage
from archives.warc.records import UNFORESEEN_RECORDS, Record, records_in
from archives.warc.replay import Replayer, UnreadableRecord
from archives.warc_index.building import _Run as IndexRun
from archives.warc_index.building import index_collection
from archives.warc_index.files import (
    UNFORESEEN_FILES,
    FolderStore,
    ScanFailure,
    ScanTask,
    read_files,
    run_worker,
)
from archives.warc_index.model import FileInfo, LocalFiles
from archives.warc_index.s3 import S3Bucket
from archives.warc_index.writing import IndexJob
from tests import warcs
from tests.archives.warc_index.folders import a_warc, put, stamps_of
from tests.clock import in_virtual_time
from tests.fakes import Canned, FakeFetcher, an_entry, clock
from tests.scenario import FakeArchive, FakeMemory, World
from tests.timegate.collections.sample_collections import FakeCollection, serving_collection
from tests.timegate.endpoints.test_raw_proxy import ADDRESS, proxying
from tests.timegate.extract.copies import RAW, a_result
from timegate.batch.model import ItemResult
from timegate.cache.store import MemoryStore
from timegate.conformance.facts import Facts
from timegate.conformance.report import UNFORESEEN_CHECKS, judged
from timegate.conformance.run import check_subject
from timegate.conformance.session import RecordedExchange, Session, Wanted
from timegate.conformance.subject import Subject
from timegate.endpoints.wayback import Availabilities
from timegate.extract.run import Extracted, Extraction
from timegate.extract.warc_file import WarcFile
from timegate.observability.canaries import CanaryWatch, watching
from timegate.observability.canary_history import CanaryQuestion, CanaryStore
from timegate.resolution.coalescing import Containment, fixed
from timegate.resolution.context import UNLIMITED, TimeBudget
from timegate.resolution.model import MementoCheck
from timegate.resolution.verification import Verifier, memento_probes
from timegate.responses.model import ClientRequest

ROOT = Path(__file__).parents[1]
PAGE = "http://example.org/"
STAMP = "20160122112029"


class Surprise(Exception):
    """What nobody foresees."""


def surprise(*_arguments: object, **_options: object) -> object:
    raise Surprise("http://secret.example/")


@contextmanager
def counted(log: UnforeseenLog) -> Iterator[None]:
    """Check that an exception is counted in the block."""
    before = log.total
    yield
    assert log.total > before


# One scenario for each boundary


async def a_record(_: Path) -> None:
    class Surprising(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.reads += 1
            return super().read(size) if self.reads > 1 else bytes(cast("int", surprise()))

    octets = warcs.plain(warcs.response("http://a.example/"), warcs.response(PAGE))

    with counted(UNFORESEEN_RECORDS):
        damage, record = records_in(Surprising(octets))

    assert isinstance(damage, Damage)
    assert "Surprise" in damage.why
    assert isinstance(record, Record)


async def a_record_in_memory(tmp_path: Path) -> None:
    path = a_warc(tmp_path, "a.warc.gz", (PAGE, STAMP))

    class Location:
        url, digest, file, name = PAGE, None, str(path), path.name
        offset, length = 0, path.stat().st_size

        @property
        def stamp(self) -> str:
            return str(surprise())

    await _is_unreadable(Location(), open_local)


async def a_record_read_in_a_thread(tmp_path: Path) -> None:
    path = a_warc(tmp_path, "a.warc.gz", (PAGE, STAMP))

    class Location:
        url, stamp, digest, file, name = PAGE, STAMP, None, str(path), path.name
        offset = length = 0

    await _is_unreadable(Location(), lambda _: cast("BinaryIO", surprise()))


async def _is_unreadable(location: RecordLocation, opener: FileOpener) -> None:
    logged: list[str] = []
    with ThreadPoolExecutor(1) as threads:
        collection = FakeCollection([])
        replayer = Replayer(
            "a", collection, threads, opener, lambda name, _: logged.append(name)
        )
        with pytest.raises(UnreadableRecord, match="Surprise"):
            await replayer.open(location)

    assert logged == ["a"]


UNREADABLE = IndexJob(FileInfo("a\0b.warc", "warc", 1, 1))
"""Python raises ValueError for such a name."""


async def a_file(tmp_path: Path) -> None:
    a_warc(tmp_path, "good.warc.gz", (PAGE, STAMP))
    good = IndexJob(FileInfo("good.warc.gz", "warc", 1, 1))

    with counted(UNFORESEEN_FILES):
        events = list(read_files([UNREADABLE, good], str(tmp_path), 1))

    assert isinstance(events[0][1], ScanFailure)
    assert events[-1] == (good, None)


async def a_file_of_a_worker(_: Path) -> None:
    ours, theirs = Pipe()
    with ours, theirs, counted(UNFORESEEN_FILES):
        ours.send_bytes(msgspec.msgpack.encode(ScanTask("a\0b", "warc", 0)))
        with ThreadPoolExecutor(1) as threads:
            working = threads.submit(run_worker, theirs)
            answer = msgspec.msgpack.decode(await asyncio.to_thread(ours.recv_bytes))
            ours.close()
            await asyncio.wrap_future(working)

    assert answer.startswith("cannot be read: ValueError")


async def a_file_in_a_bucket(_: Path) -> None:
    class Bucket(S3Bucket):
        def __init__(self) -> None: ...

        def open(self, path: str) -> BinaryIO:
            return cast("BinaryIO", surprise(path))

    with counted(UNFORESEEN_FILES):
        ((_job, event),) = Bucket().read([UNREADABLE], 1)

    assert isinstance(event, ScanFailure)


async def a_cdx_file(tmp_path: Path) -> None:
    class Store(FolderStore):
        def open(self, path: str) -> BinaryIO:
            return cast("BinaryIO", surprise()) if path.endswith(".cdx") else super().open(path)

    a_warc(tmp_path, "a.warc.gz", (PAGE, STAMP))
    put(tmp_path, "a.cdx", b" CDX N b a m s k r M S V g\n")
    place = LocalFiles.of(tmp_path)
    index_collection(put(tmp_path / "empty", "x.warc", b"").parent, place.index)

    with counted(UNFORESEEN_FILES):
        run = IndexRun(place, Store(place), 1, lambda _: None, read_all=False)

    assert any("Surprise" in problem.why for problem in run.summary.shown)
    assert stamps_of(tmp_path) == [STAMP]


async def a_canary(_: Path) -> None:
    def watched() -> FakeArchive:
        good = FakeArchive("good", 0.0, (STAMP,))

        async def story() -> None:
            now = asyncio.get_running_loop().time
            bad = FakeArchive("bad", bug=Surprise())
            questions = [CanaryQuestion(name, "has", PAGE) for name in ("bad", "good")]
            store = CanaryStore(MemoryStore(clock=now))
            watch = CanaryWatch(
                questions, fixed({"bad": bad, "good": good}), store, _always, clock=now
            )
            async with watching(watch, 600.0):
                await asyncio.sleep(7200.0)

        in_virtual_time(story())
        return good

    assert len((await asyncio.to_thread(watched)).asked) > 2


async def _always(_: str) -> bool:
    return True


async def _extracted(path: Path, fetch: FakeFetcher, warc: type[WarcFile]) -> list[Extracted]:
    outcomes: list[Extracted] = []
    other = a_result(uri=None, position=1)
    with warc(path / "out.warc", {"software": "test"}) as file:
        logged = Extraction({"test": fetch}, load_known(), file, log=lambda *_: None)
        await logged.complete([a_result(), other], 1, outcomes.append)
    return outcomes


async def a_copy(tmp_path: Path) -> None:
    def answer(_: Request) -> Canned:
        return cast("Canned", surprise())

    outcomes = await _extracted(tmp_path, FakeFetcher(answer), WarcFile)

    # The first is left to another archive.
    assert [one.result.memento for one in outcomes] == [None]


async def an_extracted_item(tmp_path: Path) -> None:
    class File(WarcFile):
        def add_verdict(
            self,
            result: ItemResult,
            refers_to: str,
            fetched_from: str,
            passed_over: Sequence[str] = (),
            parts: Mapping[str, object] | None = None,
        ) -> None:
            surprise(result, refers_to, fetched_from, passed_over, parts)

    dated = {"Memento-Datetime": "Fri, 22 Jan 2016 11:20:29 GMT"}
    fetch = FakeFetcher({RAW: Canned(200, dated, b"x")})

    broken, other = await _extracted(tmp_path, fetch, File)

    assert (broken.code, other.code) == (4, 0)
    assert "Surprise" in broken.why


async def a_check(_: Path) -> None:
    with counted(UNFORESEEN_CHECKS):
        results = judged(cast("Facts", SimpleNamespace(sample=PAGE)))

    assert {result.finding.verdict for result in results} == {"unknown"}


async def a_checked_page(_: Path) -> None:
    class Asking(Session):
        async def get(
            self, request: Request, repeat: int = 0, *, wanted: Wanted = "lists"
        ) -> RecordedExchange:
            assert wanted
            return cast("RecordedExchange", surprise(request, repeat))

    subject = Subject("a", "A", "timegate", "http://a.example/", (PAGE,))

    with counted(UNFORESEEN_CHECKS):
        report = await check_subject(subject, Asking(None), STAMP)

    assert {result.finding.verdict for result in report.results} == {"unknown"}


async def a_requested_memento(_: Path) -> None:
    def answer(_: Request) -> Canned:
        return cast("Canned", surprise())

    entry = an_entry("memento", timegate="http://archive.example/")
    fetch = FakeFetcher(answer)
    probes = memento_probes([entry], lambda _archive, _context: fetch, clock)

    check = await _checked(Verifier(probes, FakeMemory(), Containment()))

    assert isinstance(check.outcome, Internal)


async def a_delivered_memento(_: Path) -> None:
    class Forgetting(FakeMemory):
        async def remember_memento(self, *_: object) -> None:
            surprise()

    probe = FakeArchive("test").probe

    check = await _checked(Verifier({"test": probe}, Forgetting(), Containment()))

    assert isinstance(check.outcome, Internal)


async def _checked(verifier: Verifier) -> MementoCheck:
    memento = Memento(STAMP, "http://archive.example/1", PAGE, "test")
    return await verifier.check(memento, memento.uri, UNLIMITED)


async def raw_bytes(_: Path) -> None:
    def answer(_: Request) -> Canned:
        return cast("Canned", surprise())

    async with proxying(FakeFetcher(answer, ("a.host", "a"))) as site:
        seen = await site.ask(ADDRESS)

    assert seen.status == 502
    assert b"internal error" in seen.body


async def an_index_of_a_collection(_: Path) -> None:
    shelf = FakeCollection([], trouble=cast("ArchiveError", Surprise()))

    async with serving_collection(shelf) as site:
        seen = await site.ask(f"/collections/mine/{STAMP}id_/{PAGE}")
        gate = await site.ask(f"/collections/mine/timegate/{PAGE}")

    assert (seen.status, gate.status) == (502, 502)


async def an_availability(_: Path) -> None:
    class Answers:
        async def resolve(self, query: object, *_: object) -> object:
            return surprise(query)

    handle = Availabilities(cast("object", Answers()), load_known())  # type: ignore[arg-type]

    answer = await handle(ClientRequest("POST", "", {}), b"url=http://a.example/\n")

    assert answer.status == 200
    assert b"archived_snapshots" not in answer.body


async def a_cached_answer(_: Path) -> None:
    world = World(FakeArchive("a", 0.0, (STAMP,)))

    async def remember(
        archive: str,
        original: str,
        at: Moment | None,
        outcome: Closest | None,
        budget: TimeBudget | None = None,
    ) -> None:
        surprise(archive, original, at, outcome, budget)

    world.memory.remember = remember  # type: ignore[method-assign]
    async with world.coalescer as coalescer:
        attempt = await coalescer.ask("a", PAGE, None, UNLIMITED)

    assert isinstance(attempt.outcome, Internal)


Scenario = Callable[[Path], Awaitable[None]]
BOUNDARIES: Mapping[str, Scenario | str] = {
    "archives/warc/records.py contained": a_record,
    "archives/warc/replay.py _in_thread": a_record_read_in_a_thread,
    "archives/warc/replay.py _open": a_record_in_memory,
    "archives/warc_index/files.py _read_in_process": a_file,
    "archives/warc_index/files.py run_worker": a_file_of_a_worker,
    "archives/warc_index/s3.py read": a_file_in_a_bucket,
    "archives/warc_index/building.py _read_cdx": a_cdx_file,
    "timegate/observability/canaries.py _contained": a_canary,
    "timegate/extract/run.py _record": a_copy,
    "timegate/extract/run.py _contained": an_extracted_item,
    "timegate/conformance/report.py _finding": a_check,
    "timegate/conformance/run.py check_subject": a_checked_page,
    "timegate/resolution/verification.py _requested": a_requested_memento,
    "timegate/resolution/verification.py _check": a_delivered_memento,
    "timegate/endpoints/raw_proxy.py _sent": raw_bytes,
    "timegate/collections/replay.py __call__": an_index_of_a_collection,
    "timegate/endpoints/wayback.py _contained": an_availability,
    "timegate/resolution/coalescing.py _answer": a_cached_answer,
    # These have tests of their own.
    "timegate/extract/part_evidence.py seen": (
        "tests/timegate/extract/test_page_parts.py "
        "test_an_unforeseen_exception_costs_one_part_only"
    ),
    "timegate/keep/run.py keep": (
        "tests/timegate/keep/test_run.py test_an_unforeseen_exception_costs_one_reference_only"
    ),
    "timegate/following/polling.py read_list": (
        "tests/timegate/following/test_follower.py "
        "test_an_unforeseen_error_of_an_archive_is_its_trouble"
    ),
    "timegate/store/writer.py _write_group": (
        "tests/timegate/store/test_writer.py "
        "test_an_unforeseen_exception_costs_one_group_of_revisions"
    ),
    "timegate/extract/archived_files.py of": (
        "tests/timegate/extract/test_archived_files.py "
        "test_an_unforeseen_exception_is_an_error_of_the_archive"
    ),
    "timegate/extract/titles.py of": (
        "tests/timegate/extract/test_titles.py "
        "test_an_unforeseen_exception_is_an_error_of_the_archive"
    ),
    "timegate/resolution/coalescing.py closest": (
        "tests/timegate/resolution/test_coalescing_containment.py "
        "test_a_contained_source_raises_only_archive_errors"
    ),
    "timegate/resolution/coalescing.py mementos": (
        "tests/timegate/resolution/test_coalescing_containment.py "
        "test_a_contained_source_raises_only_archive_errors"
    ),
    "timegate/timemaps/lists.py of": (
        "tests/timegate/timemaps/test_lists.py "
        "test_an_internal_error_in_a_list_is_a_failure_of_its_archive"
    ),
    "timegate/batch/run.py resolve": (
        "tests/timegate/batch/test_run.py "
        "test_an_unexpected_exception_affects_only_its_own_item"
    ),
    "timegate/library/reading.py one": (
        "tests/timegate/library/test_reading.py "
        "test_an_unexpected_exception_affects_only_its_own_reference"
    ),
    "timegate/server/running.py __call__": (
        "tests/timegate/server/test_running_reload.py "
        "test_any_broken_configuration_keeps_the_old_one"
    ),
    "timegate/server/workers.py __call__": (
        "tests/timegate/server/test_workers.py "
        "test_a_faulty_configuration_leaves_the_file_of_rate_limits_as_it_is"
    ),
    "timegate/collections/extents.py find": (
        "tests/timegate/endpoints/test_collection_extents.py "
        "test_what_nobody_foresees_costs_one_answer"
    ),
    "timegate/endpoints/collection_extents.py __call__": (
        "tests/timegate/endpoints/test_collection_extents.py "
        "test_what_nobody_foresees_costs_one_answer"
    ),
    "timegate/endpoints/resolve.py _line": (
        "tests/timegate/endpoints/test_resolve.py "
        "test_an_exception_in_a_line_affects_only_its_row"
    ),
}


def boundaries_in(path: Path) -> Iterator[str]:
    """Yield the functions in *path* that catch Exception or enter a containment."""
    name = path.relative_to(ROOT).as_posix()
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and any(
            map(_is_boundary, _own_nodes(function))
        ):
            yield f"{name} {function.name}"


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of *function* without those of functions in it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
            yield from _own_nodes(node)


def _is_boundary(node: ast.AST) -> bool:
    match node:
        case ast.ExceptHandler(type=ast.Name(id="Exception")):
            return True
        case ast.withitem(context_expr=ast.Call(func=ast.Attribute(attr="around"))):
            return True
    return False


def test_every_boundary_is_listed() -> None:
    sources = [
        path for name in ("archives", "timegate") for path in (ROOT / name).rglob("*.py")
    ]

    found = {boundary for path in sources for boundary in boundaries_in(path)}

    assert found == set(BOUNDARIES)


@pytest.mark.parametrize("boundary", BOUNDARIES)
async def test_what_nobody_foresees_costs_one_thing_only(boundary: str, tmp_path: Path) -> None:
    proof = BOUNDARIES[boundary]
    if isinstance(proof, str):
        path, _, name = proof.partition(" ")
        assert f"def {name}(" in (ROOT / path).read_text()
    else:
        await proof(tmp_path)
