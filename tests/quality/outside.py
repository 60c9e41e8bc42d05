"""Figures for a corpus of somebody else: ``python -m tests.quality --corpus DIR``.

DIR has ``manifest.jsonl`` and pages. Each line is an object with ``kind``: ``class`` (``file``,
``url``, ``label``), ``pair`` (``before``, ``after``, ``label`` same or changed) or ``quote``
(``file``, ``quote``, ``label`` found, near or absent, and ``also`` if another one is as good).
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from archives.model import Memento
from tests.quality.corpus import Pair, Sample
from tests.quality.measure import (
    Classifier,
    Decider,
    Outcome,
    Score,
    baseline,
    lines,
    ours,
    same_page,
    same_words,
    scored,
)
from timegate.content.findings import CopyText
from timegate.content.fragments import read_quote
from timegate.content.main_text import PageText, extract
from timegate.extract.quote_search import looked_at

Row = Mapping[str, Any]
_COPY: Final = Memento("20160101000000", "http://a.example/", "http://e.org/", "a")
_TYPE: Final = "text/html"
"""Without a charset: the pages declare theirs, or it is detected."""
_NONE: Final = "none"
_FOUND: Final = "found"


def read_manifest(folder: Path, part: str = "") -> list[Row]:
    """Return the lines of a corpus; *part* is ``even`` or ``odd`` for half of the makes."""
    text = (folder / "manifest.jsonl").read_text(encoding="utf-8")
    rows: list[Row] = [json.loads(line) for line in text.splitlines() if line.strip()]
    if not part:
        return rows
    # By make: pages of one make have the same words, and would tell of each other.
    return [row for row in rows if crc32(_make(row).encode()) % 2 == (part == "odd")]


def _make(row: Row) -> str:
    return str(row.get("make") or row.get("why") or row.get("file"))


def report(folder: Path, part: str = "", *, errors: bool = False) -> Iterator[str]:
    """Yield the figures of a corpus, beside those of the baseline."""
    rows = read_manifest(folder, part)
    by_kind = {
        kind: [row for row in rows if row["kind"] == kind]
        for kind in ("class", "pair", "quote")
    }
    for name, decide in (("ours", ours), ("baseline", baseline)):
        outcome = classified_rows(folder, by_kind["class"], decide)
        yield from lines(f"classes, {name}", outcome)
        yield from _errors(outcome) if errors and decide is ours else ()
    for name, same in (("ours", same_page), ("baseline", same_words)):
        outcome = decided_rows(folder, by_kind["pair"], same)
        yield from lines(f"pairs, {name}", outcome)
        yield from _errors(outcome) if errors and same is same_page else ()
    yield from quote_report(folder, by_kind["quote"], errors=errors)


def _errors(outcome: Outcome) -> Iterator[str]:
    for what, number in outcome.errors.most_common():
        yield f"    {number:4} {what}"


def _described(row: Row) -> str:
    return " ".join(str(row.get(key, "")) for key in ("file", "before", "lang", "make", "why"))


def classified_rows(folder: Path, rows: Sequence[Row], decide: Classifier) -> Outcome:
    """Return the scores of *decide* for single pages."""
    pages = (
        Sample(
            (folder / row["file"]).read_bytes(),
            "" if row["label"] == _NONE else row["label"],
            _described(row)[:150],
            row["url"],
            row.get("redirect"),
        )
        for row in rows
    )
    outcome = scored(pages, decide)
    known = {row["label"] for row in rows}
    return Outcome(
        {name: score for name, score in outcome.scores.items() if name in known},
        outcome.errors,
    )


def decided_rows(folder: Path, rows: Sequence[Row], decide: Decider) -> Outcome:
    """Return the score of *decide* for pairs."""
    errors = Counter[str]()
    counts = Counter[tuple[bool, bool]]()
    for row in rows:
        one, other = ((folder / row[key]).read_bytes() for key in ("before", "after"))
        is_same = row["label"] == "same"
        given = decide(Pair(one, other, is_same, ""))
        counts[is_same, given] += 1
        if given != is_same:
            errors[f"{'same' if given else 'changed'}: {_described(row)[:150]}"] += 1
    score = Score(counts[True, True], counts[False, True], counts[True, False])
    return Outcome({"same page": score}, errors)


def quote_report(folder: Path, rows: Sequence[Row], *, errors: bool) -> Iterator[str]:
    """Yield how often each kind of quotation has each status, and what that means."""
    figures: dict[str, dict[str, Counter[str]]] = {"ours": {}, "baseline": {}}
    wrong = Counter[str]()
    for row in rows:
        octets = (folder / row["file"]).read_bytes()
        statuses = {
            "ours": status_of(octets, row["quote"]),
            "baseline": plain_status(octets, row["quote"]),
        }
        for name, status in statuses.items():
            figures[name].setdefault(row["label"], Counter())[status] += 1
        if statuses["ours"] not in (row["label"], row.get("also")):
            wrong[f"{statuses['ours']} instead of {row['label']}: {_described(row)[:150]}"] += 1
    for name, found in figures.items():
        yield f"quotations, {name}"
        for label, counts in sorted(found.items()):
            shares = ", ".join(
                f"{status} {number / counts.total():.4f}"
                for status, number in sorted(counts.items())
            )
            yield f"  {label:8} {counts.total():6}  {shares}"
        absent = found.get("absent", Counter())
        other = sum(found.get(label, Counter())[_FOUND] for label in ("absent", "near"))
        total = sum(found.get(label, Counter()).total() for label in ("absent", "near"))
        if absent or total:
            yield f"  false finds: {absent[_FOUND]} of {absent.total()} absent, {other} of {total} absent or near"
    for what, number in wrong.most_common() if errors else ():
        yield f"    {number:4} {what}"


def status_of(octets: bytes, quote: str) -> str:
    """Return the status of a quotation in a page."""
    page, wanted = extract(octets, _TYPE), read_quote(quote)
    if not isinstance(page, PageText) or wanted is None:
        return "not-looked"
    return looked_at(wanted, CopyText(_COPY, page, octets)).status


def plain_status(octets: bytes, quote: str) -> str:
    """Return it by a plain search with white space made equal."""
    page = extract(octets, _TYPE)
    text = " ".join(page.text.split()) if isinstance(page, PageText) else ""
    return _FOUND if " ".join(quote.split()) in text else "absent"
