"""The command line, with one module per command.

Exit codes: 0 as requested, 1 found but less than requested, 2 bad usage or invalid
identifier, 3 nothing found and every archive answered, 4 nothing found and some archive did
not answer.
"""

import errno
import gc
import os
import sys
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, TypeVar

import click

from timegate.cli.output import TYPED, first_of, printable_errors
from timegate.text import similar

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

AnyCommand = TypeVar("AnyCommand", bound=click.Command)
_COLLECTED_AFTER: Final = 10_000
"""Objects. The server has a threshold of its own."""
_VERBOSE: Final = ("--verbose", "-v", "--debug")
_INTERRUPTED: Final = 130
_NO_READER: Final = 141
"""128 plus the numbers of SIGINT and SIGPIPE, as in shells."""


class Listed(NamedTuple):
    """A command in the list of commands."""

    place: str
    """Module and name of the function."""
    short: str
    """Its help in one line of a narrow terminal."""


COMMANDS: Final = {
    "serve": Listed("serve:serve_command", "Run the HTTP server with its web page."),
    "resolve": Listed("resolve:resolve_command", "Find the best copy and how well it matches."),
    "parse": Listed("parse:parse_command", "Explain an identifier or what is wrong with it."),
    "cite": Listed("cite:cite_command", "Cite the copy behind an archive link."),
    "quote": Listed("quote:quote_command", "Check whether a copy has a quotation."),
    "parts": Listed("parts:parts_command", "List what a page embeds, as PWIDs."),
    "timemap": Listed("timemap:timemap_command", "List all copies of a page, oldest first."),
    "follow": Listed("follow:follow_command", "Report new copies of pages."),
    "closest": Listed("closest:closest_command", "Query one archive and show every exchange."),
    "archives": Listed("archives:archives_command", "List the known archives."),
    "sync": Listed("sync:sync_command", "Copy what another archive holds into a store."),
    "check": Listed("check:check_command", "Test whether an archive follows the protocol."),
    "misbehave": Listed("misbehave:misbehave_command", "Run a faulty archive to test clients."),
    "index": Listed("index:index_command", "Index your own WARC files."),
    "extract": Listed("extract:extract_command", "Save the copies of a list as a WARC."),
    "keep": Listed("keep:keep_command", "Copy references into a store of your own."),
    "export": Listed("export:export_command", "Pack a store as a WACZ."),
    "mcp": Listed("mcp:mcp_command", "Serve programs with language models (MCP)."),
    "mint": Listed("mint:mint_command", "Mint a document of a series, and print its PDI."),
    "completion": Listed("completion:completion_command", "Print a shell completion script."),
    "man": Listed("manual:manual_command", "Print the manual page."),
}
"""In the order of the help."""


class Commands(click.Group):
    """The group of `COMMANDS`, which imports a command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command *cmd_name*."""
        listed = COMMANDS.get(cmd_name)
        if listed is None:
            return None
        module, _, name = listed.place.partition(":")
        # Modules are not garbage: collecting while they are imported takes a tenth of the time.
        gc.disable()
        try:
            command = getattr(import_module(f"timegate.cli.{module}"), name)
        finally:
            gc.freeze()
            gc.set_threshold(_COLLECTED_AFTER)
            gc.enable()
        if not isinstance(command, click.Command):
            return None
        return _with_line_breaks(command)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help of the group, with its line breaks."""
        _with_line_breaks(self)
        super().format_help_text(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, listed.short) for name, listed in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the commands that begin with *incomplete*, without importing them."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 -- shells need it

        return [
            CompletionItem(name, help=listed.short)
            for name, listed in COMMANDS.items()
            if name.startswith(incomplete)
        ] + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for an unknown one, suggest similar names."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(
                f"No such command {args[0]!r}.{similar(args[0], COMMANDS)}", ctx
            ) from error

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options of the group; keep the words for commands that are suggested."""
        ctx.meta[TYPED] = tuple(args)
        with printable_errors():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; exit quietly after Ctrl-C or when the output is closed."""
        if os.environ.get("NO_COLOR"):
            # https://no-color.org: rich supports it, click does not.
            ctx.color = False
        _prepare_streams()
        try:
            with printable_errors():
                return super().invoke(ctx)
        except (click.NoSuchOption, click.MissingParameter) as error:
            raise _with_hint(error) from error
        except KeyboardInterrupt:
            sys.exit(_INTERRUPTED)
        except OSError as error:
            _exit_on_output_error(error)
        except BaseExceptionGroup as group:
            # Errors in task groups arrive in an exception group.
            matching, other = group.split(lambda error: isinstance(error, OSError))
            if other is not None or matching is None:
                raise
            _exit_on_output_error(matching.exceptions[0])


def _with_hint(error: click.UsageError) -> click.UsageError:
    """Return *error* with what to type, where an option is unknown or missing."""
    hint = ""
    if isinstance(error, click.NoSuchOption) and error.option_name in _VERBOSE:
        hint = (
            "--json prints all that is known of a result, and timegate closest every exchange "
            "with an archive."
        )
    elif isinstance(error, click.MissingParameter) and isinstance(error.param, click.Option):
        hint = error.param.help or ""
    return click.UsageError(f"{error.format_message()} {hint}", error.ctx) if hint else error


def _prepare_streams() -> None:
    """Replace closed standard streams, and make all text writable in any encoding."""
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # The stream was closed, as with <&- in a shell.
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 -- stays open
        elif isinstance(stream, TextIOWrapper) and name != "stdin":
            # Characters that the terminal cannot show are written as escapes.
            stream.reconfigure(errors="backslashreplace")


def _with_line_breaks(command: AnyCommand) -> AnyCommand:
    """Return *command* with help that keeps the line breaks of marked paragraphs.

    Click's mark is a backspace character, which our raw docstrings write as two characters.
    """
    command.help = (command.help or "").replace("\\b\n", "\b\n")
    return command


def _exit_on_output_error(error: BaseException) -> NoReturn:
    """Exit because standard output fails; silently if it was closed, like cat."""
    error = first_of(error)
    code = error.errno if isinstance(error, OSError) else None
    if code not in (errno.EPIPE, errno.ENOSPC, errno.EIO):
        raise error
    # Otherwise Python flushes standard output at exit and reports an error again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if code == errno.EPIPE:
        sys.exit(_NO_READER)
    raise click.ClickException(f"cannot write: {os.strerror(code)}") from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="timegate-proxy", prog_name="timegate")
def main() -> None:
    r"""Find the archived page behind a reference, and see how well it matches.

    A reference is a PWID, a duri, a link to an archived page (even a dead link), or a URL with
    a date. With --demo, commands use three small archives that come with timegate.

    \b
    Examples:
      timegate resolve --demo duri:2010-11:http://museum.example/
      timegate parse urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk
      timegate resolve --help
    """
