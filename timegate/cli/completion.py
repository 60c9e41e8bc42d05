"""``timegate completion``: prints a completion script for a shell."""

import click
from click.shell_completion import get_completion_class

from timegate.cli.options import Words
from timegate.cli.output import write_document


@click.command("completion")
@click.argument("shell", type=Words(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    r"""Print a script that lets a shell complete commands, options and archive IDs.

    \b
    Examples:
      source <(timegate completion bash)
      timegate completion fish > ~/.config/fish/completions/timegate.fish
    """
    maker = get_completion_class(shell)
    if maker is None:  # pragma: no cover -- click has all three
        raise click.UsageError(f"completion is not available for {shell}")
    script = maker(ctx.find_root().command, {}, "timegate", "_TIMEGATE_COMPLETE").source()
    write_document(f"{script}\n".encode())
