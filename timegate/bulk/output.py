"""Results as lines of JSON and as a table, one at a time."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Final

from timegate.bulk.result import Result

COLUMNS: Final = (
    "input",
    "outcome",
    "memento",
    "archive",
    "datetime",
    "delta_seconds",
    "pwid",
    "why",
)


def as_jsonl(results: Iterable[Result]) -> Iterator[bytes]:
    """Yield a line for each result; ``report`` is what ``timegate resolve --json`` tells."""
    for result in results:
        told = {
            "input": result.item.text,
            "outcome": result.outcome,
            "code": result.code,
            "date": result.date,
            "why": result.why,
            "report": result.report,
        }
        yield json.dumps(told).encode() + b"\n"


def as_csv(results: Iterable[Result]) -> Iterator[bytes]:
    """Yield the headings, then a row for each result."""
    yield _row(COLUMNS)
    for result in results:
        memento = result.memento or {}
        yield _row(
            (
                result.item.text,
                result.outcome,
                memento.get("uri"),
                memento.get("archive"),
                memento.get("datetime"),
                result.delta,
                result.pwid,
                result.why,
            )
        )


def _row(cells: Iterable[object]) -> bytes:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerow(map(_cell, cells))
    return written.getvalue().encode(errors="backslashreplace")


def _cell(value: object) -> object:
    """Return *value* so that no spreadsheet takes it for a formula (CWE-1236)."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return value
