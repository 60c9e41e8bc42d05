"""Keeping references: archives that deliver and that do not, and a store that is there."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from archives.errors import ArchiveError
from archives.model import Memento
from archives.registry import Registry
from archives.warc_index.collection import Collection
from tests.fakes import Canned, FakeFetcher, an_entry
from tests.timegate.extract.copies import DATED, PAGE, RAW, URI, a_result
from tests.timegate.store.stores import FaultyDisk, open_store
from timegate.batch.model import Item, ItemResult
from timegate.keep.run import Keeper, KeepOptions
from timegate.parts.composite import CompositeMemento
from timegate.store import StoreFull

ITEM = Item(0, PAGE, (PAGE,))
NOTHING = ItemResult(ITEM, "absent", 3, True, None, "no copy found", {"original": PAGE})  # noqa: FBT003
REGISTRY = Registry(
    (an_entry("memento", id="test"), an_entry("memento", id="second")), shared_hosts=True
)
BYTES = {RAW: Canned(200, {**DATED, "Content-Type": "text/plain"}, body=b"as captured")}


class Archives:
    """Answers to references, by the archives that are left out."""

    def __init__(self, *answers: ItemResult) -> None:
        self.answers = list(answers)
        self.asked: list[frozenset[str]] = []

    async def __call__(self, item: Item, without: frozenset[str]) -> ItemResult:
        self.asked.append(without)
        for answer in self.answers:
            memento = answer.memento
            if memento is None or memento["archive"] not in without:
                return replace(answer, item=item)
        return replace(NOTHING, item=item)


def a_delivered(code: int = 0, archive: str = "test") -> ItemResult:
    result = a_result(archive=archive, code=code)  # type: ignore[arg-type]
    report = {
        **(result.report or {}),
        "evidence": {"value": "delivered"},
        "time": {"req": "2016"},
    }
    return replace(result, report=report)


async def no_parts(memento: Memento, archives: frozenset[str] | None) -> CompositeMemento:
    del archives
    return CompositeMemento(memento)


@asynccontextmanager
async def keeping(
    folder: Path,
    others: Archives,
    bodies: Mapping[str, Canned | ArchiveError] = BYTES,
    *,
    own: Archives | None = None,
    disk: FaultyDisk | None = None,
    **options: int,
) -> AsyncIterator[Keeper]:
    with open_store(folder, disk) as writer:
        async with Collection("notes", folder) as held:
            fetch = FakeFetcher(bodies)
            yield Keeper(
                writer,
                held,
                own or Archives(),
                others,
                {"test": fetch, "second": fetch},
                REGISTRY,
                no_parts,
                "http://here.example",
                options=KeepOptions(**options),  # type: ignore[arg-type]
            )


def records(folder: Path) -> list[tuple[str, dict[str, str], bytes]]:
    found = []
    for path in sorted(folder.glob("*.warc.gz")):
        with path.open("rb") as file:
            found += [
                (one.rec_type, dict(one.rec_headers.headers), one.content_stream().read())
                for one in ArchiveIterator(file)
            ]
    return found


async def test_the_bytes_are_written_as_captured_with_where_they_come_from(
    tmp_path: Path,
) -> None:
    async with keeping(tmp_path, Archives(a_delivered())) as keeper:
        kept = await keeper.keep(ITEM)

    _, (kind, head, body), (about, _, members) = records(tmp_path)
    assert (kept.outcome, kept.code, kind, body) == ("kept", 0, "resource", b"as captured")
    assert (head["WARC-Target-URI"], head["WARC-Date"]) == (PAGE, "2016-01-22T11:20:29Z")
    digest = hashlib.sha256(body).hexdigest()
    assert about == "metadata"
    for line in (
        'archive: "test"',
        f'uri: "{URI}"',
        f'fetched: "{RAW}"',
        f'digest: "sha256:{digest}"',
        'verdict: "words"',
        f'reference: "{PAGE}"',
        "time-basis: captured",
    ):
        assert f"{line}\r\n".encode() in members


async def test_archived_status_and_headers_are_kept(tmp_path: Path) -> None:
    archived = {**DATED, "Content-Type": "text/html", "X-Archive-Orig-Server": "then"}
    bodies = {RAW: Canned(404, archived, body=b"gone")}

    async with keeping(tmp_path, Archives(a_delivered(code=1)), bodies) as keeper:
        kept = await keeper.keep(ITEM)
        row = await keeper.held.at(PAGE, "20160122112029")

    assert row is not None
    assert (kept.code, row.status, row.mime) == (1, 404, "text/html")
    with (tmp_path / row.name).open("rb") as file:
        response = next(one for one in ArchiveIterator(file) if one.rec_type == "response")
    assert response.http_headers.get_header("Server") == "then"


async def test_a_second_run_fetches_and_writes_nothing(tmp_path: Path) -> None:
    async with keeping(tmp_path, Archives(a_delivered(code=1))) as keeper:
        await keeper.keep(ITEM)
    async with keeping(tmp_path, Archives(a_delivered(code=1))) as keeper:
        kept = await keeper.keep(ITEM)
        fetch = keeper.fetchers["test"]

    assert kept.outcome == "already"
    assert isinstance(fetch, FakeFetcher)
    assert fetch.journal == []
    assert len(records(tmp_path)) == 3


async def test_a_copy_in_the_store_that_is_as_asked_is_enough(tmp_path: Path) -> None:
    own = Archives(a_delivered(archive="notes"))

    async with keeping(tmp_path, Archives(), {}, own=own) as keeper:
        kept = await keeper.keep(ITEM)

    assert (kept.outcome, kept.code, kept.independent) == ("already", 0, 1)


async def test_an_archive_that_delivers_nothing_is_passed_over(tmp_path: Path) -> None:
    bodies = {RAW: Canned(404), f"{RAW}2": BYTES[RAW]}
    second = a_delivered(archive="second")
    other = {**(second.memento or {}), "raw": f"{RAW}2"}
    second = replace(second, report={**(second.report or {}), "memento": other})
    others = Archives(a_delivered(), second)

    async with keeping(tmp_path, others, bodies) as keeper:
        kept = await keeper.keep(ITEM)

    assert (kept.outcome, [*kept.failures]) == ("kept", ["test"])
    assert "instead of test: " in kept.why
    assert b'archive: "second"' in records(tmp_path)[-1][2]


async def test_a_copy_that_nobody_delivers_is_unknown_and_not_absent(tmp_path: Path) -> None:
    async with keeping(tmp_path, Archives(a_delivered()), {}) as keeper:
        kept = await keeper.keep(ITEM)

    assert (kept.outcome, kept.code, kept.copies) == ("missing", 4, ())
    assert records(tmp_path) == []


async def test_what_no_archive_holds_is_not_kept(tmp_path: Path) -> None:
    async with keeping(tmp_path, Archives(NOTHING)) as keeper:
        kept = await keeper.keep(ITEM)

    assert (kept.outcome, kept.code, kept.why) == ("missing", 3, "no copy found")


async def test_the_archive_that_was_copied_counts_as_a_second_place_of_one_capture(
    tmp_path: Path,
) -> None:
    async with keeping(tmp_path, Archives(a_delivered()), ensure=2) as keeper:
        kept = await keeper.keep(ITEM)

    assert (kept.independent, kept.code) == (2, 0)
    assert [copy.same_capture for copy in kept.copies] == [False, True]


async def test_a_worse_copy_elsewhere_is_no_second_copy(tmp_path: Path) -> None:
    own = a_delivered(archive="notes")
    found = {**(own.memento or {}), "datetime": "2016-05-05T00:00:00Z"}
    own = replace(own, report={**(own.report or {}), "memento": found})

    others = Archives(a_delivered(code=1))
    async with keeping(tmp_path, others, own=Archives(own), ensure=2) as keeper:
        kept = await keeper.keep(ITEM)

    assert (kept.outcome, kept.independent, kept.code) == ("already", 1, 1)
    assert "1 copy less than wanted; no other archive holds one as good" in kept.why


async def test_a_copy_that_an_archive_only_promises_does_not_count(tmp_path: Path) -> None:
    promised = a_delivered()
    report = {**(promised.report or {}), "evidence": {"value": "promised"}}
    others = Archives(replace(promised, report=report))

    async with keeping(tmp_path, others, ensure=2) as keeper:
        kept = await keeper.keep(ITEM)

    assert (kept.outcome, kept.independent) == ("kept", 1)


async def test_whether_there_is_a_second_copy_is_unknown_while_an_archive_is_silent(
    tmp_path: Path,
) -> None:
    silent = replace(NOTHING, code=4, outcome="unknown", why="no answer from test", final=False)
    own = Archives(a_delivered(archive="notes"))

    async with keeping(tmp_path, Archives(silent), own=own, ensure=2) as keeper:
        kept = await keeper.keep(ITEM)

    assert (kept.outcome, kept.code) == ("already", 4)
    assert "is not known: no answer from test" in kept.why


async def test_copies_that_are_less_than_asked_are_left_out_if_that_is_wanted(
    tmp_path: Path,
) -> None:
    async with keeping(tmp_path, Archives(a_delivered(code=1)), strict=1) as keeper:
        kept = await keeper.keep(ITEM)

    assert (kept.outcome, kept.code) == ("missing", 1)
    assert kept.why.startswith("less than asked: ")


async def test_equal_references_at_the_same_time_make_one_copy(tmp_path: Path) -> None:
    outcomes = []
    async with keeping(tmp_path, Archives(a_delivered(code=1))) as keeper:
        items = [ITEM._replace(position=number) for number in range(9)]
        await keeper.complete(items, lambda kept: outcomes.append(kept.outcome))

    assert sorted(outcomes) == ["already"] * 8 + ["kept"]
    assert len(records(tmp_path)) == 3


async def test_a_full_disk_ends_the_run(tmp_path: Path) -> None:
    disk = FaultyDisk()
    disk.octets_free = 0
    async with keeping(tmp_path, Archives(a_delivered()), disk=disk) as keeper:
        with pytest.raises(StoreFull):
            await keeper.keep(ITEM)


async def test_an_unforeseen_exception_costs_one_reference_only(tmp_path: Path) -> None:
    class Surprising(Archives):
        async def __call__(self, item: Item, without: frozenset[str]) -> ItemResult:
            if item.position:
                raise ZeroDivisionError("http://secret.example/")
            return await super().__call__(item, without)

    outcomes: dict[int, str] = {}
    async with keeping(tmp_path, Surprising(a_delivered())) as keeper:
        await keeper.complete(
            [ITEM, ITEM._replace(position=1)],
            lambda kept: outcomes.update({kept.item.position: f"{kept.outcome} {kept.why}"}),
        )

    assert outcomes[0] == "kept words"
    assert outcomes[1].startswith("missing internal error of this program (ZeroDivisionError")
    assert "secret" not in outcomes[1]
