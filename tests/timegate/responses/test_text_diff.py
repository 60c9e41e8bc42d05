"""The difference between two copies in JSON."""

from timegate.content.text_diff import text_diff
from timegate.responses.text_diff import diff_json


def test_only_lines_that_differ_are_listed() -> None:
    assert diff_json(text_diff("a\nold\x1b\nc", "a\nc\nnew")) == {
        "same": False,
        "similarity": 0.3636,
        "complete": True,
        "lines": {"same": 2, "changed": 0, "added": 1, "removed": 1},
        "changes": [
            {
                "kind": "removed",
                "left": "old\ufffd",
                "right": None,
                "left_line": 2,
                "right_line": None,
            },
            {"kind": "added", "left": None, "right": "new", "left_line": None, "right_line": 3},
        ],
    }
