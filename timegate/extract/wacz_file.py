"""Packs a WARC as WACZ 1.1.1: the WARC as it is, its index, the list of pages, and digests.

WARC and index are stored without compression, so that readers can request ranges of them. The
index is made by reading the WARC again: a WARC that cannot be read is not packed.
"""

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from heapq import merge
from itertools import chain
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import BinaryIO, Final, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from archives.warc.captures import Capture, captures_in
from timegate.extract.journal import ItemOutcome, WrittenCopy

VERSION: Final = "1.1.1"
WARC_NAME: Final = "data.warc.gz"
_INDEX: Final = "indexes/index.cdx.gz"
_PAGES: Final = "pages/pages.jsonl"
_PIECE: Final = 1 << 20
_SORTED_AT_ONCE: Final = 200_000
"""Lines of the index that are sorted in memory: some 80 MB."""


class DamagedWarc(OSError):
    """A WARC that was just written, and cannot be read again."""


class Resource(NamedTuple):
    """A file in the package."""

    path: str
    digest: str
    length: int

    @property
    def described(self) -> dict[str, object]:
        """The resource as in ``datapackage.json``."""
        name = self.path.rpartition("/")[2]
        return {"name": name, "path": self.path, "hash": self.digest, "bytes": self.length}


def write_wacz(
    path: Path,
    warc: Path,
    pages: Iterable[tuple[WrittenCopy, ItemOutcome]],
    info: Mapping[str, str],
) -> None:
    """Write the package *path* with *warc*, and wait until it is on the disk. Raises OSError.

    *info* has the title, the description and the software.
    """
    listed = [_page(number, *page) for number, page in enumerate(pages, start=1)]
    write_package(path, {WARC_NAME: warc}, listed, info)


def write_package(
    path: Path,
    warcs: Mapping[str, Path],
    listed: list[dict[str, object]],
    info: Mapping[str, str],
) -> None:
    """Write the package *path* with *warcs* by their names, and the pages *listed*.

    Raises OSError.
    """
    lines = chain.from_iterable(_lines(warc, name) for name, warc in warcs.items())
    with path.open("wb") as file:
        with ZipFile(file, "w", allowZip64=True) as package:
            resources = [
                *(_add(package, f"archive/{name}", warc) for name, warc in warcs.items()),
                _add_lines(package, _INDEX, _sorted(lines, _SORTED_AT_ONCE), compress=True),
                _add_lines(package, _PAGES, _page_lines(listed)),
            ]
            _describe(package, resources, listed, info)
        file.flush()
        os.fsync(file.fileno())


def index_lines(warc: Path, at_once: int = _SORTED_AT_ONCE) -> Iterator[bytes]:
    """Yield the lines of the CDXJ index of *warc*, sorted. Raises DamagedWarc.

    At most *at_once* lines are in memory; more are sorted in temporary files.
    """
    return _sorted(_lines(warc, WARC_NAME), at_once)


def _lines(warc: Path, name: str) -> Iterator[bytes]:
    with warc.open("rb") as file:
        for found in captures_in(file):
            yield _line(found, warc, name)


def _line(found: object, warc: Path, name: str) -> bytes:
    if not isinstance(found, Capture):
        raise DamagedWarc(5, f"cannot be read again: {found}", str(warc))
    fields = {
        "url": found.url,
        "mime": found.mime,
        "status": None if found.status is None else str(found.status),
        "digest": found.digest,
        "length": str(found.length),
        "offset": str(found.offset),
        "filename": name,
    }
    stated = {name: value for name, value in fields.items() if value is not None}
    # Readers expect seconds.
    return f"{found.surt} {found.stamp[:14]} {json.dumps(stated)}\n".encode()


def _sorted(lines: Iterable[bytes], at_once: int) -> Iterator[bytes]:
    files: list[BinaryIO] = []
    block: list[bytes] = []
    try:
        for line in lines:
            block.append(line)
            if len(block) == at_once:
                files.append(_stored(block))
                block = []
        yield from merge(*files, sorted(block))
    finally:
        for file in files:
            file.close()


def _stored(block: list[bytes]) -> BinaryIO:
    file: BinaryIO = TemporaryFile()  # noqa: SIM115 -- closed by the caller
    file.writelines(sorted(block))
    file.seek(0)
    return file


def _page(number: int, copy: WrittenCopy, outcome: ItemOutcome) -> dict[str, object]:
    page: dict[str, object] = {
        "id": str(number),
        "url": copy.original,
        "ts": copy.captured,
        "title": copy.title or copy.original,
        "source": copy.uri,
        "verdict": outcome.why,
    }
    if outcome.pwid is not None:
        page["pwid"] = outcome.pwid
    if outcome.parts is not None:
        page["parts"] = dict(outcome.parts)
    return page


def _page_lines(pages: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    head = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}
    for page in (head, *pages):
        yield json.dumps(page).encode() + b"\n"


def _add(package: ZipFile, name: str, file: Path) -> Resource:
    """Store *file* as it is."""
    digest = sha256()
    entry = _entry(name, ZIP_STORED)
    entry.file_size = file.stat().st_size
    with file.open("rb") as source, package.open(entry, "w") as target:
        while piece := source.read(_PIECE):
            digest.update(piece)
            target.write(piece)
    return Resource(name, f"sha256:{digest.hexdigest()}", entry.file_size)


def _add_lines(
    package: ZipFile, name: str, lines: Iterable[bytes], *, compress: bool = False
) -> Resource:
    """Add *lines*; *compress* them as a gzip file, which is stored."""
    with TemporaryFile() as file:
        if compress:
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                packed.writelines(lines)
        else:
            file.writelines(lines)
        length = file.tell()
        file.seek(0)
        digest = sha256()
        while piece := file.read(_PIECE):
            digest.update(piece)
        file.seek(0)
        entry = _entry(name, ZIP_STORED if compress else ZIP_DEFLATED)
        entry.file_size = length
        with package.open(entry, "w") as target:
            copyfileobj(file, target, _PIECE)
    return Resource(name, f"sha256:{digest.hexdigest()}", length)


def _entry(name: str, method: int) -> ZipInfo:
    now = datetime.now(UTC)
    entry = ZipInfo(name, (now.year, now.month, now.day, now.hour, now.minute, now.second))
    entry.compress_type = method
    entry.external_attr = 0o644 << 16
    return entry


def _describe(
    package: ZipFile,
    resources: Iterable[Resource],
    pages: list[dict[str, object]],
    info: Mapping[str, str],
) -> None:
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    document: dict[str, object] = {
        "profile": "data-package",
        "wacz_version": VERSION,
        **info,
        "created": now,
        "modified": now,
    }
    if pages:
        document |= {"mainPageUrl": pages[0]["url"], "mainPageDate": pages[0]["ts"]}
    document["resources"] = [resource.described for resource in resources]
    octets = json.dumps(document, indent=2).encode()
    digest = {"path": "datapackage.json", "hash": f"sha256:{sha256(octets).hexdigest()}"}
    package.writestr(_entry("datapackage.json", ZIP_DEFLATED), octets)
    package.writestr(
        _entry("datapackage-digest.json", ZIP_DEFLATED), json.dumps(digest, indent=2).encode()
    )
