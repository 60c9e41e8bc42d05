"""Lists of references in many forms: each is found with its own date, pasted and in batches.

Where two are of one page, they may be taken for one citation; then the report says so.
"""

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from io import BufferedReader, BytesIO, TextIOWrapper
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archives.registry import load_known
from timegate.batch.source import ListSource
from timegate.identifiers import parse
from timegate.references.lines import Columns
from timegate.references.pasted import read_pasted
from timegate.text.times import read_time

REGISTRY = load_known()
NOW = datetime(2026, 11, 1, tzinfo=UTC)
JOINED = "taken for one reference"


class Cited(NamedTuple):
    """A reference as it is written, and what it means."""

    written: str
    page: str
    digits: str
    """The date, as digits; empty if there is none."""


def _day(form: str) -> Callable[[str, date], Cited]:
    return lambda url, day: Cited(form.format(u=url, d=day), url, f"{day:%Y%m%d}")


def _time(form: str) -> Callable[[str, date], Cited]:
    return lambda url, day: Cited(form.format(u=url, d=day), url, f"{day:%Y%m%d}101500")


FORMS: tuple[Callable[[str, date], Cited], ...] = (
    lambda url, _: Cited(url, url, ""),
    lambda url, _: Cited(f"[Opening hours]({url})", url, ""),
    lambda url, day: Cited(f"duri:{day:%Y-%m}:{url}", url, f"{day:%Y%m}"),
    _time("urn:pwid:archive.org:{d:%Y-%m-%d}T10:15:00Z:page:{u}"),
    _time("https://web.archive.org/web/{d:%Y%m%d}101500/{u}"),
    _time("[Hours](https://web.archive.org/web/{d:%Y%m%d}101500/{u})"),
    _day("{u} accessed {d:%d %b %Y}"),
    _day("{u} (accessed {d:%d %B %Y})"),
    _day("{u} {d:%Y-%m-%d}"),
    _day("{u}, abgerufen am {d:%d.%m.%Y}"),
    _day("<{u}> [{d:%d %B %Y}]"),
    _day("[Opening hours]({u}) (accessed {d:%d %B %Y})"),
    _day("Smith, J. (2001). Opening hours. Retrieved {d:%B %d, %Y}, from {u}"),
    _day('Smith, John. "Opening Hours." Museum, 3 Mar. 2001, {u}. Accessed {d:%d %b. %Y}.'),
    _day("Smith, J. (2001) Opening hours. Available at: {u} (Accessed: {d:%d %B %Y})."),
    _day('J. Smith, "Hours," 2001. [Online]. Available: {u}. [Accessed: {d:%d-%b-%Y}].'),
    _day("Smith J. Hours [Internet]. Museum; 2001 [cited {d:%Y %b %d}]. Available from: {u}"),
    _day("Dupont, A. Horaires [en ligne]. Disponible sur : {u} (consulté le {d:%d/%m/%Y})"),
)
LAYOUTS: tuple[tuple[str, str], ...] = (
    *(("", "\n"), ("", "\r\n"), ("", "\n\n"), ("", "\r\n\r\n"), ("", "\n  \n"), ("", ";\n")),
    *(("- ", "\n"), ("* ", "\n"), ("\u2022 ", "\n"), ("\u2013\u00a0", "\n"), ("> ", "\n")),
    *(("{}. ", "\n"), ("[{}] ", "\n"), ("({}) ", "\n"), ("{}.\t", "\n"), ("    ", "\n")),
)
PAGES = ("http://a.example/", "https://b.example/x?id=5&y=2", "http://museum.example/a_(b)")
CITED = st.builds(
    lambda form, url, day: form(url, day),
    st.sampled_from(FORMS),
    st.sampled_from(PAGES),
    st.dates(date(2003, 1, 1), date(2020, 12, 31)),
)
LISTS = st.lists(
    CITED, min_size=2, max_size=5, unique_by=lambda cited: (cited.page, cited.digits[:6])
)


def written(cited: list[Cited], layout: tuple[str, str]) -> str:
    before, between = layout
    lines = (f"{before.format(n)}{each.written}" for n, each in enumerate(cited, 1))
    return between.join(lines)


class Read(NamedTuple):
    """A reference that was read."""

    page: str
    digits: str
    doubt: bool
    said: str

    @property
    def joined(self) -> int:
        return self.said.count(JOINED)


def _read(identifier: str, at: object, said: str, *, doubt: bool) -> Read:
    read = parse(identifier, REGISTRY).identifier
    time = str(read.time or at or "")
    return Read(read.item or "", "".join(filter(str.isdigit, time)), doubt, said)


def pasted(text: str) -> Iterator[Read]:
    read = read_pasted(text, REGISTRY, NOW)
    assert read.reading is None
    for found in read.found:
        yield _read(found.identifier, found.at, " ".join(found.said), doubt=found.dates.doubt)


def in_batch(text: str) -> Iterator[Read]:
    sys.stdin = TextIOWrapper(BufferedReader(BytesIO(text.encode())))
    for item in ListSource("-", None, Columns(), REGISTRY, now=lambda: NOW).items():
        at = read_time(item.dates[0]) if item.dates else None
        yield _read(item.references[0], at, item.said, doubt=item.doubt)


@pytest.fixture(autouse=True)
def standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", sys.stdin)


@pytest.mark.parametrize("read", [pasted, in_batch])
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cited=LISTS, layout=st.sampled_from(LAYOUTS))
def test_each_reference_of_a_list_is_found_with_its_own_date(
    read: Callable[[str], Iterator[Read]], cited: list[Cited], layout: tuple[str, str]
) -> None:
    found = [*read(written(cited, layout))]

    if any(each.joined for each in found):
        assert len(found) + sum(each.joined for each in found) == len(cited)
        assert {each.digits for each in found} <= {each.digits for each in cited}
        return
    assert [(each.page, each.digits) for each in found] == [each[1:] for each in cited]
    assert not any(each.doubt for each in found if each.digits)


@given(LISTS, st.sampled_from(LAYOUTS))
def test_references_of_different_pages_are_never_taken_for_one(
    cited: list[Cited], layout: tuple[str, str]
) -> None:
    pages = {each.page: each for each in cited}

    if len(pages) > 1:
        found = [*pasted(written([*pages.values()], layout))]

        assert [each.page for each in found] == [*pages]
        assert not any(each.joined for each in found)
