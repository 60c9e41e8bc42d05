"""The one way to a page (R6): every value is escaped, a value that is missing is an error.

No inline script and no inline style, so that the policy of content can forbid them (R7).
"""

from functools import cache
from typing import Final
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined

from archives.evidence import WEB
from timegate.verdict import header_safe
from timegate.web.accept import weights
from timegate.web.site.static import VERSION

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
        loader=PackageLoader("timegate.web.site"),
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
