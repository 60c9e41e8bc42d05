"""Options that several commands share, and the configuration they lead to."""

from pathlib import Path

import click

from timegate.app import askable
from timegate.config import BadConfig, Config, is_public, load_config

config_option = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="TIMEGATE_CONFIG",
    help="Configuration file, timegate.toml.",
)
archives_option = click.option(
    "--archives",
    type=click.Path(dir_okay=False, path_type=Path),
    help="More archives, in MemGator's archives.json.",
)


def loaded(config: Path | None, archives: Path | None) -> Config:
    """Return the configuration; end with 2 and a sentence where it cannot be used."""
    try:
        return load_config(config, archives)
    except BadConfig as error:
        raise click.UsageError(str(error)) from error


def check_contact(config: Config) -> None:
    """Public archives are asked only by those who say who they are (R14)."""
    public = [entry.id for entry in askable(config) if is_public(entry)]
    if public and config.contact is None:
        why = (
            f"{len(public)} public archives would be asked and want to know by whom: "
            "set contact in the configuration or TIMEGATE_CONTACT, or choose with archives.use"
        )
        raise click.UsageError(why)
