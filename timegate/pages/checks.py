"""Conformance checks on the pages of archives, and a form that starts them if configured.

Scripts of any site may read our responses, and so a token in a page. Therefore a check needs,
besides the token, our own Origin, which browsers send with every POST (Fetch 3.2), and other
sites may not read the page with the token.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self
from urllib.parse import parse_qs, quote, urlsplit

from archives.errors import ArchiveError
from archives.model import ArchiveEntry
from archives.registry import Registry
from timegate.conformance.checks import CHECKS
from timegate.conformance.history import BadHistory, CheckLock, CheckRecord, History, secret_at
from timegate.conformance.report import Report
from timegate.event_loop import end
from timegate.responses.model import ClientRequest, EarlyResponse, Response
from timegate.responses.problems import problem
from timegate.verdict.words import Tone

_SIGNS = {"fail": "✕", "warn": "!", "unknown": "?"}


class FailedCheck(NamedTuple):
    """A check that did not pass."""

    sign: str
    verdict: str
    check: str
    sentence: str
    where: str
    why: str


class PastCheck(NamedTuple):
    """The result of an earlier run."""

    checked: str
    tone: Tone
    counts: str
    changed: str
    """Which checks began or ceased to fail since the previous run."""


class CheckView(NamedTuple):
    """The checks of an archive as its page shows them."""

    rows: tuple[PastCheck, ...]
    """Newest first."""
    failures: tuple[FailedCheck, ...]
    """Of the last run."""
    samples: tuple[str, ...]
    running: str | None
    """The archive that is being checked now."""
    error: str
    """Why the last run ended without a result, or empty."""
    token: str | None
    """Token for the form that starts a check; None if checks cannot be started here."""


def check_view(
    records: Sequence[CheckRecord], running: str | None, error: str, token: str | None
) -> CheckView:
    """Return the view of *records*, oldest first."""
    previous: list[CheckRecord | None] = [None, *records]
    rows = [_row(record, before) for record, before in zip(records, previous, strict=False)]
    last = records[-1] if records else None
    failures = _failures(last) if last else ()
    samples = last.samples if last else ()
    return CheckView(tuple(reversed(rows)), failures, samples, running, error, token)


def _row(record: CheckRecord, previous: CheckRecord | None) -> PastCheck:
    stamp = record.checked
    checked = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[8:10]}:{stamp[10:12]} UTC"
    counts = ", ".join(
        f"{count} {verdict}" for verdict, count in record.counts.items() if count
    )
    changed = "" if previous is None else _changed(record, previous)
    return PastCheck(checked, _tone(record), counts, changed)


def _tone(record: CheckRecord) -> Tone:
    if record.counts.get("fail"):
        return "poor"
    return "fair" if record.wrong else "good"


def _changed(record: CheckRecord, previous: CheckRecord) -> str:
    """Return which checks are newly failing and which are fixed; unknown is neither."""
    now, before = _failing(record), _failing(previous)
    unknown = {wrong.check for wrong in record.wrong} - now
    changes = [f"new: {name}" for name in sorted(now - before)]
    changes += [f"fixed: {name}" for name in sorted(before - now - unknown)]
    return ", ".join(changes)


def _failing(record: CheckRecord) -> set[str]:
    return {wrong.check for wrong in record.wrong if wrong.verdict in ("fail", "warn")}


def _failures(record: CheckRecord) -> tuple[FailedCheck, ...]:
    failures = []
    for wrong in record.wrong:
        check = CHECKS.get(wrong.check)
        sentence = check.sentence if check else wrong.check
        where = f"{check.level}, {check.section}" if check else "this check no longer exists"
        sign = _SIGNS.get(wrong.verdict, "")
        failure = FailedCheck(sign, wrong.verdict, wrong.check, sentence, where, wrong.why)
        failures.append(failure)
    return tuple(failures)


Run = Callable[[ArchiveEntry], Awaitable[tuple[Report, str]]]
"""Checks an archive; returns the report and its time as 14 digits."""
_MOST_OCTETS: Final = 4096
_BODY_DEADLINE: Final = 10.0
_LONGEST_RUN: Final = 1800.0
"""Seconds. An archive that allows two requests a minute takes 18 minutes."""


class ArchiveChecks:
    """Shows the history in *file* and starts checks. A context manager, which ends a check."""

    def __init__(
        self, file: Path, registry: Registry, base_url: str, run: Run | None = None
    ) -> None:
        """Start checks with *run*; without it, only show the history."""
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
        self._errors: dict[str, str] = {}
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
        """Return the checks of an archive for its page."""
        return await asyncio.to_thread(self._view, entry)

    def _view(self, entry: ArchiveEntry) -> CheckView:
        # A check that is over by now has its result in the history that is read after this.
        running = self._lock.holder()
        trouble = self._errors.get(entry.id, "")
        try:
            records = self._history.read().get(entry.id, ())
        except (BadHistory, OSError) as error:
            records, trouble = (), f"the history cannot be read: {error}"
        token = self._token(entry.id) if self._may_run(entry) else None
        return check_view(records, running, trouble, token)

    def _may_run(self, entry: ArchiveEntry) -> bool:
        return self._run is not None and entry.use and entry.timegate is not None

    def _token(self, archive: str) -> str:
        return hmac.digest(secret_at(self._secret_file), archive.encode(), "sha256").hex()

    async def __call__(self, request: ClientRequest, body: bytes) -> Response:
        """Start a check, and redirect to the page that will show its result."""
        entry = await self._requested(request, body)
        if await asyncio.to_thread(self._lock.acquire, entry.id):
            # The task outlives the request: `__aexit__` ends it.
            self._task = asyncio.get_running_loop().create_task(self._check(entry))
        page = f"{self._root}/archives/{quote(entry.id, safe='')}#checks"
        return Response(303, {"Location": page, "Cache-Control": "no-store"})

    async def _requested(self, request: ClientRequest, body: bytes) -> ArchiveEntry:
        """Return the archive to check. Raises EarlyResponse."""
        if request.header("Origin") != self.origin:
            detail = "a check can only be started from the page of an archive on this site"
            raise EarlyResponse(problem(403, "bad-parameter", detail))
        form = parse_qs(body.decode("utf-8", "replace"), max_num_fields=10)
        entry = self._registry.by_id(form.get("archive", [""])[0])
        hidden = request.context.hidden
        if entry is None or entry.id in hidden or not self._may_run(entry):
            detail = "there is no such archive, or it cannot be checked here"
            raise EarlyResponse(problem(404, "not-found", detail))
        token = await asyncio.to_thread(self._token, entry.id)
        if not hmac.compare_digest(token.encode(), form.get("token", [""])[0].encode()):
            detail = "the form has expired: reload the page"
            raise EarlyResponse(problem(403, "bad-parameter", detail))
        return entry

    async def _check(self, entry: ArchiveEntry) -> None:
        assert self._run is not None  # noqa: S101 -- _may_run has checked it
        try:
            async with asyncio.timeout(_LONGEST_RUN):
                report, now = await self._run(entry)
            await asyncio.to_thread(self._history.add, [report], now)
            self._errors.pop(entry.id, None)
        except (ArchiveError, BadHistory, OSError) as error:
            self._errors[entry.id] = f"the last check failed: {error}"
        finally:
            self._lock.release()
