"""The MCP server as a process, with the SDK's client, over archives that fail, gate and lie."""

import csv
import io
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from timegate.misbehave import ArchiveOptions, FakeCapture, captures_of, misbehaving_archive

HELD, LOST = range(25), range(25, 50)
FAULTS = ("bot-challenge", "server-error", "reset", "too-many-silent", "close-unanswered")
LIES = ("wrong-closest", "block-page")
QUICK = ArchiveOptions(delay=0.01, patience=5.0)


def page(number: int) -> str:
    return f"http://site{number}.example/p"


def captures(numbers: range) -> list[FakeCapture]:
    found = []
    for n in numbers:
        for capture in captures_of(page(n), "20120101120000"):
            said = f"<p>The keeper of lamp {n} wrote a long letter to the harbour office.</p>"
            body = f"<title>Page {n}</title>{said}<p>{'Other words. ' * 40}</p>".encode()
            found.append(FakeCapture(capture.original, capture.at, body=body))
    return found


def entry(name: str, url: str) -> str:
    rate = "{ requests = 500, seconds = 1, burst = 100 }"
    return (
        f'[[archive]]\nid = "{name}"\nkind = "memento"\npwid = ["{name}.example"]\n'
        f'timegate = "{url}/timegate/"\nreplay = "{url}/web/{{time14}}/{{uri}}"\n'
        f'raw = "{url}/web/{{time14}}id_/{{uri}}"\n[archive.limits]\nmemento = {rate}\n'
        f'index = {rate}\nat_once = 8\nsource = "a test"\n'
    )


def bibliography() -> str:
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(["url", "date", "quote"])
    for n in (*HELD, *LOST):
        said = f"The keeper of lamp {n} wrote a long letter" if n % 2 else "Never said anywhere"
        table.writerow([page(n), "2012-01-01", said])
    return written.getvalue()


async def audited(folder: Path, faults: tuple[str, ...]) -> dict[str, Any]:
    """Audit 50 references: a good archive holds half, those with *faults* the rest."""
    async with AsyncExitStack() as stack:
        good = await stack.enter_async_context(misbehaving_archive(captures(HELD)))
        entries = ["[archives]\nuse = []\n", entry("good", good.url)]
        for fault in faults:
            bad = await stack.enter_async_context(
                misbehaving_archive(captures(LOST), fault, QUICK)
            )
            entries.append(entry(fault, bad.url))
        config = folder / "timegate.toml"
        config.write_text("".join(entries))
        words = ["-m", "timegate", "mcp", "--config", str(config)]
        server = StdioServerParameters(command=sys.executable, args=words)
        async with Client(server) as client:
            result = await client.call_tool("audit", {"bibliography": bibliography()})
            assert not result.is_error
            content: dict[str, Any] = result.structured_content
            return content


async def test_no_reference_is_absent_for_the_silence_of_an_archive(tmp_path: Path) -> None:
    seen = await audited(tmp_path, FAULTS)

    rows = seen["references"]
    assert len(rows) == 50
    for n in HELD:
        assert rows[n]["standing"] == "seen", rows[n]
        assert rows[n]["pwid"] == f"urn:pwid:good.example:2012-01-01T12:00:00Z:page:{page(n)}"
        assert rows[n]["quote"]["status"] == ("found" if n % 2 else "absent"), rows[n]
    for n in LOST:
        assert rows[n]["standing"] != "absent", rows[n]
        quote = rows[n]["quote"]
        assert quote is None or quote["status"] in ("found", "not-looked", "absent")
        if rows[n]["standing"] == "unknown":
            assert "no answer from" in rows[n]["because"]
            assert rows[n]["citation"] is None


async def test_a_lie_never_makes_a_quotation_absent(tmp_path: Path) -> None:
    seen = await audited(tmp_path, LIES)

    for n in LOST:
        row = seen["references"][n]
        assert row["standing"] in ("seen", "unknown"), row
        if n % 2 and row["quote"] is not None:
            # A page that says that the capture is blocked was not the page.
            assert row["quote"]["status"] in ("found", "not-looked"), row


SILENT = (*FAULTS, "unavailable", "forbidden", "too-many-seconds", "memento-503", "memento-429")
LYING = (*LIES, "memento-to-login", "memento-to-home", "datetime-wrong", "always-newest")


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_nothing_is_false_over_a_random_panel(tmp_path: Path, seed: int) -> None:
    """Some archives fail or gate, some lie, and only they hold half of the references."""
    random = Random(seed)  # noqa: S311 -- a choice of faults
    faults = (*random.sample(SILENT, 3), *random.sample(LYING, 2))

    seen = await audited(tmp_path, faults)

    rows = seen["references"]
    assert len(rows) == 50
    for n in HELD:
        assert rows[n]["standing"] == "seen", (faults, rows[n])
    for n in (*HELD, *LOST):
        quote = rows[n]["quote"]
        assert rows[n]["standing"] in ("seen", "unknown"), (faults, rows[n])
        if n % 2:
            # The page says it: a copy that could not be read does not deny it.
            statuses = ("found", "elsewhere", "not-looked")
            assert quote is None or quote["status"] in statuses, (faults, rows[n])
        else:
            assert quote is None or quote["status"] in ("absent", "not-looked"), rows[n]


async def test_a_complete_panel_can_say_absent(tmp_path: Path) -> None:
    seen = await audited(tmp_path, ())

    assert seen["counts"] == {"seen": 25, "absent": 25}
