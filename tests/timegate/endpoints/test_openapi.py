"""The OpenAPI description: valid, and served with its media type."""

import json
import re

import pytest

from timegate.endpoints.openapi import OpenApi, description
from timegate.responses.model import ClientRequest

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
