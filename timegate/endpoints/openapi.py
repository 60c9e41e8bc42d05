"""``/openapi.json``: the OpenAPI description of all addresses, for programs.

OpenAPI cannot express that a path parameter contains slashes and a query string; a sentence
says so.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pkgutil import iter_modules
from typing import Final

import msgspec

from timegate import endpoints
from timegate.endpoints import (
    AnswerDescription,
    Content,
    PathDescription,
    WriteDescription,
    answered,
)
from timegate.endpoints.openapi_parameters import PARAMETERS_BY_KEY
from timegate.endpoints.openapi_schemas import ALWAYS, EXAMPLES, HEADERS, PROBLEMS, SCHEMAS
from timegate.responses.model import NO_NEGOTIATION, ClientRequest, Response
from timegate.responses.problems import PROBLEM_TYPE

Json = dict[str, object]
MEDIA_TYPE: Final = "application/vnd.oai.openapi+json"
PATHS: Final = {
    "/openapi.json": PathDescription(
        "This description",
        answered("OpenAPI 3.1", {MEDIA_TYPE: "Bytes"}, "Link", "Cache-Control"),
        problems=(),
    )
}
_OPTIONS: Final = AnswerDescription(
    "The methods of this address",
    {},
    ("Allow", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers"),
)


class OpenApi:
    """Answers with the description."""

    def __init__(self, base_url: str, without: tuple[str, ...] = ()) -> None:
        """Describe the server at *base_url*, *without* paths that begin so."""
        self._base_url = base_url
        self._without = without

    async def __call__(self, _: ClientRequest) -> Response:
        """Return the description."""
        headers = {
            "Content-Type": f"{MEDIA_TYPE};version=3.1",
            "Cache-Control": "max-age=3600",
            "Link": NO_NEGOTIATION,
        }
        return Response(200, headers, _encoded(self._base_url, self._without))


@lru_cache(maxsize=4)
def _encoded(base_url: str, without: tuple[str, ...]) -> bytes:
    return msgspec.json.encode(description(base_url, without))


@lru_cache(maxsize=4)
def description(base_url: str, without: tuple[str, ...] = ()) -> Json:
    """Return the description of a server at *base_url*, *without* paths that begin so.

    It takes some 20 ms and imports every endpoint, so it is written when it is requested first.
    Read it only: all share it.
    """
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "timegate",
            "version": version("timegate-proxy"),
            "description": "Resolves references to the archived web to the best copy that any "
            "archive still holds, and says exactly how good that copy is. HEAD is answered "
            "wherever GET is, and OPTIONS everywhere.",
        },
        "servers": [{"url": base_url}],
        "paths": {
            path: _operations(described)
            for path, described in _paths()
            if not path.startswith(without)
        },
        "components": {
            "schemas": SCHEMAS,
            "parameters": {key: _parameter(key) for key in PARAMETERS_BY_KEY},
            "headers": {name: _header(name) for name in HEADERS},
            "responses": {f"Problem{status}": _problem(status) for status in PROBLEMS},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _paths() -> Iterator[tuple[str, PathDescription]]:
    """Yield the addresses that the modules of this package describe."""
    for found in iter_modules(endpoints.__path__):
        module = import_module(f"{endpoints.__name__}.{found.name}")
        yield from getattr(module, "PATHS", {}).items()


def _operations(described: PathDescription) -> Json:
    """Return the operations of an address, by method."""
    operations: Json = {}
    if described.responses:
        operations["get"] = _get(described)
        operations["head"] = _head(described)
    for method, write in described.writes.items():
        operations[method] = _write(write)
    in_path = [key for key in described.parameters if _place(key) == "path"]
    methods: Json = {"204": _answer(_OPTIONS)}
    operations["options"] = {
        "summary": "The methods of this address",
        "parameters": [_referred("parameters", key) for key in in_path],
        "responses": _problems(("404",)) | methods,
    }
    return operations


def _head(described: PathDescription) -> Json:
    answers: Json = {
        status: _answer(answer._replace(content={}))
        for status, answer in described.responses.items()
    }
    return {
        "summary": "The header of the answer to GET",
        "parameters": [_referred("parameters", key) for key in described.parameters],
        "responses": {**_problems(described.problems), **answers},
    }


def _get(described: PathDescription) -> Json:
    operation: Json = {
        "summary": described.summary,
        "parameters": [_parameter(key) for key in described.parameters],
        "responses": _responses(described.responses.items(), described.problems),
    }
    if described.description:
        operation["description"] = described.description
    return operation


def _write(write: WriteDescription) -> Json:
    operation: Json = {
        "summary": write.summary,
        "parameters": [_parameter(key) for key in write.parameters],
        "requestBody": {"required": True, "content": _sent(write.body)},
        "responses": _responses(write.responses.items(), write.problems),
    }
    if "401" in write.problems:
        operation["security"] = [{"token": []}]
    return operation


def _responses(
    answers: Iterable[tuple[str, AnswerDescription]], problems: tuple[str, ...]
) -> Json:
    """Return all answers by status; where an answer has the status of a problem, both."""
    responses = _problems(problems)
    for status, answer in answers:
        response = _answer(answer)
        if status in responses:
            content = response.get("content", {})
            assert isinstance(content, dict)  # noqa: S101 -- made here
            response["content"] = {**_PROBLEM_CONTENT, **content}
        responses[status] = response
    return responses


def _problems(statuses: tuple[str, ...]) -> Json:
    return {
        status: {**_referred("responses", f"Problem{status}"), "description": PROBLEMS[status]}
        for status in sorted({*ALWAYS, *statuses})
    }


def _answer(answer: AnswerDescription) -> Json:
    response: Json = {"description": answer.description}
    if answer.content:
        response["content"] = _content(answer.content)
    if answer.headers:
        response["headers"] = {name: _header_of(name) for name in answer.headers}
    return response


def _content(content: Content) -> Json:
    return {
        media_type: {"schema": _referred("schemas", schema)}
        for media_type, schema in content.items()
    }


def _sent(content: Content) -> Json:
    """Return the body of a request, with an example."""
    return {
        media_type: {
            "schema": _referred("schemas", schema),
            "example": EXAMPLES[schema] if schema in EXAMPLES else _example(schema),
        }
        for media_type, schema in content.items()
    }


def _example(schema: str) -> object:
    examples = SCHEMAS[schema]["examples"]
    assert isinstance(examples, list)  # noqa: S101 -- a test reads all of them
    return examples[0]


def _header_of(name: str) -> Json:
    # A redirect without its target would be none; other headers are not always there.
    if name == "Location":
        return {**_header(name), "required": True}
    return _referred("headers", name)


def _referred(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


def _header(name: str) -> Json:
    text, schema = HEADERS[name]
    return {"description": text, "schema": schema}


_PROBLEM_CONTENT: Final = _content({PROBLEM_TYPE: "Problem", "text/html": "Text"})


def _problem(status: str) -> Json:
    """Return a problem; browsers get a page."""
    headers = ("Retry-After",) if status in {"429", "502", "503", "504"} else ()
    return {
        "description": PROBLEMS[status],
        "content": _PROBLEM_CONTENT,
        "headers": {
            name: _referred("headers", name) for name in (*headers, "Cache-Control", "Vary")
        },
    }


def _place(key: str) -> object:
    return PARAMETERS_BY_KEY[key].get("in", "path")


def _parameter(key: str) -> Json:
    parameter = {"name": key, "in": "path", "required": False, **PARAMETERS_BY_KEY[key]}
    return parameter | {"required": parameter["required"] or parameter["in"] == "path"}
