"""``/openapi.json``: the OpenAPI description of all addresses, for programs.

OpenAPI cannot express that a path parameter contains slashes and a query string; a sentence
says so.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from pkgutil import iter_modules
from typing import Final, get_args

import msgspec

from timegate import endpoints
from timegate.citations import UrlStatus
from timegate.citations.forms import FORMS
from timegate.endpoints import PathDescription
from timegate.endpoints.diff import DIFF_FORMS
from timegate.endpoints.memento_formats import MEMGATOR
from timegate.endpoints.parts import PARTS_FORMS
from timegate.endpoints.resolve import RESPONSE_FORMS
from timegate.endpoints.thttp import OPERATIONS
from timegate.following.feeds import FORMATS as CHANGES_FORMATS
from timegate.identifiers import KINDS
from timegate.resolution.preferences import ALSO, PARAMETERS, Parameter
from timegate.responses.model import FORMAT_PARAMETER, NO_NEGOTIATION, ClientRequest, Response
from timegate.timemaps import FORMATS

Json = dict[str, object]
PATHS: Final = {"/openapi.json": PathDescription("This description")}
_RAW: Final = "Raw, to the end of the target, query string included; nothing in it is decoded."
_KINDS: Final = "; ".join(kind.label for kind in KINDS if kind.is_reference)
_PROBLEM: Final = {
    "description": "application/problem+json; 404 only if every archive lacks the page",
    "content": {"application/problem+json": {}},
}


class OpenApi:
    """Answers with the description."""

    def __init__(self, base_url: str) -> None:
        self._body = msgspec.json.encode(description(base_url))

    async def __call__(self, _: ClientRequest) -> Response:
        """Return the description."""
        headers = {
            "Content-Type": "application/vnd.oai.openapi+json;version=3.1",
            "Cache-Control": "max-age=3600",
            "Link": NO_NEGOTIATION,
        }
        return Response(200, headers, self._body)


def description(base_url: str) -> Json:
    """Return the description of a server at *base_url*."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "timegate",
            "version": version("timegate-proxy"),
            "description": "Resolves references to the archived web to the best copy that any "
            "archive still holds, and says exactly how good that copy is.",
        },
        "servers": [{"url": base_url}],
        "paths": {path: {"get": _operation(described)} for path, described in _paths()},
    }


def _paths() -> Iterator[tuple[str, PathDescription]]:
    """Yield the addresses that the modules of this package describe."""
    for found in iter_modules(endpoints.__path__):
        module = import_module(f"{endpoints.__name__}.{found.name}")
        yield from getattr(module, "PATHS", {}).items()


def _operation(described: PathDescription) -> Json:
    operation: Json = {
        "summary": described.summary,
        "parameters": [_parameter(name) for name in described.parameters],
        "responses": {
            **{status: {"description": text} for status, text in described.responses.items()},
            "default": _PROBLEM,
        },
    }
    if described.description:
        operation["description"] = described.description
    return operation


def _parameter(key: str) -> Json:
    parameter = {"name": key, "in": "path", **_PARAMETERS[key]}
    return {
        "schema": {"type": "string"},
        **parameter,
        "required": parameter["in"] == "path",
    }


def _preference(parameter: Parameter) -> Json:
    schema = _one_of(parameter.values) if parameter.values else {"type": "string"}
    return {
        "in": "query",
        "description": f"{parameter.description} Allowed: {parameter.allowed}.",
        "schema": {"type": "array", "items": schema} if parameter.name == ALSO else schema,
    }


def _one_of(values: Iterable[str]) -> Json:
    return {"type": "string", "enum": [*values]}


_PARAMETERS: Final[Mapping[str, Json]] = {
    "url": {"description": _RAW},
    "identifier": {"description": f"One of: {_KINDS}. {_RAW}"},
    "stamp": {"description": "4 to 14 digits, UTC; more for raw bytes"},
    "format": {
        "description": "; ".join(f"{name}: {w.description}" for name, w in FORMATS.items()),
        "schema": _one_of(FORMATS),
    },
    "index-url": {"name": "url", "in": "query", "description": "One page; without it, all."},
    "after": {"in": "query", "description": "The value of next in the list before it."},
    "changes-format": {"name": "format", "schema": _one_of(CHANGES_FORMATS)},
    "Last-Event-ID": {
        "in": "header",
        "description": "The id of the last event that the client has; for server-sent events",
    },
    "memgator-format": {"name": "format", "schema": _one_of(MEMGATOR)},
    "id": {"description": "The id of an archive"},
    "series": {"description": "The name of a series, such as oma.eop.gov.us"},
    "document": {
        "description": "YYYY/MM/DD/id.format.version; format and version may be left out, "
        "and * stands for any. A fragment follows as %23char=37,51. See docs/pdi.md."
    },
    "name": {"description": "The id of a list, without ~"},
    "archiveString": {"in": "query", "description": "A PWID, or a link into an archive"},
    "time": {"in": "query", "description": "The time of a PWID: 2016-01-22T11:20:29Z"},
    "coverage": {"in": "query", "description": "The precision of a PWID: page, part, site ..."},
    "item": {"in": "query", "description": "The archived URL, or ~ and an id. The last one."},
    "archive": {"in": "query", "description": "An archive-id; without it, any archive."},
    "view": {"description": "Empty, or id_ for the raw bytes"},
    "cite-id": {
        "name": "id",
        "in": "query",
        "description": f"The reference, percent-encoded. One of: {_KINDS}.",
    },
    "cite-format": {
        "name": "format",
        "in": "query",
        "description": "One citation as text; without it, all as JSON or as a page.",
        "schema": _one_of(FORMS),
    },
    "title": {"in": "query", "description": "The title; without it, that of the copy."},
    "access-date": {
        "name": "access-date",
        "in": "query",
        "schema": {"type": "string", "format": "date"},
        "description": "When the original was read, for Wikipedia's template.",
    },
    "url-status": {
        "in": "query",
        "description": "The state of the original, for cs1.",
        "schema": _one_of(get_args(UrlStatus)),
    },
    "operation": {"schema": _one_of(OPERATIONS)},
    "Accept-Datetime": {
        "in": "header",
        "description": "RFC 7089; for example Thu, 31 May 2007 20:35:00 GMT",
    },
    "Prefer": {
        "in": "header",
        "description": f"RFC 7240; {', '.join(p.name for p in PARAMETERS)}",
    },
    FORMAT_PARAMETER: {"in": "query", "schema": _one_of(RESPONSE_FORMS)},
    "parts-format": {
        "name": FORMAT_PARAMETER,
        "in": "query",
        "schema": _one_of(PARTS_FORMS),
    },
    "diff-format": {"name": FORMAT_PARAMETER, "in": "query", "schema": _one_of(DIFF_FORMS)},
    **{parameter.name: _preference(parameter) for parameter in PARAMETERS},
}
