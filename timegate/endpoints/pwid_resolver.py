"""``/pwid``: the interfaces of other PWID resolvers.

``/pwid?archiveString=`` and ``/resolve?pwid=`` are those of the national libraries;
``/pwid?time=&coverage=&item=`` is the one that the drafts propose for each archive.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from archives.regex_compat import compiled
from archives.registry import Registry
from timegate.endpoints import (
    HTML_CONTENT,
    REDIRECT,
    VERDICT,
    AnswerDescription,
    PathDescription,
)
from timegate.endpoints.resolve import Resolve
from timegate.responses.model import (
    OWN_PARAMETERS,
    ClientRequest,
    EarlyResponse,
    Response,
    UnknownParameter,
    near_parameter,
)
from timegate.responses.problems import problem

_RESOLVED: Final = {
    **REDIRECT,
    "303": AnswerDescription("To the document of a tdb", {}, ("Location",)),
    "200": AnswerDescription(
        "The report, or the page", {"application/json": "Report", **HTML_CONTENT}, VERDICT
    ),
}
PATHS: Final = {
    "/pwid": PathDescription(
        "The same as other PWID resolvers: archiveString, or time, coverage and item",
        _RESOLVED,
        ("time", "coverage", "archive", "item"),
        "archiveString, with a PWID or a link into an archive, replaces these parameters.",
    ),
}
_NAMES: Final = ("archivestring", "pwid")
_MOST_PARAMETERS: Final = 20
_BLANKS: Final = compiled(r"(?:\+|%20)*+")
_ENCODED: Final = compiled(r"[A-Za-z][A-Za-z0-9+.-]*+%3[Aa]")
_ANY: Final = "any.invalid"
"""Stands for any archive until the PWID is read; it is in no answer."""
_EXAMPLE: Final = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"


class _PwidQuery(NamedTuple):
    identifier: str
    parameters: tuple[str, ...]
    """Our own parameters as written: ``wait=3``."""


class PwidMembers(NamedTuple):
    """A PWID in a query: ``time=...&coverage=...&item=...``."""

    named: Mapping[str, str]
    """The members before the item, decoded: ``time``, ``coverage`` and others."""
    item: str
    """As written: raw to the end of the query, or percent-encoded."""
    parameters: tuple[str, ...]
    """Our own parameters as written."""

    def as_address(self, archive: str) -> str:
        """Return the PWID as an HTTP address of *archive*, which `parse` reads."""
        time, coverage = self.named.get("time", ""), self.named.get("coverage", "page")
        return f"https://{archive}/pwid?time={time}&coverage={coverage}&item={self.item}"


_MEMBERS: Final = ("time", "coverage", "archive", "after")


def pwid_members(query: str) -> PwidMembers | None:
    """Return the PWID in *query*; None if it has no ``item``. Raises UnknownParameter."""
    pairs: list[str] = []
    for _ in range(_MOST_PARAMETERS):
        name, equals, value = query.partition("=")
        if equals and name.lower() in _NAMES:
            return None
        if equals and name.lower() == "item":
            return _members(pairs, _stripped(value))
        pair, separator, query = query.partition("&")
        pairs.append(pair)
        if not separator:
            break
    return None


def _members(pairs: list[str], item: str) -> PwidMembers | None:
    """Return the PWID with the *item*, after which other members may follow."""
    if _ENCODED.match(item):
        item, _, rest = item.partition("&")
        pairs = [*pairs, *rest.split("&")[:_MOST_PARAMETERS]]
    else:
        item, after = _without_own(item)
        pairs = [*pairs, *after]
    named = {
        name.lower(): unquote(value)
        for name, _, value in (pair.partition("=") for pair in pairs)
        if name.lower() in _MEMBERS
    }
    own = _own([pair for pair in pairs if pair.partition("=")[0].lower() not in _MEMBERS])
    return PwidMembers(named, item, tuple(own)) if item else None


class PwidResolver:
    """Answers ``/pwid`` and ``/resolve`` with a query; both accept all names."""

    def __init__(self, resolve: Resolve, registry: Registry, base_url: str) -> None:
        """If the host of *base_url* is an archive-id, it is the archive that is meant."""
        self._resolve = resolve
        host = urlsplit(base_url).hostname or ""
        self._archive = host if registry.by_pwid(host) is not None else None

    async def __call__(self, request: ClientRequest) -> Response:
        """Answer as `Resolve` does."""
        text = request.rest.partition("?")[2]
        try:
            members = pwid_members(text)
            query = _pwid_query(text) if members is None else None
        except UnknownParameter as error:
            detail = f"{error}; if it belongs to the URL, percent-encode the PWID"
            response = problem(400, "bad-parameter", detail, parameter=error.name)
            raise EarlyResponse(response) from error
        if members is not None:
            return await self._answer(request, members)
        if query is None:
            detail = f"write /pwid?archiveString={_EXAMPLE} or /resolve?pwid={_EXAMPLE}, "
            detail += "or /pwid?time=2016-01-22T11:20:29Z&coverage=page&item=http://www.dr.dk"
            raise EarlyResponse(problem(400, "bad-parameter", detail))
        mark = "?" if query.parameters else ""
        # An encoded identifier stays so: `Resolve` decodes it after removing the parameters.
        rest = query.identifier + mark + "&".join(query.parameters)
        return await self._resolve(request._replace(rest=rest))

    async def _answer(self, request: ClientRequest, members: PwidMembers) -> Response:
        """Answer for a PWID in members; without an archive, any archive may answer."""
        archive = members.named.get("archive", self._archive)
        text = members.as_address(archive or _ANY)
        rest = "?" + "&".join(members.parameters) if members.parameters else "?"
        return await self._resolve.address(
            request._replace(rest=rest), text, names_archive=archive is not None
        )


def _pwid_query(query: str) -> _PwidQuery | None:
    """Return the PWID in *query* and our parameters around it.

    Others, such as the button of a form, are ignored. Raises UnknownParameter for those that
    are misspelled.
    """
    before: list[str] = []
    for _ in range(_MOST_PARAMETERS):
        name, equals, value = query.partition("=")
        if equals and name.lower() in _NAMES:
            identifier, after = _without_own(_stripped(value))
            return _PwidQuery(identifier, (*before, *after)) if identifier else None
        pair, separator, query = query.partition("&")
        if not separator:
            break
        before += _own([pair])
    return None


def _stripped(value: str) -> str:
    """Remove encoded spaces around a PWID, which come from a form with a pasted PWID."""
    blanks = _BLANKS.match(value)
    text = value[blanks.end() :] if blanks else value
    while text.endswith("%20"):
        text = text[:-3]
    return text.rstrip("+") if _ENCODED.match(text) else text


def _without_own(value: str) -> tuple[str, list[str]]:
    """Return *value* without our parameters at its end, and these parameters in order."""
    if _ENCODED.match(value):
        value, _, rest = value.partition("&")
        return _stripped(value), _own(rest.split("&"))
    own: list[str] = []
    while len(own) < _MOST_PARAMETERS:
        before, separator, pair = value.rpartition("&")
        if not (separator and _is_own(pair)):
            break
        own.insert(0, pair)
        value = before
    if own:
        # Beside ours, a misspelled one is not part of the URL of the PWID.
        _own(value.split("&")[1:])
    return value, own


def _own(pairs: Sequence[str]) -> list[str]:
    """Return our parameters among *pairs*. Raises UnknownParameter for a misspelled one."""
    for pair in pairs:
        name = pair.partition("=")[0]
        if not _is_own(pair) and near_parameter(name):
            raise UnknownParameter(name)
    return [pair for pair in pairs if _is_own(pair)]


def _is_own(pair: str) -> bool:
    name, equals, _ = pair.partition("=")
    return bool(equals) and name in OWN_PARAMETERS
