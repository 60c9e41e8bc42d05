"""The one way to a page (R6): every value is escaped, a value that is missing is an error.

No inline script and no inline style, so that the policy of content can forbid them (R7).
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
_YEAR: Final = "public, max-age=31536000, immutable"


class _File(NamedTuple):
    body: bytes
    type: str
    tag: str


def _loaded() -> Mapping[str, _File]:
    found = {}
    for file in sorted(files("timegate.pages").joinpath("static").iterdir(), key=str):
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            body = file.read_bytes()
            tag = f'"{blake2b(body, digest_size=8).hexdigest()}"'
            found[file.name] = _File(body, kind, tag)
    return found


_FILES: Final = _loaded()
VERSION: Final = blake2b(
    "".join(file.tag for file in _FILES.values()).encode(), digest_size=5
).hexdigest()


async def static(request: ClientRequest) -> Response:
    """Answer ``{version}/{name}``; one of another version is not to be kept."""
    version, _, name = request.rest.partition("?")[0].partition("/")
    file = _FILES.get(name)
    if file is None:
        return problem(404, "not-found", "there is no such file")
    headers = {
        "Content-Type": file.type,
        "ETag": file.tag,
        "Cache-Control": _YEAR if version == VERSION else "no-cache",
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
    """Whether a client would rather have a page than JSON; only browsers name text/html."""
    liked = weights(accept or "")
    page = liked.get("text/html", 0.0)
    return page > 0 and page >= liked.get("application/json", 0.0)


def linkable(uri: object) -> str | None:
    """Return *uri* as it may stand in ``href``; None for what is no address of the web.

    Whatever an archive calls the address of a copy, ``javascript:`` never becomes a link.
    """
    return header_safe(uri) if isinstance(uri, str) and uri.startswith(WEB) else None


def sentence(text: object) -> str:
    """Return *text* as a sentence: a capital in front, one full stop at the end."""
    told = str(text).rstrip(".")
    return f"{told[:1].upper()}{told[1:]}."


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
    """Compile all templates: 0.2 s for which no request then has to wait.

    Files that change under a running server, as in an upgrade, then change nothing either.
    """
    environment = _environment()
    for name in environment.list_templates():
        environment.get_template(name)


class Pages:
    """Writes pages for a service whose addresses begin with *base_url*."""

    def __init__(self, base_url: str = "") -> None:
        root = urlsplit(base_url).path.rstrip("/")
        self._addresses = {"root": root, "static": f"{root}/static/{VERSION}"}

    def written(self, name: str, **values: object) -> str:
        """Return the page or the part of one that *name* makes of *values*."""
        return _environment().get_template(f"{name}.html").render(values, **self._addresses)
