"""A real pywb over the captures of a test."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

from tests.end_to_end.pywb import Page, running_pywb, write_response


@contextmanager
def pywb_with(folder: Path, captures: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Run pywb over *captures* (URL and stamp); yields its TimeGate."""
    root = folder / "pywb"
    root.mkdir()

    def write(archive: Path) -> None:
        with (archive / "chosen.warc.gz").open("wb") as file:
            writer = WARCWriter(file, gzip=True)
            for url, stamp in captures:
                write_response(writer, Page(url, stamp))

    with running_pywb("plain", root, write) as pywb:
        yield pywb.url
