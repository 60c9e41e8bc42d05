"""The results of other software, from their recordings.

`python -m tests.timegate.conformance.results_page` writes results.md and results.json.
"""

import asyncio
import json
from pathlib import Path
from typing import Final, NamedTuple

from timegate.conformance.catalogue import VERDICTS
from timegate.conformance.grading import PROFILES, Grading
from timegate.conformance.report import Report, printable
from timegate.conformance.run import run_again
from timegate.conformance.session import read_run

FOLDER: Final = Path(__file__).parents[3] / "docs/conformance"
RECORDINGS: Final = FOLDER / "recordings"
PAGE: Final = FOLDER / "results.md"
DATA: Final = FOLDER / "results.json"


_INTRODUCTION: Final = (
    "Every program ran on one machine, each over the same four captures of one page, two of",
    "them one second apart. The folder `recordings` has every exchange, and anybody can judge",
    "it again without a network; [results.json](results.json) has every verdict. A test judges",
    "the recordings again at each change.",
)
_MISSING: Final = (
    "ipwb replays from an IPFS daemon. A program of some lines took its place, which answers",
    "`add`, `cat`, `id` and `version` from memory: what is judged is ipwb itself.",
)


class Software(NamedTuple):
    """What was checked, and how it was run."""

    recording: str
    name: str
    how: str


SOFTWARE: Final = (
    Software(
        "pywb-2.10.0-frameless",
        "pywb 2.10.0, `framed_replay: false`",
        "package index, Python 3.11",
    ),
    Software("pywb-2.10.0-exact", "pywb 2.10.0, also `redirect_to_exact: true`", "the same"),
    Software("pywb-2.10.0-framed", "pywb 2.10.0, framed, its default", "the same"),
    Software(
        "pywb-2.9.1-frameless",
        "pywb 2.9.1, `framed_replay: false`",
        "package index, Python 3.11",
    ),
    Software("pywb-2.9.1-exact", "pywb 2.9.1, also `redirect_to_exact: true`", "the same"),
    Software("pywb-2.9.1-framed", "pywb 2.9.1, framed, its default", "the same"),
    Software(
        "memgator-1.0-rc9",
        "MemGator 1.0-rc9 (6a22246)",
        "Go 1.19, over pywb 2.10.0 without frames",
    ),
    Software(
        "lanl-timegate-2018-07-16",
        "LANL's timegate (6810fbc, 2018-07-16)",
        "Werkzeug 0.16.1, strict dates, a handler that lists the mementos of that pywb",
    ),
    Software(
        "ipwb-0.2024.10.24.1853",
        "ipwb 0.2024.10.24.1853",
        "package index, Python 3.11, over a stand-in for IPFS that keeps blocks in memory",
    ),
    Software(
        "timegate-over-pywb", "this server", "over that pywb, which may be queried as well"
    ),
)


def replayed(recording: str) -> tuple[str, Report]:
    """Judge a recording; return when it was made, and the report."""
    folder = RECORDINGS / recording
    run = read_run(folder)
    [report] = asyncio.run(run_again(run.subjects, run.now, lambda _: None, folder))
    return run.now, report


def _result(software: Software, when: str, report: Report) -> dict[str, object]:
    return {
        "software": software.name.replace("`", ""),
        "how": software.how,
        "recording": f"recordings/{software.recording}",
        "checked": when,
        "pattern": report.pattern(report.subject.samples[0]) or None,
        "requests": report.requests,
        "counts": {verdict: report.counts[verdict] for verdict in VERDICTS},
        "exit_codes": {name: Grading(name).exit_code([report]) for name in PROFILES},
        "results": {
            result.check.name: {"verdict": result.finding.verdict, "why": result.finding.why}
            for result in report.results
            # The response times are those of a loaded machine.
            if result.check.name != "latency-is-told"
        },
    }


def data() -> list[dict[str, object]]:
    """Return all results."""
    return [_result(each, *replayed(each.recording)) for each in SOFTWARE]


def _cell(text: str) -> str:
    return printable(text).replace("|", "\\|")


def _sections(report: Report) -> list[str]:
    wrong = [r for r in report.results if r.finding.verdict in ("fail", "warn", "unknown")]
    if not wrong:
        return ["Nothing is violated.", ""]
    rows = [
        f"| {r.finding.verdict} | {r.check.level} | `{r.check.name}` | {_cell(r.finding.why)} |"
        for r in wrong
    ]
    return ["| verdict | level | check | found |", "|---|---|---|---|", *rows, ""]


def page() -> str:
    """Return the page of results."""
    found = [(each, *replayed(each.recording)) for each in SOFTWARE]
    rows = []
    for each, _, report in found:
        codes = ", ".join(str(Grading(name).exit_code([report])) for name in PROFILES)
        counts = ", ".join(f"{report.counts[v]} {v}" for v in VERDICTS if report.counts[v])
        pattern = report.pattern(report.subject.samples[0]) or "none"
        rows.append(f"| {each.name} | {pattern} | {counts} | {report.requests} | {codes} |")
    sections = [
        line
        for each, when, report in found
        for line in (
            f"## {each.name}",
            "",
            f"{each.how}; {when[:4]}-{when[4:6]}-{when[6:8]}.",
            f"`timegate check --replay docs/conformance/recordings/{each.recording}`",
            "",
            *_sections(report),
        )
    ]
    return "\n".join(
        [
            "# Results of other software",
            "",
            *_INTRODUCTION,
            "",
            f"The exit codes are those of the profiles {', '.join(PROFILES)}.",
            "",
            "| software | pattern | results | requests | exit codes |",
            "|---|---|---|---|---|",
            *rows,
            "",
            *_MISSING,
            "",
            *sections,
        ]
    )


def main() -> None:
    """Write the page and the data."""
    DATA.write_text(json.dumps(data(), indent=1) + "\n")
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
