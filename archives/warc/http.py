"""The HTTP answer inside a record: its head, and its payload freed from chunks.

Content codings (gzip, br) are left as they are: they belong to what was archived.
"""

from typing import Final, NamedTuple, Protocol

from archives.possessive import compiled
from archives.warc.head import Fields, Oversized, fields_of
from archives.warc.stored import Damaged

_STATUS_LINE: Final = compiled(r"[^ \t]++[ \t]++([0-9]{3})(?![0-9])[ \t]*+(.*+)")
# Not all say HTTP: radio stations answer ICY 200 OK.
_ANSWER: Final = compiled(rb"HTTP/|[A-Z]{3,8}+(?:/[0-9.]{1,8}+)?+[ \t][0-9]{3}[ \r\n]")
_CHUNK_SIZE: Final = compiled(rb"([0-9A-Fa-f]{1,8}+)[ \t]*+(?:;[^\r\n]*+)?+\r\n")
_LONGEST_SIZE: Final = 64


class HttpHead(NamedTuple):
    """What stands before the payload."""

    status: int | None
    """None where the first line tells none."""
    reason: str
    headers: Fields

    def get(self, name: str) -> str | None:
        """Return the first field of that name, which is given in lower case."""
        for key, value in self.headers:
            if key.lower() == name:
                return value
        return None


class Payload(Protocol):
    """Something to read octets from."""

    @property
    def size(self) -> int | None:
        """How many are left; None where only reading can tell."""
        ...

    def read(self, most: int) -> bytes:
        """Return some octets, no more than *most*, none only at the end."""
        ...


class Octets(Payload, Protocol):
    """What of a `Block` is needed here, for those who put something in between."""

    @property
    def offset(self) -> int: ...
    @property
    def left(self) -> int: ...
    def read_head(self) -> bytes: ...
    def upcoming(self, least: int, most: int) -> bytes: ...
    def finish(self) -> None: ...


def read_http(block: Octets) -> HttpHead | None:
    """Return the head at the start of *block* and leave the payload; None if there is none.

    Some crawlers stored answers without their head; then the whole block is the payload.
    """
    if not _ANSWER.match(block.upcoming(32, 32)):
        return None
    try:
        first, headers = fields_of(block.read_head())
    except Oversized as oversized:
        raise Damaged(block.offset, f"the archived answer has {oversized}") from None
    status = _STATUS_LINE.fullmatch(first)
    return (
        HttpHead(int(status[1]), status[2], headers) if status else HttpHead(None, "", headers)
    )


def payload_of(block: Octets, head: HttpHead | None) -> Payload:
    """Return the payload behind *head*, without chunked transfer coding."""
    coding = head.get("transfer-encoding") if head else None
    chunked = coding is not None and coding.lower() == "chunked"
    return Unchunked(block) if chunked else block


class Unchunked:
    """The data of chunks (RFC 9112 7.1), or from where there are none, all that is left.

    Crawlers that undo the coding often keep the field, so what says it is chunked and is not
    must be taken as it is; warcio and pywb do the same.
    """

    __slots__ = ("_block", "_chunk")

    def __init__(self, block: Octets) -> None:
        self._block = block
        self._chunk = 0
        self._begin_chunk()

    @property
    def size(self) -> None:
        return None

    def read(self, most: int) -> bytes:
        octets = self._block.read(min(most, self._chunk))
        self._chunk -= len(octets)
        if not self._chunk and octets:
            self._end_chunk()
        return octets

    def _begin_chunk(self) -> None:
        line = self._block.upcoming(_LONGEST_SIZE, _LONGEST_SIZE)
        if size := _CHUNK_SIZE.match(line):
            self._block.read(size.end())
            self._chunk = min(int(size[1], 16), self._block.left)
        else:
            self._chunk = self._block.left
        if not self._chunk:
            self._block.finish()

    def _end_chunk(self) -> None:
        if self._block.upcoming(2, 2) == b"\r\n":
            self._block.read(2)
        self._begin_chunk()
