"""Reports changes: as lines, to a program, or to a webhook.

A change is marked as reported after its report has ended well; a process that is stopped ends
the report first. Only if it is killed between the two, the change is reported again, with the
same id and the note that it is repeated; none is lost.
"""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from archives.moment import Moment
from timegate.following import Change
from timegate.following.feeds import entry_id, members
from timegate.upstream.webhook import Webhook, WebhookFailed

_LONGEST: Final = 600.0
"""Seconds that a program may take for one change."""
_CONTENT: Final = {True: "changed", False: "unchanged", None: "unknown"}


class ReportFailed(Exception):
    """A change could not be reported; the text says why."""


class ChangeReport(Protocol):
    """Reports one change. Raises ReportFailed."""

    async def __call__(self, change: Change) -> None: ...


def report_members(change: Change) -> dict[str, object]:
    """Return *change* for a receiver of reports, which may have it already."""
    repeated = {"repeated": True} if change.is_repeated else {}
    return {**members(change), **repeated}


def change_line(change: Change) -> str:
    """Return *change* as a line of words."""
    memento = change.memento
    parts = (str(Moment(memento.stamp)), memento.archive, _CONTENT[change.changed])
    return " ".join((*parts, memento.uri, change.page))


class LineReport:
    """Writes each change as a line."""

    def __init__(self, write: Callable[[str], None], *, as_json: bool = False) -> None:
        self._write = write
        self._as_json = as_json

    async def __call__(self, change: Change) -> None:
        """Write the line."""
        line = json.dumps(report_members(change)) if self._as_json else change_line(change)
        self._write(line)


class ProgramReport:
    """Runs a program for each change, without a shell.

    It gets the address of the memento, the page, the time, the archive and whether the content
    changed as arguments, the same in the environment, and all of it as JSON on standard input.
    """

    def __init__(self, program: Sequence[str], longest: float = _LONGEST) -> None:
        self._program = program
        self._longest = longest

    async def __call__(self, change: Change) -> None:
        """Run the program; it has reported the change if it ends with 0."""
        memento, content = change.memento, _CONTENT[change.changed]
        values = (
            memento.uri,
            change.page,
            str(Moment(memento.stamp)),
            memento.archive,
            content,
        )
        names = ("URI", "PAGE", "DATETIME", "ARCHIVE", "CONTENT")
        environment = {
            f"TIMEGATE_CHANGE_{name}": value for name, value in zip(names, values, strict=True)
        }
        environment["TIMEGATE_CHANGE_ID"] = entry_id(change)
        environment["TIMEGATE_CHANGE_REPEATED"] = "yes" if change.is_repeated else "no"
        try:
            process = await asyncio.create_subprocess_exec(
                *self._program,
                *values,
                stdin=asyncio.subprocess.PIPE,
                env={**os.environ, **environment},
            )
        except (OSError, ValueError) as error:
            raise ReportFailed(f"{self._program[0]} cannot be run: {error}") from error
        try:
            async with asyncio.timeout(self._longest):
                # A program that does not read its input is no failure.
                with suppress(BrokenPipeError, ConnectionResetError):
                    await process.communicate(
                        json.dumps(report_members(change)).encode() + b"\n"
                    )
                code = await process.wait()
        except TimeoutError:
            raise ReportFailed(f"it did not end within {self._longest:.0f} s") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if code:
            raise ReportFailed(f"{self._program[0]} ended with {code}")


class WebhookReport:
    """Sends each change to a webhook, with its id as ``Idempotency-Key``."""

    def __init__(self, webhook: Webhook) -> None:
        self._webhook = webhook

    async def __call__(self, change: Change) -> None:
        """Send the change."""
        body = json.dumps(report_members(change)).encode()
        try:
            await self._webhook.send(body, {"Idempotency-Key": f'"{entry_id(change)}"'})
        except WebhookFailed as error:
            raise ReportFailed(f"the webhook failed: {error}") from error
