"""Which HTTP status a text leads to, before any archive is asked (E-2)."""

from archives.reading import Malformed
from timegate.identifier import ParsedIdentifier

_REFUSALS = {"too-long": 414, "not-negotiable": 422}


def status_of_refusal(complaint: Malformed) -> int:
    """Return the status for text that could not be read."""
    return _REFUSALS.get(complaint.code, 400)


def status_of_reading(reading: ParsedIdentifier) -> int | None:
    """Return the status where an identifier cannot be negotiated; None where it can be asked.

    A ``tdb`` names a thing, not a document: 303 to the document (D-8). Whether an opaque PDI
    can be answered depends on the resolvers that are configured, not on its text.
    """
    if reading.scheme == "tdb":
        return 303
    if reading.scheme in ("http-date", "pdi") or reading.identifier.negotiable:
        return None
    return 422
