# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""TimeMaps that are hard to parse, endless, badly ordered, or break one rule of RFC 7089."""

import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from timegate.misbehave.faults.fault import FaultContext, fault
from timegate.misbehave.indexes import FakeLink, link, link_body, resume_key, timemap_links
from timegate.misbehave.site import CdxQuestion, TimeMapQuestion, http_date
from timegate.misbehave.wire import RawAnswer, WholeAnswer, chunk, head

PIECE: Final = 65_536


def _form(exchange: FaultContext) -> str:
    """Return the format of the TimeMap that is sent; empty where none is."""
    question = exchange.question
    if exchange.correct.status != 200 or not isinstance(question, TimeMapQuestion):
        return ""
    return question.form


def _links(exchange: FaultContext) -> list[FakeLink]:
    """Return the links of a TimeMap in link-format; empty for other requests."""
    question = exchange.question
    if _form(exchange) != "link" or not isinstance(question, TimeMapQuestion):
        return []
    return timemap_links(exchange.site, question)


def _relinked(
    exchange: FaultContext, change: Callable[[list[FakeLink]], Sequence[FakeLink]]
) -> WholeAnswer:
    links = _links(exchange)
    return (
        replace(exchange.correct, body=link_body(change(links))) if links else exchange.correct
    )


def _rewritten(exchange: FaultContext, write: Callable[[FakeLink], str]) -> WholeAnswer:
    links = _links(exchange)
    if not links:
        return exchange.correct
    body = ",\n".join(map(write, links)) + "\n"
    return replace(exchange.correct, body=body.encode())


def _reordered(
    exchange: FaultContext, order: Callable[[Sequence[FakeLink]], Sequence[FakeLink]]
) -> WholeAnswer:
    def change(links: list[FakeLink]) -> list[FakeLink]:
        mementos = [link for link in links if "memento" in link.relations]
        others = [link for link in links if "memento" not in link.relations]
        return [*others, *order(mementos)]

    return _relinked(exchange, change)


# Unusual syntax: all of these list what the correct TimeMap lists.


@fault(TimeMapQuestion)
def rel_reordered(exchange: FaultContext) -> WholeAnswer:
    """No fault: rel is the last attribute, its words in another order (``memento first``)."""

    def write(link: FakeLink) -> str:
        turned = link.having("rel", " ".join(reversed(link.relations)))
        return str(replace(turned, attributes=tuple(reversed(turned.attributes))))

    return _rewritten(exchange, write)


@fault(TimeMapQuestion)
def rel_unquoted(exchange: FaultContext) -> WholeAnswer:
    """No fault: a rel with one word has no quotes."""

    def write(link: FakeLink) -> str:
        word = " ".join(link.relations)
        return str(link) if " " in word else str(link).replace(f'"{word}"', word, 1)

    return _rewritten(exchange, write)


@fault(TimeMapQuestion)
def single_quotes(exchange: FaultContext) -> WholeAnswer:
    """Attribute values are in single quotes, which RFC 8288 does not allow."""
    return _rewritten(exchange, lambda link: str(link).replace('"', "'"))


@fault(TimeMapQuestion)
def extra_parameters(exchange: FaultContext) -> WholeAnswer:
    """No fault: links have further attributes with commas, semicolons and brackets."""
    more = '; title="a, b; <c> \\"d\\""; license="http://example.org/l"; alone'
    return _rewritten(exchange, lambda link: f"{link}{more}")


@fault(TimeMapQuestion)
def no_final_newline(exchange: FaultContext) -> WholeAnswer:
    """No fault: the last line has no newline."""
    return replace(exchange.correct, body=exchange.correct.body.rstrip(b"\n"))


@fault(TimeMapQuestion)
def no_commas(exchange: FaultContext) -> WholeAnswer:
    """Links are on separate lines without commas (like one in figure 30 of RFC 7089)."""
    return replace(exchange.correct, body=exchange.correct.body.replace(b",\n", b"\n"))


@fault(TimeMapQuestion)
def latin_1(exchange: FaultContext) -> WholeAnswer:
    """Titles contain Latin-1 bytes, which are not UTF-8."""
    answer = _rewritten(exchange, lambda link: f'{link}; title="Café"')
    return replace(answer, body=answer.body.decode().encode("latin-1"))


@fault(TimeMapQuestion)
def byte_order_mark(exchange: FaultContext) -> WholeAnswer:
    """The body begins with a byte order mark."""
    return replace(exchange.correct, body=b"\xef\xbb\xbf" + exchange.correct.body)


# Documents that no parser can read completely.


def _in_the_middle(exchange: FaultContext, bad: bytes) -> WholeAnswer:
    lines = exchange.correct.body.splitlines(keepends=True)
    middle = len(lines) - 1
    return replace(exchange.correct, body=b"".join([*lines[:middle], bad, *lines[middle:]]))


@fault(TimeMapQuestion)
def unbalanced_quote(exchange: FaultContext) -> WholeAnswer:
    """Before the last link comes one with a quote that is never closed."""
    return _in_the_middle(exchange, b'<http://x.example/>; rel="memento,\n')


@fault(TimeMapQuestion)
def unbalanced_bracket(exchange: FaultContext) -> WholeAnswer:
    """Before the last link comes one whose address is never closed."""
    return _in_the_middle(exchange, b'<http://x.example/; rel="memento",\n')


async def _padded(
    answer: WholeAnswer, before: bytes, filling: bytes, size: int
) -> AsyncIterator[bytes]:
    """Yield the correct answer, *before*, and about *size* bytes of *filling*, chunked."""
    yield head(answer.status, answer.having("Transfer-Encoding", "chunked").headers)
    yield chunk(answer.body.rstrip(b"\n") + before)
    piece = filling * (PIECE // len(filling))
    for _ in range(max(1, size // len(piece))):
        yield chunk(piece)
    yield b"0\r\n\r\n"


@fault(TimeMapQuestion)
def endless_link(exchange: FaultContext) -> RawAnswer:
    """After the correct links comes one whose address is 10 MB long."""
    bulk = exchange.site.options.bulk
    return RawAnswer(_padded(exchange.correct, b",\n<http://x.example/", b"a", bulk))


@fault(TimeMapQuestion)
def comma_flood(exchange: FaultContext) -> RawAnswer:
    """After the correct links come 10 million commas."""
    return RawAnswer(_padded(exchange.correct, b",", b",", exchange.site.options.bulk))


@fault(TimeMapQuestion)
def huge_attribute(exchange: FaultContext) -> RawAnswer:
    """The last link has a title of 1 MB."""
    bulk = exchange.site.options.bulk // 10
    return RawAnswer(_padded(exchange.correct, b'; title="', b"a", bulk))


# Wrong order, and pages that never end.


@fault(TimeMapQuestion)
def newest_first(exchange: FaultContext) -> WholeAnswer:
    """Mementos are listed newest first."""
    return _reordered(exchange, lambda mementos: mementos[::-1])


@fault(TimeMapQuestion)
def shuffled(exchange: FaultContext) -> WholeAnswer:
    """Mementos are listed in a random order, the same each time."""

    def order(mementos: Sequence[FakeLink]) -> Sequence[FakeLink]:
        return random.Random(7089).sample(mementos, len(mementos))  # noqa: S311 -- no secret

    return _reordered(exchange, order)


@fault(TimeMapQuestion)
def duplicates(exchange: FaultContext) -> WholeAnswer:
    """Every memento is listed twice."""
    return _reordered(exchange, lambda mementos: [m for m in mementos for _ in range(2)])


@fault(TimeMapQuestion)
def page_ring(exchange: FaultContext) -> WholeAnswer:
    """Page 1 leads to page 2, and page 2 back to page 1."""
    return _leading_to(exchange, lambda page: 2 if page == 1 else 1)


@fault(TimeMapQuestion)
def page_endless(exchange: FaultContext) -> WholeAnswer:
    """Every page leads to another one with the same mementos."""
    return _leading_to(exchange, lambda page: page + 1)


def _leading_to(exchange: FaultContext, following: Callable[[int], int]) -> WholeAnswer:
    question = exchange.question
    if not isinstance(question, TimeMapQuestion):
        return exchange.correct
    address = exchange.site.addresses.timemap(
        "link", question.original, following(question.page or 1)
    )
    onward = link(address, "timemap", type="application/link-format")
    return _relinked(exchange, lambda links: [*links, onward])


@fault(TimeMapQuestion)
def index_of_itself(exchange: FaultContext) -> WholeAnswer:
    """An index TimeMap lists only itself."""
    address = exchange.site.addresses.timemap("link", exchange.original)
    itself = link(address, "timemap", type="application/link-format")
    return _relinked(exchange, lambda links: [links[0], itself])


@fault(CdxQuestion)
def resume_ring(exchange: FaultContext) -> WholeAnswer:
    """The resume key of the Wayback Machine's CDX always leads back to the first rows."""
    held, question = exchange.site.holdings.of(exchange.original), exchange.question
    if not held or not isinstance(question, CdxQuestion) or question.dialect == "pywb":
        return exchange.correct
    unasked = ("resumeKey", "showResumeKey")
    first = {name: v for name, v in question.parameters.items() if name not in unasked}
    rows = exchange.about(CdxQuestion("wayback", first)).correct
    key = resume_key(held[0])
    if first.get("output") == "json":
        return replace(rows, body=json.dumps([*json.loads(rows.body), [], [key]]).encode())
    return replace(rows, body=rows.body + f"\n{key}\n".encode())


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
    """The TimeMap in link-format omits the last memento."""
    return _relinked(exchange, lambda links: links[:-1])


@fault(TimeMapQuestion)
def list_wrong_first(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap calls its second memento the first."""

    def turned(links: list[FakeLink]) -> list[FakeLink]:
        mementos = [i for i, link in enumerate(links) if "memento" in link.relations]
        first, second = mementos[:2]
        links[first] = links[first].having("rel", "memento")
        links[second] = links[second].having("rel", "first memento")
        return links

    return _relinked(exchange, turned)


@fault(TimeMapQuestion)
def list_until_too_early(exchange: FaultContext) -> WholeAnswer:
    """The until of the TimeMap is the time of its first memento."""
    held = exchange.site.holdings.of(exchange.original)
    return _relinked(
        exchange, lambda links: [link.having("until", http_date(held[0].at)) for link in links]
    )


@fault(TimeMapQuestion)
def list_undated(exchange: FaultContext) -> WholeAnswer:
    """The last memento of the TimeMap has a date in another format."""
    return _relinked(
        exchange, lambda links: [*links[:-1], links[-1].having("datetime", "2020-02-02")]
    )


@fault(TimeMapQuestion)
def list_plain(exchange: FaultContext) -> WholeAnswer:
    """The Content-Type of the TimeMap is text/plain."""
    if _form(exchange) != "link":
        return exchange.correct
    return exchange.correct.having("Content-Type", "text/plain")


@fault(TimeMapQuestion)
def list_page(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap in link-format is an HTML page."""
    if _form(exchange) != "link":
        return exchange.correct
    page = b"<!doctype html><title>captures</title>\n"
    return replace(exchange.correct, body=page).having("Content-Type", "text/html")


@fault(TimeMapQuestion)
def list_negotiates(exchange: FaultContext) -> WholeAnswer:
    """With Accept-Datetime the TimeMap lists only later mementos (like pywb)."""
    requested = exchange.accept_datetime
    held = exchange.site.holdings.of(exchange.original)
    if requested is None or not held:
        return exchange.correct
    return exchange.holding(*(capture for capture in held if capture.at >= requested)).correct


@fault(TimeMapQuestion)
def list_varies(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap has Vary: accept-datetime, as if it were a TimeGate (like pywb)."""
    return exchange.correct.having("Vary", "accept-datetime")


@fault(TimeMapQuestion)
def list_is_a_memento(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap has a Memento-Datetime."""
    if not _form(exchange):
        return exchange.correct
    return exchange.correct.having("Memento-Datetime", "Sat, 15 Jun 2013 08:30:00 GMT")


@fault(TimeMapQuestion)
def list_unknown_200(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap of a page that was never captured is an empty 200."""
    answer = exchange.correct
    return replace(answer, status=200) if answer.status == 404 else answer


@fault(TimeMapQuestion)
def list_head_404(exchange: FaultContext) -> WholeAnswer:
    """HEAD on a TimeMap is answered with 404."""
    head = exchange.request.method == "HEAD"
    return replace(exchange.correct, status=404) if head else exchange.correct


@fault(TimeMapQuestion)
def json_misses_one(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap in JSON omits a memento."""
    if _form(exchange) != "json":
        return exchange.correct
    document = json.loads(exchange.correct.body)
    document["mementos"]["list"].pop(1)
    return replace(exchange.correct, body=json.dumps(document, indent=1).encode())


@fault(TimeMapQuestion)
def cdxj_misses_one(exchange: FaultContext) -> WholeAnswer:
    """The TimeMap in CDXJ omits a memento."""
    if _form(exchange) != "cdxj":
        return exchange.correct
    lines = exchange.correct.body.splitlines(keepends=True)
    return replace(exchange.correct, body=b"".join(lines[:-1]))


@fault(TimeMapQuestion)
def page_missing(exchange: FaultContext) -> WholeAnswer:
    """All pages of a TimeMap except the first are missing."""
    question = exchange.question
    if isinstance(question, TimeMapQuestion) and (question.page or 1) > 1:
        return WholeAnswer(404, (("Content-Type", "text/plain"),), b"no such page\n")
    return exchange.correct


@fault(TimeMapQuestion, CdxQuestion)
def list_false(exchange: FaultContext) -> WholeAnswer:
    """After each memento, TimeMap and CDX list one an hour later that does not exist."""
    held = exchange.site.holdings.everything()
    false = [replace(capture, at=capture.at + timedelta(hours=1)) for capture in held]
    return exchange.holding(*held, *false).correct
