"""One page that needs nothing else: archives by checks, the trace behind each cell.

No scripts, no foreign fonts, nothing loaded. Verdicts are words and not only colours; every
word that an archive sent is escaped.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from timegate.conformance.catalogue import Check
from timegate.conformance.checks import CHECKS
from timegate.conformance.finding import VERDICTS, Verdict
from timegate.conformance.report import CheckResult, Report
from timegate.conformance.writing.html_style import STYLE
from timegate.conformance.writing.text import trace
from timegate.conformance.writing.trace import printable

_SIGNS: Final[dict[Verdict, str]] = {
    "pass": "✓",
    "fail": "✕",
    "warn": "!",
    "skip": "·",
    "unknown": "?",
}
_MEANINGS: Final[dict[Verdict, str]] = {
    "pass": "holds",
    "fail": "a MUST is broken",
    "warn": "a SHOULD or a practice is broken",
    "skip": "does not apply",
    "unknown": "the archive did not answer",
}
_OPEN: Final = ("fail", "warn")


def as_html(reports: Sequence[Report], now: str) -> str:
    """Write *reports* as one HTML document."""
    when = f"{now[:4]}-{now[4:6]}-{now[6:8]} {now[8:10]}:{now[10:12]} UTC"
    heads = "".join(_head(number, report) for number, report in enumerate(reports))
    rows = "\n".join(_row(check, reports) for check in CHECKS.values())
    sections = "\n".join(_section(number, report) for number, report in enumerate(reports))
    legend = " ".join(f"{_badge(v, v)} {meaning}" for v, meaning in _MEANINGS.items())
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Conformance to RFC 7089</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>{STYLE}</style></head>
<body><h1>Conformance to RFC 7089</h1>
<p>Checked {when}. Each cell leads to what was sent, got and expected.</p>
<p class="dim">{legend}</p>
<div class="matrix" role="region" aria-label="Archives by checks" tabindex="0">
<table>
<thead><tr><th scope="col">requirement</th>{heads}</tr></thead>
<tbody>
{rows}
</tbody></table></div>
{sections}
</body></html>
"""


def _badge(verdict: Verdict, text: str) -> str:
    return f'<span class="badge {verdict}">{_SIGNS[verdict]} {escape(text)}</span>'


def _counts(report: Report, shown: Sequence[Verdict] = VERDICTS) -> str:
    told = [(verdict, report.counts[verdict]) for verdict in shown if report.counts[verdict]]
    return " ".join(_badge(verdict, f"{count} {verdict}") for verdict, count in told)


def _head(number: int, report: Report) -> str:
    name = escape(printable(report.subject.id))
    wrong = _counts(report, ("fail", "warn", "unknown")) or _badge("pass", "all right")
    return f'<th scope="col"><a href="#a{number}">{name}</a><br><small>{wrong}</small></th>'


def _row(check: Check, reports: Sequence[Report]) -> str:
    where = escape(" ".join(filter(None, (check.rule, check.section))))
    head = f"{escape(check.sentence)}<br><small>{check.level}, {where}</small>"
    cells = "".join(_cell(number, report.worst(check)) for number, report in enumerate(reports))
    return f'<tr id="{check.name}"><th scope="row">{head}</th>{cells}</tr>'


def _cell(number: int, result: CheckResult) -> str:
    verdict = result.finding.verdict
    link = f'<a href="#a{number}-{result.check.name}">{_SIGNS[verdict]} {verdict}</a>'
    return f'<td class="{verdict}">{link}</td>'


def _section(number: int, report: Report) -> str:
    """Write all that was found about one archive, what is wrong first and open."""
    subject = report.subject
    order: Sequence[Verdict] = ("fail", "warn", "unknown", "pass", "skip")
    results = [report.worst(check) for check in CHECKS.values()]
    results.sort(key=lambda result: order.index(result.finding.verdict))
    found = "\n".join(_found(number, result) for result in results)
    where = escape(printable(f"{subject.role} {subject.url}"))
    return f"""<section><h2 id="a{number}">{escape(printable(subject.id))}</h2>
<p class="dim">{where}, {report.requests} requests</p><p>{_counts(report)}</p>
{found}</section>"""


def _found(number: int, result: CheckResult) -> str:
    check, finding = result.check, result.finding
    opened = " open" if finding.verdict in _OPEN else ""
    summary = f"{_badge(finding.verdict, finding.verdict)} {escape(check.sentence)}"
    return (
        f'<details id="a{number}-{check.name}"{opened}><summary>{summary}</summary>'
        f"<pre>{escape(chr(10).join(_trace(result)))}</pre></details>"
    )


def _trace(result: CheckResult) -> Iterator[str]:
    check = result.check
    yield " ".join(filter(None, (f"{check.name}:", check.level, check.rule, check.section)))
    yield f"{printable(result.finding.why)} (with {printable(result.sample)})"
    yield from trace(result)
