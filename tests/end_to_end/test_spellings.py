"""The number of requests for a page that no archive holds, counted at the archives."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from timegate.misbehave import captures_of, misbehaving_archive

ARCHIVES = 5
ELSEWHERE = captures_of("http://other.example/", "20100101120000")


@pytest.mark.parametrize(
    "reference",
    [
        "duri:2010:http://nobody.example/page",
        "urn:pwid:a1.example:2010-01-01T12:00:00Z:page:http://nobody.example/page",
    ],
)
async def test_a_page_that_no_archive_holds_costs_one_request_per_archive_and_two_more(
    reference: str, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        archives = [
            await stack.enter_async_context(misbehaving_archive(ELSEWHERE))
            for _ in range(ARCHIVES)
        ]
        tables = (
            f'[[archive]]\nid = "a{n}"\nkind = "memento"\npwid = ["a{n}.example"]\n'
            f'timegate = "{archive.url}/timegate/"\n'
            for n, archive in enumerate(archives)
        )
        config = tmp_path / "timegate.toml"
        config.write_text("[archives]\nuse = []\n" + "".join(tables))
        words = ("resolve", "--json", "--wait", "20", "--config", str(config), reference)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "timegate", *words), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
        arrived = sum(len(archive.journal.requests) for archive in archives)

    report = json.loads(out)
    unasked = sum(len(one["archives"]) for one in report["unasked"])
    assert process.returncode == 3
    assert arrived == ARCHIVES + 2
    # Three spellings of each archive, less those two that were asked for.
    assert unasked == 3 * ARCHIVES - 2
