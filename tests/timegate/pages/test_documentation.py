"""Pages of the documentation: every document is there, and every link leads somewhere."""

import re
import tomllib
from pathlib import Path

import pytest
from multidict import CIMultiDict

from timegate.endpoints.openapi import description
from timegate.pages.documentation import Documentation, anchor, rendered
from timegate.pages.rendering import Pages
from timegate.responses.model import ClientRequest

API = description("https://gate.example")


async def page(rest: str) -> tuple[int, str]:
    handler = Documentation(Pages("https://gate.example"), lambda: API)
    response = await handler(ClientRequest("GET", rest, CIMultiDict()))
    return response.status, response.body.decode()


async def test_the_list_names_every_document_and_each_is_a_page() -> None:
    status, listed = await page("")
    names = re.findall(r'href="/docs/([a-z-]+)"', listed)

    assert status == 200
    assert len(names) > 8
    for name in names:
        status, shown = await page(name)
        assert status == 200
        assert "<h1" in shown


async def test_every_address_of_the_interface_is_described() -> None:
    _, shown = await page("api")

    paths = API["paths"]
    assert isinstance(paths, dict)
    for path in paths:
        assert f"<code>{path}</code>" in shown


async def test_the_built_package_has_every_document() -> None:
    root = Path(__file__).parents[3]
    settings = tomllib.loads((root / "pyproject.toml").read_text())
    packed = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    _, listed = await page("")
    names = set(re.findall(r'href="/docs/([a-z-]+)"', listed)) - {"api"}

    assert packed == {f"docs/{name}.md": f"timegate/pages/docs/{name}.md" for name in names}


async def test_an_unknown_document_is_not_found() -> None:
    status, _ = await page("../rendering")

    assert status == 404


async def test_links_between_documents_lead_to_anchors_that_exist() -> None:
    _, listed = await page("")
    shown = {name: (await page(name))[1] for name in re.findall(r'"/docs/([a-z]+)"', listed)}

    for name, html in shown.items():
        inside = html.partition('<div class="document">')[2]
        for target, mark in re.findall(r'href="([a-z]*)(#[\w-]+)?"', inside):
            document = shown.get(target or name)
            assert document is not None, f"{name}: {target}"
            assert not mark or f'id="{mark[1:]}"' in document, f"{name}: {target}{mark}"


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Grades", "grades"),
        ("Memento-Precision: the verdict", "memento-precision-the-verdict"),
        ("`serve` and `check`", "serve-and-check"),
    ],
)
def test_anchors_are_those_of_code_hosts(heading: str, expected: str) -> None:
    assert anchor(heading) == expected


def test_markup_in_a_document_is_text() -> None:
    document = rendered("x", "# A\n\n<script>alert(1)</script>\n\n![p](a.png) [q](../x.py)")

    assert "<script>" not in document.html
    assert "<img" not in document.html
    assert "../x.py" not in document.html
