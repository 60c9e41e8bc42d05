"""Lists with one capture on each line: CDX, CDXJ, and JSON objects (pywb, arquivo.pt).

The format of each line is visible in it, so one decoder reads them all::

    com,example)/ 20020120142510 http://example.com:80/ text/html 200 HT2D... 1792
    com,example)/ 20140126200624 {"url": "http://example.com/", "status": "200", ...}
    20160122112029 {"uri": "http://web.archive.org/web/2016.../", "rel": "memento", ...}
    {"urlkey": "com,example)/", "timestamp": "20140126200624", "url": ..., ...}
    !meta {"original_uri": "http://example.com/"}

The Internet Archive writes its resume key after an empty line at the end.
"""

import re
from collections.abc import Mapping
from typing import Final

from archives.formats.rows import (
    LONGEST_ITEM,
    ListDecoder,
    Row,
    UnreadableItem,
    json_value,
    plain,
    row_from_fields,
    text_fields,
)
from archives.moment import stamp_from_digits

# The first six are the same in CDX of 6, 7, 9 and 11 fields (IA, OpenWayback, OutbackCDX).
FIELDS: Final = ("urlkey", "timestamp", "original", "mimetype", "statuscode", "digest")
_LENGTHS: Final = {7: 6, 11: 8}
"""Where the length stands in lines of so many fields; those of 9 have none."""
_CDXJ: Final = re.compile(r"(?:([^ ]++) )?([0-9]{4,23}) (\{.*+)")
_HEADERS: Final = ("!", "@", " CDX ")
_BOM: Final = "\xef\xbb\xbf"


class CdxLines(ListDecoder):
    """Reads one capture from each line."""

    def __init__(self, base_url: str, fields: tuple[str, ...] = FIELDS) -> None:
        """*fields* names the columns of plain CDX, if others were requested from the server."""
        super().__init__(base_url)
        self._fields = fields
        self._in_long_line = False
        self._after_blank = False

    def _take(self, text: str, *, last: bool) -> tuple[list[Row], str]:
        rows: list[Row] = []
        *lines, rest = self._after_long_line(text).split("\n")
        for line in lines:
            self._take_line(rows, line)
        if last and rest and not self._take_line(rows, rest):
            self.note_shortfall("it ends inside a line")
        if len(rest) > LONGEST_ITEM and not last:
            self._take_line(rows, rest)
            self._in_long_line = True
        return rows, "" if last or self._in_long_line else rest

    def _after_long_line(self, text: str) -> str:
        if not self._in_long_line:
            return text
        _, newline, rest = text.partition("\n")
        self._in_long_line = not newline
        return rest

    def _take_line(self, rows: list[Row], line: str) -> bool:
        """Read one line; return False if it cannot be read."""
        # Of a long line only the beginning may have arrived.
        if len(line) <= LONGEST_ITEM and not line.strip("\r \t"):
            self._after_blank = True
            self._no_captures += 1
            return True
        try:
            rows += self._captures(self._bounded(line).strip("\r").removeprefix(_BOM))
        except UnreadableItem:
            return self._take_resume_key(line.strip("\r"))
        self._after_blank = False
        return True

    def _take_resume_key(self, line: str) -> bool:
        is_key = len(line) <= LONGEST_ITEM and " " not in line and not line.startswith("{")
        if is_key and self._after_blank:
            self.resume_key = plain(line)
            return True
        self.skipped += 1
        return False

    def _captures(self, line: str) -> list[Row]:
        if line.startswith("{"):
            fields = text_fields(json_value(line))
            return [self._capture(fields.get("timestamp", ""), fields)]
        if line.startswith(_HEADERS):
            self._note_header(line)
            self._no_captures += 1
            return []
        if match := _CDXJ.fullmatch(line):
            fields = text_fields(json_value(match[3]))
            return [self._capture(match[2], {"urlkey": match[1] or "", **fields})]
        values = plain(line).split(" ")
        if len(values) < len(self._fields):
            raise UnreadableItem("fields are missing")
        fields = dict(zip(self._fields, values, strict=False))
        if self._fields is FIELDS and len(values) in _LENGTHS:
            fields["length"] = values[_LENGTHS[len(values)]]
        return [self._capture(fields.get("timestamp", ""), fields)]

    def _capture(self, digits: str, fields: Mapping[str, str]) -> Row:
        return row_from_fields(self._valid_stamp(stamp_from_digits(digits), digits), fields)

    def _note_header(self, line: str) -> None:
        """Read the original and its TimeGate, which MemGator writes in ``!meta`` lines."""
        _, brace, rest = line.partition("{")
        if brace and line.startswith("!meta"):
            fields = text_fields(json_value(brace + rest))
            self.original = self.original or fields.get("original_uri")
            self.timegate = self.timegate or fields.get("timegate_uri")
