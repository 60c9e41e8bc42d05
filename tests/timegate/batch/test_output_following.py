"""Rows that are written during a run."""

import asyncio
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timegate.batch.results import a_result
from timegate.batch.journal import Journal
from timegate.batch.model import ItemResult
from timegate.batch.output import OrderedRows


def row(result: ItemResult) -> bytes:
    return f"{result.item.position}{'' if result.final else '?'}\n".encode()


async def settle(following: OrderedRows, out: BytesIO, expected: bytes) -> None:
    """Wait until *expected* is written: the rows come out of a thread."""
    following.advance()
    async with asyncio.timeout(30):
        while out.getvalue() != expected:  # noqa: ASYNC110 -- there is no event to wait for
            await asyncio.sleep(0.01)


async def test_rows_are_written_in_order_and_as_soon_as_they_are_final(tmp_path: Path) -> None:
    out = BytesIO()
    with Journal(tmp_path / "journal", "options", resume=False) as journal:
        following = OrderedRows(journal, row, out)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(following.follow())
            journal.append(a_result(1))
            await settle(following, out, b"")
            journal.append(a_result(0))
            await settle(following, out, b"0\n1\n")
            journal.append(a_result(2, 4, final=False))
            journal.append(a_result(3))
            await settle(following, out, b"0\n1\n")
            journal.append(a_result(2))
            await settle(following, out, b"0\n1\n2\n3\n")
            journal.append(a_result(4))
            following.end()

    assert out.getvalue() == b"0\n1\n2\n3\n4\n"


async def test_a_finished_journal_is_written_at_once(tmp_path: Path) -> None:
    out = BytesIO()
    with Journal(tmp_path / "journal", "options", resume=False) as journal:
        for position in range(3):
            journal.append(a_result(position))
        following = OrderedRows(journal, row, out)
        following.end()

        await following.follow()

    assert out.getvalue() == b"0\n1\n2\n"


@settings(max_examples=50)
@given(st.permutations(range(8)), st.sets(st.integers(0, 7)))
def test_rows_are_in_the_order_of_the_list_for_any_order_of_results(
    order: list[int], asked_twice: set[int]
) -> None:
    async def story(path: Path) -> bytes:
        out = BytesIO()
        with Journal(path, "options", resume=False) as journal:
            following = OrderedRows(journal, row, out)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(following.follow())
                for position in order:
                    journal.append(a_result(position, final=position not in asked_twice))
                    following.advance()
                    await asyncio.sleep(0)
                for position in asked_twice:
                    journal.append(a_result(position))
                    following.advance()
                following.end()
        return out.getvalue()

    with TemporaryDirectory() as folder:
        written = asyncio.run(story(Path(folder) / "journal"))

    assert written == b"".join(b"%d\n" % position for position in range(8))
