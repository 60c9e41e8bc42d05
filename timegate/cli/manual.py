"""``timegate man``: the manual page of all commands, from their help."""

from collections.abc import Iterator
from importlib.metadata import version
from inspect import cleandoc
from typing import Final

import click

from timegate.cli.output import echo_text

_ESCAPES: Final = str.maketrans({"\\": "\\e", "-": "\\-", "\b": None})


@click.command("man")
@click.pass_context
def manual_command(context: click.Context) -> None:
    r"""Print the manual page.

    \b
    Examples:
      timegate man | man -l -
      timegate man > /usr/local/share/man/man1/timegate.1
    """
    group = context.parent
    if group is None:
        raise click.UsageError("run it as timegate man")
    echo_text("\n".join(_page(group)))


def _page(context: click.Context) -> Iterator[str]:
    """Yield the lines of the page, in the macros of man(7)."""
    group = context.command
    yield f'.TH TIMEGATE 1 "" "timegate {version("timegate-proxy")}" "User Commands"'
    yield ".SH NAME"
    yield "timegate \\- find the archived page behind a reference"
    yield ".SH SYNOPSIS"
    yield ".B timegate"
    yield "COMMAND [OPTIONS] [ARGUMENTS]"
    yield ".SH DESCRIPTION"
    yield from _text(group.help or "")
    yield ".SH COMMANDS"
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield from _command(name, command, context)


def _command(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".SS timegate {_escaped(name)} {_escaped(usage)}"
    yield from _text(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield ".TP"
            yield f".B {_escaped(record[0])}"
            yield _line(record[1])


def _text(help_text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; those that begin with a mark keep their lines."""
    for paragraph in cleandoc(help_text).split("\n\n"):
        kept = paragraph.lstrip("\n").startswith(("\b", "\\b"))
        lines = [line for line in paragraph.splitlines() if line.strip("\b \\b")]
        if not lines:
            continue
        yield ".PP"
        if kept:
            yield ".nf"
        yield from map(_line, lines)
        if kept:
            yield ".fi"


def _line(text: str) -> str:
    """Return *text* as one line; a dot or an apostrophe at its start would be a macro."""
    escaped = _escaped(text)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)
