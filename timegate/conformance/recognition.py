"""What an address is, found out by a request: a TimeGate, TimeMap, memento or original."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from archives.evidence import address_of, same_page
from timegate.conformance import probes
from timegate.conformance.parsed_response import ParsedResponse, is_link_format
from timegate.conformance.session import Key, RecordedExchange, Session
from timegate.conformance.subject import DEFAULT_SAMPLE, Role, embedded

_DETECTING: Final = -1
"""Number of the repetition of requests that are not used again."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """The role of an address, its prefix, and the sample pages to check it with."""

    role: Role
    url: str
    samples: tuple[str, ...]
    detected: str = ""
    """Why it has this role; empty if the user declared it."""
    exchanges: Mapping[Key, RecordedExchange] = field(default_factory=dict)
    """The requests that were sent to find out."""


def as_declared(role: Role, url: str, samples: tuple[str, ...]) -> Recognised:
    """Return *url* in the role that the user declared."""
    cut = embedded(url)
    if role == "timegate":
        prefix, page = cut or (url, DEFAULT_SAMPLE)
        return Recognised(role, prefix, samples or (page,))
    page = url if role == "original" or cut is None else cut[1]
    return Recognised(role, url, (page,))


class _Detected(NamedTuple):
    role: Role
    why: str


async def recognised(url: str, samples: tuple[str, ...], session: Session) -> Recognised:
    """Request *url* and determine its role; without Memento headers, a TimeGate.

    A page that looks like any other is requested for a time as well: it may be its own
    TimeGate and say so only then (pattern 1).
    """
    response = ParsedResponse(await session.get(probes.memento(url), wanted="text"))
    found = _detected(response, samples)
    if found.role == "timegate" and not samples and response.is_plain_page:
        some_time, _ = probes.between([])
        dated = ParsedResponse(await session.get(probes.memento(url, some_time)))
        found = _detected(dated, samples)
    if not response.status:
        # Nothing is known of an address that does not answer.
        found = _Detected("timegate", "")
    declared = as_declared(found.role, url, samples)
    # An original is not requested again; elsewhere more of the body is read, with another key.
    sent = {
        (*key[:-1], key[-1] if found.role == "original" else _DETECTING): exchange
        for key, exchange in session.exchanges.items()
    }
    return Recognised(declared.role, declared.url, declared.samples, found.why, sent)


def _detected(response: ParsedResponse, samples: tuple[str, ...]) -> _Detected:
    if is_link_format(response):
        return _Detected("timemap", "its Content-Type is application/link-format")
    if embedded(response.url) is None:
        return _detected_alone(response, samples)
    is_memento = not response.negotiates or response.datetime is not None
    if address_of(response.url) is not None and is_memento:
        return _Detected("memento", "its address has a time and a page in it")
    return _Detected("timegate", f"it answers {response.status}, and has a page in its address")


def _detected_alone(response: ParsedResponse, samples: tuple[str, ...]) -> _Detected:
    """Determine the role of an address without a page in it."""
    linked = [*response.targets("timegate"), *response.html_targets("timegate")]
    originals = response.targets("original")
    is_sample = any(same_page(sample, response.url) for sample in samples)
    if response.status >= 400 and response.datetime is None:
        return _detected_error(response, linked)
    if response.negotiates:
        # Original and TimeGate in one, or the TimeGate of another page (patterns 1, 2).
        own = any(same_page(uri, response.url) for uri in (*originals, *linked))
        return _Detected("original" if own else "timegate", "its Vary names accept-datetime")
    elsewhere = [uri for uri in originals if not same_page(uri, response.url)]
    if response.datetime is not None and elsewhere and not is_sample:
        return _Detected("memento", "it has a Memento-Datetime and another original")
    reasons = {
        "it has a Memento-Datetime, and no other original": response.datetime is not None,
        "it links a TimeGate": bool(linked),
    }
    if why := next((why for why, is_so in reasons.items() if is_so), ""):
        return _Detected("original", why)
    return _Detected("timegate", "it has no Memento headers, like the prefix of a TimeGate")


def _detected_error(response: ParsedResponse, linked: list[str]) -> _Detected:
    """Determine the role of an address that answers with an error.

    A page that is gone still links its TimeGate (RFC 7089 4.5.2). The prefix of a TimeGate,
    without a page, may link itself as the original.
    """
    is_page = linked and not response.targets("original") and not response.negotiates
    status = f"it answers {response.status}"
    if is_page:
        return _Detected("original", f"{status} and links a TimeGate")
    return _Detected("timegate", f"{status}, like the prefix of a TimeGate")
