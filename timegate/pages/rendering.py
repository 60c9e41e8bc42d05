"""Rendering of all pages, and their static files.

Every value is escaped, and a missing value is an error (R-6). Pages have no inline scripts and
styles, so that the Content-Security-Policy can forbid them (R-7).
"""

from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from archives.regex_compat import compiled
from archives.uri import WEB
from timegate.pages.choices import LONGEST_ADDRESS
from timegate.pages.form import MOST_TEXT
from timegate.responses.model import ClientRequest, Response, weights
from timegate.responses.problems import problem
from timegate.text import sentence
from timegate.verdict import header_safe

if TYPE_CHECKING:
    from jinja2 import Environment

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
    """Serve ``{version}/{name}`` and ``{name}``.

    Only the current version may be cached for long. Other sites embed ``robust.js`` by name.
    """
    version, _, name = request.rest.partition("?")[0].rpartition("/")
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


async def icon(request: ClientRequest) -> Response:
    """Serve the icon at the address that programs try without having seen a page."""
    return await static(request._replace(rest="icon.svg"))


AT_ONCE: Final = 0.25
"""Seconds within which a page is sent as a whole; later, its beginning is sent first."""
_REST: Final = "<!-- rest -->"
HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'; object-src 'none'"
    ),
    "Referrer-Policy": "no-referrer",
}

FRAMED_HEADERS: Final = {
    **HEADERS,
    "Content-Security-Policy": HEADERS["Content-Security-Policy"].replace(
        "frame-ancestors 'none'", "frame-ancestors 'self'"
    ),
}
"""Of pages that other pages of ours show in a frame."""


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


_OWN_PAGE: Final = compiled(r"(?<![^ (])(/(?:docs/api|docs|archives))(?![^ ,;.)])")


def own_links(text: str) -> list[tuple[str, bool]]:
    """Return *text* in parts, each with whether it is a path of pages about this server."""
    return [(part, number % 2 == 1) for number, part in enumerate(_OWN_PAGE.split(text))]


def digits(stamp: str) -> str:
    """Return the digits of a time, to the second: ``20160122112029``."""
    return "".join(c for c in stamp if c.isdigit())[:14]


@cache
def _environment() -> "Environment":
    # Here, because it is imported while the server answers already.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("timegate.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {"linkable": linkable, "sentence": sentence, "digits": digits}
    environment.filters["own_links"] = own_links
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

    def __init__(self, base_url: str = "", *, is_demo: bool = False) -> None:
        """Every page of a demo says that it is one."""
        self.root = root = urlsplit(base_url).path.rstrip("/")
        self._common = {
            "root": root,
            "static": f"{root}/static/{VERSION}",
            "script": f"{base_url.rstrip('/')}/static/robust.js",
            "server": base_url.rstrip("/"),
            "is_demo": is_demo,
            "most_text": MOST_TEXT,
            "longest_address": LONGEST_ADDRESS,
        }

    def render(self, name: str, **values: object) -> str:
        """Render the template *name* with *values*."""
        return _environment().get_template(f"{name}.html").render(values, **self._common)

    def halves(self, name: str, **values: object) -> tuple[bytes, bytes]:
        """Render the template *name* in two parts: before and after the place of the rest.

        The first one is shown while the rest is not known yet. No value can contain the mark.
        """
        before, _, after = self.render(name, **values).partition(_REST)
        return before.encode(), after.encode()
