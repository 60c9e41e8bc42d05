"""Correct answers of TimeGates and mementos, as RFC 7089 requires."""

from dataclasses import replace
from datetime import datetime
from typing import Final, assert_never

from timegate.misbehave.indexes import (
    FakeLink,
    cdx,
    link_header,
    neighbour_links,
    original_link,
    service_links,
    timemap,
)
from timegate.misbehave.site import (
    CdxQuestion,
    FakeCapture,
    FakeSite,
    PageQuestion,
    Question,
    ReplayQuestion,
    TimeGateQuestion,
    TimeMapQuestion,
    UnknownQuestion,
    http_date,
    read_http_date,
    read_stamp,
)
from timegate.misbehave.wire import Fields, WholeAnswer, WireRequest

VARY: Final = ("Vary", "accept-datetime")
PLAIN: Final = ("Content-Type", "text/plain; charset=utf-8")
FAULT_HEADER: Final = "X-Misbehaviour"
"""Names the faults of an answer."""
_EXPOSED: Final = f"Link, Location, Memento-Datetime, Content-Location, {FAULT_HEADER}"
_CORS: Final[Fields] = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", _EXPOSED),
)
PREFLIGHT: Final = WholeAnswer(
    204,
    (
        *_CORS,
        ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
        ("Access-Control-Allow-Headers", "Accept-Datetime, Prefer"),
    ),
)


class InvalidDate(ValueError):
    """The Accept-Datetime is not valid by RFC 7089."""


def correct_answer(site: FakeSite, request: WireRequest, question: Question) -> WholeAnswer:
    """Answer as a conforming archive does."""
    if request.method not in ("GET", "HEAD"):
        return WholeAnswer(405, (("Allow", "GET, HEAD"), PLAIN), b"only GET and HEAD\n")
    match question:
        case TimeGateQuestion():
            answer = _timegate(site, request, question.original)
        case TimeMapQuestion():
            answer = timemap(site, question)
        case ReplayQuestion():
            answer = _replay(site, question)
        case CdxQuestion():
            answer = cdx(site, question)
        case PageQuestion():
            answer = _page(site, question)
        case UnknownQuestion():
            answer = WholeAnswer(404, (PLAIN,), b"nothing here\n")
        case _:
            assert_never(question)
    return answer


def requested_date(request: WireRequest) -> datetime | None:
    """Return the time in Accept-Datetime; None without one. Raises InvalidDate (M-12)."""
    values = request.values("Accept-Datetime")
    if not values:
        return None
    at = read_http_date(values[0]) if len(values) == 1 else None
    if at is None:
        raise InvalidDate(f"Accept-Datetime cannot be read: {values}")
    return at


_HTML: Final = ("Content-Type", "text/html; charset=utf-8")


def _page(site: FakeSite, question: PageQuestion) -> WholeAnswer:
    """Answer with an original: a fixed one (pattern 3), or one that links its TimeGate (2)."""
    page = question.original
    if not question.fixed:
        links = ("Link", link_header(service_links(site, page)))
        return WholeAnswer(200, (_HTML, links), b"<!doctype html><title>a page</title>")
    dated = ("Memento-Datetime", "Fri, 20 Mar 2009 11:00:00 GMT")
    links = ("Link", link_header([original_link(page)]))
    return WholeAnswer(200, (_HTML, dated, links), b"<!doctype html><title>fixed</title>")


def _timegate(site: FakeSite, request: WireRequest, original: str) -> WholeAnswer:
    if site.options.timegate == "none":
        return WholeAnswer(404, (PLAIN,), b"no TimeGate here\n")
    services = ("Link", link_header([original_link(original), *service_links(site, original)]))
    try:
        chosen = site.holdings.closest(original, requested_date(request))
    except InvalidDate as error:
        return WholeAnswer(400, (VARY, services, PLAIN), f"{error}\n".encode())
    if chosen is None:
        return WholeAnswer(404, (VARY, services, PLAIN), b"no capture of this page\n")
    is_current = site.addresses.timegate(original) == original
    if is_current and site.options.timegate == "302" and requested_date(request) is None:
        return WholeAnswer(200, (_HTML, VARY, services), chosen.content)
    return timegate_to(site, chosen)


def timegate_to(site: FakeSite, chosen: FakeCapture) -> WholeAnswer:
    """Answer with the *chosen* capture: a redirect (M-10), or a 200 (M-11)."""
    address = site.addresses.memento(chosen)
    if site.options.timegate == "302":
        links = ("Link", link_header(_links(site, chosen)))
        return WholeAnswer(302, (("Location", address), VARY, links))
    answer = replay_of(site, chosen).having(*VARY)
    if site.addresses.shared:
        return answer
    return answer.having("Content-Location", address)


def _links(site: FakeSite, chosen: FakeCapture) -> list[FakeLink]:
    original = chosen.original
    neighbours = [] if site.addresses.shared else neighbour_links(site, chosen)
    return [original_link(original), *service_links(site, original), *neighbours]


def _replay(site: FakeSite, question: ReplayQuestion) -> WholeAnswer:
    at = read_stamp(question.stamp)
    chosen = None if at is None else site.holdings.closest(question.original, at)
    if chosen is None:
        return WholeAnswer(404, (PLAIN,), b"no capture of this page\n")
    if chosen.stamp != question.stamp or chosen.original != question.original:
        return _redirect_to_exact(site, chosen, question.modifier)
    return replay_of(site, chosen)


def _redirect_to_exact(site: FakeSite, chosen: FakeCapture, modifier: str) -> WholeAnswer:
    """Redirect like an intermediate resource, with only an original link (M-22)."""
    fields: Fields = (
        ("Location", site.addresses.memento(chosen, modifier)),
        ("Link", link_header([original_link(chosen.original)])),
    )
    return WholeAnswer(302, fields)


def replay_of(site: FakeSite, capture: FakeCapture) -> WholeAnswer:
    """Replay a capture with its archived status and Memento headers (M-20, M-21)."""
    fields: Fields = (
        ("Content-Type", capture.mime),
        ("Memento-Datetime", http_date(capture.at)),
        ("Link", link_header(_links(site, capture))),
    )
    if capture.location is not None:
        fields = (*fields, ("Location", capture.location))
    return WholeAnswer(capture.status, fields, capture.content)


def with_cors(answer: WholeAnswer) -> WholeAnswer:
    """Return *answer* with the headers that let scripts of other sites read it."""
    if answer.value("Access-Control-Allow-Origin") is not None:
        return answer
    return replace(answer, headers=(*answer.headers, *_CORS))


def without_cors(answer: WholeAnswer) -> WholeAnswer:
    """Return *answer* without the headers for scripts of other sites."""
    for name, _ in _CORS:
        answer = answer.without(name)
    return answer
