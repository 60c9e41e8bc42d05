# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""What archives do that is unusual and right: nothing may raise an alarm."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Final
from urllib.parse import quote

from timegate.misbehave.faults.fault import FaultContext, fault
from timegate.misbehave.faults.linking import DO_NOT_NEGOTIATE, foreign_timegate
from timegate.misbehave.indexes import link, link_header, original_link
from timegate.misbehave.site import (
    PageQuestion,
    ReplayQuestion,
    TimeGateQuestion,
    TimeMapQuestion,
    read_http_date,
)
from timegate.misbehave.wire import WholeAnswer

_DATED: Final = re.compile(r', <[^>]*+>; rel="[^"]*+memento"; datetime="[^"]*+"')
_REL: Final = re.compile(r'; rel="([^"]*+)"')
_visits: Final = count(1)
"""Counts the visits that a banner shows."""
_ALL: Final = (TimeGateQuestion, ReplayQuestion)


def _header(exchange: FaultContext, change: Callable[[str], str]) -> WholeAnswer:
    value = exchange.correct.value("Link")
    return exchange.correct if value is None else exchange.correct.having("Link", change(value))


def _listed(exchange: FaultContext, change: Callable[[str], str]) -> WholeAnswer:
    question = exchange.question
    if not isinstance(question, TimeMapQuestion) or question.form != "link":
        return exchange.correct
    return replace(exchange.correct, body=change(exchange.correct.body.decode()).encode())


@fault(*_ALL)
def header_spelled_oddly(exchange: FaultContext) -> WholeAnswer:
    """No fault: REL in capitals, blanks around signs, relations in another order and case."""

    def turned(found: re.Match[str]) -> str:
        return f' ;  REL = "{" ".join(reversed(found[1].title().split()))}"'

    return _header(exchange, lambda value: _REL.sub(turned, value))


@fault(*_ALL)
def header_in_lines(exchange: FaultContext) -> WholeAnswer:
    """No fault: each link is in a Link field of its own."""
    value = exchange.correct.value("Link")
    if value is None:
        return exchange.correct
    links = tuple(("Link", f"<{part}") for part in value.removeprefix("<").split(", <"))
    bare = exchange.correct.without("Link")
    return replace(bare, headers=(*bare.headers, *links))


@fault(*_ALL)
def header_with_strangers(exchange: FaultContext) -> WholeAnswer:
    """No fault: further links, with unknown relations, an anchor, a title and a language."""
    more = (
        '<http://x.example/a,b;c>; rel="license"; title="a, \\"b\\"; <c>"; hreflang=en, '
        '<http://x.example/>; rel="original"; anchor="http://x.example/other", '
        "<http://x.example/>; rel=describedby; title*=UTF-8''caf%C3%A9"
    )
    return _header(exchange, lambda value: f"{more}, {value}")


@fault(*_ALL)
def header_with_only_the_original(exchange: FaultContext) -> WholeAnswer:
    """No fault: apart from original, timegate and timemap there are no links."""
    return _header(exchange, lambda value: _DATED.sub("", value))


@fault(*_ALL, TimeMapQuestion)
def original_spelled_otherwise(exchange: FaultContext) -> WholeAnswer:
    """No fault: the original is linked under another spelling: https, www, no last slash."""
    original = exchange.original
    other = original.replace("http://", "https://www.").rstrip("/")
    if not original.startswith("http://example.org"):
        return exchange.correct
    written, spelled = f'<{original}>; rel="original"', f'<{other}>; rel="original"'
    changed = _listed(exchange, lambda body: body.replace(written, spelled))
    value = changed.value("Link")
    return changed if value is None else changed.having("Link", value.replace(written, spelled))


@fault(*_ALL)
def relative_addresses(exchange: FaultContext) -> WholeAnswer:
    """No fault: Location and Link have references without scheme and host."""
    base = exchange.site.addresses.base
    path = "/" + base.partition("://")[2].partition("/")[2] if "/~" in base else ""
    fields = (
        (name, value.replace(f"{base}/", f"{path}/") if name in ("Location", "Link") else value)
        for name, value in exchange.correct.headers
    )
    return replace(exchange.correct, headers=tuple(fields))


@fault(TimeMapQuestion)
def list_relative(exchange: FaultContext) -> WholeAnswer:
    """No fault: the addresses in the TimeMap are without scheme and host."""
    base = exchange.site.addresses.base
    path = "/" + base.partition("://")[2].partition("/")[2] if "/~" in base else ""
    return _listed(exchange, lambda body: body.replace(f"<{base}/", f"<{path}/"))


@fault(TimeMapQuestion)
def list_typed_in_capitals(exchange: FaultContext) -> WholeAnswer:
    """No fault: the media type of the TimeMap is in capitals, with a quoted parameter."""
    question = exchange.question
    if not isinstance(question, TimeMapQuestion) or question.form != "link":
        return exchange.correct
    return exchange.correct.having("Content-Type", 'Application/Link-Format; Charset="UTF-8"')


@fault(TimeMapQuestion)
def pages_linked_back(exchange: FaultContext) -> WholeAnswer:
    """No fault: the second page of a TimeMap links the first, at its address as a page."""
    question = exchange.question
    if not isinstance(question, TimeMapQuestion) or question.page != 2:
        return exchange.correct
    address = exchange.site.addresses.timemap("link", exchange.original, 1)
    back = f'<{address}>; rel="timemap"; type="application/link-format"'
    return _listed(exchange, lambda body: f"{body.rstrip()},\n{back}\n")


@fault(TimeGateQuestion)
def location_with_fragment(exchange: FaultContext) -> WholeAnswer:
    """No fault: the Location of the TimeGate ends in a fragment."""
    target = exchange.correct.value("Location")
    return (
        exchange.correct
        if target is None
        else exchange.correct.having("Location", f"{target}#top")
    )


@fault(*_ALL)
def relative_upwards(exchange: FaultContext) -> WholeAnswer:
    """No fault: the targets of links begin with ``..``, from the folder of the address."""
    base = exchange.site.addresses.base
    target = exchange.request.target.partition("?")[0]
    up = "../" * (target.count("/") - 1 - base.partition("://")[2].count("/")) or "./"
    return _header(exchange, lambda value: value.replace(f"<{base}/", f"<{up}"))


@fault(TimeMapQuestion)
def list_self_escaped(exchange: FaultContext) -> WholeAnswer:
    """No fault: the self link has the page percent-encoded."""
    page = exchange.original
    at = exchange.site.addresses.timemap("link", page)
    escaped = at.removesuffix(page) + quote(page, safe="/")
    return _listed(exchange, lambda body: body.replace(f"<{at}>", f"<{escaped}>"))


@fault(TimeMapQuestion)
def list_with_charset(exchange: FaultContext) -> WholeAnswer:
    """No fault: the Content-Type of the TimeMap has a charset."""
    kind = exchange.correct.value("Content-Type") or ""
    return exchange.correct.having("Content-Type", f"{kind}; charset=utf-8")


@fault(TimeMapQuestion)
def list_licensed(exchange: FaultContext) -> WholeAnswer:
    """No fault: mementos in the TimeMap have a license."""
    dated = "; datetime="
    more = '; license="http://creativecommons.org/publicdomain/zero/1.0/"'
    return _listed(exchange, lambda body: body.replace(dated, more + dated))


@fault(TimeMapQuestion)
def list_with_timemaps(exchange: FaultContext) -> WholeAnswer:
    """No fault: the TimeMap links its form in JSON, and the TimeGate of an aggregator."""
    at = exchange.site.addresses.timemap("json", exchange.original)
    more = link(at, "timemap", type="application/json")
    return _listed(exchange, lambda body: f"{more},\n{foreign_timegate()},\n{body}")


@fault(TimeMapQuestion)
def list_unbounded(exchange: FaultContext) -> WholeAnswer:
    """No fault: the TimeMap states neither from nor until, first nor last."""
    bounds = re.compile(r'; (?:from|until)="[^"]*+"')

    def change(body: str) -> str:
        return bounds.sub("", body).replace('"first ', '"').replace('"last ', '"')

    return _listed(exchange, change)


@fault(TimeMapQuestion)
def list_anchored(exchange: FaultContext) -> WholeAnswer:
    """No fault: the Link header of the TimeMap says which page it is about, with an anchor."""
    at = exchange.site.addresses.timemap("link", exchange.original)
    return exchange.correct.having(
        "Link", f'<{at}>; rel="timemap"; anchor="{exchange.original}"'
    )


@fault(TimeMapQuestion)
def list_moved(exchange: FaultContext) -> WholeAnswer:
    """No fault: the TimeMap in link-format is reached by a redirect."""
    question = exchange.question
    if not isinstance(question, TimeMapQuestion) or question.form != "link" or question.page:
        return exchange.correct
    if exchange.correct.status != 200:
        return exchange.correct
    target = exchange.site.addresses.timemap("link", exchange.original, 1)
    return WholeAnswer(301, (("Location", target), ("Content-Type", "text/plain")))


@fault(TimeGateQuestion)
def vary_with_more(exchange: FaultContext) -> WholeAnswer:
    """No fault: Vary has several members, in capitals."""
    return exchange.correct.having("Vary", "Accept-Encoding,ACCEPT-DATETIME , Prefer")


@fault(ReplayQuestion)
def memento_varies_otherwise(exchange: FaultContext) -> WholeAnswer:
    """No fault: mementos vary, but not by Accept-Datetime."""
    return exchange.correct.having("Vary", "accept-encoding, x-accept-datetime")


@fault(ReplayQuestion)
def memento_immutable(exchange: FaultContext) -> WholeAnswer:
    """No fault: mementos are marked immutable."""
    return exchange.correct.having("Cache-Control", "public, max-age=31536000, immutable")


@fault(TimeGateQuestion)
def cached_with_vary(exchange: FaultContext) -> WholeAnswer:
    """No fault: caches may keep the responses of the TimeGate for an hour, by Vary."""
    return exchange.correct.having("Cache-Control", "public, max-age=3600")


@fault(TimeGateQuestion)
def never_cached(exchange: FaultContext) -> WholeAnswer:
    """No fault: the responses of the TimeGate are not to be kept."""
    return exchange.correct.having("Cache-Control", "no-store, max-age=0")


@fault(ReplayQuestion)
def banner_counts(exchange: FaultContext) -> WholeAnswer:
    """No fault: a banner counts visits; the raw view is always the same."""
    question = exchange.question
    if not isinstance(question, ReplayQuestion) or question.modifier:
        return exchange.correct
    banner = f"<div>visit {next(_visits)}</div>".encode()
    return replace(exchange.correct, body=banner + exchange.correct.body)


@fault(ReplayQuestion)
def no_raw_view(exchange: FaultContext) -> WholeAnswer:
    """No fault: there is no raw view."""
    question = exchange.question
    if isinstance(question, ReplayQuestion) and question.modifier:
        return WholeAnswer(404, (("Content-Type", "text/plain"),), b"no raw view\n")
    return exchange.correct


@fault(TimeGateQuestion)
def moved_timegate(exchange: FaultContext) -> WholeAnswer:
    """No fault: a redirect to the TimeGate comes first, with a link to the original."""
    question = exchange.question
    if not isinstance(question, TimeGateQuestion) or question.hop:
        return exchange.correct
    link_field = ("Link", link_header([original_link(exchange.original)]))
    target = exchange.site.addresses.hop(1, exchange.original)
    return WholeAnswer(301, (("Location", target), link_field))


@fault(TimeGateQuestion)
def timegate_of_timegates(exchange: FaultContext) -> WholeAnswer:
    """No fault: a TimeGate redirects to another TimeGate, as aggregators do."""
    question = exchange.question
    refused = exchange.correct.status in (400, 404)
    if not isinstance(question, TimeGateQuestion) or question.hop or refused:
        return exchange.correct
    target = exchange.site.addresses.hop(1, exchange.original)
    return exchange.correct.having("Location", target)


@fault(*_ALL)
def several_timegates(exchange: FaultContext) -> WholeAnswer:
    """No fault: the TimeGate of an aggregator is linked as well."""
    return _header(exchange, lambda value: f"{value}, {foreign_timegate()}")


@fault(TimeGateQuestion)
def lenient_dates(exchange: FaultContext) -> WholeAnswer:
    """A valid date in another format is accepted, like by pywb; anything else is a 400."""
    sent = exchange.request.values("Accept-Datetime")
    if not sent or read_http_date(sent[0]) is not None or not _READABLE.search(sent[0]):
        return exchange.correct
    headers = tuple(h for h in exchange.request.headers if h[0] != "accept-datetime")
    dated = (*headers, ("accept-datetime", "Sat, 15 Jun 2013 08:30:00 GMT"))
    request = replace(exchange.request, headers=dated)
    return replace(exchange, request=request, modified=None).correct


_READABLE: Final = re.compile(r"2013-06-15T|\+0200|Saturday|^sat,|GMT,")


@fault(TimeGateQuestion)
def gone_410(exchange: FaultContext) -> WholeAnswer:
    """No fault: a page that is not held is a 410."""
    answer = exchange.correct
    return replace(answer, status=410) if answer.status == 404 else answer


@fault(PageQuestion)
def linked_in_html(exchange: FaultContext) -> WholeAnswer:
    """No fault: an original links its TimeGate and TimeMap in link elements only."""
    at, page = exchange.site.addresses, exchange.original
    elements = (
        f'<LINK rel="timegate" href="{at.timegate(page)}">'
        f"<link rel='timemap' type=application/link-format href={at.timemap('link', page)}>"
    )
    body = f"<!doctype html><title>a page</title>{elements}".encode()
    return replace(exchange.correct.without("Link"), body=body)


@fault(PageQuestion)
def page_excluded(exchange: FaultContext) -> WholeAnswer:
    """No fault: an original declares that it is not to be negotiated."""
    return exchange.correct.having("Link", DO_NOT_NEGOTIATE)


@fault(PageQuestion)
def linked_twice(exchange: FaultContext) -> WholeAnswer:
    """No fault: an original links its TimeGate in its header and in a link element."""
    element = (
        f'<link href="{exchange.site.addresses.timegate(exchange.original)}" rel=timegate>'
    )
    return replace(exchange.correct, body=exchange.correct.body + element.encode())


@fault(*_ALL)
def archived_to_itself(exchange: FaultContext) -> WholeAnswer:
    """No fault: every capture is a redirect from http to https, replayed with its Location."""
    target = exchange.original.replace("http:", "https:", 1)
    held = exchange.site.holdings.everything()
    archived = [replace(capture, status=301, location=target) for capture in held]
    return exchange.holding(*archived).correct
