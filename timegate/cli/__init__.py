"""The command line: one module for each command.

Exit codes: 0 as asked, 1 found but less precise than asked, 2 bad usage or identifier,
3 nothing found and everyone answered, 4 nothing found and nobody knows.
"""

import errno
import os
import sys
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Final, NamedTuple, NoReturn, TypeVar

import click
from click.shell_completion import CompletionItem

from timegate.cli.output import first_of
from timegate.text import similar

Some = TypeVar("Some", bound=click.Command)
_INTERRUPTED: Final = 130
_NO_READER: Final = 141
"""128 and the numbers of SIGINT and SIGPIPE, as shells have it."""


class Listed(NamedTuple):
    """Where a command is, and what it does in one line of a narrow terminal."""

    place: str
    """Module and name."""
    short: str


COMMANDS: Final = {
    "serve": Listed("serve:serve_command", "Answer over HTTP: TimeGate, resolver, page."),
    "resolve": Listed("resolve:resolve_command", "Find the best copy, and say how good it is."),
    "parse": Listed("parse:parse_command", "Say what an identifier means, or what is wrong."),
    "cite": Listed("cite:cite_command", "Write a reference to a copy at hand."),
    "timemap": Listed("timemap:timemap_command", "List all copies of a page, oldest first."),
    "closest": Listed("closest:closest_command", "Ask one archive, and see what it says."),
    "archives": Listed("archives:archives_command", "List the archives that are known."),
    "check": Listed("check:check_command", "Test whether an archive keeps to the protocol."),
    "misbehave": Listed("misbehave:misbehave_command", "Be an archive that errs, for tests."),
    "index": Listed("index:index_command", "Index WARC files of your own."),
    "extract": Listed("extract:extract_command", "Make a WARC of the copies behind a list."),
    "completion": Listed("completion:completion_command", "Let your shell complete commands."),
}
"""In the order in which help shows them."""


class Commands(click.Group):
    """The commands of `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's
        """Return all names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command that is called *cmd_name*."""
        listed = COMMANDS.get(cmd_name)
        if listed is None:
            return None
        module, _, name = listed.place.partition(":")
        command = getattr(import_module(f"timegate.cli.{module}"), name)
        if not isinstance(command, click.Command):
            return None
        return _with_its_lines(command)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what all this is for."""
        _with_its_lines(self)
        super().format_help_text(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write what each command does, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, listed.short) for name, listed in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin like *incomplete*, without importing any."""
        return [
            CompletionItem(name, help=listed.short)
            for name, listed in COMMANDS.items()
            if name.startswith(incomplete)
        ] + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; where there is none, say which was probably meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(
                f"No such command {args[0]!r}.{similar(args[0], COMMANDS)}", ctx
            ) from error

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; end quietly when the user or the reader of the output has gone."""
        if os.environ.get("NO_COLOR"):
            # https://no-color.org: rich obeys it by itself, click does not.
            ctx.color = False
        _mend_streams()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(_INTERRUPTED)
        except OSError as error:
            _leave(error)
        except BaseExceptionGroup as group:
            # What goes wrong in a task, or beside one, comes in a group.
            printing, other = group.split(lambda one: isinstance(one, OSError))
            if other is not None or printing is None:
                raise
            _leave(printing.exceptions[0])


def _mend_streams() -> None:
    """Put something in the place of streams that are closed, and let every text be written."""
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # As with <&- in a shell: there is nothing to read, and nobody to write to.
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 -- open to the end
        elif isinstance(stream, TextIOWrapper) and name != "stdin":
            # What a terminal's encoding cannot say is no reason to fall silent.
            stream.reconfigure(errors="backslashreplace")


def _with_its_lines(command: Some) -> Some:
    """Return *command* with help whose paragraphs behind a backspace keep their lines.

    Click wants the character itself; our docstrings are raw, as those with backslashes are.
    """
    command.help = (command.help or "").replace("\\b\n", "\b\n")
    return command


def _leave(error: BaseException) -> NoReturn:
    """End because standard output takes no more; without a word if nobody reads, like cat."""
    error = first_of(error)
    code = error.errno if isinstance(error, OSError) else None
    if code not in (errno.EPIPE, errno.ENOSPC, errno.EIO):
        raise error
    # Otherwise Python tries once more at the end, and complains.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if code == errno.EPIPE:
        sys.exit(_NO_READER)
    raise click.ClickException(f"cannot write: {os.strerror(code)}") from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="timegate-proxy", prog_name="timegate")
def main() -> None:
    r"""Follow a reference into the archived web, and know how good the copy is.

    A reference is a PWID, a duri, a link into an archive (it may be dead), or a URL with a
    date. With --demo, commands ask three small archives that come with timegate.

    \b
    Examples:
      timegate resolve --demo duri:2010-11:http://museum.example/
      timegate parse urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk
      timegate resolve --help
    """
