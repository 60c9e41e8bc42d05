"""The demo: its files hold its pages, and it queries no other archive."""

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner

import timegate.demo
from tests.clock import in_virtual_time
from tests.scenario import FakeArchive
from timegate.cli import main
from timegate.demo import COLLECTIONS, SLOW, DelayedSource, demo_config, write

SHIPPED = Path(timegate.demo.__file__).parent


@pytest.mark.parametrize("name", COLLECTIONS)
def test_the_shipped_files_hold_the_pages(name: str, tmp_path: Path) -> None:
    write(tmp_path)

    made = gzip.decompress((tmp_path / name / f"{name}.warc.gz").read_bytes())

    assert gzip.decompress((SHIPPED / name / f"{name}.warc.gz").read_bytes()) == made


def test_the_demo_queries_only_its_own_archives(tmp_path: Path) -> None:
    config = demo_config(tmp_path)

    assert [entry.id for entry in config.askable] == ["harbour", "lantern"]
    assert {file.name for file in tmp_path.glob("*.sqlite")} == {
        "harbour.sqlite",
        "lantern.sqlite",
        "vault.sqlite",
    }


def test_the_slow_archive_is_later_than_the_soft_deadline_and_in_time_for_the_hard_one(
    tmp_path: Path,
) -> None:
    config = demo_config(tmp_path)

    assert config.delays == SLOW
    assert all(config.soft < seconds < config.hard for seconds in SLOW.values())


def test_a_delayed_source_gives_the_same_answers() -> None:
    delayed = DelayedSource(FakeArchive("a", 0.0, ("20160122112029",)), 3.0)

    async def answers() -> tuple[object, list[object]]:
        closest = await delayed.closest("http://example.org/", None)
        return closest, [
            m async for batch in delayed.mementos("http://example.org/") for m in batch
        ]

    closest, listed = in_virtual_time(answers())

    assert closest is not None
    assert len(listed) == 1
    assert delayed.entry.id == "a"


def test_the_demo_cannot_be_combined_with_a_configuration() -> None:
    result = CliRunner().invoke(main, ["serve", "--demo", "--config", "x.toml"])

    assert result.exit_code == 2
    assert "--demo cannot be combined with --config or --archives" in result.output
