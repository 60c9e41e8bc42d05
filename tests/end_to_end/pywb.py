"""A real pywb with a small collection of known captures, run as a process of its own.

The archive most of the field runs, so what it does is what our adapters meet. It is GPL:
it is started from a virtual environment of its own and never imported.
"""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Final, Literal
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]

Mode = Literal["framed", "plain", "exact"]

COLLECTION: Final = "demo"
ENVIRONMENT: Final = Path(__file__).parents[2] / ".venv-pywb"
NOT_INSTALLED: Final = (
    "pywb is not installed in .venv-pywb: run `make .venv-pywb/ready`, then the tests again"
)
# It answers about one second after its start on two idle cores; a busy machine needs longer.
PATIENCE: Final = 60.0

CONFIGURATIONS: Final[dict[Mode, str]] = {
    "framed": "framed_replay: true\n",
    "plain": "framed_replay: false\nredirect_to_exact: false\n",
    "exact": "framed_replay: false\nredirect_to_exact: true\n",
}


@dataclass(frozen=True, slots=True)
class Page:
    """One capture to be written into the collection."""

    url: str
    stamp: str
    status: str = "200 OK"
    body: str = "<html><body>a page</body></html>"
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def date(self) -> str:
        """The capture's time as WARC writes it."""
        at = datetime.strptime(self.stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        return f"{at:%Y-%m-%dT%H:%M:%SZ}"


OFTEN: Final = "http://example.org/"
"""Captured at four known times, two of them one second apart."""
ONCE: Final = "http://example.org/once"
MOVED: Final = "http://example.org/moved"
"""An archived redirect (301) to `ONCE`, which is archived too."""
GONE: Final = "http://example.org/gone"
"""An archived 404."""
REFUSED: Final = "http://example.org/refused"
"""An archived 429: the site refused the crawler, the archive itself refuses no request."""
UNCHANGED: Final = "http://example.org/unchanged"
"""Captured twice, the second time as a revisit record of the first."""
VARIANTS: Final = ("http://example.net/", "https://example.net/", "http://www.example.net/")
"""Three spellings of one page, which pywb's index puts under one key."""
QUERY: Final = "http://example.org/search?q=a%20b&page=2"
SLASHES: Final = "http://example.org/a//b%2Fc"
FIFTY: Final = "http://example.org/fifty"
"""Captured 50 times, at noon of 50 days in a row from 2012-01-01 on."""
UNKNOWN: Final = "http://example.org/never-captured"

OFTEN_STAMPS: Final = ("20100101120000", "20150630235958", "20150630235959", "20200202020202")
FIFTY_STAMPS: Final = tuple(
    f"{datetime(2012, 1, 1, 12, tzinfo=UTC) + timedelta(days=day):%Y%m%d%H%M%S}"
    for day in range(50)
)

PAGES: Final = (
    *(Page(OFTEN, stamp, body=f"<html><body>{stamp}</body></html>") for stamp in OFTEN_STAMPS),
    Page(ONCE, "20130303030303"),
    Page(MOVED, "20130303030300", "301 Moved Permanently", "", (("Location", ONCE),)),
    Page(GONE, "20140404040404", "404 Not Found", "<html><body>gone</body></html>"),
    Page(REFUSED, "20160606060606", "429 Too Many Requests", "slow", (("Retry-After", "60"),)),
    *(
        Page(url, f"2011010{day}000000", body=f"<html><body>{url}</body></html>")
        for day, url in enumerate(VARIANTS, start=1)
    ),
    Page(QUERY, "20170707070707"),
    Page(SLASHES, "20180808080808"),
    *(Page(FIFTY, stamp, body=f"<html><body>{stamp}</body></html>") for stamp in FIFTY_STAMPS),
)
FIRST_SEEN: Final = Page(UNCHANGED, "20190101000000", body="<html><body>same</body></html>")
SEEN_AGAIN: Final = "20190601000000"


def make_warcs(folder: Path) -> None:
    """Write the collection: one WARC with `PAGES`, one with a response and its revisit."""
    with (folder / "pages.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for page in PAGES:
            write_response(writer, page)
    with (folder / "revisit.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        digest = write_response(writer, FIRST_SEEN)
        writer.write_record(
            writer.create_revisit_record(
                FIRST_SEEN.url,
                digest,
                FIRST_SEEN.url,
                FIRST_SEEN.date,
                http_headers=_http_headers(FIRST_SEEN),
                warc_headers_dict={"WARC-Date": Page(UNCHANGED, SEEN_AGAIN).date},
            )
        )


def _http_headers(page: Page) -> StatusAndHeaders:
    fields = [("Content-Type", "text/html; charset=utf-8"), *page.headers]
    return StatusAndHeaders(page.status, fields, protocol="HTTP/1.1")


def write_response(writer: WARCWriter, page: Page) -> str:
    """Write one capture; return the digest of its payload."""
    record = writer.create_warc_record(
        page.url,
        "response",
        payload=BytesIO(page.body.encode()),
        http_headers=_http_headers(page),
        warc_headers_dict={"WARC-Date": page.date},
    )
    writer.write_record(record)
    # warcio 1.8.1 copies the payload into a temporary file for its digest, and leaves it open.
    record.raw_stream.close()
    return str(record.rec_headers.get_header("WARC-Payload-Digest"))


@dataclass(frozen=True, slots=True)
class Pywb:
    """A running pywb."""

    mode: Mode
    url: str
    """Address of the collection, with a slash at the end: what TimeGate URLs begin with."""


@contextmanager
def running_pywb(
    mode: Mode, root: Path, write: Callable[[Path], None] = make_warcs
) -> Iterator[Pywb]:
    """Start pywb in *mode* over the collection that *write* writes; end it by its pid.

    Raises RuntimeError, with what pywb printed, if it does not answer in `PATIENCE` seconds.
    """
    if not (ENVIRONMENT / "ready").exists():
        raise RuntimeError(NOT_INSTALLED)
    _make_collection(root, write)
    (root / "config.yaml").write_text(CONFIGURATIONS[mode])
    with running_wayback(root) as url:
        yield Pywb(mode, f"{url}{COLLECTION}/")


@contextmanager
def running_pywb_over_wacz(root: Path, wacz: Path) -> Iterator[Pywb]:
    """Start pywb over the WARC and the index in *wacz*; end it by its pid."""
    if not (ENVIRONMENT / "ready").exists():
        raise RuntimeError(NOT_INSTALLED)
    _manage(root, "init", COLLECTION)
    _manage(root, "add", "--unpack-wacz", COLLECTION, str(wacz))
    (root / "config.yaml").write_text(CONFIGURATIONS["plain"])
    with running_wayback(root) as url:
        yield Pywb("plain", f"{url}{COLLECTION}/")


@contextmanager
def running_wayback(root: Path) -> Iterator[str]:
    """Start pywb with the configuration in *root*; yields its address, ends it by its pid."""
    port = _free_port()
    command = [str(ENVIRONMENT / "bin" / "wayback"), "-b", "127.0.0.1", "-p", str(port)]
    with (
        (root / "wayback.log").open("wb") as log,
        subprocess.Popen(command, cwd=root, stdout=log, stderr=log) as process,  # noqa: S603 -- our own words
    ):
        try:
            _wait_until_it_answers(f"http://127.0.0.1:{port}/", process, root / "wayback.log")
            yield f"http://127.0.0.1:{port}/"
        finally:
            _end(process)


def _make_collection(root: Path, write: Callable[[Path], None]) -> None:
    _manage(root, "init", COLLECTION)
    write(root / "collections" / COLLECTION / "archive")
    _manage(root, "reindex", COLLECTION)


def _manage(root: Path, *arguments: str) -> None:
    command = [str(ENVIRONMENT / "bin" / "wb-manager"), *arguments]
    subprocess.run(  # noqa: S603 -- our own words
        command, cwd=root, check=True, capture_output=True, timeout=PATIENCE
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_answers(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    give_up = time.monotonic() + PATIENCE
    opener = build_opener(ProxyHandler({}))
    while process.poll() is None and time.monotonic() < give_up:
        try:
            opener.open(url, timeout=5).close()
        except HTTPError:
            return
        except (URLError, OSError):
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"pywb does not answer at {url}:\n{log.read_text(errors='replace')}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=10)
