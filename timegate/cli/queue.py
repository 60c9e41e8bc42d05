"""``timegate resolve --queue``: a list that many processes resolve, and its progress."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from secrets import token_hex

import click

from archives.model import ArchiveEntry
from timegate.batch.dispatch import LaneLimits
from timegate.batch.output import RestNotes, in_words, progress_text
from timegate.batch.queue_roles import (
    QueueEngines,
    QueueWorker,
    begin_job,
    check_archives,
    wait_for_job,
)
from timegate.batch.run import BadQueue, BatchEnvironment, ItemResolver, QueueStatus
from timegate.batch.stream_queue import Job, StreamQueue, read_queue_url
from timegate.cli.lists import WAITS, ListJob, OpenEngines, Status, opened_environment
from timegate.cli.output import echo_text, typed_with, ungrouped
from timegate.config import Config
from timegate.observability.logs import errors_only
from timegate.redis import is_shared
from timegate.text import counted


def sharing(config: Config, url: str) -> Config:
    """Return *config* with the limits of archives shared at *url*, if they are not already.

    Raises BadQueue.
    """
    read_queue_url(url)
    return config if is_shared(config.cache) else replace(config, cache=url.partition("#")[0])


def queue_engines(url: str) -> OpenEngines:
    """Return how to resolve a list at the queue *url*: here, and wherever else is worked."""

    @asynccontextmanager
    async def opened(
        job: ListJob, environment: BatchEnvironment, status: Status
    ) -> AsyncIterator[QueueEngines]:
        resolver = ItemResolver(environment, job.preferences, WAITS, job.without)
        limits = LaneLimits(environment.entries, job.at_once)
        entry = Job(
            token_hex(8), job.preferences, archives_digest(environment.entries), limits.lanes
        )
        async with StreamQueue(url, _say_outage) as queue:
            await begin_job(queue, entry)
            async with asyncio.TaskGroup() as tasks:
                working = tasks.create_task(QueueWorker(queue, entry, resolver, limits).run())
                yield QueueEngines(
                    queue, entry, lambda item: resolver.placed(item, limits), status
                )
                await queue.end(entry)
                await queue.report(status()._replace(complete=True))
                await working

    return opened


def work_on_queue(config: Config, url: str, at_once: int) -> int:
    """Work on the list at the queue *url* until it is complete; return the exit code."""
    try:
        with ungrouped(BadQueue):
            asyncio.run(_work(sharing(config, url), url, at_once))
    except BadQueue as error:
        raise click.UsageError(str(error)) from error
    return 0


async def _work(config: Config, url: str, at_once: int) -> None:
    resolved = 0
    async with AsyncExitStack() as stack:
        # Outages are said in words about the queue.
        with errors_only():
            queue = await stack.enter_async_context(StreamQueue(url, _say_outage))
            entry = await wait_for_job(queue, _Waits())
        if entry is None:
            line = typed_with()
            echo_text(
                f"no list came: 0 references resolved here; to wait again: {line}", err=True
            )
            return
        while entry is not None:
            echo_text("working on the list in the queue", err=True)
            job = ListJob(config, entry.preferences, at_once)
            notes = RestNotes(lambda text: echo_text(text, err=True))
            async with opened_environment(job, notes) as environment:
                check_archives(entry, archives_digest(environment.entries))
                resolver = ItemResolver(environment, entry.preferences, WAITS)
                limits = LaneLimits(environment.entries, at_once)
                worker = QueueWorker(queue, entry, resolver, limits, _say_unread)
                await worker.run()
            resolved += worker.resolved
            # It may have been begun again, with --resume.
            with errors_only():
                entry = await queue.job()
    echo_text(f"the list is complete: {counted(resolved, 'reference')} resolved here", err=True)


def _say_outage(why: str) -> None:
    echo_text(f"{why}: trying again, until Ctrl-C", err=True)


class _Waits:
    """Says what a worker waits for."""

    def first(self) -> None:
        echo_text("there is no list in the queue: waiting for one, until Ctrl-C", err=True)

    def next(self, seconds: float) -> None:
        why = "the list in the queue was complete before this worker was started"
        echo_text(f"{why}: waiting {in_words(seconds)} for the next one", err=True)


def _say_unread(seconds: float) -> None:
    if seconds:
        echo_text(f"{_unread(seconds)}; this worker waits for it, until Ctrl-C", err=True)
    else:
        echo_text("the results are read again", err=True)


def _unread(seconds: float) -> str:
    """Return that nothing has read the results for *seconds*, and how the list goes on."""
    since = datetime.now(UTC) - timedelta(seconds=seconds)
    return (
        f"nothing has read the results since {since:%Y-%m-%d %H:%M:%S} UTC "
        f"({in_words(seconds)} ago): "
        "the process with --batch has ended, or cannot reach the queue\n"
        "to go on, run its line again, with --resume if it has --output"
    )


def _refuse(why: str) -> None:
    raise BadQueue(f"--queue: {why}")


def print_queue_progress(url: str) -> int:
    """Print the progress of the list at the queue *url*; return the exit code."""
    try:
        status, silence = asyncio.run(_status(url))
    except BadQueue as error:
        raise click.UsageError(str(error)) from error
    if status is None:
        echo_text("no list was put into this queue")
        return 1
    if silence:
        of = "" if status.total is None else f" of {status.total}"
        echo_text(f"{status.done}{of}, but {_unread(silence)}")
        return 1
    if status.complete:
        echo_text(f"{counted(status.done, 'reference')}, complete")
    else:
        echo_text(progress_text(status.done, status.total, status.rate, status.seconds_left))
    return 0


async def _status(url: str) -> tuple[QueueStatus | None, float]:
    """Return the status, and for how many seconds nothing has read the results."""
    with errors_only():
        async with StreamQueue(url, _refuse) as queue:
            return await queue.status(), await queue.silence()


def archives_digest(entries: Collection[ArchiveEntry]) -> str:
    """Return what tells whether two processes would query the same archives."""
    names = sorted(f"{entry.id} {entry.timegate} {entry.cdx}" for entry in entries)
    return blake2b("\n".join(names).encode(), digest_size=8).hexdigest()
