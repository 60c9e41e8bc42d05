"""WARCs in S3 or a compatible store: listing them, signing their URLs, reading them.

obstore only lists and signs. It does not fetch, since it follows redirects to any host (seen
with 0.12.1: a 302 to another port was followed), and no host but the store may be contacted
(R-1). Credentials come from the environment, never from the configuration (R-26).
"""

import http.client
import os
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import BinaryIO, Final
from urllib.parse import urlsplit

from archives.warc.remote import Piece, checked_range, open_remote, read_error, safe_path
from archives.warc_index.files import (
    MAX_FILES,
    Complain,
    ScanEvent,
    ScanFailure,
    failure_of,
    kind_of,
    scan_file,
)
from archives.warc_index.model import FileInfo, FolderContents
from archives.warc_index.writing import IndexJob

try:
    import obstore
    from obstore.exceptions import BaseError
    from obstore.store import S3Store
except ImportError:  # pragma: no cover - the extra is not installed
    _INSTALLED = False
else:
    _INSTALLED = True

_TIMEOUT: Final = 30.0
_TRIES: Final = 2
_READ_AHEAD: Final = 4 * 1024**2
_URL_LIFETIME: Final = timedelta(minutes=15)
"""Lifetime of a signed URL: S3 rejects clocks that are wrong by more than this anyway."""
_SECOND: Final = 1_000_000_000


class S3NotInstalled(Exception):
    """Reading s3:// needs the optional dependency obstore."""

    def __init__(self) -> None:
        super().__init__("s3:// needs obstore: pip install 'timegate-proxy[s3]'")


class S3Bucket:
    """Files below a prefix of a bucket: `FileStore` for indexing, signed URLs for replay."""

    def __init__(self, url: str) -> None:
        """Open ``s3://bucket/prefix/``. Raises S3NotInstalled or ValueError."""
        if not _INSTALLED:
            raise S3NotInstalled
        parts = urlsplit(url)
        if parts.scheme.lower() != "s3" or not parts.netloc or "@" in parts.netloc:
            raise ValueError("write s3://bucket/prefix/; credentials come from the environment")
        public = os.environ.get("AWS_SKIP_SIGNATURE", "").lower() == "true"
        if not public and not os.environ.get("AWS_ACCESS_KEY_ID"):
            # Otherwise obstore would request credentials from 169.254.169.254, a host that is
            # not configured.
            raise ValueError("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3://")
        self._store = S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            client_options={
                "timeout": timedelta(seconds=_TIMEOUT),
                # Explicit client options override those of the environment.
                "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true",
            },
            retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=_TIMEOUT)},
        )

    def listing(self, complain: Complain) -> FolderContents:
        """Return the WARCs and WACZs; CDX files are only used in local folders."""
        files: dict[str, FileInfo] = {}
        try:
            for objects in obstore.list(self._store):
                for item in objects:
                    kind = kind_of(item["path"])
                    if kind in (None, "cdx"):
                        continue
                    if len(files) >= MAX_FILES:
                        complain(item["path"], 0, f"left out: more than {MAX_FILES} files")
                        return FolderContents(files, ())
                    time = _mtime(item["last_modified"], item["e_tag"])
                    files[item["path"]] = FileInfo(item["path"], kind, item["size"], time)
        except (BaseError, OSError) as error:
            raise read_error(_first_line(error)) from error
        return FolderContents(files, ())

    def address(self, path: str) -> str:
        """Return a signed URL of one file, which is a secret while it is valid."""
        try:
            return obstore.sign(self._store, "GET", safe_path(path), _URL_LIFETIME)
        except (BaseError, OSError) as error:
            raise read_error(_first_line(error)) from error

    async def address_async(self, path: str) -> str:
        """Return a signed URL without blocking the event loop."""
        try:
            return await obstore.sign_async(self._store, "GET", safe_path(path), _URL_LIFETIME)
        except (BaseError, OSError) as error:
            raise read_error(_first_line(error)) from error

    def open(self, path: str) -> BinaryIO:
        return open_remote(self, path, ahead=_READ_AHEAD)

    def read(self, jobs: Sequence[IndexJob], workers: int) -> Iterator[ScanEvent]:
        """Read one file after another: the network is the limit, not the processor."""
        del workers
        for job in jobs:
            try:
                with self.open(job.file.path) as file:
                    for batch in scan_file(file, job.file.kind, job.start):
                        yield job, batch
            except Exception as error:  # noqa: BLE001 -- the boundary around each file
                yield job, ScanFailure(failure_of(error))
            else:
                yield job, None

    def get(self, name: str, start: int, end: int) -> Piece:
        """Return a range (see `RangeReader`); a failed connection is tried once more."""
        for _ in range(_TRIES - 1):
            try:
                return self._range(name, start, end)
            except (http.client.HTTPException, ConnectionError, TimeoutError):
                continue
        try:
            return self._range(name, start, end)
        except (http.client.HTTPException, ConnectionError, TimeoutError) as error:
            raise read_error(f"the server does not answer: {type(error).__name__}") from None

    def _range(self, name: str, start: int, end: int) -> Piece:
        parts = urlsplit(self.address(name))
        kind = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        connection = kind[parts.scheme](parts.netloc, timeout=_TIMEOUT)
        try:
            headers = {"Range": f"bytes={start}-{end - 1}"}
            connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
            reply = connection.getresponse()
            octets = reply.read(end - start + 1) if reply.status == 206 else b""
            headers_received = {key.lower(): value for key, value in reply.getheaders()}
            return checked_range(reply.status, headers_received, octets, start, end)
        finally:
            connection.close()


def _mtime(changed: datetime, etag: str | None) -> int:
    """Return an object's modification time in nanoseconds, the fraction made from its ETag.

    S3 has whole seconds, within which an object may be replaced by another of the same size.
    """
    fraction = int.from_bytes(blake2b((etag or "").encode(), digest_size=8).digest(), "big")
    return int(changed.timestamp()) * _SECOND + fraction % _SECOND


def _first_line(error: Exception) -> str:
    """Return the first line of obstore's message, which contains no credentials."""
    return str(error).partition("\n")[0][:300]
