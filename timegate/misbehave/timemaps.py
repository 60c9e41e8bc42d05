"""Right TimeMaps (M-50 to M-53): link-format, JSON and CDXJ; whole, paged, or as an index."""

import json
from collections.abc import Sequence
from typing import Final

from timegate.misbehave.addresses import FORMS, TimeMapQuestion
from timegate.misbehave.captures import FakeCapture, http_date
from timegate.misbehave.links import FakeLink, link, memento_link, original_link
from timegate.misbehave.site import FakeSite
from timegate.misbehave.wire import WholeAnswer

CONTENT_TYPES: Final = {
    "link": "application/link-format",
    "json": "application/json",
    "cdxj": "application/cdxj+ors",
}


def timemap(site: FakeSite, question: TimeMapQuestion) -> WholeAnswer:
    """Answer with the captures of a page, or 404 if there are none."""
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
    """Write links as a TimeMap: one a line, no comma at the end."""
    return (",\n".join(map(str, links)) + "\n").encode()


def timemap_links(site: FakeSite, question: TimeMapQuestion) -> list[FakeLink]:
    """Return what the TimeMap *question* asks for lists, in the order it lists it."""
    original = question.original
    first = [
        original_link(original),
        link(site.addresses.timegate(original), "timegate"),
        _self(site, question),
    ]
    return [*first, *_page_links(site, question), *_memento_links(site, question)]


def pages(site: FakeSite, original: str) -> list[list[FakeCapture]]:
    """Cut the captures of a page of the web into pages of a TimeMap."""
    held, size = site.holdings.of(original), site.manner.page_size
    return [held[start : start + size] for start in range(0, len(held), size)]


def _listed(site: FakeSite, question: TimeMapQuestion) -> list[FakeCapture]:
    if site.manner.timemap == "whole":
        return site.holdings.of(question.original)
    if question.page is None and site.manner.timemap == "index":
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
    """Link the other pages: all of them from an index, the next one from a page."""
    if site.manner.timemap == "whole":
        return []
    parts = list(enumerate(pages(site, question.original), start=1))
    if site.manner.timemap == "pages" or question.page is not None:
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
    """Name a capture among all that are *held*: ``first last memento`` if it is alone (M-8)."""
    words = [
        *(["first"] if capture is held[0] else []),
        *(["last"] if capture is held[-1] else []),
    ]
    return " ".join([*words, "memento"])


def _as_json(site: FakeSite, question: TimeMapQuestion) -> dict[str, object]:
    """Write the form of MemGator and Time Travel, paging included."""
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
    """Write MemGator's CDXJ, which has no pages: always whole."""
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
