"""Style and scripts: our own files, kept in memory, at addresses that change with them."""

from collections.abc import Mapping
from hashlib import blake2b
from importlib.resources import files
from typing import Final, NamedTuple

from timegate.web.call import ClientRequest, Response
from timegate.web.problems import problem

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
    for file in sorted(files("timegate.web.site").joinpath("static").iterdir(), key=str):
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


async def static(call: ClientRequest) -> Response:
    """Answer ``{version}/{name}``; one of another version is not to be kept."""
    version, _, name = call.rest.partition("?")[0].partition("/")
    file = _FILES.get(name)
    if file is None:
        return problem(404, "not-found", "there is no such file")
    headers = {
        "Content-Type": file.type,
        "ETag": file.tag,
        "Cache-Control": _YEAR if version == VERSION else "no-cache",
    }
    if file.tag in (call.header("If-None-Match") or ""):
        return Response(304, headers)
    return Response(200, headers, file.body)
