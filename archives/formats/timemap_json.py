"""TimeMaps and CDX indexes that are one JSON document, decoded as they arrive.

There are two shapes, distinguished by their beginning::

    {"original_uri": ..., "mementos": {"list": [{"datetime": ..., "uri": ...}, ...]}, ...}
    [["urlkey", "timestamp", "original", ...], ["com,example)/", "20020120142510", ...], ...]

The first is MemGator's and Time Travel's, the second the Internet Archive's, for TimeMaps and
CDX alike. The captures are in objects and arrays that contain no others (leaves), so only these
are decoded; of the rest, only the brackets are counted.
"""

import re
from collections.abc import Sequence
from typing import Final

from archives.diagnostics import Malformed
from archives.formats.cdx import FIELDS
from archives.formats.httpdate import stamp_from_http_date
from archives.formats.linkformat import resolved
from archives.formats.rows import (
    ListDecoder,
    Row,
    TimeMapPage,
    UnreadableItem,
    json_value,
    row_from_fields,
    stamp_from_iso,
    text_fields,
    texts,
)
from archives.moment import stamp_from_digits
from archives.regex_compat import compiled

_STRING: Final = r'"[^"\\]*+(?:\\[\s\S]?+[^"\\]*+)*+"'
_SPACE: Final = compiled(r"[ \t\r\n,\xef\xbb\xbf]*+")
# Up to the character that shows whether it contains another object or array.
_OBJECT: Final = compiled(rf'\{{[^{{}}"]*+(?:{_STRING}[^{{}}"]*+)*+')
_ARRAY: Final = compiled(rf'\[[^\[\]{{}}"]*+(?:{_STRING}[^\[\]{{}}"]*+)*+')
_SCALAR: Final = compiled(rf'{_STRING}|[^ \t\r\n,:\[\]{{}}"]++(?=[\s\S])')
_END: Final = {"{": "}", "[": "]"}
# A row that is too long is dropped, but its end must be found to continue after it.
_LONGEST_TOKEN: Final = 65_536


class JsonTimeMap(ListDecoder):
    """Reads a TimeMap or an index that is one JSON object or array."""

    def __init__(self, base_url: str) -> None:
        super().__init__(base_url)
        self._depth = 0
        self._begun = False
        self._text = ""
        """The last string: a key, if a colon follows."""
        self._key = ""
        self._list = ""
        """The key of the list that began last."""
        self._names: list[str] = []
        self._after_empty_row = False

    def close(self) -> Sequence[Row]:
        """End the document; return the rows that this completed."""
        rows = super().close()
        if self._depth or not self._begun:
            self.note_shortfall("its last bracket is missing")
        return rows

    def _take(self, text: str, *, last: bool) -> tuple[list[Row], str]:
        rows: list[Row] = []
        at = _after_space(text, 0)
        while at < len(text):
            end = _token_end(text, at)
            if not end:
                return rows, self._unfinished(text, at, last=last)
            self._take_token(rows, text[at:end])
            at = _after_space(text, end)
        return rows, ""

    def _unfinished(self, text: str, at: int, *, last: bool) -> str:
        if len(text) - at > _LONGEST_TOKEN:
            self._stop(f"a value of more than {_LONGEST_TOKEN} bytes")
        elif last:
            self.note_shortfall("it ends inside a value")
        else:
            return text[at:]
        return ""

    def _take_token(self, rows: list[Row], token: str) -> None:
        self._no_captures += 1
        match token:
            case ":":
                self._key = self._text
                return
            case "{" | "[":
                self._depth += 1
                self._begun = True
                self._list = self._key if token.startswith("[") else self._list
            case "}" | "]":
                self._depth -= 1
            case _ if token[0] in _END:
                self._begun = True
                self._take_leaf(rows, token)
            case _ if token[0] == '"':
                self._take_text(token)
        self._key = ""

    def _take_text(self, token: str) -> None:
        try:
            self._text = str(json_value(token))
        except UnreadableItem:
            self._text = ""
        if self._key == "original_uri":
            self.original = self.original or self._text
        if self._key == "timegate_uri":
            self.timegate = self.timegate or self._text

    def _take_leaf(self, rows: list[Row], token: str) -> None:
        if self._key:
            # "first": {...} and "last": {...} repeat captures of the list.
            if self._key == "next":
                self._take_next_page(token)
            return
        try:
            found = self._rows_of(self._bounded(token))
            self._no_captures -= len(found)
            rows += found
        except UnreadableItem:
            self.skipped += 1

    def _take_next_page(self, token: str) -> None:
        """Read ``"pages": {"next": {"uri": ...}}``; a memento called next has a datetime."""
        try:
            fields = text_fields(json_value(self._bounded(token)))
        except UnreadableItem:
            self.note_shortfall("the address of its next page cannot be read")
            return
        uri = resolved(fields.get("uri", ""), self.base_url) if fields.get("uri") else None
        if uri and "datetime" not in fields:
            self._add_page(TimeMapPage(uri, None, None))

    def _rows_of(self, token: str) -> list[Row]:
        value = json_value(token)
        if token[0] == "{":
            return self._read_entry(text_fields(value))
        return self._read_line(texts(value))

    def _read_entry(self, fields: dict[str, str]) -> list[Row]:
        if "uri" in fields:
            fields["uri"] = resolved(fields["uri"], self.base_url) or ""
        stated = fields.get("datetime") or fields.get("timestamp")
        is_page = fields.keys() & {"from", "until"} or self._list == "timemap_index"
        if not stated and fields.get("uri") and is_page:
            since, until = (_time(fields.get(name, "")) for name in ("from", "until"))
            self._add_page(TimeMapPage(fields["uri"], since, until))
            return []
        return [row_from_fields(self._valid_stamp(_time(stated or ""), stated or ""), fields)]

    def _read_line(self, values: list[str]) -> list[Row]:
        if not values:
            self._after_empty_row = True
            return []
        if self._after_empty_row and len(values) == 1:
            self.resume_key = values[0]
            return []
        if not self._names:
            self._names = values if "timestamp" in values else list(FIELDS)
            if self._names is values:
                return []
        if len(values) < len(self._names):
            raise UnreadableItem("fields are missing")
        fields = dict(zip(self._names, values, strict=False))
        stated = fields["timestamp"]
        return [row_from_fields(self._valid_stamp(_time(stated), stated), fields)]


def _time(stated: str) -> str | None:
    """Read a time as written by MemGator (RFC 3339), CDX servers (digits) or in headers."""
    stamp = stamp_from_iso(stated) or stamp_from_digits(stated)
    if stamp or not stated[:1].isalpha():
        return stamp
    try:
        return stamp_from_http_date(stated)
    except Malformed:
        return None


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return the end of the match that begins at *at*; *at* if there is none."""
    match = pattern.match(text, at, at + _LONGEST_TOKEN)
    return match.end() if match else at


def _token_end(text: str, at: int) -> int | None:
    """Return the end of the bracket, value or leaf at *at*; None if it is not in *text*."""
    first = text[at]
    if first in "]}:":
        return at + 1
    if first not in _END:
        end = _end(_SCALAR, text, at)
        return end if end > at else None
    end = _end(_OBJECT if first == "{" else _ARRAY, text, at)
    following = text[end : end + 1]
    if following == _END[first]:
        return end + 1
    return at + 1 if following and following in "{[]}" else None
