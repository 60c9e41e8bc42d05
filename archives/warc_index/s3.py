"""WARCs in S3, or in what speaks like it: listed, and read one after another to be indexed.

obstore lists and signs addresses, and no more: it follows redirects to wherever they lead (seen
with 0.12.1: a 302 to another port was fetched), and nobody but the bucket is to be asked (R1).
Its credentials are those of the environment, never of a configuration (R26).
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
_AHEAD: Final = 4 * 1024**2
_VALID: Final = timedelta(minutes=15)
"""Of a signed address: a clock may go wrong by as much before S3 refuses it anyway."""
_SECOND: Final = 1_000_000_000


class S3NotInstalled(Exception):
    """What reads s3:// is an extra."""

    def __init__(self) -> None:
        super().__init__("s3:// needs obstore: pip install 'timegate-proxy[s3]'")


class S3Bucket:
    """What lies in a bucket below a prefix; `Files` for the indexer, addresses for a server."""

    def __init__(self, url: str) -> None:
        """Read ``s3://bucket/prefix/``. Raises NotInstalled or ValueError."""
        if not _INSTALLED:
            raise S3NotInstalled
        parts = urlsplit(url)
        if parts.scheme.lower() != "s3" or not parts.netloc or "@" in parts.netloc:
            raise ValueError("write s3://bucket/prefix/; credentials come from the environment")
        public = os.environ.get("AWS_SKIP_SIGNATURE", "").lower() == "true"
        if not public and not os.environ.get("AWS_ACCESS_KEY_ID"):
            # Otherwise it would look for some at 169.254.169.254, which nobody wrote down (R1).
            raise ValueError("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3://")
        self._store = S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            client_options={
                "timeout": timedelta(seconds=_TIMEOUT),
                # Options that are given hide those of the environment.
                "allow_http": os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true",
            },
            retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=_TIMEOUT)},
        )

    def listing(self, tell: Complain) -> FolderContents:
        """Return the WARCs and WACZs there; CDX files are left to who lies beside them."""
        seen: dict[str, FileInfo] = {}
        try:
            for objects in obstore.list(self._store):
                for each in objects:
                    kind = kind_of(each["path"])
                    if kind in (None, "cdx"):
                        continue
                    if len(seen) >= MAX_FILES:
                        tell(each["path"], 0, f"left out: more than {MAX_FILES} files")
                        return FolderContents(seen, ())
                    time = _state(each["last_modified"], each["e_tag"])
                    seen[each["path"]] = FileInfo(each["path"], kind, each["size"], time)
        except (BaseError, OSError) as error:
            raise read_error(_told(error)) from error
        return FolderContents(seen, ())

    def address(self, path: str) -> str:
        """Return a signed address of one file: a secret for as long as it is valid."""
        try:
            return obstore.sign(self._store, "GET", safe_path(path), _VALID)
        except (BaseError, OSError) as error:
            raise read_error(_told(error)) from error

    async def address_async(self, path: str) -> str:
        """Return the same without making the loop wait for credentials."""
        try:
            return await obstore.sign_async(self._store, "GET", safe_path(path), _VALID)
        except (BaseError, OSError) as error:
            raise read_error(_told(error)) from error

    def open(self, path: str) -> BinaryIO:
        return open_remote(self, path, ahead=_AHEAD)

    def read(self, jobs: Sequence[IndexJob], workers: int) -> Iterator[ScanEvent]:
        """Read one file after another: what is waited for is the network."""
        del workers
        for job in jobs:
            try:
                with self.open(job.file.path) as file:
                    for batch in scan_file(file, job.file.kind, job.start):
                        yield job, batch
            except OSError as error:
                yield job, ScanFailure(f"cannot be read: {error.strerror}")
            else:
                yield job, None

    def get(self, name: str, start: int, end: int) -> Piece:
        """Return a range (`Ranges`); a connection that fails is tried once more."""
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
            told = {key.lower(): value for key, value in reply.getheaders()}
            return checked_range(reply.status, told, octets, start, end)
        finally:
            connection.close()


def _state(changed: datetime, etag: str | None) -> int:
    """Return when an object was changed, in nanoseconds; those made up from its ETag.

    S3 tells whole seconds, in which an object may be replaced by one as long.
    """
    made_up = int.from_bytes(blake2b((etag or "").encode(), digest_size=8).digest(), "big")
    return int(changed.timestamp()) * _SECOND + made_up % _SECOND


def _told(error: Exception) -> str:
    """Return the first line of what obstore says, which names no credentials."""
    return str(error).partition("\n")[0][:300]
