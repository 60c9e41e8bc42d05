# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""TimeMaps that are hard to read: odd writing, no end, wrong orders, pages without end."""

import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Final

from timegate.misbehave.faults.fault import FaultContext, fault
from timegate.misbehave.indexes import FakeLink, link, link_body, resume_key, timemap_links
from timegate.misbehave.site import CdxQuestion, TimeMapQuestion, http_date
from timegate.misbehave.wire import RawAnswer, WholeAnswer, chunk, head

PIECE: Final = 65_536


def _form(exchange: FaultContext) -> str:
    """Return the format of the TimeMap that is sent; empty where none is."""
    question = exchange.question
    if exchange.right.status != 200 or not isinstance(question, TimeMapQuestion):
        return ""
    return question.form


def _links(exchange: FaultContext) -> list[FakeLink]:
    """Return what the TimeMap lists; nothing for other questions and other forms."""
    question = exchange.question
    if _form(exchange) != "link" or not isinstance(question, TimeMapQuestion):
        return []
    return timemap_links(exchange.site, question)


def _relinked(
    exchange: FaultContext, change: Callable[[list[FakeLink]], Sequence[FakeLink]]
) -> WholeAnswer:
    links = _links(exchange)
    return replace(exchange.right, body=link_body(change(links))) if links else exchange.right


def _rewritten(exchange: FaultContext, write: Callable[[FakeLink], str]) -> WholeAnswer:
    links = _links(exchange)
    if not links:
        return exchange.right
    body = ",\n".join(map(write, links)) + "\n"
    return replace(exchange.right, body=body.encode())


def _reordered(
    exchange: FaultContext, order: Callable[[Sequence[FakeLink]], Sequence[FakeLink]]
) -> WholeAnswer:
    def change(links: list[FakeLink]) -> list[FakeLink]:
        mementos = [link for link in links if "memento" in link.relations]
        others = [link for link in links if "memento" not in link.relations]
        return [*others, *order(mementos)]

    return _relinked(exchange, change)


# How a link may be written: all of these list what the right TimeMap lists.


@fault(TimeMapQuestion)
def rel_reordered(exchange: FaultContext) -> WholeAnswer:
    """Right: rel stands last, and its words in another order (``memento first``)."""

    def write(link: FakeLink) -> str:
        turned = link.having("rel", " ".join(reversed(link.relations)))
        return str(replace(turned, attributes=tuple(reversed(turned.attributes))))

    return _rewritten(exchange, write)


@fault(TimeMapQuestion)
def rel_unquoted(exchange: FaultContext) -> WholeAnswer:
    """Right: a rel of one word has no quotes."""

    def write(link: FakeLink) -> str:
        word = " ".join(link.relations)
        return str(link) if " " in word else str(link).replace(f'"{word}"', word, 1)

    return _rewritten(exchange, write)


@fault(TimeMapQuestion)
def single_quotes(exchange: FaultContext) -> WholeAnswer:
    """Attribute values stand in single quotes, which RFC 8288 does not know."""
    return _rewritten(exchange, lambda link: str(link).replace('"', "'"))


@fault(TimeMapQuestion)
def extra_parameters(exchange: FaultContext) -> WholeAnswer:
    """Right: links have more attributes, with commas, semicolons and brackets in them."""
    more = '; title="a, b; <c> \\"d\\""; license="http://example.org/l"; alone'
    return _rewritten(exchange, lambda link: f"{link}{more}")


@fault(TimeMapQuestion)
def no_final_newline(exchange: FaultContext) -> WholeAnswer:
    """Right: the last line has no end."""
    return replace(exchange.right, body=exchange.right.body.rstrip(b"\n"))


@fault(TimeMapQuestion)
def no_commas(exchange: FaultContext) -> WholeAnswer:
    """Links stand on lines of their own, without commas (as figure 30 of RFC 7089 has one)."""
    return replace(exchange.right, body=exchange.right.body.replace(b",\n", b"\n"))


@fault(TimeMapQuestion)
def latin_1(exchange: FaultContext) -> WholeAnswer:
    """Titles hold bytes of Latin-1, which are no UTF-8."""
    answer = _rewritten(exchange, lambda link: f'{link}; title="Café"')
    return replace(answer, body=answer.body.decode().encode("latin-1"))


@fault(TimeMapQuestion)
def byte_order_mark(exchange: FaultContext) -> WholeAnswer:
    """The body begins with a byte order mark."""
    return replace(exchange.right, body=b"\xef\xbb\xbf" + exchange.right.body)


# What no reader can read to its end.


def _in_the_middle(exchange: FaultContext, bad: bytes) -> WholeAnswer:
    lines = exchange.right.body.splitlines(keepends=True)
    middle = len(lines) - 1
    return replace(exchange.right, body=b"".join([*lines[:middle], bad, *lines[middle:]]))


@fault(TimeMapQuestion)
def unbalanced_quote(exchange: FaultContext) -> WholeAnswer:
    """Before the last link stands one with a quote that is never closed."""
    return _in_the_middle(exchange, b'<http://x.example/>; rel="memento,\n')


@fault(TimeMapQuestion)
def unbalanced_bracket(exchange: FaultContext) -> WholeAnswer:
    """Before the last link stands one whose address has no end."""
    return _in_the_middle(exchange, b'<http://x.example/; rel="memento",\n')


async def _padded(
    answer: WholeAnswer, before: bytes, filling: bytes, size: int
) -> AsyncIterator[bytes]:
    """Yield the right answer, then *before*, then about *size* bytes of *filling*, chunked."""
    yield head(answer.status, answer.having("Transfer-Encoding", "chunked").headers)
    yield chunk(answer.body.rstrip(b"\n") + before)
    piece = filling * (PIECE // len(filling))
    for _ in range(max(1, size // len(piece))):
        yield chunk(piece)
    yield b"0\r\n\r\n"


@fault(TimeMapQuestion)
def endless_link(exchange: FaultContext) -> RawAnswer:
    """After the right links stands one whose address is 10 MB long."""
    bulk = exchange.site.manner.bulk
    return RawAnswer(_padded(exchange.right, b",\n<http://x.example/", b"a", bulk))


@fault(TimeMapQuestion)
def comma_flood(exchange: FaultContext) -> RawAnswer:
    """After the right links stand 10 million commas."""
    return RawAnswer(_padded(exchange.right, b",", b",", exchange.site.manner.bulk))


@fault(TimeMapQuestion)
def huge_attribute(exchange: FaultContext) -> RawAnswer:
    """The last link has a title of 1 MB."""
    bulk = exchange.site.manner.bulk // 10
    return RawAnswer(_padded(exchange.right, b'; title="', b"a", bulk))


# Which links stand where.


@fault(TimeMapQuestion)
def newest_first(exchange: FaultContext) -> WholeAnswer:
    """Mementos stand newest first."""
    return _reordered(exchange, lambda mementos: mementos[::-1])


@fault(TimeMapQuestion)
def shuffled(exchange: FaultContext) -> WholeAnswer:
    """Mementos stand in no order, the same one each time."""

    def order(mementos: Sequence[FakeLink]) -> Sequence[FakeLink]:
        return random.Random(7089).sample(mementos, len(mementos))  # noqa: S311 -- no secret

    return _reordered(exchange, order)


@fault(TimeMapQuestion)
def duplicates(exchange: FaultContext) -> WholeAnswer:
    """Every memento is listed twice."""
    return _reordered(exchange, lambda mementos: [m for m in mementos for _ in range(2)])


@fault(TimeMapQuestion)
def page_ring(exchange: FaultContext) -> WholeAnswer:
    """Page 1 leads to page 2, and page 2 to page 1."""
    return _leading_to(exchange, lambda page: 2 if page == 1 else 1)


@fault(TimeMapQuestion)
def page_endless(exchange: FaultContext) -> WholeAnswer:
    """Every page leads to one more, with the same mementos on it."""
    return _leading_to(exchange, lambda page: page + 1)


def _leading_to(exchange: FaultContext, following: Callable[[int], int]) -> WholeAnswer:
    question = exchange.question
    if not isinstance(question, TimeMapQuestion):
        return exchange.right
    address = exchange.site.addresses.timemap(
        "link", question.original, following(question.page or 1)
    )
    onward = link(address, "timemap", type="application/link-format")
    return _relinked(exchange, lambda links: [*links, onward])


@fault(TimeMapQuestion)
def index_of_itself(exchange: FaultContext) -> WholeAnswer:
    """An index TimeMap that lists itself alone."""
    address = exchange.site.addresses.timemap("link", exchange.original)
    itself = link(address, "timemap", type="application/link-format")
    return _relinked(exchange, lambda links: [links[0], itself])


@fault(CdxQuestion)
def resume_ring(exchange: FaultContext) -> WholeAnswer:
    """The Wayback Machine's resume key leads back to the first rows, for ever."""
    held, question = exchange.site.holdings.of(exchange.original), exchange.question
    if not held or not isinstance(question, CdxQuestion) or question.dialect == "pywb":
        return exchange.right
    unasked = ("resumeKey", "showResumeKey")
    first = {name: v for name, v in question.parameters.items() if name not in unasked}
    rows = exchange.about(CdxQuestion("wayback", first)).right
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
