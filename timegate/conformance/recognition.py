"""What an address is, found by asking: TimeGate, TimeMap, memento or original."""

from dataclasses import dataclass

from archives.evidence import address_of
from timegate.conformance import questions
from timegate.conformance.listing import LINK_FORMAT
from timegate.conformance.said import ParsedResponse
from timegate.conformance.session import Session
from timegate.conformance.subject import DEFAULT_SAMPLE, Role, embedded


@dataclass(frozen=True, slots=True)
class Recognised:
    """What an address is, where it begins, and with which pages to try it."""

    role: Role
    url: str
    samples: tuple[str, ...]


def said_to_be(role: Role, url: str, samples: tuple[str, ...]) -> Recognised:
    """Take somebody's word for what *url* is."""
    cut = embedded(url)
    if role == "timegate":
        prefix, page = cut or (url, DEFAULT_SAMPLE)
        return Recognised(role, prefix, samples or (page,))
    page = url if role == "original" or cut is None else cut[1]
    return Recognised(role, url, (page,))


async def recognised(url: str, samples: tuple[str, ...], session: Session) -> Recognised:
    """Ask *url* once, and see what answers. What says nothing is taken for a TimeGate."""
    said = ParsedResponse(await session.get(questions.timegate(url)))
    return said_to_be(_role(said, whole=embedded(url) is not None), url, samples)


def _role(said: ParsedResponse, *, whole: bool) -> Role:
    if not whole:
        linking = said.targets("timegate") or said.datetime is not None
        return "original" if linking and not said.negotiates else "timegate"
    if (said.field("content-type") or "").startswith(LINK_FORMAT):
        return "timemap"
    if address_of(said.url) is not None and not said.negotiates:
        return "memento"
    return "timegate"
