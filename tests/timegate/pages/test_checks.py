"""The checks on the page of an archive: the last, those before, and one begun from there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest
from prometheus_client import CollectorRegistry

from archives.errors import Unreachable
from archives.model import ArchiveEntry
from archives.registry import Registry
from tests.scenario import FakeArchive, World, entry
from tests.timegate.conformance.archive import an_archive
from tests.timegate.conformance.checking import NOW, checked
from tests.timegate.endpoints.served import Seen, Site
from tests.timegate.pages.served_pages import BROWSER, Html, unasked
from timegate.conformance.history import CheckLock, History
from timegate.conformance.report import Report
from timegate.conformance.subject import Subject
from timegate.endpoints.operations import CacheState, Operations
from timegate.pages.archives import CHECKS_PATH as PATH
from timegate.pages.archives import ArchivePages
from timegate.pages.checks import ArchiveChecks, Run
from timegate.pages.rendering import Pages
from timegate.resolution.context import RequestContext
from timegate.responses.model import ClientRequest, EarlyResponse
from timegate.server.listener import listening
from timegate.server.middleware import Dispatch, Routes

ORIGIN = "https://gate.example"
HELD = replace(entry("a"), timegate="http://a.example/timegate/", use=True)
INDEX_ONLY = replace(entry("b"), timegate=None, use=True)
OTHER = replace(entry("c"), timegate="http://c.example/timegate/", use=True)


def a_report(name: str = "a") -> Report:
    return Report(Subject(name, name, "timegate", f"http://{name}.example/"), (), 3)


@asynccontextmanager
async def site(file: Path, run: Run | None = None) -> AsyncIterator[Site]:
    registry = Registry((HELD, INDEX_ONLY, OTHER))
    operations = Operations(registry, unasked, CacheState, CollectorRegistry, None)
    async with ArchiveChecks(file, registry, f"{ORIGIN}/", run) as checks:
        pages = ArchivePages(registry, unasked, operations, Pages(ORIGIN), checks)
        routes = Routes({}, {"/archives/": pages.one}, pages.all, {PATH: checks})
        async with listening(Dispatch(routes), "127.0.0.1", 0) as port:
            yield Site(port, World(FakeArchive("a")))


class Runs:
    """Checks that end when `end` is set."""

    def __init__(self, *, fails: bool = False) -> None:
        self.asked: list[str] = []
        self.end = asyncio.Event()
        self.begun = asyncio.Event()
        self._fails = fails

    async def __call__(self, archive: ArchiveEntry) -> tuple[Report, str]:
        self.asked.append(archive.id)
        self.begun.set()
        await self.end.wait()
        if self._fails:
            raise Unreachable(archive.id, "http://a.example/", "no route")
        return a_report(archive.id), NOW


def token_in(page: Seen) -> str:
    fields = {each["name"]: each["value"] for each in Html(page.body.decode()).all("input")}
    return str(fields["token"])


async def post(served: Site, origin: str | None = ORIGIN, **form: str) -> Seen:
    headers = [("Content-Type", "application/x-www-form-urlencoded")]
    if origin is not None:
        headers.append(("Origin", origin))
    return await served.ask(PATH, *headers, method="POST", body=urlencode(form).encode())


async def begun(served: Site, archive: str = "a") -> Seen:
    page = await served.ask(f"/archives/{archive}", BROWSER)
    return await post(served, archive=archive, token=token_in(page))


async def until_shown(served: Site, words: str) -> str:
    """Load the page until it says *words*."""
    async with asyncio.timeout(20):
        while True:
            text = Html((await served.ask("/archives/a", BROWSER)).body.decode()).text
            if words in text:
                return text
            await asyncio.sleep(0)


async def test_the_last_check_is_shown_with_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "checks.jsonl"
    async with an_archive("vary-missing") as archive:
        report = await checked(archive)
    History(file).add([replace(report, subject=replace(report.subject, id="a"))], NOW)

    async with site(file) as served:
        text = Html((await served.ask("/archives/a", BROWSER)).body.decode()).text

    assert "Last checked 2026-11-16 05:00 UTC with http://example.org/." in text
    assert "1 fail" in text
    assert "Every response of the TimeGate has a Vary that names accept-datetime." in text
    assert "Vary is missing." in text
    assert "Check now" not in text


async def test_the_history_says_what_changed(tmp_path: Path) -> None:
    file = tmp_path / "checks.jsonl"
    for when, fault in (("20260101000000", "none"), ("20260201000000", "vary-missing")):
        async with an_archive(fault) as archive:
            report = await checked(archive)
        History(file).add([replace(report, subject=replace(report.subject, id="a"))], when)

    async with site(file) as served:
        text = Html((await served.ask("/archives/a", BROWSER)).body.decode()).text

    assert "new: refusals-are-a-timegates, new: vary-names-accept-datetime" in text


async def test_an_archive_without_checks_is_shown_as_such(tmp_path: Path) -> None:
    async with site(tmp_path / "checks.jsonl") as served:
        page = await served.ask("/archives/a", BROWSER)

    assert "Not checked yet." in Html(page.body.decode()).text


async def test_a_check_is_started_from_the_page_and_shown_when_it_is_done(
    tmp_path: Path,
) -> None:
    runs = Runs()
    async with site(tmp_path / "checks.jsonl", runs) as served:
        answer = await begun(served)
        under_way = await until_shown(served, "A check is running")
        runs.end.set()
        done = await until_shown(served, "Check now")

    assert answer.status == 303
    assert answer.headers["Location"] == "/archives/a#checks"
    assert "Check now" not in under_way
    assert "Last checked" in done
    assert runs.asked == ["a"]


async def test_one_archive_is_checked_at_a_time(tmp_path: Path) -> None:
    runs = Runs()
    async with site(tmp_path / "checks.jsonl", runs) as served:
        page = await served.ask("/archives/c", BROWSER)
        await begun(served)
        second = await post(served, archive="c", token=token_in(page))
        other = Html((await served.ask("/archives/c", BROWSER)).body.decode()).text

    assert second.status == 303
    assert runs.asked == ["a"]
    assert "a is being checked. Only one archive can be checked at a time." in other


async def test_a_check_in_another_process_blocks_a_second_one(tmp_path: Path) -> None:
    runs, file = Runs(), tmp_path / "checks.jsonl"
    async with site(file, runs) as served:
        page = await served.ask("/archives/a", BROWSER)
        elsewhere = CheckLock(tmp_path / "checks.jsonl.running")
        assert elsewhere.acquire("z")
        await post(served, archive="a", token=token_in(page))
        text = Html((await served.ask("/archives/a", BROWSER)).body.decode()).text
        elsewhere.release()

    assert runs.asked == []
    assert "z is being checked" in text


async def test_a_failed_check_shows_the_reason_and_allows_the_next(tmp_path: Path) -> None:
    runs = Runs(fails=True)
    runs.end.set()
    async with site(tmp_path / "checks.jsonl", runs) as served:
        await begun(served)
        text = await until_shown(served, "The last check failed")

    assert "no route" in text
    assert "Check now" in text


async def test_a_check_ends_with_the_server(tmp_path: Path) -> None:
    runs, file = Runs(), tmp_path / "checks.jsonl"
    async with site(file, runs) as served:
        await begun(served)
        await runs.begun.wait()

    assert CheckLock(tmp_path / "checks.jsonl.running").holder() is None
    assert History(file).read() == {}


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example"])
async def test_another_origin_cannot_start_a_check(origin: str | None, tmp_path: Path) -> None:
    runs = Runs()
    async with site(tmp_path / "checks.jsonl", runs) as served:
        page = await served.ask("/archives/a", BROWSER)
        answer = await post(served, origin, archive="a", token=token_in(page))

    assert answer.status == 403
    assert runs.asked == []
    assert page.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"archive": "a"}, 403),
        ({"archive": "a", "token": "é"}, 403),
        ({"archive": "nobody", "token": "x"}, 404),
        ({"archive": "b", "token": "x"}, 404),
        ({}, 404),
        ({"archive": "a" * 5000}, 413),
    ],
)
async def test_a_form_that_is_not_ours_is_rejected(
    form: dict[str, str], status: int, tmp_path: Path
) -> None:
    runs = Runs()
    async with site(tmp_path / "checks.jsonl", runs) as served:
        answer = await post(served, **form)

    assert answer.status == status
    assert runs.asked == []


async def test_the_token_of_one_archive_is_not_that_of_another(tmp_path: Path) -> None:
    runs = Runs()
    async with site(tmp_path / "checks.jsonl", runs) as served:
        page = await served.ask("/archives/a", BROWSER)
        answer = await post(served, archive="c", token=token_in(page))

    assert answer.status == 403


async def test_without_permission_there_is_no_form_and_post_is_rejected(tmp_path: Path) -> None:
    async with site(tmp_path / "checks.jsonl") as served:
        page = await served.ask("/archives/a", BROWSER)
        answer = await post(served, archive="a", token="x")  # noqa: S106 -- none

    assert b"<form" not in page.body
    assert answer.status == 404
    assert page.headers["Access-Control-Allow-Origin"] == "*"


async def test_an_unreadable_history_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "checks.jsonl"
    file.write_text("nonsense\n")

    async with site(file) as served:
        text = Html((await served.ask("/archives/a", BROWSER)).body.decode()).text

    assert "The history cannot be read" in text


async def test_a_hidden_archive_cannot_be_checked(tmp_path: Path) -> None:
    context = RequestContext(hidden=frozenset({"a"}))
    async with ArchiveChecks(
        tmp_path / "h.json", Registry((HELD,)), f"{ORIGIN}/", Runs()
    ) as checks:
        token = (await checks.view(HELD)).token
        form = urlencode({"archive": "a", "token": token or ""}).encode()
        request = ClientRequest("POST", "", {"Origin": ORIGIN}, context=context)

        with pytest.raises(EarlyResponse) as refused:
            await checks(request, form)

    assert refused.value.response.status == 404
