"""What every web server is asked for unbidden, by browsers, crawlers and scanners.

``/robots.txt`` reads like the host of a URL, and was asked for in every archive. Names of files
that stand alone are no hosts: nobody is asked for them, because archives ban those who ask for
nothing.
"""

from typing import Final

from timegate.responses.model import ClientRequest, Handler, Response, StreamingResponse
from timegate.responses.problems import problem

# Without those that are top-level domains as well: do, map, md, mov, pl, py, sh, zip.
_ENDINGS: Final = (
    *(".asp", ".aspx", ".axd", ".cgi", ".jsp", ".php"),
    *(".css", ".gif", ".ico", ".jpeg", ".jpg", ".js", ".png", ".svg", ".webp", ".woff2"),
    *(".csv", ".htm", ".html", ".json", ".txt", ".webmanifest", ".xml", ".yaml", ".yml"),
    *(".bak", ".cfg", ".conf", ".env", ".gz", ".ini", ".log", ".rar", ".sql", ".tar", ".tgz"),
)
_ROBOTS: Final = b"""\
# Every answer here may cost requests to archives, which are not ours to spend.
User-agent: *
Allow: /$
Disallow: /
"""


async def robots(_: ClientRequest) -> Response:
    """Ask crawlers to read the page at ``/`` and nothing else (RFC 9309)."""
    headers = {
        "Content-Type": "text/plain; charset=utf-8",
        "Cache-Control": "max-age=86400",
    }
    return Response(200, headers, _ROBOTS)


def unbidden(answer: Handler) -> Handler:
    """Return *answer* for everything but names of files, of which there are none."""

    async def answered(request: ClientRequest) -> Response | StreamingResponse:
        name = request.rest.partition("?")[0]
        if not _names_a_file(name):
            return await answer(request)
        detail = f"there is no such file; if a host is meant, write http://{name}/"
        return problem(404, "not-found", detail)

    return answered


def _names_a_file(name: str) -> bool:
    return name.lower().endswith(_ENDINGS) and not set(name) & {"/", ":"}
