"""Faults of TimeMaps and CDX: syntax, size, order, pages."""

import json
import re

import pytest

from tests.timegate.misbehave.asking import CDX, CORRECT_TIMEMAP, PAGE, TIMEMAP, ask, pure
from timegate.misbehave import (
    EXAMPLE,
    ArchiveOptions,
    misbehaving_archive,
)


@pytest.mark.parametrize(
    ("fault", "shows"),
    [
        ("rel-reordered", 'datetime="Fri, 01 Jan 2010 12:00:00 GMT"; rel="memento first"'),
        ("rel-unquoted", "; rel=memento; datetime="),
        ("single-quotes", "; rel='first memento'; datetime='Fri, 01 Jan 2010 12:00:00 GMT'"),
        (
            "extra-parameters",
            '; title="a, b; <c> \\"d\\""; license="http://example.org/l"; alone',
        ),
        ("no-commas", 'GMT"\n<http://'),
    ],
)
def test_links_have_unusual_syntax(fault: str, shows: str) -> None:
    text = pure(fault, TIMEMAP).body.decode()

    assert shows in text
    assert all(f"/web/{capture.stamp}/" in text for capture in EXAMPLE)


def test_bytes_around_the_links_are_unusual() -> None:
    assert pure("no-final-newline", TIMEMAP).body.decode() == CORRECT_TIMEMAP.rstrip("\n")
    assert pure("byte-order-mark", TIMEMAP).body == b"\xef\xbb\xbf" + CORRECT_TIMEMAP.encode()
    with pytest.raises(UnicodeDecodeError):
        pure("latin-1", TIMEMAP).body.decode()


def test_an_unbalanced_quote_or_bracket_comes_before_the_last_link() -> None:
    quote = pure("unbalanced-quote", TIMEMAP).body.decode()
    bracket = pure("unbalanced-bracket", TIMEMAP).body.decode()

    assert quote.count('"') % 2 == 1
    assert bracket.count("<") == bracket.count(">") + 1
    assert (
        quote.splitlines()[-1] == bracket.splitlines()[-1] == CORRECT_TIMEMAP.splitlines()[-1]
    )


@pytest.mark.parametrize(
    ("fault", "filling", "share"),
    [("endless-link", b"a", 1), ("comma-flood", b",", 1), ("huge-attribute", b"a", 10)],
)
async def test_oversized_content_follows_the_correct_links(
    fault: str, filling: bytes, share: int
) -> None:
    options = ArchiveOptions(bulk=1_000_000)

    async with misbehaving_archive(fault=fault, options=options) as archive:
        answer = await ask(archive, TIMEMAP)

        assert answer.body.count(filling) >= 0.9 * options.bulk / share - 65_536
        assert len(answer.mementos) >= len(EXAMPLE)


@pytest.mark.parametrize(
    ("fault", "order"),
    [
        ("newest-first", [4, 3, 2, 1, 0]),
        ("duplicates", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]),
    ],
)
async def test_mementos_are_in_another_order(fault: str, order: list[int]) -> None:
    async with misbehaving_archive(fault=fault) as archive:
        answer = await ask(archive, TIMEMAP)

        expected = [archive.addresses.memento(EXAMPLE[index]) for index in order]
        assert answer.mementos == expected


async def test_shuffled_is_the_same_set_in_the_same_order_each_time() -> None:
    async with misbehaving_archive(fault="shuffled") as archive:
        first, second = await ask(archive, TIMEMAP), await ask(archive, TIMEMAP)

        assert first.mementos == second.mementos != sorted(first.mementos)
        assert len(set(first.mementos)) == len(EXAMPLE)


def onward(fault: str, path: str) -> str:
    body = pure(fault, path).body.decode()
    (target,) = re.findall(r'<([^>]*)>; rel="timemap"', body)
    return str(target).removeprefix("http://127.0.0.1:1")


def test_a_page_ring_leads_back() -> None:
    second = onward("page-ring", TIMEMAP)

    assert second == f"/timemap/link/page2/{PAGE}"
    assert onward("page-ring", onward("page-ring", second)) == second


def test_endless_pages_lead_to_the_next_page() -> None:
    assert onward("page-endless", f"/timemap/link/page99/{PAGE}").endswith(f"/page100/{PAGE}")


def test_an_index_of_itself_lists_itself_and_no_memento() -> None:
    assert onward("index-of-itself", TIMEMAP) == TIMEMAP
    assert b"memento" not in pure("index-of-itself", TIMEMAP).body


@pytest.mark.parametrize("output", ["json", "text"])
def test_a_resume_ring_gives_the_same_rows_and_key_again(output: str) -> None:
    query = f"/cdx/search/cdx?url=example.org/&output={output}&limit=2&showResumeKey=true"

    first = pure("resume-ring", query).body.decode()
    key = json.loads(first)[-1][0] if output == "json" else first.splitlines()[-1]
    second = pure("resume-ring", f"{query}&resumeKey={key}").body.decode()

    assert first == second
    assert first.count("20100101120000") == 2


def test_list_false_lists_mementos_that_do_not_exist() -> None:
    for path in (TIMEMAP, CDX):
        body = pure("list-false", path).body

        assert b"20130615083000" in body
        assert b"20130615093000" in body
    replay = pure("list-false", f"/web/20130615093000/{PAGE}")
    assert replay.status == 302
