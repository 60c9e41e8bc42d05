"""What travels with a request into the tasks that it starts: a variable, for a block."""

from contextvars import ContextVar, Token
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")


class During(Generic[T]):
    """Sets *variable* to *value* until the block ends, and hands out *value*.

    A class, as `contextmanager` takes three times as long, and each request needs several.
    """

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> T:
        self._token: Token[T] = self._variable.set(self._value)
        return self._value

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._variable.reset(self._token)
