"""A report for programs: one object for each archive."""

import json
from collections.abc import Sequence

from timegate.conformance.exchange import RecordedExchange
from timegate.conformance.report import CheckResult, Report


def as_json(reports: Sequence[Report], now: str, code: int) -> str:
    """Write *reports* as one JSON object."""
    document = {
        "checked": now,
        "exit_code": code,
        "archives": [_report(report) for report in reports],
    }
    return json.dumps(document, indent=1)


def _report(report: Report) -> dict[str, object]:
    subject = report.subject
    return {
        "id": subject.id,
        "name": subject.name,
        "kind": subject.role,
        "url": subject.url,
        "samples": list(subject.samples),
        "requests": report.requests,
        "counts": dict(report.counts),
        "results": [_result(result) for result in report.results],
    }


def _result(result: CheckResult) -> dict[str, object]:
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
        "trace": [_exchange(exchange) for exchange in finding.evidence],
    }


def _exchange(exchange: RecordedExchange) -> dict[str, object]:
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
