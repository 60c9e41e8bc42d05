"""The OpenAPI description: complete, and served with its media type."""

import json
import re
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from openapi_spec_validator import validate

from archives.kinds import KINDS as ARCHIVES
from timegate import endpoints
from timegate.endpoints.openapi import OpenApi, description
from timegate.identifiers import KINDS
from timegate.responses.model import OWN_PARAMETERS, ClientRequest
from timegate.timemaps import FORMATS

DESCRIBED = json.loads(json.dumps(description("https://timegate.example.org")))


OPERATIONS = [(path, method) for path, item in DESCRIBED["paths"].items() for method in item]
UNDESCRIBED = {"memento_formats", "openapi_parameters", "openapi_schemas", "series_thttp"}
"""Modules without addresses of their own."""
WITHOUT_BODY = {"204", "302", "303", "304"}


def resolved(value: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference in the description stands for."""
    if "$ref" not in value:
        return value
    found = DESCRIBED
    for part in value["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return dict(found)


def test_the_description_is_valid_openapi() -> None:
    validate(DESCRIBED)


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_variable_of_a_path_is_a_parameter(path: str, method: str) -> None:
    operation = DESCRIBED["paths"][path][method]
    stated = [resolved(one) for one in operation["parameters"]]

    named = [one["name"] for one in stated if one["in"] == "path"]

    assert sorted(named) == sorted(re.findall(r"\{([a-z]+)\}", path))
    assert all(one["required"] for one in stated if one["in"] == "path")
    assert operation["summary"]


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_answer_has_its_media_types_with_schemas(path: str, method: str) -> None:
    answers = DESCRIBED["paths"][path][method]["responses"]

    assert any(status < "400" for status in answers)
    assert "default" not in answers
    for status, reference in answers.items():
        answer = resolved(reference)
        assert answer["description"]
        if status >= "400":
            assert "application/problem+json" in answer.get("content", ()) or method == "head"
        if status in {"201", "302", "303"}:
            assert answer["headers"]["Location"]["required"]
        written = method in {"put", "post"} and path == "/store/{id}/{url}" and status < "400"
        if method not in {"head", "options"} and status not in WITHOUT_BODY and not written:
            assert answer["content"]
        for described in answer.get("content", {}).values():
            assert resolved(described["schema"])


@pytest.mark.parametrize("key", DESCRIBED["components"]["parameters"])
def test_every_parameter_has_a_description_and_limits(key: str) -> None:
    parameter = DESCRIBED["components"]["parameters"][key]

    assert parameter["description"]
    assert parameter["schema"] != {"type": "string"}
    assert "example" in parameter or "enum" in parameter["schema"] or parameter["in"] == "query"


@pytest.mark.parametrize("key", DESCRIBED["components"]["parameters"])
def test_the_example_of_a_parameter_is_a_value_of_it(key: str) -> None:
    parameter = DESCRIBED["components"]["parameters"][key]

    if "example" in parameter:
        Draft202012Validator(parameter["schema"]).validate(parameter["example"])


def test_every_parameter_and_every_schema_is_used() -> None:
    text = json.dumps(DESCRIBED)

    assert all(
        f'components/schemas/{name}"' in text for name in DESCRIBED["components"]["schemas"]
    )
    assert all(
        text.count(json.dumps(parameter)) > 1
        for parameter in DESCRIBED["components"]["parameters"].values()
    )


def test_every_body_of_a_request_has_an_example_of_its_schema() -> None:
    for path, method in OPERATIONS:
        body = DESCRIBED["paths"][path][method].get("requestBody", {"content": {}})
        for described in body["content"].values():
            schema = resolved(described["schema"])
            Draft202012Validator(schema).validate(described["example"])


def test_addresses_that_a_server_does_not_have_are_left_out() -> None:
    paths = description("https://timegate.example.org", ("/store/", "/pdi:"))["paths"]

    assert isinstance(paths, dict)
    assert "/timegate/{url}" in paths
    assert not [path for path in paths if path.startswith(("/store/", "/pdi:"))]


async def test_the_description_is_served_as_openapi_json() -> None:
    answer = await OpenApi("https://timegate.example.org")(ClientRequest("GET", "", {}))

    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("application/vnd.oai.openapi+json")
    assert json.loads(answer.body)["servers"] == [{"url": "https://timegate.example.org"}]


def parameters(path: str) -> dict[str, dict[str, object]]:
    return {p["name"]: p for p in DESCRIBED["paths"][path]["get"]["parameters"]}


def test_the_formats_of_timemaps_are_those_that_can_be_written() -> None:
    form = parameters("/timemap/{format}/{url}")["format"]

    assert form["schema"] == {"type": "string", "enum": [*FORMATS]}
    assert all(str(writer.description) in str(form) for writer in FORMATS.values())


def test_every_kind_of_identifier_is_described() -> None:
    described = str(parameters("/resolve/{identifier}")["identifier"]["description"])

    assert all(kind.label in described for kind in KINDS if kind.is_reference)


def test_every_query_parameter_is_described() -> None:
    described = parameters("/resolve/{identifier}")

    assert {p["name"] for p in described.values() if p["in"] == "query"} == OWN_PARAMETERS


def test_every_kind_of_archive_is_described() -> None:
    described = DESCRIBED["paths"]["/archives"]["get"]["description"]

    assert all(f"{kind.name}: {kind.description}" in described for kind in ARCHIVES.values())


@pytest.mark.parametrize("name", [module.name for module in iter_modules(endpoints.__path__)])
def test_every_module_of_endpoints_describes_its_addresses(name: str) -> None:
    described = getattr(import_module(f"timegate.endpoints.{name}"), "PATHS", {})

    assert described or name in UNDESCRIBED
    assert set(described) <= set(DESCRIBED["paths"])
