# ruff: noqa: D401 -- a docstring here is the sentence that the user reads
"""Answers that are no answer: bot gates, refusals, errors, silence."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from timegate.misbehave.addresses import Cdx, Replay, TimeGate, TimeMap
from timegate.misbehave.captures import http_date
from timegate.misbehave.faults.fault import EVERYTHING, Exchange, fault
from timegate.misbehave.faults.trickles import silence
from timegate.misbehave.wire import Answer, Raw, once

HTML: Final = ("Content-Type", "text/html; charset=utf-8")
PAUSE: Final = 120
"""Seconds that Retry-After asks for."""


def _page(title: str) -> bytes:
    return f"<!doctype html><title>{title}</title><h1>{title}</h1>\n".encode()


@fault(TimeGate, TimeMap, Cdx)
def bot_challenge(_: Exchange) -> Answer:
    """A 200 with an HTML page that asks whether one is human, at TimeGate, TimeMap and CDX."""
    return Answer(200, (HTML,), _page("Just a moment, are you human?"))


@fault(Replay)
def block_page(_: Exchange) -> Answer:
    """A 200 with an HTML page that says the capture is blocked, without Memento-Datetime."""
    return Answer(200, (HTML,), _page("This URL has been excluded"))


@fault(*EVERYTHING)
def too_many_seconds(_: Exchange) -> Answer:
    """A 429 with Retry-After in seconds."""
    return Answer(429, (HTML, ("Retry-After", str(PAUSE))), _page("Too many requests"))


@fault(*EVERYTHING)
def too_many_date(_: Exchange) -> Answer:
    """A 429 with Retry-After as a date."""
    later = http_date(datetime.now(UTC) + timedelta(seconds=PAUSE))
    return Answer(429, (HTML, ("Retry-After", later)), _page("Too many requests"))


@fault(*EVERYTHING)
def too_many_silent(_: Exchange) -> Answer:
    """A 429 that does not say for how long."""
    return Answer(429, (HTML,), _page("Too many requests"))


@fault(*EVERYTHING)
def unavailable(_: Exchange) -> Answer:
    """A 503 with Retry-After."""
    return Answer(503, (HTML, ("Retry-After", str(PAUSE))), _page("Service unavailable"))


@fault(*EVERYTHING)
def forbidden(_: Exchange) -> Answer:
    """A 403 of a bot gate, before anything was looked up."""
    return Answer(403, (HTML,), _page("Access denied"))


@fault(*EVERYTHING)
def server_error(_: Exchange) -> Answer:
    """A 500."""
    return Answer(500, (HTML,), _page("Internal error"))


@fault(*EVERYTHING)
def slow(exchange: Exchange) -> Answer:
    """The right answer, after 3 seconds."""
    return replace(exchange.right, delay=exchange.site.manner.delay)


@fault(*EVERYTHING)
def hang(exchange: Exchange) -> Raw:
    """The request is read and never answered."""
    return Raw(silence(exchange.site.manner))


@fault(*EVERYTHING)
def close_unanswered(_: Exchange) -> Raw:
    """The request is read, then the connection is closed."""
    return Raw(once())


@fault(*EVERYTHING)
def reset(_: Exchange) -> Raw:
    """The request is read, then the connection is reset."""
    return Raw(once(), resets=True)
