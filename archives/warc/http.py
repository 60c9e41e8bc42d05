"""Heads and blocks of records, and the HTTP response inside a block.

Chunked transfer coding is removed from payloads. Content codings (gzip, br) are kept: they are
part of what was archived.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from archives.regex_compat import compiled
from archives.warc.files import READ_SIZE, ByteSource, Damaged

MAX_HEAD_SIZE: Final = 64 * 1024
MAX_HEAD_LINES: Final = 256

# Real files have lines that end in LF alone, and blank lines that hold a space.
_BLANK_LINE: Final = compiled(rb"\n[ \t\r]*+\n")
_FOLD: Final = compiled(r"\r?+\n[ \t]++")
# One call for all lines: reading heads is half of the work of indexing.
_FIELD: Final = compiled(r"\n([^: \t\r\n]++)[ \t]*+:[ \t]*+([^\n]*+)")

Fields = tuple[tuple[str, str], ...]


class Oversized(Exception):
    """A head with more bytes or lines than the limits allow."""


def head_end(octets: bytes, start: int = 0, stop: int | None = None) -> int | None:
    """Return where the head that begins at *start* ends; None if not before *stop*."""
    stop = len(octets) if stop is None else stop
    end = plain_head_end(octets, start, stop)
    if end is not None:
        return end
    if found := _BLANK_LINE.search(octets, start, min(stop, start + MAX_HEAD_SIZE)):
        end = found.end()
        if octets.count(b"\n", start, end) > MAX_HEAD_LINES + 2:
            raise Oversized(f"a head of more than {MAX_HEAD_LINES} lines")
        return end
    if stop - start >= MAX_HEAD_SIZE:
        raise Oversized(f"a head of more than {MAX_HEAD_SIZE} octets")
    return None


def plain_head_end(octets: bytes, start: int = 0, stop: int | None = None) -> int | None:
    """Return where a head ends in which no line begins with white space; None for another.

    Finding bytes takes a fraction of the time of matching a pattern, and nearly all heads are
    written like this.
    """
    stop = min(len(octets) if stop is None else stop, start + MAX_HEAD_SIZE)
    end = octets.find(b"\r\n\r\n", start, stop)
    is_plain = (
        end >= 0
        and octets.find(b"\n\r", start) == end + 1
        and octets.find(b"\n\n", start, end) < 0
        and octets.find(b"\n ", start, end) < 0
        and octets.find(b"\n\t", start, end) < 0
        and octets.count(b"\n", start, end) <= MAX_HEAD_LINES
    )
    return end + 4 if is_plain else None


def decode_text(head: bytes) -> str:
    """Decode as UTF-8, or else as Latin-1, which accepts any bytes."""
    try:
        return head.decode()
    except UnicodeDecodeError:
        return head.decode("latin-1")


def parse_fields(head: bytes) -> tuple[str, Fields]:
    """Return the first line and the fields after it; lines without a colon are ignored."""
    first, fields = _lines(head)
    return first, tuple([(name, value.rstrip()) for name, value in fields])


def _lines(head: bytes) -> tuple[str, list[tuple[str, str]]]:
    """Return the first line, and the fields with the white space that may follow them."""
    text = decode_text(head)
    if "\n " in text or "\n\t" in text:
        text = _FOLD.sub(" ", text)
    return text[: text.find("\n")].rstrip(), _FIELD.findall(text)


class Headers:
    """The fields of a head by case-insensitive name; the first of several wins."""

    __slots__ = ("_values",)

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        # The last one of a comprehension wins, so they are read from the end.
        self._values = {name.lower(): value for name, value in fields[::-1]}

    @classmethod
    def read(cls, head: bytes) -> tuple[str, "Headers"]:
        """Return the first line of *head*, and the fields after it."""
        first, fields = _lines(head)
        return first, cls(fields)

    def get(self, name: str) -> str | None:
        value = self._values.get(name.lower())
        return None if value is None else value.rstrip()


_STATUS_LINE: Final = compiled(r"[^ \t]++[ \t]++([0-9]{3})(?![0-9])[ \t]*+(.*+)")
# Not all begin with HTTP: radio stations answer "ICY 200 OK".
_RESPONSE_START: Final = compiled(rb"HTTP/|[A-Z]{3,8}+(?:/[0-9.]{1,8}+)?+[ \t][0-9]{3}[ \r\n]")
_CHUNK_SIZE: Final = compiled(rb"([0-9A-Fa-f]{1,8}+)[ \t]*+(?:;[^\r\n]*+)?+\r\n")
_MAX_SIZE_LINE: Final = 64
# RFC 9651 3.3.1: integers have up to 15 digits.
_LENGTH: Final = compiled(r"[0-9]{1,15}")
_UNQUOTABLE: Final = compiled(r"[^ !#-\[\]-~]")
_MAX_QUOTED: Final = 40


class HttpHead(NamedTuple):
    """Status line and header fields of an archived HTTP response."""

    status: int | None
    """None if the first line has no status."""
    reason: str
    headers: Fields

    def get(self, name: str) -> str | None:
        """Return the first field called *name*, which must be in lower case."""
        for key, value in self.headers:
            if key.lower() == name:
                return value
        return None


class Payload(Protocol):
    """A readable sequence of bytes."""

    @property
    def size(self) -> int | None:
        """Bytes left to read; None if only reading can tell."""
        ...

    def read(self, limit: int) -> bytes:
        """Return up to *limit* bytes, and none only at the end."""
        ...


class Block:
    """The block of a record: a reader that knows how many bytes are left.

    Reading the last byte, or calling `finish`, raises `Damaged` if the record is incomplete or
    a checksum after the last byte is wrong.
    """

    __slots__ = ("_at", "_damage", "_open", "_pending", "_source", "left", "offset")

    def __init__(self, source: ByteSource, pending: bytes, at: int, length: int) -> None:
        """Read *length* bytes: those of *pending* from *at* on, then those of *source*."""
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
        """Whether reading it has found damage."""
        return self._damage is not None

    def read(self, limit: int) -> bytes:
        """Return up to *limit* bytes, and none only at the end."""
        if self._damage:
            raise self._damage.again()
        limit = min(limit, self.left)
        if limit <= 0:
            return b""
        if self._at >= len(self._pending):
            self._fetch()
        octets = self._pending[self._at : self._at + limit]
        self._at += len(octets)
        self.left -= len(octets)
        if not self.left:
            self._close()
        return octets

    def read_head(self) -> bytes:
        """Return the lines up to a blank one, or to the end. Raises `Oversized`."""
        while not self._damage:
            stop = min(len(self._pending), self._at + self.left)
            end = head_end(self._pending, self._at, stop)
            if end is not None:
                return self.read(end - self._at)
            if stop - self._at == self.left:
                return self.read(self.left)
            self._fetch()
        raise self._damage.again()

    def peek(self, least: int, limit: int) -> bytes:
        """Return the next *least* to *limit* bytes, or all that are left, unconsumed."""
        if self._damage:
            raise self._damage.again()
        while len(self._pending) - self._at < min(least, self.left):
            self._fetch()
        return self._pending[self._at : self._at + min(self.left, limit)]

    def finish(self) -> None:
        """Read to the end of the record."""
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
    """Read the HTTP head at the start of *block*; None if there is none.

    Some crawlers stored responses without their head; then the whole block is the payload.
    """
    if not _RESPONSE_START.match(block.peek(32, 32)):
        return None
    try:
        first, headers = parse_fields(block.read_head())
    except Oversized as oversized:
        raise Damaged(block.offset, f"the archived response has {oversized}") from None
    status = _STATUS_LINE.fullmatch(first)
    return (
        HttpHead(int(status[1]), status[2], headers) if status else HttpHead(None, "", headers)
    )


def read_plain_http(octets: bytes, start: int, stop: int) -> tuple[HttpHead, int] | None:
    """Read an HTTP head in the usual form, and where its payload begins; None for another."""
    end = plain_head_end(octets, start, stop)
    if end is None or not octets.startswith(b"HTTP/", start):
        return None
    first, headers = parse_fields(octets[start:end])
    status = _STATUS_LINE.fullmatch(first)
    return None if status is None else (HttpHead(int(status[1]), status[2], headers), end)


def payload_of(block: Block, head: HttpHead | None) -> Payload:
    """Return the payload after *head*, without chunked transfer coding."""
    coding = head.get("transfer-encoding") if head else None
    chunked = coding is not None and coding.lower() == "chunked"
    return Unchunked(block) if chunked else block


def length_fault(head: HttpHead, stored: int, *, chunked: bool) -> str | None:
    """Return what is wrong with the Content-Length of *head*; None if nothing is.

    The payload has *stored* bytes, with its transfer coding. It is served whole whatever the
    field says, as pywb serves it. The result is an item of RFC 9651 with parameters.
    """
    stated = [value.strip() for name, value in head.headers if name.lower() == "content-length"]
    # RFC 9110 8.6: the same number may be repeated, also in one field.
    numbers = {number.strip() for value in stated for number in value.split(",")}
    if not numbers:
        return None
    quoted = _UNQUOTABLE.sub("?", ", ".join(stated))[:_MAX_QUOTED]
    if len(numbers) > 1:
        return f'content-length-repeated;stated="{quoted}"'
    [number] = numbers
    if not _LENGTH.fullmatch(number):
        return f'content-length-invalid;stated="{quoted}"'
    if chunked:
        return f"content-length-with-chunked;stated={number}"
    if int(number) == stored:
        return None
    how = "large" if int(number) > stored else "small"
    return f"content-length-too-{how};stated={number};stored={stored}"


class Unchunked:
    """Payload with its chunks decoded (RFC 9112 7.1); unchanged from where no chunk begins.

    Crawlers that undo the coding often keep the header field, so a payload that is not chunked
    despite the field is read as it is, as warcio and pywb do.
    """

    __slots__ = ("_block", "_chunk")

    def __init__(self, block: Block) -> None:
        self._block = block
        self._chunk = 0
        self._begin_chunk()

    @property
    def size(self) -> None:
        return None

    def read(self, limit: int) -> bytes:
        octets = self._block.read(min(limit, self._chunk))
        self._chunk -= len(octets)
        if not self._chunk and octets:
            self._end_chunk()
        return octets

    def _begin_chunk(self) -> None:
        line = self._block.peek(_MAX_SIZE_LINE, _MAX_SIZE_LINE)
        if size := _CHUNK_SIZE.match(line):
            self._block.read(size.end())
            self._chunk = min(int(size[1], 16), self._block.left)
        else:
            self._chunk = self._block.left
        if not self._chunk:
            self._block.finish()

    def _end_chunk(self) -> None:
        if self._block.peek(2, 2) == b"\r\n":
            self._block.read(2)
        self._begin_chunk()
