"""Things that people paste: the page, the command line and batches find the same in each."""

import re
import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from io import BufferedReader, BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pytest

from archives.diagnostics import Malformed
from archives.registry import load_known
from tests.scenario import FakeArchive
from tests.timegate.pages.served_pages import BROWSER, Html, site
from timegate.batch.model import candidates
from timegate.batch.source import ListSource
from timegate.cli.given import NoCopyNamed, SeveralFound, read_given
from timegate.identifiers import parse
from timegate.pages.choices import SeveralReferences, Unresolvable
from timegate.pages.form import FormFields, FormRejection, read_form
from timegate.references.lines import Columns
from timegate.references.model import FoundReference
from timegate.references.pasted import read_pasted
from timegate.resolution.query import NotNegotiable, query_for
from timegate.text.times import read_time

REGISTRY = load_known()
NOW = datetime(2026, 11, 1, tzinfo=UTC)
TABLE = Path(__file__).with_name("pasted.toml")
SEPARATOR = re.compile(r"\s\|")


class Expected(NamedTuple):
    """What must be found."""

    reference: str
    at: str
    basis: str
    more: str

    @classmethod
    def of(cls, written: str) -> "Expected":
        """Read ``reference | time | basis | more``."""
        parts = [part.strip() for part in SEPARATOR.split(written)]
        return cls(*(*parts, "", "", "")[:4])

    @property
    def resolvable(self) -> bool:
        return self.more in ("", "doubt")


def cases() -> list[tuple[str, list[Expected]]]:
    groups = tomllib.loads(TABLE.read_text(encoding="utf-8")).values()
    return [
        (text, [Expected.of(each) for each in expected])
        for group in groups
        for text, *expected in group.get("cases", ())
    ]


CASES = cases()
REFUSED = tomllib.loads(TABLE.read_text(encoding="utf-8"))["refused"]["texts"]


def shown(found: FoundReference) -> Expected:
    """Return what was found, as it is written in the table."""
    basis = "" if found.dates.used is None else found.dates.used.basis
    doubt = "doubt" if found.dates.doubt else ""
    more = doubt if found.kind == "reference" else found.kind
    return Expected(found.identifier, str(found.dates.at or ""), basis, more)


def meant(expected: Expected) -> tuple[str, str]:
    """Return the URL and the time that archives are queried for."""
    query = query_for(parse(expected.reference, REGISTRY), REGISTRY)
    return query.original, expected.at


def test_the_table_is_long_enough() -> None:
    assert len(CASES) >= 1500


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_everything_pasted_is_found(text: str, expected: list[Expected]) -> None:
    pasted = read_pasted(text, REGISTRY, NOW)

    if pasted.reading is None:
        assert [shown(found) for found in pasted.found] == expected
    else:
        time = pasted.reading.identifier.time
        assert [(each.reference, each.at) for each in expected] == [
            ("".join(text.split()), str(time or ""))
        ]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_the_page_reads_it_alike(text: str, expected: list[Expected]) -> None:
    try:
        query = read_form(FormFields(text), REGISTRY, NOW)
    except SeveralReferences as several:
        assert [choice.text for choice in several.choices] == [e.reference for e in expected]
        assert len(expected) > 1
    except Unresolvable as missing:
        assert [missing.kind] == [each.more for each in expected]
        assert str(missing.at or "") == expected[0].at
    else:
        assert [(query.query.original, str(query.query.at or ""))] == [*map(meant, expected)]
        assert bool(query.doubt) == (expected[0].more == "doubt")
        assert bool(query.found and query.found.dates.unused) <= bool(
            [remark for remark in query.remarks if remark.startswith(("Not used", "Only"))]
        )


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_the_command_line_reads_it_alike(text: str, expected: list[Expected]) -> None:
    try:
        given = read_given(text, REGISTRY, None, NOW)
        query = query_for(given.reading, REGISTRY)
    except SeveralFound as several:
        listed = [line for line in several.lines if line.startswith("  timegate ")]
        assert len(listed) == len(expected) > 1
    except (NoCopyNamed, NotNegotiable):
        assert not expected[0].resolvable
    else:
        at = query.at or given.at
        assert [(query.original, str(at or ""))] == [*map(meant, expected)]
        assert given.doubt == (expected[0].more == "doubt")


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_batches_read_it_alike(
    text: str, expected: list[Expected], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = TextIOWrapper(BufferedReader(BytesIO(text.encode())))
    monkeypatch.setattr(sys, "stdin", stream)
    items = [*ListSource("-", None, Columns(), REGISTRY).items()]

    assert len(items) == len(expected)
    for item, each in zip(items, expected, strict=True):
        if not each.resolvable:
            with pytest.raises((ValueError, Malformed)):
                candidates(item, REGISTRY, read_time)
            continue
        query = candidates(item, REGISTRY, read_time)[0].query
        assert (query.original, str(query.at or "")) == meant(each)
        assert item.doubt == (each.more == "doubt")


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_link_to_a_page_is_refused_everywhere(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = TextIOWrapper(BufferedReader(BytesIO(text.encode())))
    monkeypatch.setattr(sys, "stdin", stream)

    with pytest.raises(FormRejection):
        read_form(FormFields(text), REGISTRY, NOW)
    with pytest.raises((ValueError, Malformed, NotNegotiable)):
        query_for(read_given(text, REGISTRY, None, NOW).reading, REGISTRY)
    for item in ListSource("-", None, Columns(), REGISTRY).items():
        with pytest.raises((ValueError, Malformed, NotNegotiable)):
            candidates(item, REGISTRY, read_time)


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_a_choice_keeps_the_doubt_about_its_date(text: str, expected: list[Expected]) -> None:
    found = [
        each for each in read_pasted(text, REGISTRY, NOW).found if each.kind == "reference"
    ]

    for each in found:
        again = read_pasted(each.restated if each.dates.doubt else each.dated, REGISTRY, NOW)
        if each.dates.doubt:
            (same,) = again.found
            assert (same.identifier, same.at, same.dates.doubt) == (
                each.identifier,
                each.at,
                True,
            )
        else:
            assert again.reading is not None or len(again.found) == 1
    assert expected


@pytest.mark.parametrize("group", range(8))
async def test_nothing_is_ticked_if_another_date_may_be_meant(group: int) -> None:
    async with site(FakeArchive("a", 0.0, ("20050613120000", "20190613120000"))) as served:
        for text, expected in CASES[group::8]:
            seen = await served.ask(f"/?q={quote(text, safe='')}", BROWSER)
            page = Html(seen.body.decode())
            assert seen.status in (200, 404, 422), text
            if _is_doubtful(expected):
                assert "verdict good" not in seen.body.decode(), text
            if len(expected) > 1:
                assert "Several references found" in page.text


def _is_doubtful(expected: Sequence[Expected]) -> bool:
    return any(each.more for each in expected) or len(expected) > 1
