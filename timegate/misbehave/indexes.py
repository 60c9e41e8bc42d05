"""Correct lists: links, TimeMaps in three formats (M-50 to M-53), and CDX."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote_plus

from timegate.misbehave.site import (
    FORMS,
    CdxQuestion,
    FakeCapture,
    FakeSite,
    TimeMapQuestion,
    distance,
    http_date,
    read_stamp,
    urlkey,
)
from timegate.misbehave.wire import WholeAnswer


@dataclass(frozen=True, slots=True)
class FakeLink:
    """One link: its target and attributes."""

    target: str
    attributes: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """Write the link in the usual form."""
        return "; ".join([f"<{self.target}>", *(f'{k}="{v}"' for k, v in self.attributes)])

    @property
    def relations(self) -> list[str]:
        """Its relation types."""
        return next((v.split() for k, v in self.attributes if k == "rel"), [])

    def having(self, name: str, value: str) -> "FakeLink":
        """Return the same link with another value for one of its attributes."""
        changed = tuple((k, value if k == name else v) for k, v in self.attributes)
        return replace(self, attributes=changed)


def link(target: str, rel: str, **attributes: str) -> FakeLink:
    """Return a link whose first attribute is its relation."""
    return FakeLink(target, (("rel", rel), *attributes.items()))


def link_header(links: Iterable[FakeLink]) -> str:
    """Write *links* as the value of a Link field."""
    return ", ".join(map(str, links))


def original_link(original: str) -> FakeLink:
    """Return the link that every answer of a TimeGate or memento has once (M-6)."""
    return link(original, "original")


def service_links(site: FakeSite, original: str) -> list[FakeLink]:
    """Return the links to TimeGate and TimeMap (M-7)."""
    at = site.addresses
    timemap = link(at.timemap("link", original), "timemap", type="application/link-format")
    if site.options.timegate == "none":
        return [timemap]
    return [link(at.timegate(original), "timegate"), timemap]


def memento_link(site: FakeSite, capture: FakeCapture, rel: str) -> FakeLink:
    """Return a link to a capture."""
    return link(site.addresses.memento(capture), rel, datetime=http_date(capture.at))


def neighbour_links(site: FakeSite, chosen: FakeCapture) -> list[FakeLink]:
    """Return links to the first, prev, chosen, next and last capture, each once, in order."""
    held = site.holdings.of(chosen.original)
    place = held.index(chosen)
    relations: dict[int, list[str]] = {}
    for index, relation in (
        (0, "first"),
        (place - 1, "prev"),
        (place + 1, "next"),
        (len(held) - 1, "last"),
    ):
        if 0 <= index < len(held):
            relations.setdefault(index, []).append(relation)
    relations.setdefault(place, [])
    return [
        memento_link(site, held[index], " ".join([*relations[index], "memento"]))
        for index in sorted(relations)
    ]


CONTENT_TYPES: Final = {
    "link": "application/link-format",
    "json": "application/json",
    "cdxj": "application/cdxj+ors",
}


def timemap(site: FakeSite, question: TimeMapQuestion) -> WholeAnswer:
    """Answer with the captures of a page, or with 404 if there are none."""
    form = question.form
    held = site.holdings.of(question.original)
    if not held:
        return WholeAnswer(404, (("Content-Type", CONTENT_TYPES[form]),))
    if form == "link":
        body = link_body(timemap_links(site, question))
    elif form == "json":
        body = json.dumps(_as_json(site, question), indent=1).encode()
    else:
        body = _as_cdxj(site, question.original)
    return WholeAnswer(200, (("Content-Type", CONTENT_TYPES[form]),), body)


def link_body(links: Sequence[FakeLink]) -> bytes:
    """Write links as a TimeMap, one a line, without a comma at the end."""
    return (",\n".join(map(str, links)) + "\n").encode()


def timemap_links(site: FakeSite, question: TimeMapQuestion) -> list[FakeLink]:
    """Return the links of the requested TimeMap, in order."""
    original = question.original
    timegates = [] if site.options.timegate == "none" else service_links(site, original)[:1]
    first = [original_link(original), *timegates, _self(site, question)]
    return [*first, *_page_links(site, question), *_memento_links(site, question)]


def pages(site: FakeSite, original: str) -> list[list[FakeCapture]]:
    """Divide the captures of an original into pages of a TimeMap."""
    held, size = site.holdings.of(original), site.options.page_size
    return [held[start : start + size] for start in range(0, len(held), size)]


def _listed(site: FakeSite, question: TimeMapQuestion) -> list[FakeCapture]:
    if site.options.timemap == "whole":
        return site.holdings.of(question.original)
    if question.page is None and site.options.timemap == "index":
        return []
    number = (question.page or 1) - 1
    parts = pages(site, question.original)
    return parts[number] if number < len(parts) else []


def _self(site: FakeSite, question: TimeMapQuestion) -> FakeLink:
    original = question.original
    listed = _listed(site, question) or site.holdings.of(original)
    return link(
        site.addresses.timemap("link", original, question.page),
        "self",
        type="application/link-format",
        **{"from": http_date(listed[0].at), "until": http_date(listed[-1].at)},
    )


def _page_links(site: FakeSite, question: TimeMapQuestion) -> list[FakeLink]:
    """Return links to other pages: all of them in an index, the next one in a page."""
    if site.options.timemap == "whole":
        return []
    parts = list(enumerate(pages(site, question.original), start=1))
    if site.options.timemap == "pages" or question.page is not None:
        parts = parts[question.page or 1 :][:1]
    return [
        link(
            site.addresses.timemap("link", question.original, number),
            "timemap",
            type="application/link-format",
            **{"from": http_date(part[0].at), "until": http_date(part[-1].at)},
        )
        for number, part in parts
    ]


def _memento_links(site: FakeSite, question: TimeMapQuestion) -> list[FakeLink]:
    held = site.holdings.of(question.original)
    return [
        memento_link(site, capture, relation(capture, held))
        for capture in _listed(site, question)
    ]


def relation(capture: FakeCapture, held: Sequence[FakeCapture]) -> str:
    """Return the relation of a capture in *held*: ``first last memento`` if alone (M-8)."""
    words = [
        *(["first"] if capture is held[0] else []),
        *(["last"] if capture is held[-1] else []),
    ]
    return " ".join([*words, "memento"])


def _as_json(site: FakeSite, question: TimeMapQuestion) -> dict[str, object]:
    """Return the JSON of MemGator and Time Travel, with pages."""
    original, at = question.original, site.addresses
    held, listed = site.holdings.of(original), _listed(site, question)
    document: dict[str, object] = {
        "original_uri": original,
        "self": at.timemap("json", original, question.page),
        "timegate_uri": at.timegate(original),
        "timemap_uri": {f"{form}_format": at.timemap(form, original) for form in FORMS},
    }
    others = [
        link.target.replace("/timemap/link/", "/timemap/json/", 1)
        for link in _page_links(site, question)
    ]
    if others and not listed:
        return document | {"timemap_index": [{"uri": uri} for uri in others]}
    if others:
        document["pages"] = {"next": {"uri": others[0]}}
    mementos = {
        "list": [_entry(site, capture) for capture in listed],
        "first": _entry(site, held[0]),
        "last": _entry(site, held[-1]),
    }
    return document | {"mementos": mementos}


def _entry(site: FakeSite, capture: FakeCapture) -> dict[str, str]:
    return {
        "datetime": f"{capture.at:%Y-%m-%dT%H:%M:%SZ}",
        "uri": site.addresses.memento(capture),
    }


def _as_cdxj(site: FakeSite, original: str) -> bytes:
    """Return MemGator's CDXJ, which has no pages."""
    at, held = site.addresses, site.holdings.of(original)
    lines = [
        '!context ["http://tools.ietf.org/html/rfc7089"]',
        f"!id {json.dumps({'uri': at.timemap('cdxj', original)})}",
        '!keys ["memento_datetime_YYYYMMDDhhmmss"]',
        f"!meta {json.dumps({'original_uri': original})}",
        f"!meta {json.dumps({'timegate_uri': at.timegate(original)})}",
    ]
    for capture in held:
        block = {
            "uri": at.memento(capture),
            "rel": relation(capture, held),
            "datetime": http_date(capture.at),
        }
        lines.append(f"{capture.stamp} {json.dumps(block)}")
    return ("\n".join(lines) + "\n").encode()


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
    """Answer a query in the requested dialect."""
    if not question.parameters.get("url"):
        body = json.dumps({"message": 'The "url" param is required'}).encode()
        return WholeAnswer(400, (("Content-Type", "application/json"),), body)
    if question.dialect == "pywb":
        return _pywb(site, question.parameters)
    return _wayback(site, question.parameters)


def _found(site: FakeSite, parameters: dict[str, str]) -> list[FakeCapture]:
    """Return the requested captures; bounds are inclusive, and may be prefixes."""
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


def _selected_fields(parameters: dict[str, str], fields: Sequence[str]) -> list[str]:
    names = parameters.get("fl") or parameters.get("fields")
    return [name for name in names.split(",") if name in fields] if names else list(fields)


def _pywb(site: FakeSite, parameters: dict[str, str]) -> WholeAnswer:
    names = _selected_fields(parameters, PYWB_FIELDS)
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
    """Answer with lines of text, or with a JSON array whose first row names the fields."""
    found = _found(site, parameters)
    resumed = _after_key(found, parameters.get("resumeKey"))
    listed = _limited(resumed, parameters)
    names = _selected_fields(parameters, WAYBACK_FIELDS)
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
    """Return the key after which a list goes on: ``org%2Cexample%29%2F+20100101120000%21``."""
    return quote_plus(f"{urlkey(capture.original)} {capture.stamp}!")


def _after_key(found: Sequence[FakeCapture], key: str | None) -> list[FakeCapture]:
    """Return what follows *key*, which a client may send back encoded or decoded."""
    keys = [resume_key(capture) for capture in found]
    sent = None if key is None else quote_plus(key) if "!" in key else key
    return list(found[keys.index(sent) + 1 :] if sent in keys else found)
