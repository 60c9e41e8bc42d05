"""Results as lines of JSON and as a table, one at a time."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from timegate.bulk.result import ItemResult

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


class OutputFormat(NamedTuple):
    """How results are written: what stands before all of them, and each by itself."""

    head: bytes
    row: Callable[[ItemResult], bytes]


def _line(result: ItemResult) -> bytes:
    """Return a line of JSON; ``report`` is what ``timegate resolve --json`` tells."""
    told = {
        "input": result.item.text,
        "outcome": result.outcome,
        "code": result.code,
        "date": result.date,
        "why": result.why,
        "report": result.report,
    }
    return json.dumps(told).encode() + b"\n"


def _cells(result: ItemResult) -> bytes:
    memento = result.memento or {}
    return _row(
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


FORMS: Final[Mapping[str, OutputFormat]] = {
    "jsonl": OutputFormat(b"", _line),
    "csv": OutputFormat(_row(COLUMNS), _cells),
}
