"""What went wrong in a task, without the groups that tasks put around it."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ungrouped(*kinds: type[Exception]) -> Iterator[None]:
    """Raise what went wrong first as it is, where nothing but *kinds* did.

    Not with ``except*``: before Python 3.11.4 it puts a group around what is raised in it
    (gh-103590).
    """
    try:
        yield
    except BaseExceptionGroup as group:
        expected, other = group.split(kinds)
        if expected is None or other is not None:
            raise
        raise first_of(expected) from None


def first_of(error: BaseException) -> BaseException:
    """Return what went wrong first, out of the groups around it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
