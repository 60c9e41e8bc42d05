"""docs/conformance/rfc7089.md names every check, and no other."""

import re
from pathlib import Path

from timegate.conformance.checks import CHECKS

PAGE = (Path(__file__).parents[3] / "docs/conformance/rfc7089.md").read_text()
_NAMED = re.compile(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`")


def test_every_check_is_named_and_every_name_is_a_check() -> None:
    assert set(_NAMED.findall(PAGE)) == CHECKS.keys()


def test_every_requirement_has_a_check_or_a_reason() -> None:
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][1:]

    for row in rows:
        judged = bool(_NAMED.search(row[-1]))
        reason = re.search(r"cannot be seen|\*client\*|accepted|the same|recognised", row[-1])
        assert judged or reason, row
    assert len(rows) > 60


def test_checks_with_other_reasons_are_those_outside_the_rfc() -> None:
    outside = set(_NAMED.findall(PAGE.partition("outside RFC 7089")[2]))

    assert outside == {c.name for c in CHECKS.values() if "7089" not in c.section} - {
        # Requirements of RFC 7089 that another document defines.
        *(
            "timemap-keeps-to-the-grammar",
            "timemap-has-no-empty-elements",
            "timemap-is-utf-8",
            "link-headers-keep-to-the-grammar",
        ),
        *("redirect-has-a-location", "redirects-lead-to-web-addresses"),
        *("json-lists-the-same", "cdxj-lists-the-same", "raw-view-is-the-same-memento"),
        *("html-links-agree-with-the-header", "head-is-get-without-a-body"),
    }
