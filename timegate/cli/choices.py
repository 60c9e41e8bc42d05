"""What may be chosen on the command line as over HTTP: how precise, from whom, how long."""

from dataclasses import dataclass, replace
from typing import Final, get_args

import click

from archives.moment import Moment
from archives.registry import Registry
from timegate.cli.archive_ids import complete_ids, read_ids
from timegate.cli.bundling import bundling
from timegate.cli.words import Words
from timegate.policies import BadPreference, preferences_from
from timegate.resolution import Direction, Preferences, Strictness, Verification
from timegate.times import read_time


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

    def policy(self, registry: Registry) -> Preferences:
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
            policy, _ = preferences_from(said, None, None)
        except BadPreference as error:
            raise click.UsageError(f"--{error}") from error
        trusted = read_ids("--trust", self.trust, registry)
        distrusted = read_ids("--distrust", self.distrust, registry)
        chosen = None if self.trust is None else trusted
        return replace(policy, archives=chosen, exclude=distrusted)

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
