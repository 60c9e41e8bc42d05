"""What a request target says behind its route: an identifier, raw, and perhaps our parameters.

Identifiers stand at the end of the path with their own query, as all Memento tools write them,
and nothing in them is decoded (G-4): ``%2F``, ``//`` and ``?`` are part of the name. Only if
the colon of the scheme itself is written ``%3A``, somebody encoded the whole: decoded once.

Our own parameters may follow behind a last ``?`` if all of them are ours.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, unquote

PARAMETERS: Final = frozenset(
    {"as", "archives", "exclude", "precision", "tolerance", "direction", "wait", "verify"}
)
_ENCODED_COLON: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+%3[Aa]")


def identifier_in(rest: str) -> str:
    """Return the identifier in *rest*, decoded once if it was encoded as a whole."""
    if _ENCODED_COLON.match(rest):
        return unquote(rest, errors="surrogateescape")
    return rest


def without_parameters(rest: str) -> tuple[str, Mapping[str, str]]:
    """Return the identifier and our parameters behind it."""
    before, mark, behind = rest.rpartition("?")
    if not mark or "=" not in behind:
        return rest, {}
    pairs = (
        parse_qsl(behind, keep_blank_values=True, max_num_fields=20)
        if behind.count("&") < 20
        else []
    )
    if not pairs or not all(name in PARAMETERS for name, _ in pairs):
        return rest, {}
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    # Lists may be written either way; of what is no list, two are one too many.
    return before, {name: ",".join(given) for name, given in values.items()}


_LONGEST: Final = 2000
_WEIGHT: Final = re.compile(r"[01](?:\.[0-9]{0,3})?")


def weights(accept: str) -> dict[str, float]:
    """Return the weight of every media range that *accept* names; what is no weight is 0."""
    found: dict[str, float] = {}
    for member in accept[:_LONGEST].lower().split(","):
        media, *parameters = (part.strip() for part in member.split(";"))
        stated = (p.removeprefix("q=") for p in parameters if p.startswith("q="))
        text = next(stated, "1")
        found[media] = float(text) if _WEIGHT.fullmatch(text) else 0.0
    return found


def weight(accept: str, offer: str) -> float:
    """Return how much *accept* likes *offer*; the most specific range decides."""
    named = weights(accept)
    ranges = (offer, f"{offer.partition('/')[0]}/*", "*/*")
    return next((named[media] for media in ranges if media in named), 0.0)
