"""Options that belong together reach a command as one value: a dataclass with their names."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import wraps
from typing import TYPE_CHECKING

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
