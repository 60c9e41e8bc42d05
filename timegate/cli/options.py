"""Options that several commands share, and the configuration they lead to."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Generic, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

from archives.moment import Moment
from archives.registry import Registry, load_known
from timegate.citations import Form
from timegate.config import BadConfig, Config, load_config
from timegate.config import check_contact as check_configured_contact
from timegate.resolution.model import Direction, Preferences, Strictness, Verification
from timegate.resolution.preferences import BadPreference, preferences_from
from timegate.text import similar
from timegate.text.times import read_time

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

if TYPE_CHECKING:
    from timegate.app import Core


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
    """End with 2 where public archives would be queried without a contact."""
    with _told_as_bad_usage():
        check_configured_contact(config)


@asynccontextmanager
async def open_core(
    config: Config, base_url: str, *, rate_limits: Path | None = None
) -> AsyncIterator["Core"]:
    """Build the core of the configuration; importing it takes a second, so only when used."""
    from timegate.app import build_core  # noqa: PLC0415

    async with build_core(config, base_url, rate_limits=rate_limits) as core:
        yield core


def read_ids(option: str, text: str | None, registry: Registry) -> frozenset[str]:
    """Return the archives named, by id or as PWIDs name them; refuse those nobody knows."""
    ids = set()
    for name in filter(None, (one.strip() for one in (text or "").split(","))):
        entry = registry.by_id(name) or registry.by_pwid(name)
        if entry is None:
            meant = similar(name, (entry.id for entry in registry.entries))
            raise click.UsageError(f"{option}: there is no archive {name!r}.{meant}")
        ids.add(entry.id)
    return frozenset(ids)


def complete_id(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 -- click's
    incomplete: str,
) -> list[CompletionItem]:
    """Return the archives whose ids begin like *incomplete*."""
    return [
        CompletionItem(entry.id, help=entry.name)
        for entry in _registry(ctx).entries
        if entry.id.startswith(incomplete)
    ]


def complete_ids(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the same for the last of several ids with commas between."""
    before, comma, last = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{item.value}", help=item.help)
        for item in complete_id(ctx, param, last)
    ]


def _registry(ctx: click.Context) -> Registry:
    """Return the archives of the configuration that the line names so far."""
    config = ctx.params.get("config")
    if ctx.params.get("demo"):
        config = Path(__file__).parents[1] / "demo" / "demo.toml"
    try:
        return load_config(config, ctx.params.get("archives")).registry
    except BadConfig:
        # Half a line is no place to complain.
        return load_known()


if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Command = Callable[..., None]
Decorator = Callable[[Command], Command]


def bundling(
    kind: "type[DataclassInstance]", name: str, declared: Sequence[Decorator]
) -> Decorator:
    """Return what gives a command the options *declared*, as one argument *name*."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def bundled(*arguments: object, **options: object) -> None:
            ours = {field.name: options.pop(field.name) for field in fields(kind)}
            command(*arguments, **{name: kind(**ours)}, **options)

        wrapped: Command = bundled
        for declare in reversed(declared):
            wrapped = declare(wrapped)
        return wrapped

    return decorate


Name = TypeVar("Name", bound=str)


class Words(click.Choice[Name], Generic[Name]):
    """A choice that says what was probably meant."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """Return click's complaint, and the nearest words."""
        told = super().get_invalid_choice_message(value, ctx)
        return told + similar(str(value), map(str, self.choices))


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What the command line says of how to look for copies."""

    at: str | None
    precision: Strictness
    tolerance: str | None
    direction: Direction
    trust: str | None
    distrust: str | None
    wait: str | None
    verify: Verification

    def preferences(self, registry: Registry) -> Preferences:
        """Return what is chosen. Raises UsageError for what cannot be obeyed."""
        words = {
            "precision": self.precision,
            "tolerance": self.tolerance,
            "direction": self.direction,
            "wait": self.wait,
            "verify": self.verify,
        }
        said = {name: word for name, word in words.items() if word is not None}
        try:
            preferences, _ = preferences_from(said, None, None)
        except BadPreference as error:
            raise click.UsageError(f"--{error}") from error
        trusted = read_ids("--trust", self.trust, registry)
        distrusted = read_ids("--distrust", self.distrust, registry)
        chosen = None if self.trust is None else trusted
        return replace(preferences, archives=chosen, exclude=distrusted)

    def moment(self) -> Moment | None:
        """Return the time for references that have none of their own; None for the newest."""
        try:
            return None if self.at is None else read_time(self.at)
        except ValueError as error:
            raise click.UsageError(f"--at: {error}") from error


_DECLARED: Final = (
    click.option("--at", metavar="TIME", help="For what has no time of its own: 2016-01, ..."),
    click.option(
        "--precision",
        type=Words(get_args(Strictness)),
        default="any",
        help="The least that will do: the copy itself, that archive, that day.",
    ),
    click.option("--tolerance", metavar="24h", help="How far off a copy may be."),
    click.option(
        "--direction",
        type=Words(get_args(Direction)),
        default="closest",
        help="On which side of the time a copy may be.",
    ),
    click.option(
        "--trust",
        "--archives-only",
        "trust",
        metavar="ID,...",
        shell_complete=complete_ids,
        help="Take copies from these archives only.",
    ),
    click.option(
        "--distrust",
        "--exclude",
        "distrust",
        metavar="ID,...",
        shell_complete=complete_ids,
        help="Take no copies from these archives.",
    ),
    click.option("--wait", metavar="SECONDS", help="How long archives may take, up to 30."),
    click.option(
        "--verify",
        type=Words(get_args(Verification)),
        default="none",
        help="Look at the copy before it is recommended.",
    ),
)
choice_options: Final = bundling(SearchOptions, "choices", _DECLARED)


@dataclass(frozen=True, slots=True)
class TitleOptions:
    """Where the title in a reference comes from; from the URL if nothing is said."""

    title: str | None
    fetch_title: bool

    def check(self, form: Form | None, given: tuple[str, ...]) -> None:
        """Refuse what makes no sense. Raises UsageError."""
        if self.title is None and not self.fetch_title:
            return
        if form is None:
            raise click.UsageError("--title and --fetch-title go with --format")
        if self.title is not None and self.fetch_title:
            raise click.UsageError("give either --title or --fetch-title")
        if self.title is not None and (len(given) > 1 or "-" in given):
            raise click.UsageError("--title is for one copy; several have --fetch-title")


_TITLE_OPTIONS_DECLARED: Final = (
    click.option("--title", metavar="TEXT", help="What the page is called, with --format."),
    click.option(
        "--fetch-title",
        is_flag=True,
        help="Read from the copy what the page is called, with --format.",
    ),
)

title_options: Final = bundling(TitleOptions, "titles", _TITLE_OPTIONS_DECLARED)
