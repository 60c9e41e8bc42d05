"""Quotations for JSON, for people, and in the links that are handed out."""

from collections.abc import Iterator
from typing import Final

from archives.registry import Registry
from timegate.content.findings import LookedAt, QuoteFinding, WordEdit
from timegate.text import masked

Json = dict[str, object]
_MOST_EDITS: Final = 20


def quote_json(finding: QuoteFinding, uri: str | None = None) -> Json:
    """Return the member ``quote`` of a report; *uri* is the address of the chosen copy."""
    holder = finding.holder
    return {
        "status": finding.status,
        "text": None if holder is None else _shown(holder.passage),
        "score": None if holder is None else holder.score,
        "memento": None if holder is None else _address(finding, holder, uri),
        "asked": finding.wanted.text,
        "edits": [] if holder is None else [*_edits(holder.edits)],
        "reason": masked(finding.why) or None,
        "copies": [copy_json(copy) for copy in finding.copies],
    }


def _address(finding: QuoteFinding, holder: LookedAt, uri: str | None) -> str:
    return holder.address(uri or "") if holder is finding.copies[0] else holder.address()


def copy_json(copy: LookedAt) -> Json:
    """Return one copy that was looked at, for JSON."""
    memento = copy.memento
    return {
        "uri": memento.uri,
        "archive": memento.archive,
        "datetime": str(memento.captured),
        "status": copy.status,
        "score": copy.score if copy.has_it else None,
        "reason": masked(copy.why) or None,
    }


def _edits(edits: tuple[WordEdit, ...]) -> Iterator[Json]:
    for edit in edits[:_MOST_EDITS]:
        yield {"quoted": _shown(edit.quoted), "written": _shown(edit.written)}


def _shown(text: str) -> str:
    """Return *text* in one line, without control characters."""
    return masked(" ".join(text.split()))


def quote_words(finding: QuoteFinding, registry: Registry) -> str:
    """Return the finding in one sentence, for people."""
    holder = finding.holder
    if finding.status == "found":
        return "the copy has this text"
    if finding.status == "near" and holder is not None:
        return f"the copy has nearly this text ({_changes(holder.edits)})"
    if finding.status == "absent":
        return "the text of the copy was read whole, and does not have it"
    if holder is not None:
        first = finding.copies[0]
        here = (
            "the text of the copy was read whole, and does not have it"
            if first.status == "absent"
            else f"it is not known whether the copy has it ({masked(first.why)})"
        )
        entry = registry.by_id(holder.memento.archive)
        name = holder.memento.archive if entry is None else entry.name
        day = str(holder.memento.captured)[:10]
        nearly = "nearly " if holder.status == "near" else ""
        return f"{here}; the copy of {day} in {name} {nearly}has it"
    return f"it is not known whether the copy has it ({masked(finding.why) or 'not read'})"


def _changes(edits: tuple[WordEdit, ...]) -> str:
    if not edits:
        return "within other words"
    shown = "; ".join(_change(edit) for edit in edits[:3])
    return f"{shown}; {len(edits) - 3} more" if len(edits) > 3 else shown


def _change(edit: WordEdit) -> str:
    if not edit.written:
        return f"without \u201c{_shown(edit.quoted)}\u201d"
    if not edit.quoted:
        return f"with \u201c{_shown(edit.written)}\u201d"
    return f"\u201c{_shown(edit.written)}\u201d for \u201c{_shown(edit.quoted)}\u201d"
