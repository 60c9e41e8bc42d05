"""Right looks into the index: pywb's CDX server, and the Wayback Machine's.

Only what programs use: url, output, from, to, closest, sort, limit, fl/fields, resume keys.
"""

import json
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote_plus

from timegate.misbehave.addresses import CdxQuestion
from timegate.misbehave.captures import FakeCapture, distance, read_stamp, urlkey
from timegate.misbehave.site import FakeSite
from timegate.misbehave.wire import WholeAnswer

PYWB_FIELDS: Final = ("urlkey", "timestamp", "url", "mime", "status", "digest", "length")
WAYBACK_FIELDS: Final = (
    "urlkey",
    "timestamp",
    "original",
    "mimetype",
    "statuscode",
    "digest",
    "length",
)


def cdx(site: FakeSite, question: CdxQuestion) -> WholeAnswer:
    """Answer a look-up in the dialect that was asked for."""
    if not question.parameters.get("url"):
        body = json.dumps({"message": 'The "url" param is required'}).encode()
        return WholeAnswer(400, (("Content-Type", "application/json"),), body)
    if question.dialect == "pywb":
        return _pywb(site, question.parameters)
    return _wayback(site, question.parameters)


def _found(site: FakeSite, parameters: dict[str, str]) -> list[FakeCapture]:
    """Return the captures asked for; bounds are included, and may be prefixes."""
    earliest, latest = parameters.get("from", ""), parameters.get("to", "")
    held = [
        capture
        for capture in site.holdings.of(parameters["url"])
        if capture.stamp >= earliest and (not latest or capture.stamp[: len(latest)] <= latest)
    ]
    at = read_stamp(parameters.get("closest", ""))
    if parameters.get("sort") == "closest" and at is not None:
        held.sort(key=lambda capture: distance(capture, at))
    return held


def _limited(found: Sequence[FakeCapture], parameters: dict[str, str]) -> list[FakeCapture]:
    limit = parameters.get("limit", "")
    return list(found[: int(limit)] if limit.isascii() and limit.isdecimal() else found)


def _values(capture: FakeCapture) -> tuple[str, ...]:
    return (
        urlkey(capture.original),
        capture.stamp,
        capture.original,
        capture.mime,
        str(capture.status),
        capture.digest,
        str(len(capture.content)),
    )


def _chosen(parameters: dict[str, str], fields: Sequence[str]) -> list[str]:
    asked = parameters.get("fl") or parameters.get("fields")
    return [name for name in asked.split(",") if name in fields] if asked else list(fields)


def _pywb(site: FakeSite, parameters: dict[str, str]) -> WholeAnswer:
    names = _chosen(parameters, PYWB_FIELDS)
    rows = [
        dict(zip(PYWB_FIELDS, _values(capture), strict=True))
        for capture in _limited(_found(site, parameters), parameters)
    ]
    if parameters.get("output") == "json":
        lines = [json.dumps({name: row[name] for name in names}) for row in rows]
        content_type = "text/x-ndjson"
    else:
        lines = [
            f"{row.pop('urlkey')} {row.pop('timestamp')} {json.dumps(row)}" for row in rows
        ]
        content_type = "text/x-cdxj"
    body = "".join(f"{line}\n" for line in lines).encode()
    return WholeAnswer(200, (("Content-Type", content_type),), body)


def _wayback(site: FakeSite, parameters: dict[str, str]) -> WholeAnswer:
    """Answer with lines of words, or with one JSON array whose first row names the fields."""
    found = _found(site, parameters)
    resumed = _after(found, parameters.get("resumeKey"))
    listed = _limited(resumed, parameters)
    names = _chosen(parameters, WAYBACK_FIELDS)
    columns = [WAYBACK_FIELDS.index(name) for name in names]
    rows = [[_values(capture)[column] for column in columns] for capture in listed]
    more = parameters.get("showResumeKey") == "true" and len(listed) < len(resumed)
    key = resume_key(listed[-1]) if more and listed else None
    if parameters.get("output") == "json":
        return _as_array(names, rows, key)
    ending = [] if key is None else ["", key]
    lines = [" ".join(row) for row in rows] + ending
    body = "".join(f"{line}\n" for line in lines).encode()
    return WholeAnswer(200, (("Content-Type", "text/plain"),), body)


def _as_array(names: list[str], rows: list[list[str]], key: str | None) -> WholeAnswer:
    table = [names, *rows] if rows else []
    if key is not None:
        table = [*table, [], [key]]
    body = json.dumps(table).encode()
    return WholeAnswer(200, (("Content-Type", "application/json"),), body)


def resume_key(capture: FakeCapture) -> str:
    """Write where a list was cut: ``org%2Cexample%29%2F+20100101120000%21``."""
    return quote_plus(f"{urlkey(capture.original)} {capture.stamp}!")


def _after(found: Sequence[FakeCapture], key: str | None) -> list[FakeCapture]:
    """Return what comes behind *key*, which a client may send back as it came or decoded."""
    keys = [resume_key(capture) for capture in found]
    sent = None if key is None else quote_plus(key) if "!" in key else key
    return list(found[keys.index(sent) + 1 :] if sent in keys else found)
