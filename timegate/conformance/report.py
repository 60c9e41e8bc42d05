"""The report of a run, and its text, JSON and HTML forms.

What an archive sent is escaped and shortened before it is printed.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from html import escape
from typing import Final

from archives.errors import UnforeseenLog, place_of
from timegate.conformance.catalogue import VERDICTS, Check, Finding, Level, Verdict
from timegate.conformance.checks import CHECKS
from timegate.conformance.facts import Facts, Pattern
from timegate.conformance.session import RecordedExchange
from timegate.conformance.subject import Role, Subject
from timegate.text import escaped

_JUDGED: Final = ("pass", "fail", "warn")
UNFORESEEN_CHECKS: Final = UnforeseenLog("check-internal-error")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The finding of one check with one sample page."""

    check: Check
    sample: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class Report:
    """All results of one archive."""

    subject: Subject
    results: tuple[CheckResult, ...]
    requests: int
    """Number of requests, including those answered from a recording."""
    patterns: tuple[Pattern, ...] = ()
    """The pattern of RFC 7089 4 that was recognised with each sample."""

    @property
    def counts(self) -> Counter[Verdict]:
        return Counter(result.finding.verdict for result in self.results)

    def unanswered(self, levels: AbstractSet[Level]) -> bool:
        """Whether a requirement of these *levels* could not be judged."""
        graded = (result for result in self.results if result.check.level in levels)
        return any(result.finding.verdict == "unknown" for result in graded)

    @property
    def is_mostly_unknown(self) -> bool:
        """Whether more MUSTs are unknown than judged."""
        musts = [r.finding.verdict for r in self.results if r.check.level == "must"]
        return musts.count("unknown") > sum(verdict in _JUDGED for verdict in musts)

    @property
    def silence(self) -> str:
        """Why nothing at all could be judged; empty if something was."""
        open_ones = [r.finding for r in self.results if r.finding.verdict != "skip"]
        if not open_ones or any(finding.verdict in _JUDGED for finding in open_ones):
            return ""
        return Counter(finding.why for finding in open_ones).most_common(1)[0][0]

    def pattern(self, sample: str) -> str:
        """Return the pattern that was recognised with *sample*; empty if none was."""
        return dict(zip(self.subject.samples, self.patterns, strict=False)).get(sample, "")

    def worst(self, check: Check) -> CheckResult:
        """Return the worst result of *check* over all pages, for a table with one cell."""
        order: Sequence[Verdict] = ("fail", "warn", "unknown", "pass", "skip")
        mine = [result for result in self.results if result.check is check]
        return min(mine, key=lambda result: order.index(result.finding.verdict))


def judged(facts: Facts) -> tuple[CheckResult, ...]:
    """Run every check on *facts*."""
    return tuple(
        CheckResult(check, facts.sample, _finding(check, facts)) for check in CHECKS.values()
    )


def _finding(check: Check, facts: Facts) -> Finding:
    """Run *check*; an unforeseen exception affects only its own result."""
    try:
        return check(facts)
    except Exception as error:  # noqa: BLE001 -- the boundary around each check
        UNFORESEEN_CHECKS(error)
        return _unforeseen(error)


def undecided(sample: str, error: Exception) -> tuple[CheckResult, ...]:
    """Return the results of a page whose facts could not be gathered."""
    UNFORESEEN_CHECKS(error)
    return tuple(CheckResult(check, sample, _unforeseen(error)) for check in CHECKS.values())


def _unforeseen(error: Exception) -> Finding:
    return Finding("unknown", f"internal error of this program ({place_of(error)})")


_SHOWN_HEADERS: Final = (
    *("location", "content-location", "memento-datetime", "vary", "link", "content-type"),
    *("access-control-allow-origin", "access-control-allow-headers", "retry-after"),
)
_LONGEST_TEXT: Final = 600
"""Characters; the Link header of a paged TimeMap may be as long as this report."""


def request_lines(exchange: RecordedExchange) -> Iterator[str]:
    """Yield the method, the address and the header fields of the request."""
    yield f"{exchange.request.method} {printable(exchange.request.url)}"
    for name, value in exchange.request.headers.items():
        yield f"{name.title()}: {printable(value)}"


def response_lines(exchange: RecordedExchange) -> Iterator[str]:
    """Yield the status and the header fields of the response that concern Memento."""
    if exchange.status is not None:
        yield str(exchange.status)
    for name in _SHOWN_HEADERS:
        if name in exchange.headers:
            yield f"{name.title()}: {printable(exchange.headers[name])}"
    if exchange.trouble is not None:
        yield f"({exchange.trouble.kind}: {printable(exchange.trouble.why)})"


def printable(text: str) -> str:
    """Return *text*, shortened, with what terminals or XML would interpret escaped."""
    shown = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
    return escaped(shown)


_WRONG: Final = ("fail", "warn")


def summary(report: Report) -> str:
    """Return the number of each verdict in one line."""
    counts = ", ".join(f"{report.counts[v]} {v}" for v in VERDICTS if report.counts[v])
    return f"{report.subject.id}: {counts} ({report.requests} requests)"


_UNCHECKED: Final[Mapping[Role, str]] = {
    "timegate": "",
    "original": "",
    "timemap": "; of its TimeGate only that it exists is checked",
    "memento": "; of its TimeGate only that it exists is checked",
}


def described(subject: Subject) -> str:
    """Return what was checked and, where its kind was detected, why, in one line."""
    line = f"{subject.id}: {subject.role} {subject.url}"
    if not subject.detected:
        return printable(line)
    why = f"recognised as {subject.role}, because {subject.detected}; else use --kind"
    return printable(f"{line} ({why}{_UNCHECKED[subject.role]})")


def lines(report: Report, *, verbose: bool) -> Iterator[str]:
    """Yield *report* as text; *verbose*: with the checks that do not apply."""
    subject = report.subject
    yield described(subject)
    if report.silence and not verbose:
        yield f"  nothing could be judged: {printable(report.silence)}"
        yield summary(report)
        return
    for sample in subject.samples:
        pattern = report.pattern(sample)
        known = f", pattern {pattern} of RFC 7089" if pattern else ""
        yield f"  with {printable(sample)}{known}"
        for result in report.results:
            if result.sample == sample and (verbose or result.finding.verdict != "skip"):
                yield from _result(result)
    yield summary(report)


def _result(result: CheckResult) -> Iterator[str]:
    check, finding = result.check, result.finding
    name = f"{finding.verdict:<8}{check.rule:<5}{check.level:<9}{check.name}"
    yield f"  {name}: {printable(finding.why)}"
    if finding.verdict in _WRONG:
        yield f"          {check.sentence} ({check.section})"
        yield from (f"          {line}" for line in trace(result))


def trace(result: CheckResult) -> Iterator[str]:
    """Yield the exchanges behind a finding, and what was expected."""
    for exchange in result.finding.evidence:
        yield from (f"> {line}" for line in request_lines(exchange))
        yield from (f"< {line}" for line in response_lines(exchange))
    if result.finding.expected:
        yield f"expected: {printable(result.finding.expected)}"


def as_json(
    reports: Sequence[Report], now: str, code: int, graded: Mapping[str, object]
) -> str:
    """Return *reports* as one JSON object; *graded* says what failed the run."""
    document = {
        "checked": now,
        "exit_code": code,
        **graded,
        "archives": [_report_json(report) for report in reports],
    }
    return json.dumps(document, indent=1)


def _report_json(report: Report) -> dict[str, object]:
    subject = report.subject
    return {
        "id": subject.id,
        "name": subject.name,
        "kind": subject.role,
        "detected": subject.detected or None,
        "url": subject.url,
        "samples": list(subject.samples),
        "patterns": [report.pattern(sample) or None for sample in subject.samples],
        "requests": report.requests,
        "counts": dict(report.counts),
        "results": [_result_json(result) for result in report.results],
    }


def _result_json(result: CheckResult) -> dict[str, object]:
    check, finding = result.check, result.finding
    return {
        "check": check.name,
        "rule": check.rule or None,
        "level": check.level,
        "section": check.section,
        "sentence": check.sentence,
        "sample": result.sample,
        "verdict": finding.verdict,
        "why": finding.why,
        "expected": finding.expected or None,
        "trace": [_exchange_json(exchange) for exchange in finding.evidence],
    }


def _exchange_json(exchange: RecordedExchange) -> dict[str, object]:
    request, trouble = exchange.request, exchange.trouble
    return {
        "method": request.method,
        "url": request.url,
        "sent": dict(request.headers),
        "status": exchange.status,
        "got": dict(exchange.headers),
        "trouble": None if trouble is None else {"kind": trouble.kind, "why": trouble.why},
        "seconds": round(exchange.seconds, 3),
    }


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
    where = escape(described(subject))
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
