"""Parts of a body: one range, as RFC 9110 14 has it, or all."""

from typing import NamedTuple

from timegate.responses.archived_headers import SINGLE_RANGE
from timegate.responses.model import ClientRequest


class ByteRange(NamedTuple):
    """Octets from *start* to before *end*."""

    start: int
    end: int

    def of(self, size: int) -> str:
        """Return the value of ``Content-Range``."""
        return f"bytes {self.start}-{self.end - 1}/{size}"


class Unsatisfiable(ValueError):
    """A range of which there is nothing."""


def wanted_part(call: ClientRequest, size: int, etag: str | None) -> ByteRange | None:
    """Return the part that is asked for; None for all, also where the range is none.

    Raises Unsatisfiable.
    """
    text = (call.header("Range") or "").replace(" ", "")
    condition = call.header("If-Range")
    if call.method == "HEAD" or not SINGLE_RANGE.fullmatch(text):
        return None
    if condition is not None and condition.strip() != etag:
        return None
    first, _, last = text.removeprefix("bytes=").partition("-")
    start = int(first) if first else max(size - int(last), 0)
    end = min(int(last) + 1, size) if first and last else size
    if first and last and int(last) < start:
        # RFC 9110 14.1.1: not a range at all.
        return None
    if start >= size:
        raise Unsatisfiable
    return ByteRange(start, end)


def is_known(call: ClientRequest, etag: str | None) -> bool:
    """Whether the client says that it has it already (RFC 9110 13.1.2)."""
    stated = call.header("If-None-Match")
    if stated is None or etag is None:
        return False
    known = (one.strip().removeprefix("W/") for one in stated[:8192].split(","))
    return stated.strip() == "*" or etag in known
