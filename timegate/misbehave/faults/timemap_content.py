# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""TimeMaps that break one rule of RFC 7089 each, and are right otherwise."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from timegate.misbehave.addresses import TimeMapQuestion
from timegate.misbehave.captures import http_date
from timegate.misbehave.faults.fault import FaultContext, fault
from timegate.misbehave.indexes import FakeLink, link_body, timemap_links
from timegate.misbehave.wire import WholeAnswer


def _form(exchange: FaultContext) -> str:
    listed = exchange.right.status == 200 and isinstance(exchange.question, TimeMapQuestion)
    return (
        exchange.question.form
        if listed and isinstance(exchange.question, TimeMapQuestion)
        else ""
    )


def _relinked(
    exchange: FaultContext, change: Callable[[list[FakeLink]], Sequence[FakeLink]]
) -> WholeAnswer:
    question = exchange.question
    if _form(exchange) != "link" or not isinstance(question, TimeMapQuestion):
        return exchange.right
    links = change(timemap_links(exchange.site, question))
    return replace(exchange.right, body=link_body(links))


def _without(exchange: FaultContext, relation: str) -> WholeAnswer:
    return _relinked(exchange, lambda links: [n for n in links if relation not in n.relations])


@fault(TimeMapQuestion)
def list_no_original(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap does not list the original."""
    return _without(exchange, "original")


@fault(TimeMapQuestion)
def list_no_timegate(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap does not list the TimeGate."""
    return _without(exchange, "timegate")


@fault(TimeMapQuestion)
def list_no_self(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap does not list itself."""
    return _without(exchange, "self")


@fault(TimeMapQuestion)
def list_misses_one(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap in link-format leaves out the last memento."""
    return _relinked(exchange, lambda links: links[:-1])


@fault(TimeMapQuestion)
def list_wrong_first(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap calls its second memento the first."""

    def turned(links: list[FakeLink]) -> list[FakeLink]:
        mementos = [i for i, link in enumerate(links) if "memento" in link.relations]
        one, two = mementos[:2]
        links[one] = links[one].having("rel", "memento")
        links[two] = links[two].having("rel", "first memento")
        return links

    return _relinked(exchange, turned)


@fault(TimeMapQuestion)
def list_until_too_early(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap says that it ends with its first memento."""
    held = exchange.site.holdings.of(exchange.original)
    return _relinked(
        exchange, lambda links: [link.having("until", http_date(held[0].at)) for link in links]
    )


@fault(TimeMapQuestion)
def list_undated(exchange: FaultContext) -> WholeAnswer:
    """The last memento of the TimeMap has a date of another form."""
    return _relinked(
        exchange, lambda links: [*links[:-1], links[-1].having("datetime", "2020-02-02")]
    )


@fault(TimeMapQuestion)
def list_plain(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap says that it is text/plain."""
    if _form(exchange) != "link":
        return exchange.right
    return exchange.right.having("Content-Type", "text/plain")


@fault(TimeMapQuestion)
def list_page(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap in link-format is a web page."""
    if _form(exchange) != "link":
        return exchange.right
    page = b"<!doctype html><title>captures</title>\n"
    return replace(exchange.right, body=page).having("Content-Type", "text/html")


@fault(TimeMapQuestion)
def list_negotiates(exchange: FaultContext) -> WholeAnswer:
    """With Accept-Datetime the TimeMap lists only what is from then on (as pywb does)."""
    asked = exchange.asked
    held = exchange.site.holdings.of(exchange.original)
    if asked is None or not held:
        return exchange.right
    return exchange.holding(*(each for each in held if each.at >= asked)).right


@fault(TimeMapQuestion)
def list_varies(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap has Vary: accept-datetime, as if it were a TimeGate (as pywb's has)."""
    return exchange.right.having("Vary", "accept-datetime")


@fault(TimeMapQuestion)
def list_is_a_memento(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap has a Memento-Datetime."""
    if not _form(exchange):
        return exchange.right
    return exchange.right.having("Memento-Datetime", "Sat, 15 Jun 2013 08:30:00 GMT")


@fault(TimeMapQuestion)
def list_unknown_200(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap of a page that was never captured is an empty 200."""
    answer = exchange.right
    return replace(answer, status=200) if answer.status == 404 else answer


@fault(TimeMapQuestion)
def list_head_404(exchange: FaultContext) -> WholeAnswer:
    """HEAD on a TimeMap is answered with 404."""
    head = exchange.request.method == "HEAD"
    return replace(exchange.right, status=404) if head else exchange.right


@fault(TimeMapQuestion)
def json_misses_one(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap in JSON leaves out a memento."""
    if _form(exchange) != "json":
        return exchange.right
    document = json.loads(exchange.right.body)
    document["mementos"]["list"].pop(1)
    return replace(exchange.right, body=json.dumps(document, indent=1).encode())


@fault(TimeMapQuestion)
def cdxj_misses_one(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap in CDXJ leaves out a memento."""
    if _form(exchange) != "cdxj":
        return exchange.right
    lines = exchange.right.body.splitlines(keepends=True)
    return replace(exchange.right, body=b"".join(lines[:-1]))


@fault(TimeMapQuestion)
def page_missing(exchange: FaultContext) -> WholeAnswer:
    """Pages of a TimeMap other than the first are not there."""
    question = exchange.question
    if isinstance(question, TimeMapQuestion) and (question.page or 1) > 1:
        return WholeAnswer(404, (("Content-Type", "text/plain"),), b"no such page\n")
    return exchange.right
