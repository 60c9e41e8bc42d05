"""The public library: its interface, its documentation, and what it answers."""

import inspect
import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import timegate

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/library.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE, re.DOTALL)
HOME = "http://museum.example/"
PWID = f"urn:pwid:harbour.example:2009-06-15T18:30:12Z:page:{HOME}"


def test_every_public_name_exists_and_no_other_does() -> None:
    names = {name: getattr(timegate, name) for name in timegate.__all__}

    assert all(value is not None for value in names.values())
    with pytest.raises(AttributeError):
        timegate.something_else  # noqa: B018


def test_the_documentation_names_every_public_name() -> None:
    classes = {"CaptureList", "CitedCopy", "Gate", "Memento", "ParsedReference"}
    classes |= {"ResolvedReference"}

    missing = [name for name in timegate.__all__ if f"timegate.{name}" not in PAGE]

    assert set(missing) <= classes


def test_importing_the_package_imports_neither_the_core_nor_the_server() -> None:
    program = (
        "import sys, timegate; "
        "print([m for m in ('aiohttp', 'timegate.app') if m in sys.modules])"
    )

    ran = subprocess.run(  # noqa: S603 -- ourselves
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ran.stdout == "[]\n"


@pytest.mark.parametrize(("program", "expected"), EXAMPLES)
def test_the_examples_of_the_documentation_run(program: str, expected: str) -> None:
    ran = subprocess.run(  # noqa: S603 -- our own documentation
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout
    if expected:
        assert ran.stdout == expected


async def test_a_reference_resolves_to_the_copy_it_names() -> None:
    async with timegate.open(demo=True) as gate:
        found = await gate.resolve(PWID)

    assert found.match == "exact"
    assert found.captured == datetime(2009, 6, 15, 18, 30, 12, tzinfo=UTC)
    assert found.archive == "harbour"
    assert found.report["identifier"] == PWID
    assert found.precision.startswith("match=exact")


async def test_a_time_can_be_given_for_a_url() -> None:
    async with timegate.open(demo=True) as gate:
        by_text = await gate.resolve(HOME, at="June 2009")
        by_value = await gate.resolve(HOME, at=datetime(2009, 6, 15, 18, 30, 12, tzinfo=UTC))

    assert by_text.match == "within"
    assert by_value.match == "exact"


async def test_the_time_of_a_copy_has_its_fraction_and_finds_it_again() -> None:
    async with timegate.open(demo=True) as gate:
        found = await gate.resolve(f"{HOME}opening-hours", at="2010-11-05")
        again = await gate.resolve(f"{HOME}opening-hours", at=found.captured)

    assert found.captured == datetime(2010, 11, 5, 10, 15, 9, 250_000, tzinfo=UTC)
    assert (again.match, again.uri) == ("exact", found.uri)


async def test_what_no_archive_holds_has_no_copy_and_no_error() -> None:
    async with timegate.open(demo=True) as gate:
        found = await gate.resolve(f"{HOME}never-there")

    assert (found.uri, found.captured, found.archive) == (None, None, None)


async def test_a_reference_that_cannot_be_read_is_a_value_error() -> None:
    async with timegate.open(demo=True) as gate:
        with pytest.raises(ValueError, match="archive"):
            await gate.resolve("urn:pwid:nothing")
        with pytest.raises(ValueError, match="precision"):
            await gate.resolve(PWID, precision="perfect")


async def test_archives_are_named_by_a_text_or_a_list() -> None:
    async with timegate.open(demo=True) as gate:
        found = [
            await gate.resolve(HOME, archives=archives)
            for archives in ("lantern", ["lantern"], {"lantern"})
        ]
        others = await gate.resolve(HOME, exclude=["lantern"])

    assert [each.archive for each in found] == ["lantern"] * 3
    assert others.archive == "harbour"


UNUSABLE: Mapping[str, Mapping[str, Any]] = {
    "there is no 'harbor'": {"archives": ["harbor"]},
    "archives must be ids": {"archives": []},
    "archives must be a text, or a list of texts": {"archives": 1},
    "exclude must be a text, or a list of texts": {"exclude": [None]},
    "also must be a text, or a list of texts": {"also": [b"x"]},
    "tolerance must be a text": {"tolerance": timedelta(1)},
    "at must be a text": {"at": 2010},
    "wait must be a number": {"wait": "5"},
}


async def test_a_choice_that_cannot_be_used_is_a_value_error() -> None:
    async with timegate.open(demo=True) as gate:
        for why, choices in UNUSABLE.items():
            with pytest.raises(ValueError, match=why):
                await gate.resolve(HOME, **choices)


async def test_a_text_is_refused_with_the_references_in_it() -> None:
    async with timegate.open(demo=True) as gate:
        with pytest.raises(ValueError, match=r"audit reads texts.*: http://museum.example/$"):
            await gate.resolve(f"Smith, retrieved 5 November 2010, {HOME}")


def test_a_script_has_all_choices_of_a_gate() -> None:
    of_gate = inspect.signature(timegate.Gate.resolve).parameters
    of_open = inspect.signature(timegate.open).parameters
    of_script = inspect.signature(timegate.resolve).parameters

    assert [*of_script] == [*[name for name in of_gate if name != "self"], *of_open]
    found = timegate.resolve(HOME, demo=True, wait=5, archives=["lantern"], direction="before")
    assert found.archive == "lantern"


def test_the_demo_with_a_configuration_is_refused() -> None:
    with pytest.raises(timegate.BadConfig, match="either demo or config"):
        timegate.resolve(HOME, demo=True, config="nofile.toml")


async def test_the_list_of_captures_is_in_order_and_bounded() -> None:
    async with timegate.open(demo=True) as gate:
        whole = await gate.timemap(HOME)
        cut = await gate.timemap(HOME, limit=2)

    stamps = [memento.stamp for memento in whole.captures]
    assert stamps == sorted(stamps)
    assert not whole.truncated
    assert whole.missing == {}
    assert cut.captures == whole.captures[:2]
    assert cut.truncated


def test_public_archives_are_not_queried_without_a_contact() -> None:
    with pytest.raises(timegate.BadConfig, match="give contact="):
        timegate.resolve(HOME)


def test_parsing_and_citing_need_no_network() -> None:
    parsed = timegate.parse("duri:2016-01-22:http://www.dr.dk")
    cited = timegate.cite("https://web.archive.org/web/20160122112029/http://www.dr.dk")

    assert (parsed.kind, parsed.url, parsed.time) == ("duri", "http://www.dr.dk", "2016-01-22")
    assert cited.pwid == "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"
    assert cited.duri == "duri:2016-01-22T11:20:29Z:http://www.dr.dk"
    with pytest.raises(ValueError, match="link"):
        timegate.cite("http://example.org/")


async def test_the_parts_of_a_page_are_found() -> None:
    async with timegate.open(demo=True) as gate:
        found = await gate.parts("http://museum.example/gallery", at="2010-11")
        nothing = await gate.parts("http://museum.example/never")
        redirect = await gate.parts("http://museum.example/visit")

    assert [part["outcome"] for part in found.parts].count("found") == 4
    assert len(found.pwids) == 5
    assert "parts=5;found=4;missing=1" in found.page.precision
    assert (nothing.page.uri, nothing.parts) == (None, ())
    assert redirect.parts == ()
    assert "parts=unknown" in redirect.page.precision
