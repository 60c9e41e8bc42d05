"""``timegate completion``: what a shell needs to complete commands and options."""

import click
from click.shell_completion import get_completion_class

from timegate.cli.options import Words


@click.command("completion")
@click.argument("shell", type=Words(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    r"""Print the script that makes SHELL complete commands, options and archive ids.

    \b
    Examples:
      source <(timegate completion bash)
      timegate completion fish > ~/.config/fish/completions/timegate.fish
    """
    maker = get_completion_class(shell)
    if maker is None:  # pragma: no cover -- click has all three
        raise click.UsageError(f"no completion for {shell}")
    click.echo(maker(ctx.find_root().command, {}, "timegate", "_TIMEGATE_COMPLETE").source())
