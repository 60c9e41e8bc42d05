"""Options of ``timegate resolve`` for lists, without `cli.batch`, which is slow to import."""

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, Self, get_args

import click
from click.core import ParameterSource

from timegate.batch.model import Requirement
from timegate.cli.options import PROGRESS, Words, bundling
from timegate.cli.output import typed_without
from timegate.references import InputFormat
from timegate.resolution.model import Preferences
from timegate.resolution.preferences import preferences_from

_FORMATS: Final = get_args(InputFormat)
_OUTPUTS: Final = (
    *("jsonl", "csv", "html", "document"),
    *("wikitext", "bibtex", "ris", "markdown", "rst", "latex", "text"),
)


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """The options of ``--batch``."""

    batch: str | None
    input_format: InputFormat | None
    column: str | None
    date_column: tuple[str, ...]
    published: bool
    output: str
    to: str | None
    report: str | None
    require: tuple[Requirement, ...]
    resume: bool
    retry_unknown: bool
    at_once: int
    exit_zero: bool
    queue: str | None
    work: bool
    progress: bool

    def required(self, preferences: Preferences) -> Preferences:
        """Return *preferences* with what `--require` needs to know."""
        if "content" not in self.require:
            return preferences
        looking, _ = preferences_from({"verify": "content"}, None, None)
        return replace(preferences, verify=looking.verify)

    def with_status(self, status: str) -> Self:
        """Return these options with ``--progress``, if that is meant by ``--status`` alone.

        Raises UsageError without a queue.
        """
        if status != PROGRESS:
            return self
        if self.queue is None:
            raise click.UsageError(
                "--status requires a value, 2xx or any; without one, it is --progress, the "
                "progress of a list, and requires --queue"
            )
        return replace(self, progress=True)

    @property
    def is_queue_only(self) -> bool:
        """Whether there is neither a list nor an ID: the list is in the queue."""
        return self.work or self.progress

    def check_queue_only(self, identifiers: Collection[str]) -> None:
        """Raise UsageError for options that do not go with --work or --progress."""
        if self.queue is None:
            raise click.UsageError("--work and --progress require --queue")
        if identifiers or self.batch is not None or (self.work and self.progress):
            raise click.UsageError("give only one of IDs, --batch, --work and --progress")
        role = "--work" if self.work else "--progress"
        params = click.get_current_context().params
        asked = {"status"} if params.get("status") == PROGRESS else set()
        if other := _given(params.keys() - _OF_WORKERS - asked):
            why = f"{other[0]} does not apply to {role}"
            raise click.UsageError(f"{why}: it is stated where the list is read, with --batch")

    @staticmethod
    def check_without_list(identifiers: Sequence[str]) -> None:
        """Raise UsageError, with the line to type, for options that need a list."""
        names = [field.name for field in fields(BatchOptions)]
        if not (given := _given(names)):
            return
        to = click.get_current_context().params.get("to")
        if _OF_DOCUMENTS & {*given} or to in _OUTPUTS[_OUTPUTS.index("document") :]:
            line = f"{typed_without(identifiers)} --batch FILE"
            raise click.UsageError(f"{given[0]} needs a list, with --batch\nTry: {line}")
        line = f"{typed_without(identifiers)} --batch -"
        if _OF_RESUMED & {*given} and "--output" not in given:
            # The journal is beside the output.
            line += " --output results.jsonl"
        if "--retry-unknown" in given and "--resume" not in given:
            line += " --resume"
        if "-" not in identifiers:
            line = f"printf '%s\\n' {shlex.join(identifiers)} | {line}"
        raise click.UsageError(f"{given[0]} needs a list, with --batch\nTry: {line}")


_OF_RESUMED: Final = {"--resume", "--retry-unknown"}
_OF_DOCUMENTS: Final = {"--column", "--date-column", "--input-format", "--require"}
"""Options that some formats of lists need, which a line for each ID is not."""
_OF_WORKERS: Final = frozenset(
    {
        "queue",
        "work",
        "progress",
        "at_once",
        "exit_zero",
        *("config", "archives", "contact", "demo"),
    }
)
"""What a process that works on a queue is told; the rest is in the queue."""


def _given(names: Collection[str]) -> list[str]:
    """Return those of the options *names* that were typed."""
    context = click.get_current_context()
    return [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name in names
        and isinstance(parameter, click.Option)
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    ]


def _once(
    context: click.Context,
    option: click.Parameter,
    names: tuple[str, ...],
) -> str | None:
    """Return the only one of *names*. Raises UsageError: the last would be used silently."""
    del context
    if len(names) > 1:
        given = " and ".join(f"{option.opts[0]} {shlex.quote(name)}" for name in names)
        one = "resolve one list after the other" if option.name == "batch" else "give only one"
        raise click.UsageError(f"{given}: {one}")
    return names[0] if names else None


_OPTIONS: Final = (
    click.option(
        "--batch",
        metavar="FILE",
        multiple=True,
        callback=_once,
        help="Resolve a list of references; - reads standard input.",
    ),
    click.option("--input-format", type=Words(_FORMATS), help="Format of the list."),
    click.option("--column", metavar="NAME", help="CSV column with the references."),
    click.option(
        "--date-column",
        multiple=True,
        metavar="NAME",
        help="CSV column with dates; repeatable.",
    ),
    click.option(
        "--published",
        is_flag=True,
        help="Use dates of publication where no date of access is stated.",
    ),
    click.option(
        "--output",
        metavar="FILE",
        multiple=True,
        callback=_once,
        default=("-",),
        help="File for the results; - prints them.",
    ),
    click.option("--to", type=Words(_OUTPUTS), help="Format of the results."),
    click.option(
        "--report",
        metavar="FILE",
        multiple=True,
        callback=_once,
        help="Write an HTML report with charts and gaps.",
    ),
    click.option(
        "--require",
        multiple=True,
        type=Words(get_args(Requirement)),
        help="Rewrite only links whose copy has this: the same content, or the quotation.",
    ),
    click.option("--resume", is_flag=True, help="Continue an interrupted run."),
    click.option(
        "--retry-unknown",
        is_flag=True,
        help="With --resume, retry where archives did not answer.",
    ),
    click.option(
        "--at-once",
        type=click.IntRange(1, 256),
        default=16,
        show_default=True,
        help="Number of references to resolve at the same time for each archive.",
    ),
    click.option(
        "--exit-zero", is_flag=True, help="Exit with 0 when the whole list was processed."
    ),
    click.option(
        "--queue", metavar="URL", help="Share the list in Redis with other processes."
    ),
    click.option("--work", is_flag=True, help="Work on the list that is in --queue."),
    click.option("--progress", is_flag=True, help="Print the progress of the list in --queue."),
)

batch_options: Final = bundling(BatchOptions, "batch", _OPTIONS)


def show_queue_progress(options: BatchOptions) -> int:
    """Print the progress of the list in the queue; return the exit code."""
    from timegate.cli.queue import print_queue_progress  # noqa: PLC0415 -- it needs Redis

    return print_queue_progress(options.queue or "")
