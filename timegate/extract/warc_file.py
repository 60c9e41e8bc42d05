"""Writes the WARC.

Each copy is a ``response`` record with the archived status and headers if the archive sends
them, otherwise a ``resource``. A response whose payload is already there is a ``revisit``. A
``metadata`` record states the reference or the page that led to a copy, and the verdict; its
type is warc-fields, which no indexer treats as a capture.
"""

import json
import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from timegate.batch.model import ItemResult
from timegate.extract.fetching import Fetched, Fields, FoundCopy, stated_type
from timegate.extract.journal import WrittenCopy
from timegate.text import masked
from timegate.verdict import header_safe

_FIELDS: Final = "application/warc-fields"


class WarcFile:
    """A WARC that is being written, a context manager."""

    def __init__(
        self, path: Path, info: Mapping[str, str], *, name: str | None = None, end: int = 0
    ) -> None:
        """Open *path*, and continue after its first *end* octets. Raises OSError.

        *name* is the final name of the file, if it is another one.
        """
        self._file = path.open("r+b" if end else "wb")
        self._file.truncate(end)
        self._file.seek(end)
        self._writer = WARCWriter(
            self._file, gzip=path.suffix == ".gz", warc_version="WARC/1.1"
        )
        # A run that continues describes itself as well: its records refer to it.
        fields = {key: _line(value) for key, value in info.items()}
        record = self._writer.create_warcinfo_record(_line(name or path.name), fields)
        self._info = str(record.rec_headers.get_header("WARC-Record-ID"))
        self._writer.write_record(record)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    @property
    def end(self) -> int:
        """The length of the file, with all records handed to the system."""
        self._file.flush()
        return self._file.tell()

    def sync(self) -> None:
        """Wait until all records are on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def add_copy(self, copy: FoundCopy, content: Fetched, fields: Fields | None) -> str:
        """Write a copy; return the id of its record."""
        head = self._head(copy, content)
        record = self._writer.create_warc_record(
            header_safe(copy.original),
            "resource" if fields is None else "response",
            payload=content.body,
            length=content.length,
            http_headers=None if fields is None else _http(content, fields),
            warc_headers_dict=head,
        )
        if fields is None:
            # Without a type, warcio would write that of a whole record.
            record.content_type = stated_type(content)
        self._writer.write_record(record)
        return str(record.rec_headers.get_header("WARC-Record-ID"))

    def add_revisit(
        self, copy: FoundCopy, content: Fetched, fields: Fields, first: WrittenCopy
    ) -> str:
        """Write a copy with the payload of *first*; return the id of its record."""
        record = self._writer.create_revisit_record(
            header_safe(copy.original),
            content.digest,
            header_safe(first.original),
            first.captured,
            http_headers=_http(content, fields),
            warc_headers_dict={**self._head(copy, content), "WARC-Refers-To": first.record},
        )
        self._writer.write_record(record)
        # warcio computes the digest of the head in a temporary file, and leaves it open.
        record.raw_stream.close()
        return str(record.rec_headers.get_header("WARC-Record-ID"))

    def _head(self, copy: FoundCopy, content: Fetched) -> dict[str, str]:
        return {
            "WARC-Date": str(copy.captured),
            "WARC-Source-URI": header_safe(copy.uri),
            "WARC-Warcinfo-ID": self._info,
            "WARC-Payload-Digest": content.digest,
        }

    def add_verdict(
        self,
        result: ItemResult,
        refers_to: str,
        fetched_from: str,
        passed_over: Sequence[str] = (),
        parts: Mapping[str, object] | None = None,
    ) -> None:
        """Write the reference that led to the record *refers_to*, and the verdict.

        *passed_over* lists better copies that could not be fetched; *parts* describes what the
        page embeds.
        """
        members: dict[str, object] = {
            "reference": result.item.text,
            "outcome": result.outcome,
            "verdict": result.why,
            "pwid": result.pwid,
            "fetched": fetched_from,
            "report": result.report,
        }
        if passed_over:
            members["passed-over"] = [*passed_over]
        if parts is not None:
            members["parts"] = parts
        self.add_metadata(refers_to, members)

    def add_metadata(self, refers_to: str, members: Mapping[str, object]) -> None:
        """Write *members* as JSON values about the record *refers_to*."""
        # ASCII JSON has no line breaks, whatever the reference contains.
        lines = [f"{name}: {json.dumps(value)}\r\n" for name, value in members.items()]
        block = "".join(lines).encode()
        head = {
            "WARC-Refers-To": refers_to,
            "WARC-Warcinfo-ID": self._info,
            "Content-Type": _FIELDS,
        }
        record = self._writer.create_warc_record(
            "", "metadata", payload=BytesIO(block), length=len(block), warc_headers_dict=head
        )
        self._writer.write_record(record)


def _http(content: Fetched, fields: Fields) -> StatusAndHeaders:
    # The reason phrase is not known; RFC 9112, section 4, allows an empty one.
    return StatusAndHeaders(f"{content.archived_status} ", fields, protocol="HTTP/1.1")


def _line(text: str) -> str:
    """Return *text* without control characters, which file names may contain."""
    return masked(text, "?")
