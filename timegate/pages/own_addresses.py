"""Addresses of this server as references: what somebody copies from the address bar.

``/view/20101105101500@harbour/http://museum.example/`` is the capture of Harbour at that time,
``/resolve/duri:2010:http://museum.example/`` is the ``duri`` in it.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry
from archives.uri import WEB
from timegate.identifiers import SCHEMES
from timegate.identifiers.pwid import Pwid
from timegate.responses.model import UnknownParameter, identifier_in, without_parameters
from timegate.responses.replay_addresses import FRAME, PAGE, read_place

_SECOND: Final = 14
_STAMPED: Final = compiled(r"([0-9]{4,23})(?:[a-z]{2}_)?/(?=.)")
_FORMAT: Final = compiled(r"(?:proxy|[a-z]{2,8})/")
_MOST_FIELDS: Final = 20
_COMMON: Final = (*WEB, "www.", *(f"{scheme}:" for scheme in SCHEMES))


class OwnReference(NamedTuple):
    """What an address of this server stands for."""

    reference: str
    at: str = ""
    """The date beside it; empty if there is none, or it is part of the reference."""
    is_list: bool = False
    """Whether it is a list of the captures of a URL."""


@dataclass(frozen=True, slots=True)
class OwnAddresses:
    """Reads addresses that begin with one of *origins*, without regard to http or https."""

    origins: tuple[str, ...]
    registry: Registry

    def of_host(self, host: str | None, root: str) -> "OwnAddresses":
        """Return the same with the address by which a client has called this server."""
        if not host:
            return self
        return OwnAddresses((*self.origins, f"http://{host}{root}"), self.registry)

    def read(self, text: str) -> OwnReference | None:
        """Return what *text* stands for; None if it is no address here, or names no page."""
        if not text.lower().startswith(WEB) or len(text.split(maxsplit=1)) > 1:
            return None
        for origin in filter(None, self.origins):
            parts = urlsplit(origin)
            own = f"{parts.netloc}{parts.path.rstrip('/')}/".lower()
            rest = text.partition("://")[2]
            if rest.lower().startswith(own):
                return self._read(rest[len(own) :].partition("#")[0])
        return None

    def _read(self, target: str) -> OwnReference | None:
        """Read the path and the query of an address."""
        route, _, rest = target.partition("/")
        path, _, query = target.partition("?")
        if path in _BY_QUERY:
            return _of_query(target, _fields(query))
        if route == "collections":
            return self._of_collection(rest)
        if route in ("view", "reconstruct"):
            return self._of_page(rest)
        read = _BY_PATH.get(route)
        if read is not None:
            return read(rest) if rest else None
        return _identifier(target) if identifier_in(target).startswith(_COMMON) else None

    def _of_page(self, rest: str) -> OwnReference | None:
        place = read_place(rest)
        if place is None:
            return None
        precision = "page" if place.use in ("", PAGE, FRAME) else "part"
        return self._copy(place.archive, place.near or place.target, precision, place.url)

    def _of_collection(self, rest: str) -> OwnReference | None:
        """Read an address of one of our collections; links to captures are known already."""
        archive, _, tail = rest.partition("/")
        kind, _, tail = tail.partition("/")
        stamped = _STAMPED.match(tail)
        if kind not in ("snapshot", "recording", "members") or stamped is None:
            return None
        return self._copy(unquote(archive), stamped[1], "page", tail[stamped.end() :])

    def _copy(self, archive: str, stamp: str, precision: str, url: str) -> OwnReference:
        """Return a capture as a PWID if its archive has a name in them, else as a dated URL."""
        entry = self.registry.by_id(archive) if archive else None
        if entry is not None and entry.pwid and len(stamp) >= _SECOND:
            pwid = Pwid(entry.pwid[0], Moment(stamp[:_SECOND]), precision, url).canonical
            return OwnReference(pwid)
        return OwnReference(f"duri:{stamp}:{url}")


def _stamped(rest: str) -> OwnReference | None:
    """Read ``{stamp}/{URL}``, ``{format}/{stamp}/{URL}`` or ``{URL}``."""
    form = _FORMAT.match(rest)
    rest = rest[form.end() :] if form else rest
    stamped = _STAMPED.match(rest)
    if stamped is None:
        return _identifier(rest.removeprefix("/"))
    return OwnReference(f"duri:{stamped[1]}:{identifier_in(rest[stamped.end() :])}")


def _web(rest: str) -> OwnReference | None:
    """Read an address as at the Wayback Machine."""
    if rest.startswith("timemap/"):
        return _list(rest.removeprefix("timemap/"))
    if rest.startswith("timemap?"):
        return None
    if rest.startswith("*/"):
        return OwnReference(identifier_in(rest[2:]), is_list=True)
    return _stamped(rest)


def _list(rest: str) -> OwnReference | None:
    """Read ``{format}/{URL}``, with the fields of the page of captures behind it."""
    _, _, url = rest.partition("/")
    encoded, mark, _ = url.partition("?")
    url = encoded if mark and identifier_in(encoded) != encoded else url
    return OwnReference(identifier_in(url), is_list=True) if url else None


def _identifier(rest: str) -> OwnReference | None:
    """Read ``{identifier}``, with our parameters behind it."""
    with suppress(UnknownParameter):
        rest, _ = without_parameters(rest)
    return OwnReference(identifier_in(rest)) if rest else None


def _after_format(rest: str) -> OwnReference | None:
    """Read ``{format}/{identifier}`` or ``{identifier}``."""
    form = _FORMAT.match(rest)
    return _identifier(rest[form.end() :] if form else rest)


def _after_name(rest: str) -> OwnReference | None:
    """Read ``{name}/{identifier}``."""
    return _identifier(rest.partition("/")[2])


def _before_stamp(rest: str) -> OwnReference | None:
    """Read ``{identifier}/{stamp}``."""
    return _identifier(rest.partition("?")[0].rpartition("/")[0])


def _after_operation(rest: str) -> OwnReference | None:
    """Read ``{operation}?{identifier}``."""
    return _identifier(rest.partition("?")[2])


_BY_PATH: Final[Mapping[str, Callable[[str], OwnReference | None]]] = {
    "answers": _after_name,
    "api": _stamped,
    "changes": _after_format,
    "diff": _before_stamp,
    "list": _stamped,
    "memento": _stamped,
    "parts": _identifier,
    "resolve": _identifier,
    "timegate": _identifier,
    "timeline": _identifier,
    "timemap": _list,
    "uri-res": _after_operation,
    "web": _web,
}
_BY_QUERY: Final[Mapping[str, str]] = {
    "": "q",
    "cdx": "url",
    "cdx/search/cdx": "url",
    "cite": "id",
    "events": "q",
    "pwid": "archiveString",
    "resolve": "pwid",
    "wayback/available": "url",
}
"""The field with the reference, by path."""


def _fields(query: str) -> Mapping[str, str]:
    return dict(parse_qsl(query)) if query.count("&") < _MOST_FIELDS else {}


def _of_query(target: str, fields: Mapping[str, str]) -> OwnReference | None:
    path = target.partition("?")[0]
    reference = fields.get(_BY_QUERY[path], "").strip()
    if not reference:
        return None
    at = fields.get("timestamp" if path == "wayback/available" else "at", "")
    return OwnReference(reference, at, is_list=path.startswith("cdx"))
