"""The OpenAPI description: complete, and served with its media type."""

import json
import re
from importlib import import_module
from pkgutil import iter_modules

import pytest

from archives.kinds import KINDS as ARCHIVES
from timegate import endpoints
from timegate.endpoints.openapi import OpenApi, description
from timegate.identifiers import KINDS
from timegate.responses.model import OWN_PARAMETERS, ClientRequest
from timegate.timemaps import FORMATS

DESCRIBED = json.loads(json.dumps(description("https://timegate.example.org")))


@pytest.mark.parametrize("path", DESCRIBED["paths"])
def test_every_variable_of_a_path_is_a_parameter(path: str) -> None:
    operation = DESCRIBED["paths"][path]["get"]

    named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}

    assert named == set(re.findall(r"\{([a-z]+)\}", path))
    assert all(one["required"] == (one["in"] == "path") for one in operation["parameters"])
    assert operation["summary"]
    assert operation["responses"]


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

    assert described or name in {"memento_formats", "series_thttp"}
    assert set(described) <= set(DESCRIBED["paths"])
