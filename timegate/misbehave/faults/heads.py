# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Headers out of bounds, headers meant for browsers, wrong bodies."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

from timegate.misbehave.addresses import ReplayQuestion, TimeGateQuestion
from timegate.misbehave.faults.fault import EVERYTHING, FaultContext, fault
from timegate.misbehave.wire import Fields, RawAnswer, WholeAnswer, head, once, written

POISON: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Poison: yes\r\n"
    b"Memento-Datetime: Tue, 01 Jan 1991 00:00:00 GMT\r\nContent-Length: 6\r\n\r\npoison"
)
"""A whole answer, where no body may be: who reads on takes it for the next one."""

FOR_BROWSERS: Final[Fields] = (
    ("Set-Cookie", "spy=1; Path=/"),
    ("Clear-Site-Data", '"*"'),
    ("Service-Worker-Allowed", "/"),
    ("Strict-Transport-Security", "max-age=31536000; includeSubDomains"),
    ("Alt-Svc", 'h2="elsewhere.example:443"'),
    ("Refresh", "0; url=http://elsewhere.example/"),
    ("Link", "<http://elsewhere.example/evil.js>; rel=preload; as=script"),
)


@fault(*EVERYTHING)
def thousand_headers(exchange: FaultContext) -> WholeAnswer:
    """The right answer has 1,000 header fields more."""
    more = tuple((f"X-Filler-{number}", "z") for number in range(1000))
    return replace(exchange.right, headers=(*exchange.right.headers, *more))


@fault(*EVERYTHING)
def huge_header(exchange: FaultContext) -> WholeAnswer:
    """One header field of the right answer is 1 MB long."""
    return exchange.right.having("X-Filler", "z" * (exchange.site.manner.bulk // 10))


@fault(*EVERYTHING)
def continue_flood(exchange: FaultContext) -> RawAnswer:
    """Before the right answer come 100,000 times ``100 Continue``."""
    return RawAnswer(_continued(exchange), stays=True)


async def _continued(exchange: FaultContext) -> AsyncIterator[bytes]:
    hundred = head(100, ()) * 100
    for _ in range(max(1, exchange.site.manner.bulk // 10_000)):
        yield hundred
    yield written(exchange.right, exchange.request.method)


@fault(*EVERYTHING)
def nul_in_header(exchange: FaultContext) -> WholeAnswer:
    """A header field has a NUL in its value."""
    return exchange.right.having("X-Filler", "a\0b")


@fault(*EVERYTHING)
def two_lengths(exchange: FaultContext) -> RawAnswer:
    """There are two Content-Length fields, and they differ."""
    answer = exchange.right
    lengths = (("Content-Length", "1"), ("Content-Length", str(len(answer.body) + 1)))
    return RawAnswer(once(head(answer.status, (*answer.headers, *lengths)) + answer.body))


@fault(*EVERYTHING)
def browser_headers(exchange: FaultContext) -> WholeAnswer:
    """The right answer brings a cookie, and orders for browsers."""
    return replace(exchange.right, headers=(*exchange.right.headers, *FOR_BROWSERS))


def _bodied(exchange: FaultContext, status: int, *more: tuple[str, str]) -> RawAnswer:
    """Answer with *status* and a body that should not be there, and stay connected."""
    kept = tuple(pair for pair in exchange.right.headers if pair[0] != "Location")
    return RawAnswer(once(head(status, (*kept, *more)) + POISON), stays=True)


@fault(TimeGateQuestion, ReplayQuestion)
def status_304(exchange: FaultContext) -> RawAnswer:
    """A 304 that nobody asked for, with a body."""
    return _bodied(exchange, 304)


@fault(TimeGateQuestion, ReplayQuestion)
def status_204(exchange: FaultContext) -> RawAnswer:
    """A 204 with a body."""
    return _bodied(exchange, 204)


@fault(TimeGateQuestion, ReplayQuestion)
def status_205(exchange: FaultContext) -> RawAnswer:
    """A 205 with a body."""
    return _bodied(exchange, 205, ("Content-Length", str(len(POISON))))


@fault(TimeGateQuestion, ReplayQuestion)
def status_206(exchange: FaultContext) -> RawAnswer:
    """A 206 that nobody asked for, with a part of the body."""
    part = ("Content-Range", "bytes 0-3/1000"), ("Content-Length", "4")
    fields = (*exchange.right.headers, *part)
    return RawAnswer(once(head(206, fields) + b"part"), stays=True)


@fault(TimeGateQuestion, ReplayQuestion)
def status_416(exchange: FaultContext) -> RawAnswer:
    """A 416 that nobody asked for, with a body."""
    more = ("Content-Range", "bytes */1000"), ("Content-Length", str(len(POISON)))
    return _bodied(exchange, 416, *more)


@fault(*EVERYTHING)
def head_with_body(exchange: FaultContext) -> RawAnswer | WholeAnswer:
    """HEAD is answered with a body."""
    if exchange.request.method != "HEAD":
        return exchange.right
    length = ("Content-Length", str(len(POISON)))
    fields = (*exchange.right.headers, length)
    return RawAnswer(once(head(exchange.right.status, fields) + POISON), stays=True)
