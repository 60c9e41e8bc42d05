"""Words that an option takes, with a guess at what was meant by another."""

from typing import Generic, TypeVar

import click

from timegate.nearness import similar

Name = TypeVar("Name", bound=str)


class Words(click.Choice[Name], Generic[Name]):
    """A choice that says what was probably meant."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        """Return click's complaint, and the nearest words."""
        told = super().get_invalid_choice_message(value, ctx)
        return told + similar(str(value), map(str, self.choices))
