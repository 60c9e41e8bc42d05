"""Batches against running archives: rate limits, resuming, and rewritten pages."""

import asyncio
import csv
import io
import json
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from archives.model import Rate
from timegate.misbehave import Archive, captures_of, misbehaving_archive
from timegate.misbehave.archive import RequestSeen

SHELF = Rate(requests=250, seconds=1, burst=10)
ATTIC = Rate(requests=200, seconds=1, burst=5)
ITEMS = 300


def page(number: int) -> str:
    return f"http://site{number}.example/p"


@asynccontextmanager
async def two_archives() -> AsyncIterator[tuple[Archive, Archive]]:
    """Serve one that holds every second page in 2010 and 2015, and one with every third."""
    shelf = [
        capture
        for n in range(0, ITEMS, 2)
        for capture in captures_of(page(n), "20100101120000", "20150101120000")
    ]
    attic = [c for n in range(0, ITEMS, 3) for c in captures_of(page(n), "20120101120000")]
    async with misbehaving_archive(shelf) as one, misbehaving_archive(attic) as other:
        yield one, other


def configured(folder: Path, archives: Mapping[str, tuple[Archive, Rate]]) -> Path:
    config = folder / "timegate.toml"
    written = ["[archives]\nuse = []\n"]
    for name, (archive, rate) in archives.items():
        limit = (
            f"{{ requests = {rate.requests}, seconds = {rate.seconds}, burst = {rate.burst} }}"
        )
        written.append(
            f'[[archive]]\nid = "{name}"\nkind = "memento"\npwid = ["{name}.example"]\n'
            f'timegate = "{archive.url}/timegate/"\n[archive.limits]\nmemento = {limit}\n'
            f'index = {limit}\nat_once = 4\nsource = "a test"\n'
        )
    config.write_text("".join(written))
    return config


async def started(config: Path, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "timegate", "resolve", "--config", str(config), *words),
        stderr=asyncio.subprocess.PIPE,
    )


async def ended(config: Path, *words: str) -> tuple[int | None, str]:
    process = await started(config, *words)
    _, stderr = await process.communicate()
    return process.returncode, stderr.decode()


def excess(archive: Archive, rate: Rate) -> float:
    """Return by how many requests the worst window exceeds what *rate* allows."""
    times = [entry.at for entry in archive.journal.entries if isinstance(entry, RequestSeen)]
    per_second = rate.requests / rate.seconds
    # What lies before each request, less what dripped in until then: a running minimum.
    worst, lowest = 0.0, float("inf")
    for number, at in enumerate(times):
        level = number - at * per_second
        lowest = min(lowest, level)
        worst = max(worst, level - lowest + 1 - rate.burst)
    return worst


def asked_pages(archive: Archive) -> Counter[str]:
    targets = (request.target for request in archive.journal.requests)
    return Counter(target.removeprefix("/timegate/") for target in targets)


async def test_every_archive_is_asked_for_each_item_within_its_rate_limit(
    tmp_path: Path,
) -> None:
    given = tmp_path / "list.txt"
    given.write_text("".join(f"{page(n)} 2012-01-01\n" for n in range(ITEMS)))
    out = tmp_path / "out.csv"
    async with two_archives() as (shelf, attic):
        config = configured(tmp_path, {"shelf": (shelf, SHELF), "attic": (attic, ATTIC)})

        code, stderr = await ended(config, "--batch", str(given), "--output", str(out))

        # A packet may be late, and the next one in time: a few look closer than they were sent.
        assert excess(shelf, SHELF) <= 0.1 * SHELF.requests
        assert excess(attic, ATTIC) <= 0.1 * ATTIC.requests
        assert {page(n) for n in range(ITEMS)} <= asked_pages(attic).keys()
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert code == 3
    assert "attic allows 200 requests in 1 s" in stderr
    assert [row["input"] for row in rows] == [f"{page(n)} 2012-01-01" for n in range(ITEMS)]
    assert Counter(row["outcome"] for row in rows) == {
        "within": 100,
        "approximate": 100,
        "absent": 100,
    }
    assert {row["archive"] for row in rows if row["outcome"] == "within"} == {"attic"}


async def test_a_killed_run_resumes_without_repeating_questions(tmp_path: Path) -> None:
    given = tmp_path / "list.jsonl"
    lines = ({"url": page(n), "dates": ["2012", "2015"]} for n in range(ITEMS))
    given.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    out = tmp_path / "out.jsonl"
    words = ("--batch", str(given), "--output", str(out), "--report", str(tmp_path / "r.html"))
    async with two_archives() as (shelf, attic):
        config = configured(tmp_path, {"shelf": (shelf, SHELF), "attic": (attic, ATTIC)})
        process = await started(config, *words)
        await attic.journal.until_requested(200)
        process.send_signal(signal.SIGKILL)
        await process.wait()
        journal = (tmp_path / "out.jsonl.journal").read_bytes().splitlines(keepends=True)[1:]
        done = [json.loads(line) for line in journal if line.endswith(b"\n")]
        early = (tmp_path / "out.jsonl.part").read_bytes().rpartition(b"\n")[0].splitlines()
        finished = {one["input"] for one in done}
        before = asked_pages(shelf), asked_pages(attic)

        code, stderr = await ended(config, *words, "--resume")

        repeated = [
            url
            for early, archive in zip(before, (shelf, attic), strict=True)
            for url in finished
            if asked_pages(archive)[url] != early[url]
        ]
    results = [json.loads(line) for line in out.read_text().splitlines()]
    assert 10 < len(finished) < ITEMS
    assert [json.loads(line)["input"] for line in early] == [page(n) for n in range(len(early))]
    assert 0 < len(early) <= len(finished)
    assert not (tmp_path / "out.jsonl.part").exists()
    assert f"{ITEMS} references, {len(finished)} already done" in stderr
    assert repeated == []
    assert [result["input"] for result in results] == [page(n) for n in range(ITEMS)]
    assert Counter(result["outcome"] for result in results)["unknown"] == 0
    assert code == 3
    assert f"{ITEMS} references" in (tmp_path / "r.html").read_text()


async def test_a_row_is_printed_while_the_list_is_still_being_written(tmp_path: Path) -> None:
    words = ("--batch", "-", "--input-format", "lines", "--to", "csv")
    async with two_archives() as (shelf, attic):
        config = configured(tmp_path, {"shelf": (shelf, SHELF), "attic": (attic, ATTIC)})
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "timegate", "resolve", "--config", str(config), *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        rows: list[bytes] = [await process.stdout.readline()]
        for number in (0, 2, 1):
            process.stdin.write(f"{page(number)} 2012\n".encode())
            rows.append(await process.stdout.readline())
        process.stdin.close()
        rest = await process.stdout.read()
        await process.wait()

    assert [row.partition(b",")[0].decode() for row in rows] == [
        "input",
        *(f"{page(number)} 2012" for number in (0, 2, 1)),
    ]
    assert rest == b""


async def test_a_slow_reader_of_the_rows_does_not_delay_the_archives(tmp_path: Path) -> None:
    given = tmp_path / "list.txt"
    given.write_text("".join(f"{page(n)} 2012\n" for n in range(ITEMS)))
    async with two_archives() as (shelf, attic):
        config = configured(tmp_path, {"shelf": (shelf, SHELF), "attic": (attic, ATTIC)})
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "timegate", "resolve", "--config", str(config)),
            *("--batch", str(given)),
            stdout=asyncio.subprocess.PIPE,
            limit=1024,
        )
        # A pipe takes 64 kB: some fifty rows of three hundred, and then the writer waits.
        await attic.journal.until_requested(ITEMS)
        out, _ = await process.communicate()

    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["input"] for row in rows] == [f"{page(n)} 2012" for n in range(ITEMS)]
    assert "unknown" not in {row["outcome"] for row in rows}


async def test_items_with_failures_are_asked_again_only_on_request(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    given = tmp_path / "list.txt"
    given.write_text(f"{page(0)} 2012\n{page(1)} 2012\nnonsense\n")
    words = ("--batch", str(given), "--output", str(out))
    async with two_archives() as (_, attic):
        config = configured(tmp_path, {"attic": (attic, ATTIC)})
        alive = config.read_text()
        config.write_text(alive.replace(attic.url, "http://127.0.0.1:9"))
        before, _ = await ended(config, *words)
        config.write_text(alive)

        resumed, _ = await ended(config, *words, "--resume")
        untouched = asked_pages(attic)
        retried, stderr = await ended(config, *words, "--resume", "--retry-unknown")
        refused, why = await ended(config, *words, "--retry-unknown")

    outcomes = [json.loads(line)["outcome"] for line in out.read_text().splitlines()]
    assert (before, resumed, retried) == (4, 4, 3)
    assert not untouched
    assert "retrying 2 references" in stderr
    assert outcomes == ["within", "absent", "refused"]
    assert refused == 2
    assert "requires --resume" in why


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_an_interrupted_run_says_how_to_resume(
    tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    given = tmp_path / "list.txt"
    given.write_text("".join(f"{page(n)} 2012\n" for n in range(ITEMS)))
    out = tmp_path / "out.csv"
    async with two_archives() as (shelf, attic):
        config = configured(tmp_path, {"shelf": (shelf, SHELF), "attic": (attic, ATTIC)})
        process = await started(config, "--batch", str(given), "--output", str(out))
        await attic.journal.until_requested(50)
        process.send_signal(sent)
        _, stderr = await process.communicate()

    assert process.returncode == code
    typed = f"--batch {given} --output {out} --resume\n"
    assert b"continue with --resume: timegate resolve " in stderr
    assert typed in stderr.decode()
    assert not out.exists()


async def test_links_in_a_page_are_rewritten_and_the_rest_is_unchanged(tmp_path: Path) -> None:
    today = "https://archive.today/20120101120000/"
    text = (
        "A\u00a0fact.<ref>{{{{cite web |url={0} |archive-url={1} |archive-date=2 January 2012"
        " |title=T}}}}</ref>\r\nAnother: [{2} there]. Lost: {3}\n"
    )
    before = text.format(page(0), today + page(0), today + page(6), today + page(1))
    given, out = tmp_path / "page.wiki", tmp_path / "new.wiki"
    given.write_bytes(before.encode() + b"\xff")
    async with two_archives() as (shelf, attic):
        config = configured(tmp_path, {"shelf": (shelf, SHELF), "attic": (attic, ATTIC)})

        code, _ = await ended(
            *(config, "--batch", str(given), "--output", str(out)),
            *("--distrust", "archive-today", "--trust", "attic", "--tolerance", "7d"),
        )

        copy = f"{attic.url}/web/20120101120000/"
    after = text.format(page(0), copy + page(0), copy + page(6), today + page(1))
    assert out.read_bytes() == after.encode().replace(b"2 January", b"1 January") + b"\xff"
    # The archive that the lost reference names was not queried: unknown, not absent.
    assert code == 4
