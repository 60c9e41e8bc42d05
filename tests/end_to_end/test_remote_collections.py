"""Collections with remote files or a remote index, over real servers on loopback.

Whatever a server does wrong, the answer is the archived octets or an error that says why.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
from aiohttp import web
from multidict import CIMultiDict

from archives.registry import Registry
from archives.warc.replay import SMALL, UnreadableRecord
from archives.warc_index.building import index_collection, index_inventory
from archives.warc_index.model import RemoteFiles
from tests import warcs
from tests.archives.warc_index.folders import a_warc, rows_of
from tests.end_to_end.pywb import COLLECTION, ENVIRONMENT, running_pywb
from tests.end_to_end.remote_files import (
    BUCKET,
    SECRET,
    Fault,
    FileServer,
    Store,
    credentials,
    file_server,
    running_moto,
)
from tests.end_to_end.remote_files import ENVIRONMENT as MOTO
from tests.fakes import an_entry
from timegate.collections.opening import open_collections
from timegate.config import BadConfig
from timegate.endpoints.collections import Collections
from timegate.resolution.model import Deadlines
from timegate.responses.model import ClientRequest, Response, StreamingResponse

BASE: Final = "https://gate.example"
PAGE: Final = "http://example.com/"
STAMP: Final = "20200220202020"
LARGE: Final = random.Random(9).randbytes(3 * SMALL)  # noqa: S311 -- what does not shrink
BIG: Final = "http://example.com/big"


@asynccontextmanager
async def served(path: str, **fields: object) -> AsyncIterator[Collections]:
    ours = f"{BASE}/collections/mine/{{time14}}/{{uri}}"
    entry = an_entry("warc", id="mine", path=path, replay=ours, **fields)
    registry = Registry((entry,), shared_hosts=True)
    async with open_collections(registry, BASE, keep=False) as local:
        yield Collections(local.collections, registry, BASE, Deadlines(2.0, 5.0))


async def asked(collections: Collections, rest: str) -> Response | StreamingResponse:
    return await collections(ClientRequest("GET", f"mine/{rest}", CIMultiDict()))


async def body_of(answer: Response | StreamingResponse) -> bytes:
    if isinstance(answer, Response):
        return answer.body
    return b"".join([piece async for piece in answer.chunks])


def write(folder: Path) -> None:
    """Write a page, a revisit of it, and something large."""
    folder.mkdir(exist_ok=True)
    records = (
        warcs.response(),
        warcs.revisit(refers_to_target_uri=PAGE, refers_to_date=warcs.DAY),
        warcs.response(BIG, payload=LARGE),
    )
    (folder / "one two.warc.gz").write_bytes(warcs.gzipped(warcs.warcinfo(), *records))


@pytest.fixture
def files(tmp_path: Path) -> Iterator[FileServer]:
    folder = tmp_path / "files"
    write(folder)
    # Indexed where they lie, and asked for by their address.
    index_collection(folder, tmp_path / "index.sqlite")
    with file_server(folder) as server:
        yield server


def over(files: FileServer) -> "dict[str, str]":
    return {"path": files.url, "index": str(files.folder.parent / "index.sqlite")}


async def test_a_record_is_read_by_its_range(files: FileServer) -> None:
    async with served(**over(files)) as collections:
        answer = await asked(collections, f"{STAMP}id_/{PAGE}")

    assert answer.status == 200
    assert await body_of(answer) == warcs.PAGE
    assert files.asked == ["/files/one%20two.warc.gz"]


async def test_a_large_record_is_read_by_several_ranges(files: FileServer) -> None:
    async with served(**over(files)) as collections:
        body = await body_of(await asked(collections, f"{STAMP}id_/{BIG}"))

    assert body == LARGE
    assert len(files.asked) > 2


async def test_a_revisit_finds_its_original(files: FileServer) -> None:
    async with served(**over(files)) as collections:
        answer = await asked(collections, f"20210220202020id_/{PAGE}")

        assert await body_of(answer) == warcs.PAGE


FAULTS: Final[dict[Fault, str]] = {
    "ignores": "ignores ranges",
    "truncates": "",
    "redirects": "answers 302",
    "elsewhere": "another range",
    "lies": "",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("page", [PAGE, BIG])
async def test_a_server_that_misbehaves_is_an_error_that_says_why(
    files: FileServer, fault: Fault, page: str
) -> None:
    files.fault = fault
    files.away = f"http://127.0.0.1:{files.server_port}/stolen"

    async with served(**over(files)) as collections:
        answer = await asked(collections, f"{STAMP}id_/{page}")
        body = await body_of(answer)

    assert answer.status == 502
    assert FAULTS[fault] in body.decode()
    assert not any("stolen" in path for path in files.asked)


async def test_a_cdx_file_locates_records(files: FileServer, tmp_path: Path) -> None:
    inventory = tmp_path / "all.cdx"
    inventory.write_text("".join(eleven(files).values()))
    (files.folder / "one two.warc.gz").rename(files.folder / "one.warc.gz")
    address = RemoteFiles(files.url, tmp_path / "other.sqlite")
    index_inventory(address, inventory)

    async with served(address.url, index=str(address.index)) as collections:
        answer = await asked(collections, f"{STAMP}id_/{BIG}")

        assert await body_of(answer) == LARGE


async def test_a_file_that_changes_underneath_breaks_off(files: FileServer) -> None:
    files.fault = "changes"

    async with served(**over(files)) as collections:
        answer = await asked(collections, f"{STAMP}id_/{BIG}")

        with pytest.raises(UnreadableRecord, match="changed while it was read"):
            await body_of(answer)


async def test_another_file_of_the_same_name_gives_no_octets(files: FileServer) -> None:
    a_warc(files.folder, "one two.warc.gz", ("http://other.example/", "20200101000000"))

    async with served(**over(files)) as collections:
        answer = await asked(collections, f"{STAMP}id_/{PAGE}")

    assert answer.status == 502


async def test_a_missing_file_is_an_error_until_it_is_back(files: FileServer) -> None:
    file = files.folder / "one two.warc.gz"

    async with served(**over(files)) as collections:
        file.rename(file.with_suffix(".away"))
        gone = await asked(collections, f"{STAMP}id_/{PAGE}")
        file.with_suffix(".away").rename(file)
        back = await asked(collections, f"{STAMP}id_/{PAGE}")

    assert gone.status == 502
    assert b"no such file" in await body_of(gone)
    assert back.status == 200


async def test_closing_does_not_wait_for_a_stalled_server(files: FileServer) -> None:
    files.fault = "stalls"

    async with served(**over(files)) as collections, asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(asked(collections, f"{STAMP}id_/{PAGE}"))
        await asyncio.to_thread(files.reached.wait)
        asking.cancel()

    # Only now may it answer: whoever waited for it above would still wait.
    assert not files.released.is_set()
    assert asking.cancelled()


async def test_remote_files_need_a_local_index(files: FileServer) -> None:
    with pytest.raises(BadConfig, match="index"):
        async with served(files.url):
            pass


@pytest.mark.parametrize("kind", ["https", "s3"])
async def test_a_password_in_an_address_is_rejected_and_not_repeated(kind: str) -> None:
    with pytest.raises(BadConfig, match="path: must not contain a user name") as refused:
        async with served(f"{kind}://name:{SECRET}@files.example/", index="index.sqlite"):
            pass

    assert SECRET not in str(refused.value)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    if not (MOTO / "bin" / "moto_server").exists():
        pytest.skip("moto is not installed in .venv-moto")
    with running_moto() as store, credentials(store.endpoint):
        yield store


async def test_a_bucket_is_indexed_and_served(store: Store, tmp_path: Path) -> None:
    write(tmp_path / "files")
    store.put("all/deep/one.warc.gz", (tmp_path / "files/one two.warc.gz").read_bytes())
    store.put("all/notes.txt", b"no WARC")
    address = RemoteFiles(f"s3://{BUCKET}/all/", tmp_path / "index.sqlite")

    summary = index_collection(address)
    again = index_collection(address)

    assert (summary.files, summary.read, summary.captures, summary.shown) == (1, 1, 3, [])
    assert (again.read, again.unchanged) == (0, 1)
    async with served(address.url, index=str(address.index)) as collections:
        assert await body_of(await asked(collections, f"{STAMP}id_/{PAGE}")) == warcs.PAGE
        assert await body_of(await asked(collections, f"{STAMP}id_/{BIG}")) == LARGE


def test_changed_files_in_a_bucket_are_read_again(store: Store, tmp_path: Path) -> None:
    address = RemoteFiles(f"s3://{BUCKET}/changing", tmp_path / "index.sqlite")
    first = a_warc(tmp_path, "a.warc.gz", (PAGE, "20200101000000")).read_bytes()
    other = a_warc(tmp_path, "a.warc.gz", (PAGE, "20210101000000")).read_bytes()
    store.put("changing/a.warc.gz", first)
    store.put("changing/b.warc.gz", first)
    index_collection(address)

    store.put("changing/a.warc.gz", other)
    store.delete("changing/b.warc.gz")
    summary = index_collection(address)

    assert (summary.read, summary.gone) == (1, 1)
    assert [row.stamp for row in rows_of(tmp_path, address.index)] == ["20210101000000"]


async def test_no_secret_of_a_bucket_is_shown(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    address = RemoteFiles(f"s3://{BUCKET}/secret/", tmp_path / "index.sqlite")
    a_warc(tmp_path, "a.warc.gz", (PAGE, STAMP))
    store.put("secret/a.warc.gz", (tmp_path / "a.warc.gz").read_bytes())
    index_collection(address)
    store.delete("secret/a.warc.gz")

    async with served(address.url, index=str(address.index)) as collections:
        answer = await asked(collections, f"{STAMP}id_/{PAGE}")

    shown = (await body_of(answer)).decode() + caplog.text
    assert answer.status == 502
    assert SECRET not in shown
    assert "X-Amz" not in shown


def test_a_missing_bucket_cannot_be_indexed(store: Store, tmp_path: Path) -> None:
    assert store.endpoint

    with pytest.raises(OSError, match=r"NoSuchBucket|404|not found"):
        index_collection(RemoteFiles("s3://nowhere/", tmp_path / "index.sqlite"))


@asynccontextmanager
async def outbackcdx(lines: dict[str, str]) -> AsyncIterator[str]:
    """Answer as OutbackCDX does: eleven columns, nothing for what it has not."""

    async def answer(request: web.Request) -> web.Response:
        if request.path != "/mine":
            text = f"Collection {request.path[1:]} does not exist"
            return web.Response(status=404, text=text)
        return web.Response(text=lines.get(request.query["url"], ""))

    app = web.Application()
    app.router.add_get("/{name}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/mine"
    finally:
        await runner.cleanup()


def eleven(files: FileServer) -> dict[str, str]:
    """Return the index as OutbackCDX writes it, by URL."""
    lines: dict[str, str] = {}
    for row in rows_of(files.folder, files.folder.parent / "index.sqlite"):
        columns = (row.surt, row.stamp, row.url, row.mime, row.status or "-", row.digest)
        line = f"{' '.join(map(str, columns))} - - {row.length} {row.offset} /old/{row.name}\n"
        lines[row.url] = lines.get(row.url, "") + line.replace("one two", "one")
    return lines


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_an_outbackcdx_locates_records(files: FileServer, *, elsewhere: bool) -> None:
    lines = eleven(files)
    (files.folder / "one two.warc.gz").rename(files.folder / "one.warc.gz")
    path = files.url if elsewhere else str(files.folder)

    async with outbackcdx(lines) as endpoint, served(path, cdx=endpoint) as collections:
        page = await asked(collections, f"{STAMP}id_/{PAGE}")
        revisit = await asked(collections, f"20210220202020id_/{PAGE}")
        listed = await asked(collections, f"timemap/json/{PAGE}")
        nothing = await asked(collections, f"{STAMP}id_/http://nothing.example/")

        assert await body_of(page) == await body_of(revisit) == warcs.PAGE
        assert (await body_of(listed)).count(b'"datetime"') >= 2
        assert nothing.status == 404


async def test_an_index_that_lacks_the_collection_is_an_error_and_no_absence(
    files: FileServer,
) -> None:
    async with outbackcdx({}) as endpoint, served(files.url, cdx=f"{endpoint}2") as collections:
        answer = await asked(collections, f"{STAMP}id_/{PAGE}")

    assert answer.status == 502


async def test_an_index_out_of_order_is_not_believed(files: FileServer) -> None:
    lines = {PAGE: "".join(reversed(eleven(files)[PAGE].splitlines(keepends=True)))}

    async with outbackcdx(lines) as endpoint, served(files.url, cdx=endpoint) as collections:
        answer = await asked(collections, f"{STAMP}id_/{PAGE}")

    assert answer.status == 502


async def test_a_real_pywb_locates_records(tmp_path: Path) -> None:
    if not (ENVIRONMENT / "ready").exists():
        pytest.skip("pywb is not installed in .venv-pywb")
    root = tmp_path / "pywb"
    root.mkdir()

    with running_pywb("plain", root, write) as pywb:
        archive = root / "collections" / COLLECTION / "archive"
        async with served(str(archive), cdx=f"{pywb.url}cdx") as collections:
            page = await asked(collections, f"{STAMP}id_/{PAGE}")
            big = await asked(collections, f"{STAMP}id_/{BIG}")
            revisit = await asked(collections, f"20210220202020id_/{PAGE}")
            nothing = await asked(collections, f"{STAMP}id_/http://nothing.example/")

            assert await body_of(page) == await body_of(revisit) == warcs.PAGE
            assert await body_of(big) == LARGE
            assert nothing.status == 404
