"""Standings, audits and quotations over time, over the demo."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

import timegate
from archives.model import Memento
from timegate.app import build_core
from timegate.core import Core
from timegate.demo import demo_config
from timegate.library.reading import audited, captures_to_read, references_in
from timegate.resolution.context import RequestContext
from timegate.resolution.model import Preferences, Query, Resolution

PAGE = "duri:2010-11:http://museum.example/"


@pytest.fixture
async def gate() -> AsyncIterator[timegate.Gate]:
    async with timegate.open(demo=True) as opened:
        yield opened


@pytest.fixture
async def core(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Core]:
    config = demo_config(tmp_path_factory.mktemp("demo"))
    async with build_core(config, "http://127.0.0.1:1208") as built:
        yield built


class Broken:
    """A resolver with a fault for one page."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def resolve(
        self, query: Query, preferences: Preferences, context: RequestContext
    ) -> Resolution:
        if "broken" in query.original:
            raise ZeroDivisionError
        return await self._core.resolver.resolve(query, preferences, context)


async def test_an_unexpected_exception_affects_only_its_own_reference(core: Core) -> None:
    items = references_in("http://broken.example/ 2010\nhttp://museum.example/ 2010-11\n", core)
    rows = await audited(replace(core, resolver=Broken(core)), items, Preferences())
    assert [known.standing for _, known in rows if known] == ["unknown", "seen"]


async def test_the_three_standings(gate: timegate.Gate) -> None:
    assert (await gate.resolve(PAGE)).standing == "seen"
    absent = await gate.resolve("duri:2010:http://nowhere.example/", wait=10)
    assert (absent.standing, absent.citation) == ("absent", None)
    silent = await gate.resolve("duri:2010:http://nowhere.example/x", wait=0.5)
    assert silent.standing == "unknown"
    assert "Lantern" in silent.because
    unasked = await gate.resolve(
        "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://x.example/"
    )
    assert unasked.standing == "unknown"


async def test_a_copy_that_is_not_a_page_has_no_text(gate: timegate.Gate) -> None:
    logo = await gate.read("duri:2009:http://museum.example/logo.png")
    assert (logo.found.standing, logo.text) == ("seen", "")
    assert "image/png" in logo.unread
    nothing = await gate.read("duri:2009:http://nowhere.example/")
    assert nothing.unread == nothing.found.because


async def test_a_page_is_compared_with_another_reference(gate: timegate.Gate) -> None:
    same = await gate.compare(PAGE, PAGE)
    assert (same.similarity, same.changes) == (1.0, ())
    unknown = await gate.compare(PAGE, "duri:2010:http://nowhere.example/")
    assert (unknown.similarity, unknown.unread) == (None, unknown.second.because)
    picture = await gate.compare(PAGE, "duri:2009:http://museum.example/logo.png")
    assert "image/png" in picture.unread


@pytest.mark.parametrize("text", ["", "nothing here", "x" * 3_000_000])
async def test_a_text_without_references_is_refused(gate: timegate.Gate, text: str) -> None:
    with pytest.raises(ValueError, match=r"refer|bibliography|link"):
        await gate.audit(text)


def test_repeated_captures_are_read_once_and_errors_not_at_all() -> None:
    def memento(stamp: str, digest: str, status: int = 200) -> Memento:
        return Memento(
            f"{stamp}0101000000", f"http://a/{stamp}", "http://o/", "a", status, None, digest
        )

    chosen = memento("2012", "same")
    listed = [
        memento("2010", "same"),
        memento("2011", "same"),
        chosen,
        memento("2013", "x", 404),
    ]
    listed += [memento("2014", "same"), memento("2015", "new")]
    stamps = [m.stamp[:4] for m in captures_to_read(listed, chosen)]
    assert stamps == ["2010", "2012", "2014", "2015"]
