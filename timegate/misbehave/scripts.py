"""Leave for the scripts of other sites: what Memento clients in browsers need (Fetch 3.3)."""

from dataclasses import replace
from typing import Final

from timegate.misbehave.wire import Fields, WholeAnswer

_EXPOSED: Final = "Link, Location, Memento-Datetime, Content-Location, X-Misbehaviour"
_OPEN: Final[Fields] = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", _EXPOSED),
)
PREFLIGHT: Final = WholeAnswer(
    204,
    (
        *_OPEN,
        ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
        ("Access-Control-Allow-Headers", "Accept-Datetime, Prefer"),
    ),
)


def opened(answer: WholeAnswer) -> WholeAnswer:
    """Return *answer* with leave to read it, if it has none yet."""
    if answer.value("Access-Control-Allow-Origin") is not None:
        return answer
    return replace(answer, headers=(*answer.headers, *_OPEN))


def closed(answer: WholeAnswer) -> WholeAnswer:
    """Return *answer* without leave to read it."""
    for name, _ in _OPEN:
        answer = answer.without(name)
    return answer
