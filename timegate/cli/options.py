"""Options that several commands share, and the configuration they lead to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click

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


demo_option = click.option(
    "--demo",
    is_flag=True,
    help="Three small archives that come with timegate, and no network.",
)


@contextmanager
def configured(config: Path | None, archives: Path | None, *, demo: bool) -> Iterator[Config]:
    """Give the configuration; that of the demo has its indexes in a folder of its own.

    Some of what is wrong with it shows only when it is used: that ends with 2 and a sentence
    as well.
    """
    with _told_as_bad_usage():
        if not demo:
            yield load_config(config, archives)
            return
        if config is not None or archives is not None:
            raise click.UsageError("--demo is a configuration of its own: give no other")
        from timegate.demo import demo_config  # noqa: PLC0415 -- only who wants it loads it

        with TemporaryDirectory(prefix="timegate-demo-") as folder:
            yield demo_config(Path(folder))


def loaded(config: Path | None, archives: Path | None) -> Config:
    """Return the configuration; end with 2 and a sentence where it cannot be used."""
    with _told_as_bad_usage():
        return load_config(config, archives)


@contextmanager
def _told_as_bad_usage() -> Iterator[None]:
    try:
        yield
    except BadConfig as error:
        raise click.UsageError(str(error)) from error


def check_contact(config: Config) -> None:
    """Public archives are asked only by those who say who they are (R14)."""
    from timegate.app import askable  # noqa: PLC0415 -- the web server is slow to import

    public = [entry.id for entry in askable(config) if is_public(entry)]
    if public and config.contact is None:
        why = (
            f"{len(public)} public archives would be asked and want to know by whom: "
            "set contact in the configuration or TIMEGATE_CONTACT, or choose with archives.use"
        )
        raise click.UsageError(why)
