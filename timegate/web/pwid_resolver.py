"""The interface of the Austrian and German national libraries' resolver.

    /pwid?archiveString={PWID}      /resolve?pwid={PWID}

Their resolver fills templates; here the answer is that of ``/resolve/{identifier}``, for which
archives were asked. A PWID that stands raw keeps the query of its archived URL: nothing but our
own parameters is cut off at ``&``. One that a form encoded as a whole ends at a raw ``&``.
"""

from typing import Final, NamedTuple

from archives.possessive import compiled
from timegate.web.call import ClientRequest, EarlyResponse, Response
from timegate.web.problems import problem
from timegate.web.resolve import Resolve
from timegate.web.targets import PARAMETERS

_NAMES: Final = ("archivestring", "pwid")
_MOST_PARAMETERS: Final = 20
_BLANKS: Final = compiled(r"(?:\+|%20)*+")
_ENCODED: Final = compiled(r"[A-Za-z][A-Za-z0-9+.-]*+%3[Aa]")
_WRITE: Final = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"


class _Asked(NamedTuple):
    identifier: str
    parameters: tuple[str, ...]
    """Our own, as they were written: ``wait=3``."""


class PwidResolver:
    """Answers ``/pwid`` and ``/resolve`` with a query; both take both names."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve

    async def __call__(self, call: ClientRequest) -> Response:
        """Answer as `Resolve` does."""
        asked = _asked(call.rest.partition("?")[2])
        if asked is None:
            detail = f"write /pwid?archiveString={_WRITE} or /resolve?pwid={_WRITE}"
            raise EarlyResponse(problem(400, "bad-parameter", detail))
        mark = "?" if asked.parameters else ""
        # Still encoded, if it was: `Resolve` decodes it once it has taken off the parameters.
        rest = asked.identifier + mark + "&".join(asked.parameters)
        return await self._resolve(
            ClientRequest(call.method, rest, call.headers, call.repeated)
        )


def _asked(query: str) -> _Asked | None:
    """Find the PWID in *query*; what stands before it are parameters, ours or nobody's."""
    before: list[str] = []
    for _ in range(_MOST_PARAMETERS):
        name, equals, value = query.partition("=")
        if equals and name.lower() in _NAMES:
            identifier, behind = _without_own(_stripped(value))
            return _Asked(identifier, (*before, *behind)) if identifier else None
        pair, separator, query = query.partition("&")
        if not separator:
            break
        if _is_own(pair):
            before.append(pair)
    return None


def _stripped(value: str) -> str:
    """Take off the blanks that a form writes for those that were pasted with a PWID."""
    blanks = _BLANKS.match(value)
    text = value[blanks.end() :] if blanks else value
    while text.endswith("%20"):
        text = text[:-3]
    return text.rstrip("+") if _ENCODED.match(text) else text


def _without_own(value: str) -> tuple[str, list[str]]:
    """Cut our parameters off the end of *value*, the first of them first."""
    if _ENCODED.match(value):
        value, _, rest = value.partition("&")
        return _stripped(value), [pair for pair in rest.split("&") if _is_own(pair)]
    own: list[str] = []
    while len(own) < _MOST_PARAMETERS:
        before, separator, pair = value.rpartition("&")
        if not (separator and _is_own(pair)):
            break
        own.insert(0, pair)
        value = before
    return value, own


def _is_own(pair: str) -> bool:
    name, equals, _ = pair.partition("=")
    return bool(equals) and name in PARAMETERS
