"""The WARC that is written: under another name until it is whole and on the disk.

Each copy is a ``response`` with the archived status and headers where the archive tells them,
else a ``resource``. Beside it stands a ``metadata`` record with the reference that led to it
and the verdict: as warc-fields, which no indexer takes for a capture.
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
from timegate.extract.fetching import Fetched, Fields, FoundCopy, told_type
from timegate.text import masked
from timegate.verdict import header_safe

_FIELDS: Final = "application/warc-fields"


class WarcFile:
    """A WARC under way. Use as a context manager; without `finish` there is no file."""

    def __init__(self, path: Path, info: Mapping[str, str]) -> None:
        """Begin the file *path*, which must not exist. Raises OSError."""
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        if path.exists():
            raise FileExistsError(17, "exists already", str(path))
        self._file = self._part.open("wb")
        self._writer = WARCWriter(
            self._file, gzip=path.suffix == ".gz", warc_version="WARC/1.1"
        )
        told = {name: _line(value) for name, value in info.items()}
        record = self._writer.create_warcinfo_record(_line(path.name), told)
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
        """Wait until everything is on the disk, and give the file its name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._part.rename(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def add_copy(self, copy: FoundCopy, content: Fetched, fields: Fields | None) -> str:
        """Write the copy; return the id of its record."""
        head = {
            "WARC-Date": str(copy.captured),
            "WARC-Source-URI": header_safe(copy.uri),
            "WARC-Warcinfo-ID": self._info,
            "WARC-Payload-Digest": content.digest,
        }
        http = None
        if fields is not None:
            # Nobody tells the phrase behind the status; RFC 9112 4 lets it be empty.
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
            # warcio would call what has no type a whole record.
            record.content_type = told_type(content)
        self._writer.write_record(record)
        return str(record.rec_headers.get_header("WARC-Record-ID"))

    def add_verdict(
        self,
        result: ItemResult,
        refers_to: str,
        fetched_from: str,
        passed_over: Sequence[str] = (),
    ) -> None:
        """Write which reference led to the copy *refers_to*, and how good it is.

        *passed_over* says which better copies could not be had.
        """
        told: dict[str, object] = {
            "reference": result.item.text,
            "outcome": result.outcome,
            "verdict": result.why,
            "pwid": result.pwid,
            "fetched": fetched_from,
            "report": result.report,
        }
        if passed_over:
            told["passed-over"] = [*passed_over]
        # JSON in ASCII is one line, whatever was in the list.
        lines = [f"{name}: {json.dumps(value)}\r\n" for name, value in told.items()]
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
    """Return *text* so that it ends no field; names of files may have any character."""
    return masked(text, "?")
