"""``Accept``: how much a client likes each media type (RFC 9110 12.5.1)."""

import re
from typing import Final

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
