"""The checks of archives on their pages; run from there where the operator allows it.

Our answers may be read by scripts of any site, a token in a page included. So a run also needs
the Origin that browsers send with every POST (Fetch 3.2) to be ours, and the page that holds
the token is closed to other sites.
"""

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self
from urllib.parse import parse_qs, quote, urlsplit

from archives.errors import ArchiveError
from archives.model import ArchiveEntry
from archives.registry import Registry
from timegate.config.schema import ChecksSection
from timegate.conformance.checks import CHECKS
from timegate.conformance.history import BadHistory, CheckLock, CheckRecord, History, secret_at
from timegate.conformance.report import Report
from timegate.event_loop import end
from timegate.responses.model import ClientRequest, EarlyResponse, Response
from timegate.responses.problems import problem
from timegate.verdict.words import Tone

_SIGNS = {"fail": "✕", "warn": "!", "unknown": "?"}


class FailedCheck(NamedTuple):
    """One check that was not passed."""

    sign: str
    verdict: str
    check: str
    sentence: str
    where: str
    why: str


class PastCheck(NamedTuple):
    """One check of the past."""

    checked: str
    tone: Tone
    counts: str
    changed: str
    """Which checks broke or were mended since the one before."""


class CheckView(NamedTuple):
    """All there is to say."""

    rows: tuple[PastCheck, ...]
    """Newest first."""
    complaints: tuple[FailedCheck, ...]
    """Of the last check."""
    samples: tuple[str, ...]
    running: str | None
    """Which archive is being checked now."""
    failed: str
    """Why the last attempt to run a check ended without a result."""
    token: str | None
    """What allows to run a check from here; None if the operator does not."""


def check_view(
    pasts: Sequence[CheckRecord], running: str | None, failed: str, token: str | None
) -> CheckView:
    """Return what is to be said of *pasts*, oldest first."""
    before: list[CheckRecord | None] = [None, *pasts]
    rows = [_row(past, earlier) for past, earlier in zip(pasts, before, strict=False)]
    last = pasts[-1] if pasts else None
    complaints = _complaints(last) if last else ()
    samples = last.samples if last else ()
    return CheckView(tuple(reversed(rows)), complaints, samples, running, failed, token)


def _row(past: CheckRecord, earlier: CheckRecord | None) -> PastCheck:
    stamp = past.checked
    when = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[8:10]}:{stamp[10:12]} UTC"
    counts = ", ".join(f"{count} {verdict}" for verdict, count in past.counts.items() if count)
    return PastCheck(
        when, _tone(past), counts, "" if earlier is None else _changed(past, earlier)
    )


def _tone(past: CheckRecord) -> Tone:
    if past.counts.get("fail"):
        return "poor"
    return "fair" if past.wrong else "good"


def _changed(past: CheckRecord, earlier: CheckRecord) -> str:
    """Tell what broke and what was mended; what could not be judged is neither."""
    now, then = _broken(past), _broken(earlier)
    unknown = {wrong.check for wrong in past.wrong} - now
    told = [f"new: {name}" for name in sorted(now - then)]
    told += [f"mended: {name}" for name in sorted(then - now - unknown)]
    return ", ".join(told)


def _broken(past: CheckRecord) -> set[str]:
    return {wrong.check for wrong in past.wrong if wrong.verdict in ("fail", "warn")}


def _complaints(past: CheckRecord) -> tuple[FailedCheck, ...]:
    found = []
    for wrong in past.wrong:
        check = CHECKS.get(wrong.check)
        sentence = check.sentence if check else wrong.check
        where = f"{check.level}, {check.section}" if check else "no such check any more"
        sign = _SIGNS.get(wrong.verdict, "")
        found.append(FailedCheck(sign, wrong.verdict, wrong.check, sentence, where, wrong.why))
    return tuple(found)


Run = Callable[[ArchiveEntry], Awaitable[tuple[Report, str]]]
"""Checks an archive; returns what was found, and when in 14 digits."""
PATH: Final = "/checks"
"""Where the form is posted to."""
_MOST_OCTETS: Final = 4096
_BODY_DEADLINE: Final = 10.0
_LONGEST_RUN: Final = 1800.0
"""Seconds; an archive that wants to be asked twice a minute takes 18 minutes."""


class ArchiveChecks:
    """Shows the history in *file*. Use as a context manager: it ends a check under way."""

    def __init__(
        self, file: Path, registry: Registry, base_url: str, run: Run | None = None
    ) -> None:
        """Show what is kept; without *run*, nothing more."""
        self._history = History(file)
        self._lock = CheckLock(file.with_name(f"{file.name}.running"))
        self._secret_file = file.with_name(f"{file.name}.key")
        self._registry = registry
        self.largest_body = _MOST_OCTETS
        self.body_deadline = _BODY_DEADLINE
        parts = urlsplit(base_url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self._root = parts.path.rstrip("/")
        self._run = run
        self._failed: dict[str, str] = {}
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is not None:
            await end([self._task])

    async def view(self, entry: ArchiveEntry) -> CheckView:
        """Return what the page of an archive says of its checks."""
        return await asyncio.to_thread(self._view, entry)

    def _view(self, entry: ArchiveEntry) -> CheckView:
        failed = self._failed.get(entry.id, "")
        try:
            pasts = self._history.read().get(entry.id, ())
        except (BadHistory, OSError) as error:
            pasts, failed = (), f"the history cannot be read: {error}"
        token = self._token(entry.id) if self._may_run(entry) else None
        return check_view(pasts, self._lock.holder(), failed, token)

    def _may_run(self, entry: ArchiveEntry) -> bool:
        return self._run is not None and entry.use and entry.timegate is not None

    def _token(self, archive: str) -> str:
        return hmac.digest(secret_at(self._secret_file), archive.encode(), "sha256").hex()

    async def __call__(self, request: ClientRequest, body: bytes) -> Response:
        """Start a check, and redirect to the page that will show it."""
        entry = await self._asked(request, body)
        if await asyncio.to_thread(self._lock.acquire, entry.id):
            # A loop's own task: the room holds it, and ends it in __aexit__.
            self._task = asyncio.get_running_loop().create_task(self._check(entry))
        page = f"{self._root}/archives/{quote(entry.id, safe='')}#checks"
        return Response(303, {"Location": page, "Cache-Control": "no-store"})

    async def _asked(self, request: ClientRequest, body: bytes) -> ArchiveEntry:
        """Return the archive to be checked. Raises EarlyResponse."""
        if request.header("Origin") != self.origin:
            detail = "a check is begun from the page of an archive here, nowhere else"
            raise EarlyResponse(problem(403, "bad-parameter", detail))
        form = parse_qs(body.decode("utf-8", "replace"), max_num_fields=10)
        entry = self._registry.by_id(form.get("archive", [""])[0])
        if entry is None or not self._may_run(entry):
            raise EarlyResponse(
                problem(404, "not-found", "no archive that can be checked here")
            )
        token = await asyncio.to_thread(self._token, entry.id)
        if not hmac.compare_digest(token.encode(), form.get("token", [""])[0].encode()):
            detail = "the form is out of date: load the page again"
            raise EarlyResponse(problem(403, "bad-parameter", detail))
        return entry

    async def _check(self, entry: ArchiveEntry) -> None:
        assert self._run is not None  # noqa: S101 -- _may_run has looked
        try:
            async with asyncio.timeout(_LONGEST_RUN):
                report, now = await self._run(entry)
            await asyncio.to_thread(self._history.add, [report], now)
            self._failed.pop(entry.id, None)
        except (ArchiveError, BadHistory, OSError) as error:
            self._failed[entry.id] = f"the last check ended early: {error}"
        finally:
            self._lock.release()


@asynccontextmanager
async def open_checks(
    section: ChecksSection, registry: Registry, base_url: str, run: Run
) -> AsyncIterator[ArchiveChecks | None]:
    """Open the checks of the configuration; None if no history is configured."""
    if section.history is None:
        yield None
        return
    file, allowed = Path(section.history), run if section.run else None
    async with ArchiveChecks(file, registry, base_url, allowed) as checks:
        yield checks
