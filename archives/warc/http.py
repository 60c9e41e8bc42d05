"""The HTTP answer inside a record: its head, and its payload freed from chunks.

Content codings (gzip, br) are left as they are: they belong to what was archived.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from archives.regex_compat import compiled
from archives.warc.files import ByteSource, Damaged

READ_SIZE: Final = 64 * 1024
MAX_HEAD_SIZE: Final = 64 * 1024
MAX_HEAD_LINES: Final = 256

# Lines that end in LF alone are met in real files, and blank ones that hold a space.
_BLANK_LINE: Final = compiled(rb"\n[ \t\r]*+\n")
_FOLDED: Final = compiled(r"\n[ \t]")
_FOLD: Final = compiled(r"\r?+\n[ \t]++")
# One call for all lines: heads are half of the work of an index.
_FIELD: Final = compiled(r"\n([^: \t\r\n]++)[ \t]*+:[ \t]*+([^\n]*+)")

Fields = tuple[tuple[str, str], ...]


class Oversized(Exception):
    """More head than anybody needs."""


def head_end(octets: bytes, start: int = 0, stop: int | None = None) -> int | None:
    """Return where the head between *start* and *stop* ends, None where it goes on."""
    stop = len(octets) if stop is None else stop
    if found := _BLANK_LINE.search(octets, start, min(stop, start + MAX_HEAD_SIZE)):
        end = found.end()
        if octets.count(b"\n", start, end) > MAX_HEAD_LINES + 2:
            raise Oversized(f"a head of more than {MAX_HEAD_LINES} lines")
        return end
    if stop - start >= MAX_HEAD_SIZE:
        raise Oversized(f"a head of more than {MAX_HEAD_SIZE} octets")
    return None


def text_of(head: bytes) -> str:
    """Read octets as UTF-8, or else as Latin-1, which anything is."""
    try:
        return head.decode()
    except UnicodeDecodeError:
        return head.decode("latin-1")


def fields_of(head: bytes) -> tuple[str, Fields]:
    """Return the first line and the fields behind it; a line without a colon is none."""
    text = _unfolded(head)
    return _first_line(text), tuple(
        [(name, value.rstrip()) for name, value in _FIELD.findall(text)]
    )


def _unfolded(head: bytes) -> str:
    text = text_of(head)
    return _FOLD.sub(" ", text) if _FOLDED.search(text) else text


def _first_line(text: str) -> str:
    return text[: text.find("\n")].rstrip()


class Headers:
    """The fields of a head by name, whatever the case; the first where there are several."""

    __slots__ = ("_values",)

    def __init__(self, fields: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, str] = {}
        for name, value in fields:
            self._values.setdefault(name.lower(), value.rstrip())

    @classmethod
    def read(cls, head: bytes) -> tuple[str, "Headers"]:
        """Return the first line of *head*, and the fields behind it."""
        text = _unfolded(head)
        return _first_line(text), cls(_FIELD.findall(text))

    def get(self, name: str) -> str | None:
        return self._values.get(name.lower())


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


class Block:
    """A reader that knows how many octets are left.

    Whoever reads the last octet, or calls `finish`, learns whether the record was whole:
    `Damaged` is raised where it was not, also for a wrong checksum behind the last octet.
    """

    __slots__ = ("_at", "_damage", "_open", "_pending", "_source", "left", "offset")

    def __init__(self, source: ByteSource, pending: bytes, at: int, length: int) -> None:
        """Read *length* octets: those of *pending* from *at* on, then those of *source*."""
        self.offset = source.offset
        self.left = length
        self._source = source
        self._pending = pending
        self._at = at
        self._open = True
        self._damage: Damaged | None = None

    @property
    def size(self) -> int:
        return self.left

    @property
    def broken(self) -> bool:
        """Whether it was found to be damaged."""
        return self._damage is not None

    def read(self, most: int) -> bytes:
        """Return some octets, no more than *most*, none only at the end."""
        if self._damage:
            raise self._damage.again()
        most = min(most, self.left)
        if most <= 0:
            return b""
        if self._at >= len(self._pending):
            self._fetch()
        octets = self._pending[self._at : self._at + most]
        self._at += len(octets)
        self.left -= len(octets)
        if not self.left:
            self._close()
        return octets

    def read_head(self) -> bytes:
        """Return the lines up to a blank one, or to the end; raise `Oversized`."""
        while not self._damage:
            stop = min(len(self._pending), self._at + self.left)
            end = head_end(self._pending, self._at, stop)
            if end is not None:
                return self.read(end - self._at)
            if stop - self._at == self.left:
                return self.read(self.left)
            self._fetch()
        raise self._damage.again()

    def upcoming(self, least: int, most: int) -> bytes:
        """Return what comes next without reading it, *least* octets unless fewer are left."""
        if self._damage:
            raise self._damage.again()
        while len(self._pending) - self._at < min(least, self.left):
            self._fetch()
        return self._pending[self._at : self._at + min(self.left, most)]

    def finish(self) -> None:
        """Read on to the end of the record."""
        if self._damage:
            raise self._damage.again()
        ahead = len(self._pending) - self._at
        if self.left > ahead:
            self.left -= self._source.skip(self.left - ahead)
        if self.left <= ahead:
            self._at += self.left
            self.left = 0
        while self.left:
            self.read(READ_SIZE)
        if self._open:
            self._close()

    def _fetch(self) -> None:
        try:
            more = self._source.read(READ_SIZE)
        except Damaged as damage:
            self._damage = damage.again()
            raise
        self._pending = self._pending[self._at :] + more
        self._at = 0
        if not more:
            why = f"the record ends {self.left - len(self._pending)} octets early"
            self._damage = Damaged(self.offset, why, self._source.position)
            raise self._damage.again()

    def _close(self) -> None:
        self._open = False
        try:
            self._source.close(self._pending[self._at :])
        except Damaged as damage:
            self._damage = damage.again()
            raise
        self._pending = b""
        self._at = 0


def read_http(block: Block) -> HttpHead | None:
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


def payload_of(block: Block, head: HttpHead | None) -> Payload:
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

    def __init__(self, block: Block) -> None:
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
