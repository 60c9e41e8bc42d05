"""``/openapi.json``: what can be asked here, for programs that read such descriptions.

OpenAPI cannot say that a path parameter holds slashes and a query string; a sentence says it.
"""

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Final

import msgspec

from timegate.responses.model import NO_NEGOTIATION, ClientRequest, Response

Json = dict[str, object]
_RAW: Final = "Raw, to the end of the target, query string included; nothing in it is decoded."
_PARAMETERS: Final[Mapping[str, Json]] = {
    "url": {"name": "url", "in": "path", "description": _RAW},
    "identifier": {
        "name": "identifier",
        "in": "path",
        "description": f"PWID, duri, tdb, PDI, link into an archive, or URL. {_RAW}",
    },
    "stamp": {"name": "stamp", "in": "path", "description": "4 to 14 digits, UTC"},
    "format": {
        "name": "format",
        "in": "path",
        "schema": {"type": "string", "enum": ["link", "json", "cdxj"]},
    },
    "id": {"name": "id", "in": "path", "description": "The id of an archive"},
    "view": {"name": "view", "in": "path", "description": "Empty, or id_ for the bytes alone"},
    "operation": {
        "name": "operation",
        "in": "path",
        "schema": {"type": "string", "enum": ["N2L", "N2Ls", "N2R", "N2C", "N2Ns", "L2Ns"]},
    },
    "Accept-Datetime": {
        "name": "Accept-Datetime",
        "in": "header",
        "description": "RFC 7089; such as Thu, 31 May 2007 20:35:00 GMT",
    },
    "as": {
        "name": "as",
        "in": "query",
        "schema": {"type": "string", "enum": ["json", "html", "redirect"]},
    },
}
_LED: Final = {"302": "To the copy; the verdict is in Memento-Precision"}
_TOLD: Final = {"200": "As described"}
_PATHS: Final[Mapping[str, tuple[str, tuple[str, ...], Mapping[str, str]]]] = {
    "/timegate/{url}": ("A Memento TimeGate", ("url", "Accept-Datetime"), _LED),
    "/resolve/{identifier}": (
        "The best copy of a reference, or the report on it",
        ("identifier", "as"),
        {**_LED, "200": "The report, or the page"},
    ),
    "/{identifier}": ("As /resolve/{identifier}", ("identifier",), _LED),
    "/timemap/{format}/{url}": ("What all archives hold, merged", ("format", "url"), _TOLD),
    "/memento/{stamp}/{url}": ("The closest copy", ("stamp", "url"), _LED),
    "/memento/{format}/{stamp}/{url}": (
        "The closest copy, described as MemGator does",
        ("format", "stamp", "url"),
        _TOLD,
    ),
    "/memento/proxy/{stamp}/{url}": ("The raw bytes of a copy", ("stamp", "url"), _TOLD),
    "/api/json/{stamp}/{url}": (
        "The closest copy, described as Time Travel did",
        ("stamp", "url"),
        _TOLD,
    ),
    "/list/{stamp}/{url}": ("The closest copy of each archive", ("stamp", "url"), _TOLD),
    "/web/{stamp}/{url}": ("As the Wayback Machine", ("stamp", "url"), _LED),
    "/wayback/available": ("As the Wayback Machine's availability API", (), _TOLD),
    "/cdx/search/cdx": ("As the Wayback Machine's CDX server", (), _TOLD),
    "/cdx": ("As pywb's CDX server", (), _TOLD),
    "/pwid": ("As the national libraries' PWID resolver", (), _LED),
    "/uri-res/{operation}": ("THTTP, RFC 2169", ("operation",), _LED),
    "/collections": ("Local collections", (), _TOLD),
    "/collections/{id}/{stamp}{view}/{url}": (
        "A copy in a local collection",
        ("id", "stamp", "view", "url"),
        _TOLD,
    ),
    "/archives": ("Every archive with its state", (), _TOLD),
    "/archives/{id}": ("One archive with its state", ("id",), _TOLD),
    "/about": ("What this is", (), _TOLD),
    "/healthz": ("Whether the process answers", (), _TOLD),
    "/readyz": ("Whether it should be sent requests", (), _TOLD),
    "/metrics": ("Figures for Prometheus", (), _TOLD),
    "/monitor": ("What archives answer, as server-sent events", (), _TOLD),
    "/openapi.json": ("This description", (), _TOLD),
}
_PROBLEM: Final = {
    "description": "application/problem+json; 404 only if every archive said no",
    "content": {"application/problem+json": {}},
}


class OpenApi:
    """Answers with the description."""

    def __init__(self, base_url: str) -> None:
        self._body = msgspec.json.encode(description(base_url))

    async def __call__(self, _: ClientRequest) -> Response:
        """Describe everything."""
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
        "paths": {
            path: {"get": _operation(summary, parameters, answers)}
            for path, (summary, parameters, answers) in _PATHS.items()
        },
    }


def _operation(summary: str, parameters: Iterable[str], answers: Mapping[str, str]) -> Json:
    return {
        "summary": summary,
        "parameters": [_parameter(name) for name in parameters],
        "responses": {
            **{status: {"description": told} for status, told in answers.items()},
            "default": _PROBLEM,
        },
    }


def _parameter(name: str) -> Json:
    known = _PARAMETERS[name]
    return {"schema": {"type": "string"}, **known, "required": known["in"] == "path"}
