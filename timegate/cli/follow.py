"""``timegate follow``: reports new copies of pages."""

import asyncio
import fcntl
import os
import shlex
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from archives.diagnostics import Malformed
from timegate.batch.source import ListSource
from timegate.cli.options import (
    BASE_URL,
    archives_option,
    config_option,
    configured,
    contact_option,
    demo_option,
    open_core,
    with_contact,
)
from timegate.cli.output import echo
from timegate.config import Config
from timegate.config.loading import every as interval
from timegate.event_loop import end
from timegate.identifiers import parse
from timegate.references import BadInput
from timegate.references.lines import Columns
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences, Query
from timegate.resolution.query import NotNegotiable, query_for
from timegate.text import counted

if TYPE_CHECKING:
    from timegate.core import Core
    from timegate.following import Change
    from timegate.following.change_file import ChangeFile
    from timegate.following.follower import Follower
    from timegate.following.reporting import ChangeReport

_MOST_PAGES: Final = 100_000
_AT_ONCE: Final = 4
"""Pages whose archives are queried at once."""
_PATIENCE: Final = 120.0
"""Seconds that a query waits for the rate limit of its archive."""
_LAST_REPORT: Final = 10.0
"""Seconds that a process which is stopped waits for the report of a change."""
_TICK: Final = 60.0
"""Seconds after which pages are looked at again."""
_REPORT_FAILED: Final = 1
_NO_ANSWER: Final = 4
_INTERRUPTED: Final = 130
_TERMINATED: Final = 143


@dataclass(frozen=True, slots=True)
class FollowCommand:
    """What is followed, and how changes are reported."""

    pages: tuple[Query, ...]
    state: Path
    once: bool
    as_json: bool
    program: tuple[str, ...] = ()
    webhook: str | None = None


class _Outcome:
    """What went wrong in a round."""

    def __init__(self) -> None:
        self.unanswered: dict[str, str] = {}
        """Archives that did not answer, and why."""
        self.failures: dict[str, str] = {}
        """Mementos that could not be reported, and why."""
        self.reported = 0
        self.known = 0

    @property
    def code(self) -> int:
        if self.failures:
            return _REPORT_FAILED
        return _NO_ANSWER if self.unanswered else 0


async def follow(config: Config, command: FollowCommand) -> int:
    """Report changes, once or until the process is stopped; return the exit code."""
    from timegate.app import follower_of  # noqa: PLC0415 -- slow to import
    from timegate.following.change_file import ChangeFile  # noqa: PLC0415

    this = asyncio.current_task()
    if this is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
    core_opened = open_core(config, config.base_url or BASE_URL, queue_patience=_PATIENCE)
    with ChangeFile(command.state, reports=True) as file:
        async with (
            core_opened as core,
            follower_of(core, file) as follower,
            _report(command, core) as report,
        ):
            while True:
                outcome = _Outcome()
                await _round(core, follower, command, report, outcome)
                _summarize(outcome, len(command.pages), once=command.once)
                if command.once:
                    return outcome.code
                await asyncio.sleep(_TICK)


async def _round(
    core: "Core",
    follower: "Follower",
    command: FollowCommand,
    report: "ChangeReport",
    outcome: _Outcome,
) -> None:
    """Query the archives that are due for each page, and report what is new."""
    pages = iter(command.pages)
    reporting = asyncio.Lock()

    async def work() -> None:
        for query in pages:
            archives = core.planner.plan(query, Preferences(), UNLIMITED).order
            page = query.original
            await follower.follow(page)
            await follower.check_own(page, archives)
            queries = await follower.start_queries(page, archives)
            if queries:
                await asyncio.wait(queries)
            for state in await asyncio.to_thread(follower.file.archives_of, page):
                outcome.known += state.known
                if state.trouble:
                    outcome.unanswered[state.archive] = state.trouble
            async with reporting:
                await _report_all(follower.file, report, outcome)

    # What a process that was killed has left.
    await _report_all(follower.file, report, outcome)
    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(work())


async def _report_all(file: "ChangeFile", report: "ChangeReport", outcome: _Outcome) -> None:
    """Report what was not reported; what fails is tried again in the next round."""
    from timegate.following.reporting import ReportFailed  # noqa: PLC0415

    while changes := await asyncio.to_thread(file.unreported):
        for change in changes:
            if change.is_repeated:
                uri = change.memento.uri
                echo(f"perhaps reported before, when a process was killed: {uri}", err=True)
            try:
                await _to_the_end(_reported(file, report, change))
            except ReportFailed as error:
                outcome.failures[change.memento.uri] = str(error)
                return
            outcome.reported += 1


async def _reported(file: "ChangeFile", report: "ChangeReport", change: "Change") -> None:
    """Report one change, and note that. Raises ReportFailed."""
    from timegate.following.reporting import ReportFailed  # noqa: PLC0415

    await asyncio.to_thread(file.begin_report, change.number)
    try:
        await report(change)
    except ReportFailed:
        await asyncio.to_thread(file.end_report, change.number, reported=False)
        raise
    await asyncio.to_thread(file.end_report, change.number, reported=True)


async def _to_the_end(reporting: Coroutine[None, None, None]) -> None:
    """Await *reporting*; a process that is stopped waits for it, so that it is not repeated."""
    task = asyncio.get_running_loop().create_task(reporting)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=_LAST_REPORT)
        raise
    finally:
        await end([task])


@asynccontextmanager
async def _report(command: FollowCommand, core: "Core") -> AsyncIterator["ChangeReport"]:
    from timegate.following.reporting import (  # noqa: PLC0415
        LineReport,
        ProgramReport,
        WebhookReport,
    )
    from timegate.upstream.webhook import Webhook  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        if command.program:
            yield ProgramReport(command.program)
        elif command.webhook is not None:
            webhook = Webhook(command.webhook, core.upstream_settings.user_agent)
            yield WebhookReport(await stack.enter_async_context(webhook))
        else:
            yield LineReport(_write_line, as_json=command.as_json)


def _write_line(line: str) -> None:
    echo(line)
    # Before it is marked as reported.
    sys.stdout.flush()


def _summarize(outcome: _Outcome, pages: int, *, once: bool) -> None:
    if once or outcome.reported:
        known = counted(outcome.known, "capture")
        echo(
            f"{counted(pages, 'page')} followed, {known} known, {outcome.reported} new",
            err=True,
        )
    for archive, why in sorted(outcome.unanswered.items()):
        echo(f"{archive} did not answer: {why}", err=True)
    for uri, why in outcome.failures.items():
        echo(f"not reported, tried again next time: {uri}: {why}", err=True)


def _queries(given: Sequence[str], config: Config) -> Iterator[Query]:
    """Yield the pages of URLs, identifiers and lists, each once."""
    seen: set[str] = set()
    for text in given:
        for reference in _references(text, config):
            try:
                query = query_for(parse(reference, config.registry), config.registry)
            except Malformed as complaint:
                raise click.UsageError(f"{reference}: {complaint.why}") from complaint
            except NotNegotiable as error:
                raise click.UsageError(f"{reference}: {error}") from error
            if query.original not in seen:
                seen.add(query.original)
                yield query


def _references(text: str, config: Config) -> Iterator[str]:
    if text != "-" and not Path(text).is_file():
        yield text
        return
    try:
        items = ListSource(text, None, Columns(None, ()), config.registry).items()
        yield from (item.text for item in items)
    except BadInput as error:
        raise click.UsageError(f"{text}: {error}") from error


@contextmanager
def _alone(state: Path) -> Iterator[None]:
    """Make sure that no other process reports from the same file. Raises ClickException."""
    path = state.with_name(f"{state.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise click.UsageError(f"--state {state}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            detail = f"another process follows pages with {state}; give another --state"
            raise click.UsageError(detail) from None
        yield
    finally:
        os.close(descriptor)


def default_state() -> Path:
    """Return where the state is without ``--state``, as the XDG specification says."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "timegate" / "follow.sqlite"


@click.command("follow")
@click.argument("given", nargs=-1, required=True, metavar="URL|ID|LIST...")
@click.option(
    "--every",
    default="1d",
    show_default=True,
    metavar="TIME",
    help="Interval between two queries of an archive, from 10m to 7d.",
)
@click.option("--once", is_flag=True, help="Query every archive now, report, and end.")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File in which the known copies are kept.",
)
@click.option("--exec", "program", metavar="CMD", help="Run this for each change, no shell.")
@click.option("--webhook", metavar="URL", help="Send each change there, as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print each change as JSON.")
@config_option
@archives_option
@contact_option
@demo_option
def follow_command(  # noqa: PLR0913 -- one parameter for each option
    given: tuple[str, ...],
    *,
    every: str,
    once: bool,
    state: Path | None,
    program: str | None,
    webhook: str | None,
    as_json: bool,
    config: Path | None,
    archives: Path | None,
    contact: str | None,
    demo: bool,
) -> None:
    r"""Report new copies of pages in all archives.

    The first run notes the copies that are there, later ones report what is new. It costs one
    list for each page and archive, which is requested only if it has changed where the archive
    says so. The state is kept, so that you can stop and start again at any time.

    \b
    Exit codes with --once:
      0  every archive answered
      1  a change could not be reported; it is tried again next time
      2  bad usage
      4  some archive did not answer

    \b
    Examples:
      timegate follow --demo --once http://museum.example/
      timegate follow pages.txt --every 6h --exec 'notify-send Archived'
    """
    if program is not None and webhook is not None:
        raise click.UsageError("use either --exec or --webhook, not both")
    with configured(config, archives, demo=demo) as basis:
        seconds = 0.0 if once else interval(every, "command line", "--every")
        settings = replace(with_contact(basis, contact), changes_every=seconds)
        command = FollowCommand(
            tuple(_queries(given, settings))[: _MOST_PAGES + 1],
            state or default_state(),
            once,
            as_json,
            _program(program),
            _checked_webhook(webhook),
        )
        if not 0 < len(command.pages) <= _MOST_PAGES:
            raise click.UsageError(f"give 1 to {_MOST_PAGES} pages")
        sys.exit(_run(settings, command))


def _run(config: Config, command: FollowCommand) -> int:
    from timegate.following.change_file import BadChangeFile  # noqa: PLC0415

    with _alone(command.state):
        try:
            return asyncio.run(follow(config, command))
        except BadChangeFile as error:
            raise click.UsageError(f"--state: {error}") from error
        except sqlite3.Error as error:
            raise click.ClickException(f"{command.state} cannot be written: {error}") from error
        except KeyboardInterrupt:
            echo("stopped; the same command continues", err=True)
            return _INTERRUPTED
        except asyncio.CancelledError:
            echo("stopped; the same command continues", err=True)
            return _TERMINATED


def _program(text: str | None) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text or ""))
    except ValueError as error:
        raise click.UsageError(f"--exec: {error}") from error
    if text is not None and not words:
        raise click.UsageError("--exec: name a program")
    return words


def _checked_webhook(url: str | None) -> str | None:
    from timegate.upstream.webhook import Webhook  # noqa: PLC0415

    if url is not None:
        try:
            Webhook(url, "timegate")
        except ValueError as error:
            raise click.UsageError(f"--webhook: {error}") from error
    return url
