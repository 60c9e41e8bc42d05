"""The difference between two copies, for JSON."""

from typing import TYPE_CHECKING

from timegate.text import masked

if TYPE_CHECKING:
    from timegate.content.text_diff import DiffRow, TextDiff

Json = dict[str, object]


def row_json(row: "DiffRow") -> Json:
    """Return a line of both texts."""
    return {
        "kind": row.kind,
        "left": masked(row.left_text) if row.left_line else None,
        "right": masked(row.right_text) if row.right_line else None,
        "left_line": row.left_line or None,
        "right_line": row.right_line or None,
    }


def diff_json(diff: "TextDiff") -> Json:
    """Return the difference: counts, and the lines that are not the same."""
    return {
        "same": diff.is_same,
        "similarity": diff.similarity,
        "complete": not diff.is_cut,
        "lines": {kind: diff.count(kind) for kind in ("same", "changed", "added", "removed")},
        "changes": [row_json(row) for row in diff.rows if row.kind != "same"],
    }
