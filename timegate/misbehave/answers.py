"""Right answers: what RFC 7089 asks of TimeGates and mementos, rule by rule."""

from dataclasses import replace
from datetime import datetime
from typing import Final, assert_never

from timegate.misbehave.indexes import (
    FakeLink,
    cdx,
    header,
    neighbour_links,
    original_link,
    service_links,
    timemap,
)
from timegate.misbehave.site import (
    CdxQuestion,
    FakeCapture,
    FakeSite,
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


class NoDate(ValueError):
    """An Accept-Datetime that RFC 7089 does not allow."""


def right_answer(site: FakeSite, request: WireRequest, question: Question) -> WholeAnswer:
    """Answer as a right archive does."""
    if request.method not in ("GET", "HEAD"):
        return WholeAnswer(405, (("Allow", "GET, HEAD"), PLAIN), b"only GET and HEAD\n")
    match question:
        case TimeGateQuestion():
            return _timegate(site, request, question.original)
        case TimeMapQuestion():
            return timemap(site, question)
        case ReplayQuestion():
            return _replay(site, question)
        case CdxQuestion():
            return cdx(site, question)
        case UnknownQuestion():
            return WholeAnswer(404, (PLAIN,), b"nothing here\n")
        case _:
            assert_never(question)


def asked_date(request: WireRequest) -> datetime | None:
    """Read Accept-Datetime; None if there is none. Raises NoDate (M-12)."""
    values = request.values("Accept-Datetime")
    if not values:
        return None
    at = read_http_date(values[0]) if len(values) == 1 else None
    if at is None:
        raise NoDate(f"Accept-Datetime cannot be read: {values}")
    return at


def _timegate(site: FakeSite, request: WireRequest, original: str) -> WholeAnswer:
    services = ("Link", header([original_link(original), *service_links(site, original)]))
    try:
        chosen = site.holdings.closest(original, asked_date(request))
    except NoDate as error:
        return WholeAnswer(400, (VARY, services, PLAIN), f"{error}\n".encode())
    if chosen is None:
        return WholeAnswer(404, (VARY, services, PLAIN), b"no capture of this page\n")
    return timegate_to(site, chosen)


def timegate_to(site: FakeSite, chosen: FakeCapture) -> WholeAnswer:
    """Lead from the TimeGate to the *chosen* capture: M-10, or M-11 in the 200 style."""
    address = site.addresses.memento(chosen)
    if site.manner.timegate == "302":
        links = ("Link", header(_links(site, chosen)))
        return WholeAnswer(302, (("Location", address), VARY, links))
    answer = replay_of(site, chosen)
    return answer.having(*VARY).having("Content-Location", address)


def _links(site: FakeSite, chosen: FakeCapture) -> list[FakeLink]:
    original = chosen.original
    return [
        original_link(original),
        *service_links(site, original),
        *neighbour_links(site, chosen),
    ]


def _replay(site: FakeSite, question: ReplayQuestion) -> WholeAnswer:
    at = read_stamp(question.stamp)
    chosen = None if at is None else site.holdings.closest(question.original, at)
    if chosen is None:
        return WholeAnswer(404, (PLAIN,), b"no capture of this page\n")
    if chosen.stamp != question.stamp or chosen.original != question.original:
        return _to_the_exact_one(site, chosen, question.modifier)
    return replay_of(site, chosen)


def _to_the_exact_one(site: FakeSite, chosen: FakeCapture, modifier: str) -> WholeAnswer:
    """Redirect as an intermediate resource does: an original link, nothing else (M-22)."""
    fields: Fields = (
        ("Location", site.addresses.memento(chosen, modifier)),
        ("Link", header([original_link(chosen.original)])),
    )
    return WholeAnswer(302, fields)


def replay_of(site: FakeSite, capture: FakeCapture) -> WholeAnswer:
    """Play a capture back with its own status and the headers of a memento (M-20, M-21)."""
    fields: Fields = (
        ("Content-Type", capture.mime),
        ("Memento-Datetime", http_date(capture.at)),
        ("Link", header(_links(site, capture))),
    )
    if capture.location is not None:
        fields = (*fields, ("Location", capture.location))
    return WholeAnswer(capture.status, fields, capture.content)


_EXPOSED: Final = "Link, Location, Memento-Datetime, Content-Location, X-Misbehaviour"
_OPEN: Final[Fields] = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", _EXPOSED),
)
PREFLIGHT: Final = WholeAnswer(
    204,
    (
        *_OPEN,
        ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
        ("Access-Control-Allow-Headers", "Accept-Datetime, Prefer"),
    ),
)


def opened(answer: WholeAnswer) -> WholeAnswer:
    """Return *answer* with leave to read it, if it has none yet."""
    if answer.value("Access-Control-Allow-Origin") is not None:
        return answer
    return replace(answer, headers=(*answer.headers, *_OPEN))


def closed(answer: WholeAnswer) -> WholeAnswer:
    """Return *answer* without leave to read it."""
    for name, _ in _OPEN:
        answer = answer.without(name)
    return answer
