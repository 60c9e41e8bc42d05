"""One page that needs nothing else: archives by checks, the trace behind each cell.

No scripts, no foreign fonts, nothing loaded. Verdicts are words and not only colours; every
word that an archive sent is escaped.
"""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from timegate.conformance.catalogue import Check
from timegate.conformance.checks import CHECKS
from timegate.conformance.finding import VERDICTS
from timegate.conformance.report import Report, Result
from timegate.conformance.writing.trace import got, printable, sent

_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem;color:#1a1a1a;background:#fff}
table{border-collapse:collapse}caption{text-align:left;padding:.5rem 0}
th,td{border:1px solid #999;padding:.25rem .5rem;text-align:left;vertical-align:top}
thead th{position:sticky;top:0;background:#eee}
tbody th{font-weight:normal;max-width:26rem}
.fail{background:#ffd9d6}.warn{background:#fff0c2}.pass{background:#dff3e0}
.skip,.unknown{background:#f2f2f2}.unknown{font-style:italic}
summary{cursor:pointer}pre{white-space:pre-wrap;overflow-wrap:anywhere;max-width:40rem}
@media(prefers-color-scheme:dark){body{background:#1a1a1a;color:#eee}thead th{background:#333}
.fail{background:#5c1f1b}.warn{background:#524200}.pass{background:#1d3f20}
.skip,.unknown{background:#2b2b2b}}
"""


def as_html(reports: Sequence[Report], now: str) -> str:
    """Write *reports* as one HTML document."""
    when = f"{now[:4]}-{now[4:6]}-{now[6:8]} {now[8:10]}:{now[10:12]} UTC"
    heads = "".join(f'<th scope="col">{_subject(report)}</th>' for report in reports)
    rows = "\n".join(_row(check, reports) for check in CHECKS.values())
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Conformance to RFC 7089</title>
<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>
<body><h1>Conformance to RFC 7089</h1>
<table><caption>Checked {when}. A cell opens to what was sent, got and expected.
<em>unknown</em>: the archive did not answer; <em>skip</em>: does not apply.</caption>
<thead><tr><th scope="col">requirement</th>{heads}</tr></thead>
<tbody>
{rows}
</tbody></table></body></html>
"""


def _subject(report: Report) -> str:
    counts = ", ".join(f"{report.counts[v]} {v}" for v in VERDICTS if report.counts[v])
    return f"{escape(report.subject.id)}<br><small>{counts}</small>"


def _row(check: Check, reports: Sequence[Report]) -> str:
    where = " ".join(filter(None, (check.rule, check.section)))
    head = f"{escape(check.sentence)}<br><small>{check.level}, {escape(where)}</small>"
    cells = "".join(_cell(report.worst(check)) for report in reports)
    return f'<tr id="{check.name}"><th scope="row">{head}</th>{cells}</tr>'


def _cell(result: Result) -> str:
    verdict = result.finding.verdict
    trace = escape("\n".join(_trace(result)))
    inside = f"<details><summary>{verdict}</summary><pre>{trace}</pre></details>"
    return f'<td class="{verdict}">{inside}</td>'


def _trace(result: Result) -> Iterator[str]:
    yield f"{printable(result.finding.why)} (with {printable(result.sample)})"
    for exchange in result.finding.evidence:
        yield from (f"> {line}" for line in sent(exchange))
        yield from (f"< {line}" for line in got(exchange))
    if result.finding.expected:
        yield f"expected: {printable(result.finding.expected)}"
