"""Writes the WARC, under a temporary name until it is complete and on disk.

Each copy is a ``response`` record with the archived status and headers if the archive sends
them, otherwise a ``resource``. A ``metadata`` record states the reference that led to the copy,
and the verdict; its type is warc-fields, which no indexer treats as a capture.
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
from timegate.text import masked
from timegate.verdict import header_safe

_FIELDS: Final = "application/warc-fields"


class WarcFile:
    """A WARC that is being written, a context manager. Without `finish`, no file remains."""

    def __init__(self, path: Path, info: Mapping[str, str]) -> None:
        """Create the file *path*, which must not exist. Raises OSError."""
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        if path.exists():
            raise FileExistsError(17, "exists already", str(path))
        self._file = self._part.open("wb")
        self._writer = WARCWriter(
            self._file, gzip=path.suffix == ".gz", warc_version="WARC/1.1"
        )
        fields = {name: _line(value) for name, value in info.items()}
        record = self._writer.create_warcinfo_record(_line(path.name), fields)
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
        self._part.unlink(missing_ok=True)

    def finish(self) -> None:
        """Sync the file to disk and give it its final name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._part.rename(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def add_copy(self, copy: FoundCopy, content: Fetched, fields: Fields | None) -> str:
        """Write a copy; return the id of its record."""
        head = {
            "WARC-Date": str(copy.captured),
            "WARC-Source-URI": header_safe(copy.uri),
            "WARC-Warcinfo-ID": self._info,
            "WARC-Payload-Digest": content.digest,
        }
        http = None
        if fields is not None:
            # The reason phrase is not known; RFC 9112, section 4, allows an empty one.
            http = StatusAndHeaders(f"{content.archived_status} ", fields, protocol="HTTP/1.1")
        record = self._writer.create_warc_record(
            header_safe(copy.original),
            "resource" if fields is None else "response",
            payload=content.body,
            length=content.length,
            http_headers=http,
            warc_headers_dict=head,
        )
        if fields is None:
            # Without a type, warcio would write that of a whole record.
            record.content_type = stated_type(content)
        self._writer.write_record(record)
        return str(record.rec_headers.get_header("WARC-Record-ID"))

    def add_verdict(
        self,
        result: ItemResult,
        refers_to: str,
        fetched_from: str,
        passed_over: Sequence[str] = (),
    ) -> None:
        """Write the reference that led to the record *refers_to*, and the verdict.

        *passed_over* lists better copies that could not be fetched.
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


def _line(text: str) -> str:
    """Return *text* without control characters, which file names may contain."""
    return masked(text, "?")
