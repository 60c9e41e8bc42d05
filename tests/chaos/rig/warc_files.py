"""WARC files of many small pages, each with its own URL and its own bytes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests import warcs
from tests.chaos.rig.asking import Client
from tests.chaos.rig.timegates import TimeGate

_STAMP: Final = "20200220202020"


@dataclass(frozen=True, slots=True)
class FetchResult:
    """The number of responses of each kind."""

    right: int
    wrong: int
    """The bytes differ from the captured ones."""
    absent: int
    """404."""
    unknown: int
    """Any other status: the answer is unknown at the moment."""

    def __str__(self) -> str:
        return (
            f"{self.right} right, {self.wrong} wrong, {self.absent} absent, "
            f"{self.unknown} unknown"
        )


def page(label: str, number: int) -> tuple[str, bytes]:
    """Return the URL and the bytes of a page; the URLs of a file are spread over the index."""
    url = f"http://example.com/{number * 7919 % 10_007:05}/{label}/{number}"
    return url, f"<p>{url}</p>\n".encode() * (1 + number % 7)


def pages(label: str, count: int, first: int = 0) -> dict[str, bytes]:
    return dict(page(label, number) for number in range(first, first + count))


def records(held: Mapping[str, bytes]) -> list[bytes]:
    """Return a gzip member for each page."""
    return [warcs.gzipped(warcs.response(url, payload=body)) for url, body in held.items()]


def write(file: Path, held: Mapping[str, bytes]) -> None:
    file.write_bytes(b"".join(records(held)))


def entry(folder: Path) -> str:
    return f'[[archive]]\nid = "mine"\nkind = "warc"\npath = "{folder}"\n'


async def fetch_all(server: TimeGate, held: Mapping[str, bytes]) -> FetchResult:
    """Request the bytes of every page."""
    client = Client(server.port, date=None)
    targets = [f"/collections/mine/{_STAMP}id_/{url}" for url in held]
    answers = await client.at_once(targets, 4)
    good = [a for a in answers if a.status == 200]
    right = sum(a.body == held[_page(a.target)] for a in good)
    absent = sum(a.status == 404 for a in answers)
    wrong = len(good) - right
    return FetchResult(right, wrong, absent, len(answers) - len(good) - absent)


def _page(target: str) -> str:
    return target.partition("id_/")[2]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of the files of a collection, to detect changes."""
    return {file.name: file.read_bytes() for file in _files(folder)}


def _files(folder: Path) -> Iterable[Path]:
    return sorted(folder.glob("*.warc.gz"))
