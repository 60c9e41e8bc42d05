"""Rendering of all pages, and their static files.

Every value is escaped, and a missing value is an error (R-6). Pages have no inline scripts and
styles, so that the Content-Security-Policy can forbid them (R-7).
"""

from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined

from archives.evidence import WEB
from timegate.responses.model import ClientRequest, Response, weights
from timegate.responses.problems import problem
from timegate.verdict import header_safe

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_CACHE_FOR_A_YEAR: Final = "public, max-age=31536000, immutable"


class _File(NamedTuple):
    body: bytes
    type: str
    tag: str


def _load_files() -> Mapping[str, _File]:
    loaded = {}
    for file in sorted(files("timegate.pages").joinpath("static").iterdir(), key=str):
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            body = file.read_bytes()
            tag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
            loaded[file.name] = _File(body, kind, tag)
    return loaded


_FILES: Final = _load_files()
VERSION: Final = blake2b(
    "".join(file.tag for file in _FILES.values()).encode(), digest_size=5
).hexdigest()


async def static(request: ClientRequest) -> Response:
    """Serve ``{version}/{name}``; only the current version may be cached for long."""
    version, _, name = request.rest.partition("?")[0].partition("/")
    file = _FILES.get(name)
    if file is None:
        return problem(404, "not-found", "there is no such file")
    headers = {
        "Content-Type": file.type,
        "ETag": file.tag,
        "Cache-Control": _CACHE_FOR_A_YEAR if version == VERSION else "no-cache",
    }
    if file.tag in (request.header("If-None-Match") or ""):
        return Response(304, headers)
    return Response(200, headers, file.body)


HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'; object-src 'none'"
    ),
    "Referrer-Policy": "no-referrer",
}


def wants_page(accept: str | None) -> bool:
    """Whether a client prefers a page to JSON; only browsers name text/html."""
    accepted = weights(accept or "")
    page = accepted.get("text/html", 0.0)
    return page > 0 and page >= accepted.get("application/json", 0.0)


def linkable(uri: object) -> str | None:
    """Return *uri* for use in ``href``; None if it is not an http or https address.

    Archives supply these addresses: ``javascript:`` must never become a link.
    """
    return header_safe(uri) if isinstance(uri, str) and uri.startswith(WEB) else None


def sentence(text: object) -> str:
    """Return *text* as a sentence: with a capital letter and one full stop."""
    words = str(text).rstrip(".")
    return f"{words[:1].upper()}{words[1:]}."


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("timegate.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {"linkable": linkable, "sentence": sentence}
    return environment


def prepare() -> None:
    """Compile all templates, so that no request has to wait 0.2 s for it.

    It also keeps a running server independent of template files that an upgrade changes.
    """
    environment = _environment()
    for name in environment.list_templates():
        environment.get_template(name)


class Pages:
    """Renders pages for a service whose addresses begin with *base_url*."""

    def __init__(self, base_url: str = "") -> None:
        root = urlsplit(base_url).path.rstrip("/")
        self._addresses = {"root": root, "static": f"{root}/static/{VERSION}"}

    def render(self, name: str, **values: object) -> str:
        """Render the template *name* with *values*."""
        return _environment().get_template(f"{name}.html").render(values, **self._addresses)
