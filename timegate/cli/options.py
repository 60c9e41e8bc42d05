"""Options that several commands share, their completion, and loading the configuration."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Generic, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry, load_known
from timegate.citations import UrlStatus, access_day
from timegate.citations.forms import Form
from timegate.cli.output import echo, typed_with
from timegate.config import BadConfig, Config, load_config
from timegate.config import check_contact as check_configured_contact
from timegate.resolution.model import (
    Direction,
    Preferences,
    Strictness,
    Verification,
    WantedStatus,
)
from timegate.resolution.preferences import BadPreference, preferences_from
from timegate.text import similar
from timegate.text.times import read_time
from timegate.text.written_dates import whole_date

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from timegate.core import Core

BASE_URL: Final = "http://127.0.0.1:1208"
"""Base of the links in results if none is configured: the address of a default server."""

DEMO_LINKS: Final = "Links of the demo work while it runs, at port 1208: timegate serve --demo"

config_option = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="TIMEGATE_CONFIG",
    help="Configuration file (timegate.toml).",
)
archives_option = click.option(
    "--archives",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with more archives, in MemGator's format.",
)
contact_option = click.option(
    "-c",
    "--contact",
    help="Your contact, sent in User-Agent.",
)
_CONTACT: Final = compiled(r"https?://[^\s/]|(?:mailto:)?[^\s@:]++@[^\s@]")
demo_option = click.option(
    "--demo",
    is_flag=True,
    help="Use three small built-in archives, without network.",
)


@contextmanager
def configured(config: Path | None, archives: Path | None, *, demo: bool) -> Iterator[Config]:
    """Yield the configuration; the demo has its indexes in a temporary folder.

    A BadConfig in the body of the with statement also becomes a usage error: some errors show
    only when the configuration is used.
    """
    with _bad_config_as_usage_error():
        if not demo:
            yield load_config(config, archives)
            return
        if config is not None or archives is not None:
            raise click.UsageError("--demo cannot be combined with --config or --archives")
        from timegate.demo import demo_config  # noqa: PLC0415 -- only the demo needs it

        with TemporaryDirectory(prefix="timegate-demo-") as folder:
            yield demo_config(Path(folder))


def loaded(config: Path | None, archives: Path | None) -> Config:
    """Return the configuration. Raises UsageError if it cannot be used."""
    with _bad_config_as_usage_error():
        return load_config(config, archives)


@contextmanager
def _bad_config_as_usage_error() -> Iterator[None]:
    try:
        yield
    except BadConfig as error:
        raise click.UsageError(str(error)) from error


def with_contact(config: Config, contact: str | None) -> Config:
    """Return *config* with the *contact* of the command line, if one is given.

    Raises UsageError if public archives would be queried without a contact.
    """
    if contact is not None:
        if not (contact.isascii() and contact.isprintable() and _CONTACT.match(contact)):
            raise click.UsageError(
                "--contact must be a URL or address in printable ASCII, such as "
                "mailto:you@example.org"
            )
        config = replace(config, contact=contact)
    check_contact(config)
    return config


def check_contact(config: Config) -> None:
    """Raise UsageError, with the line to type, if a contact is missing."""
    try:
        check_configured_contact(config)
    except BadConfig as error:
        context = click.get_current_context()
        has_option = any(option.name == "contact" for option in context.command.params)
        line = typed_with("--contact", "mailto:you@example.org")
        raise click.UsageError(f"{error}\nTry: {line}" if has_option else str(error)) from error


def is_file(text: str) -> bool:
    """Whether *text* is the name of a file."""
    with suppress(OSError, ValueError):
        return Path(text).is_file()
    return False


def say_demo(*, demo: bool) -> None:
    """Say at a terminal when the links that the demo prints and writes work."""
    if demo and sys.stderr.isatty():
        echo(DEMO_LINKS, err=True)


@asynccontextmanager
async def open_core(
    config: Config,
    base_url: str,
    *,
    rate_limits: Path | None = None,
    queue_patience: float | None = None,
) -> AsyncIterator["Core"]:
    """Build the core for *config*. Importing it takes a second, so it is imported here."""
    from timegate.app import build_core  # noqa: PLC0415
    from timegate.observability.logs import errors_only  # noqa: PLC0415

    with errors_only():
        async with build_core(
            config, base_url, rate_limits=rate_limits, queue_patience=queue_patience
        ) as core:
            yield core


def read_ids(option: str, text: str | None, registry: Registry) -> frozenset[str]:
    """Return the IDs of the archives in *text*, given by ID or by their name in PWIDs.

    Raises UsageError for an unknown archive.
    """
    ids = set()
    for name in filter(None, (part.strip() for part in (text or "").split(","))):
        entry = registry.by_id(name) or registry.by_pwid(name)
        if entry is None:
            suggestion = similar(name, (entry.id for entry in registry.entries))
            raise click.UsageError(f"{option}: there is no archive {name!r}.{suggestion}")
        ids.add(entry.id)
    return frozenset(ids)


def complete_id(
    ctx: click.Context,
    param: click.Parameter,  # noqa: ARG001 -- click's
    incomplete: str,
) -> list[CompletionItem]:
    """Return the archives whose IDs begin with *incomplete*."""
    return [
        CompletionItem(entry.id, help=entry.name)
        for entry in _registry(ctx).entries
        if entry.id.startswith(incomplete)
    ]


def complete_ids(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the last of several IDs that are separated by commas."""
    before, comma, last = incomplete.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{item.value}", help=item.help)
        for item in complete_id(ctx, param, last)
    ]


def _registry(ctx: click.Context) -> Registry:
    """Return the archives of the configuration that the command line names."""
    config = ctx.params.get("config")
    if ctx.params.get("demo"):
        config = Path(__file__).parents[1] / "demo" / "demo.toml"
    try:
        return load_config(config, ctx.params.get("archives")).registry
    except BadConfig:
        # Errors are not shown while a line is being typed.
        return load_known()


def read_typed_time(text: str) -> Moment | None:
    """Return the time that was typed; None for the newest. Raises ValueError.

    Dates are read as in texts, in their languages, too; an ambiguous one is not guessed.
    """
    if not text.strip():
        raise ValueError("the time is empty: leave the option out for the newest copy")
    try:
        return read_time(text)
    except ValueError as error:
        found = whole_date(text)
        if found is not None and found.moment is not None:
            return found.moment
        if found is not None and len(found.readings) > 1:
            readings = " or ".join(map(str, found.readings))
            raise ValueError(f"{text!r} is ambiguous: write {readings}") from error
        raise


Command = Callable[..., None]
Decorator = Callable[[Command], Command]


def bundling(
    kind: "type[DataclassInstance]", name: str, declared: Sequence[Decorator]
) -> Decorator:
    """Return a decorator that passes the options *declared* as one argument *name*."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def bundled(*arguments: object, **options: object) -> None:
            values = {field.name: options.pop(field.name) for field in fields(kind)}
            command(*arguments, **{name: kind(**values)}, **options)

        wrapped: Command = bundled
        for declare in reversed(declared):
            wrapped = declare(wrapped)
        return wrapped

    return decorate


Name = TypeVar("Name", bound=str)


class Words(click.Choice[Name], Generic[Name]):
    """A choice of words that suggests similar ones for an invalid word."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """Return the message of click, and similar words."""
        message = super().get_invalid_choice_message(value, ctx)
        return message + similar(str(value), map(str, self.choices))


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The options that choose copies."""

    at: str | None
    precision: Strictness
    tolerance: str | None
    direction: Direction
    trust: str | None
    distrust: str | None
    wait: str | None
    verify: Verification
    status: WantedStatus
    also: tuple[str, ...] = ()
    quote: str | None = None

    def preferences(self, registry: Registry) -> Preferences:
        """Return the preferences. Raises UsageError for invalid values."""
        words = {
            "precision": self.precision,
            "tolerance": self.tolerance,
            "direction": self.direction,
            "wait": self.wait,
            "verify": self.verify,
            "status": self.status,
            "also": " ".join(self.also) or None,
            "quote": self.quote,
        }
        given = {name: word for name, word in words.items() if word is not None}
        try:
            preferences, _ = preferences_from(given, None, None)
        except BadPreference as error:
            raise click.UsageError(f"--{error}") from error
        trusted = read_ids("--trust", self.trust, registry)
        distrusted = read_ids("--distrust", self.distrust, registry)
        chosen = None if self.trust is None else trusted
        return replace(preferences, archives=chosen, exclude=distrusted)

    def moment(self) -> Moment | None:
        """Return the time for references without one; None means the newest copy."""
        try:
            return None if self.at is None else read_typed_time(self.at)
        except ValueError as error:
            raise click.UsageError(f"--at: {error}") from error


PROGRESS: Final = "progress"
"""What ``--status`` without a value means: the progress of the list in ``--queue``."""


class _StatusOrProgress(Words[str]):
    """The values of ``--status``, and none at all."""

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        return value if value == PROGRESS else super().convert(value, param, ctx)


_WHICH_STATUS: Final = "Whether a page nearby is preferred to an archived error"
_STATUS: Final = click.option(
    "--status", type=Words(get_args(WantedStatus)), default="2xx", help=f"{_WHICH_STATUS}."
)
_STATUS_OR_PROGRESS: Final = click.option(
    "--status",
    type=_StatusOrProgress(get_args(WantedStatus)),
    default="2xx",
    is_flag=False,
    flag_value=PROGRESS,
    help=f"{_WHICH_STATUS}; without a value, with --queue, it is --progress.",
)

_SEARCH_OPTIONS: Final = (
    click.option(
        "--at",
        metavar="TIME",
        help="Time for IDs that have none, and instead of dates in a text; with --batch, for "
        "references without a date. E.g. 2016-01.",
    ),
    click.option(
        "--precision",
        type=Words(get_args(Strictness)),
        default="any",
        help="How closely the copy must match; day: of the same UTC day.",
    ),
    click.option(
        "--tolerance", metavar="24h", help="Largest distance from the requested time."
    ),
    click.option(
        "--direction",
        type=Words(get_args(Direction)),
        default="closest",
        help="On which side of the requested time to search.",
    ),
    click.option(
        "--trust",
        "--archives-only",
        "trust",
        metavar="ID,...",
        shell_complete=complete_ids,
        help="Use only these archives.",
    ),
    click.option(
        "--distrust",
        "--exclude",
        "distrust",
        metavar="ID,...",
        shell_complete=complete_ids,
        help="Do not use these archives.",
    ),
    click.option(
        "--wait", metavar="SECONDS", help="Longest time to wait for archives, up to 30."
    ),
    click.option(
        "--verify",
        type=Words(get_args(Verification)),
        default="head",
        help="Whether to request the copy itself, to check it.",
    ),
    _STATUS,
    click.option(
        "--also",
        metavar="URL",
        multiple=True,
        help="Another URL of the same page, if the first gives nothing; may be repeated.",
    ),
    click.option("--quote", metavar="TEXT", help="Look for this quotation in the copy."),
)
choice_options: Final = bundling(SearchOptions, "choices", _SEARCH_OPTIONS)
list_choice_options: Final = bundling(
    SearchOptions,
    "choices",
    [_STATUS_OR_PROGRESS if each is _STATUS else each for each in _SEARCH_OPTIONS],
)


@dataclass(frozen=True, slots=True)
class TitleOptions:
    """What a citation says that the archive does not."""

    title: str | None
    fetch_title: bool
    url_status: UrlStatus
    access_date: str | None

    @property
    def accessed(self) -> date | None:
        """The day on which the user consulted the page. Raises UsageError."""
        try:
            return access_day(self.access_date or "", datetime.now(UTC))
        except ValueError as error:
            raise click.UsageError(f"--access-date: {error}") from error

    def check(self, form: Form | None, given: tuple[str, ...]) -> None:
        """Raise UsageError for options that contradict each other."""
        if self.accessed is not None and form is None:
            raise click.UsageError("--access-date requires --format")
        if form is None and self.url_status != _UNTRIED:
            raise click.UsageError("--url-status requires --format cs1")
        if self.title is None and not self.fetch_title:
            return
        if form is None:
            raise click.UsageError("--title and --fetch-title require --format")
        if self.title is not None and self.fetch_title:
            raise click.UsageError("use either --title or --fetch-title, not both")
        if self.title is not None and (len(given) > 1 or "-" in given):
            raise click.UsageError(
                "--title is for a single copy; use --fetch-title for several"
            )


_UNTRIED: Final = "bot: unknown"
_TITLE_OPTIONS: Final = (
    click.option("--title", metavar="TEXT", help="Title of the page, for --format."),
    click.option(
        "--fetch-title",
        is_flag=True,
        help="Read the title from the copy, for --format.",
    ),
    click.option(
        "--url-status",
        type=Words(get_args(UrlStatus)),
        default=_UNTRIED,
        help="Whether the original still works, for --format cs1.",
    ),
    click.option(
        "--access-date",
        metavar="DAY",
        help="When you consulted the page, for --format.",
    ),
)

title_options: Final = bundling(TitleOptions, "titles", _TITLE_OPTIONS)
