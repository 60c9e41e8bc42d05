"""The report as one HTML page: a matrix of archives and checks, with the trace of each cell.

The page has no scripts and loads nothing. Verdicts are words, not only colours; everything that
an archive sent is escaped.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from timegate.conformance.catalogue import VERDICTS, Check, Verdict
from timegate.conformance.checks import CHECKS
from timegate.conformance.report import CheckResult, Report, printable, trace

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#57606a;--page:#fff;--line:#d0d7de;
--head:#f6f8fa;--fail:#ffdcd7;--fail-ink:#8e1519;--warn:#fff1c9;--warn-ink:#6b4500;
--pass:#fff;--pass-ink:#1a6b33;--unknown:#efe7fb;--unknown-ink:#5a3292;--skip:#fff;
--skip-ink:#6e7781;--code:#f6f8fa}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9da7b1;--page:#12161b;
--line:#3a424c;--head:#1c2229;--fail:#5a1e1c;--fail-ink:#ffc9c4;--warn:#493808;
--warn-ink:#f8dc8f;--pass:#12161b;--pass-ink:#7fd497;--unknown:#352a50;--unknown-ink:#d9c8fa;
--skip:#12161b;--skip-ink:#8b949e;--code:#1c2229}}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;padding:1rem;max-width:90rem;
color:var(--ink);background:var(--page)}
h1{font-size:1.5rem;margin:.25rem 0}h2{font-size:1.2rem;margin:2rem 0 .25rem}
p{margin:.25rem 0 .75rem}a{color:inherit}small,.dim{color:var(--dim);font-size:.85em}
.matrix{overflow:auto;max-height:85vh;border:1px solid var(--line)}
table{border-collapse:separate;border-spacing:0}
th,td{border-bottom:1px solid var(--line);border-right:1px solid var(--line);
padding:.2rem .5rem;text-align:left;vertical-align:top}
thead th{position:sticky;top:0;z-index:1;background:var(--head);vertical-align:bottom}
thead th:not(:first-child){min-width:7rem;overflow-wrap:anywhere}
tbody th{position:sticky;left:0;background:var(--page);font-weight:normal;min-width:24rem;
max-width:30rem}
thead th:first-child{left:0;z-index:2}
td a{display:block;text-decoration:none;white-space:nowrap}
td a:hover,td a:focus-visible{text-decoration:underline}
.fail{background:var(--fail);color:var(--fail-ink)}
.warn{background:var(--warn);color:var(--warn-ink)}
.pass{background:var(--pass);color:var(--pass-ink)}
.unknown{background:var(--unknown);color:var(--unknown-ink)}
.skip{background:var(--skip);color:var(--skip-ink)}
td.fail,td.warn{font-weight:600}
.badge{display:inline-block;padding:0 .45rem;border-radius:.6rem;white-space:nowrap;
border:1px solid var(--line)}
details{border:1px solid var(--line);border-radius:.4rem;margin:.3rem 0;padding:.3rem .6rem;
scroll-margin-top:1rem}
details:target{outline:3px solid var(--warn-ink)}
summary{cursor:pointer;overflow-wrap:anywhere}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--code);padding:.5rem;
margin:.4rem 0;font-size:.85rem}
@media(max-width:40rem){body{padding:.6rem}tbody th{min-width:9.5rem;max-width:9.5rem;
font-size:.85rem;line-height:1.35}thead th:not(:first-child){min-width:5.5rem;font-size:.85rem}}
@media print{.matrix{max-height:none;overflow:visible}thead th,tbody th{position:static}}
"""


_SIGNS: Final[dict[Verdict, str]] = {
    "pass": "✓",
    "fail": "✕",
    "warn": "!",
    "skip": "·",
    "unknown": "?",
}
_MEANINGS: Final[dict[Verdict, str]] = {
    "pass": "holds",
    "fail": "a MUST is violated",
    "warn": "a SHOULD or a common practice is violated",
    "skip": "does not apply",
    "unknown": "the archive did not answer",
}
_OPEN: Final = ("fail", "warn")


def as_html(reports: Sequence[Report], now: str) -> str:
    """Return *reports* as one HTML document."""
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
<p>Checked {when}. Each cell links to what was sent, received and expected.</p>
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
    counts = [(verdict, report.counts[verdict]) for verdict in shown if report.counts[verdict]]
    return " ".join(_badge(verdict, f"{count} {verdict}") for verdict, count in counts)


def _head(number: int, report: Report) -> str:
    name = escape(printable(report.subject.id))
    wrong = _counts(report, ("fail", "warn", "unknown")) or _badge("pass", "no violations")
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
    """Return the results of one archive, violations first and unfolded."""
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
        f"<pre>{escape(chr(10).join(_details(result)))}</pre></details>"
    )


def _details(result: CheckResult) -> Iterator[str]:
    check = result.check
    yield " ".join(filter(None, (f"{check.name}:", check.level, check.rule, check.section)))
    yield f"{printable(result.finding.why)} (with {printable(result.sample)})"
    yield from trace(result)
