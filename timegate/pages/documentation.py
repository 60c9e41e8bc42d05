"""Pages ``/docs``: the documentation of this release, and the description of all addresses."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from timegate.pages.rendering import HEADERS, Pages
from timegate.responses.model import ClientRequest, Response
from timegate.responses.problems import problem

if TYPE_CHECKING:
    from markdown_it.token import Token

_FOR_USERS: Final = (
    *(
        "http",
        "commands",
        "batch",
        "library",
        "recipes",
        "collections",
        "whole-pages",
        "content",
        "store",
    ),
    *("conformance", "install", "configuration", "operating", "misbehave"),
)
"""The documents that are pages, in the order of the list."""
_API: Final = "api"
_NOT_IN_ANCHOR: Final = re.compile(r"[^\w\- ]")
_DOCUMENT: Final = re.compile(r"([a-z-]++)\.md(#[\w-]++)?")


class DocumentPage(NamedTuple):
    """One document."""

    name: str
    title: str
    html: "OwnHtml"


class OwnHtml(str):
    """HTML that was made here, from our own documents: templates do not escape it."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


class Documentation:
    """Answers requests for the documentation."""

    def __init__(self, pages: Pages, api: Callable[[], Mapping[str, object]]) -> None:
        """Show the OpenAPI description that *api* returns, and the documents."""
        self._pages = pages
        self._api = api

    async def __call__(self, request: ClientRequest) -> Response:
        """Return the list of documents, one document, or the description of all addresses."""
        name = request.rest.partition("?")[0].strip("/")
        if not name:
            titles = [(_API, "All addresses"), *((one.name, one.title) for one in _documents())]
            return self._page("docs", titles=titles)
        if name == _API:
            return self._page("api", api=self._api())
        for document in _documents():
            if document.name == name:
                return self._page("document", document=document)
        return problem(404, "not-found", "there is no such document; /docs lists all")

    def _page(self, template: str, **values: object) -> Response:
        page = self._pages.render(template, **values)
        headers = {**HEADERS, "Cache-Control": "max-age=3600"}
        return Response(200, headers, page.encode())


@cache
def _documents() -> tuple[DocumentPage, ...]:
    folder = _folder()
    return tuple(
        rendered(name, folder.joinpath(f"{name}.md").read_text(encoding="utf-8"))
        for name in _FOR_USERS
    )


def _folder() -> Traversable:
    """Return the folder of the documents: in a package that was built, or in its source."""
    built = files("timegate.pages").joinpath("docs")
    return built if built.is_dir() else Path(__file__).parents[2] / "docs"


def rendered(name: str, text: str) -> DocumentPage:
    """Return the document *name* with the Markdown *text* as HTML."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 -- only these pages need it

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    title = name
    for heading, content in _headings(tokens):
        heading.attrSet("id", anchor(content.content))
        if heading.tag == "h1":
            title = content.content
    for token in tokens:
        _own_links(token.children or [])
        if token.type in ("fence", "code_block"):
            token.attrSet("tabindex", "0")
    html = markdown.renderer.render(tokens, markdown.options, {})
    return DocumentPage(name, title.replace("`", ""), OwnHtml(_scrolling_tables(html)))


def _headings(tokens: Sequence["Token"]) -> Iterator[tuple["Token", "Token"]]:
    for heading, content in pairwise(tokens):
        if heading.type == "heading_open":
            yield heading, content


def anchor(heading: str) -> str:
    """Return the anchor of a *heading*, as code hosts make it."""
    return _NOT_IN_ANCHOR.sub("", heading.lower()).replace(" ", "-")


def _own_links(tokens: Sequence["Token"]) -> None:
    """Point links to other documents to their pages; drop images and links to other files."""
    for token in tokens:
        if token.type == "image":
            token.type, token.tag, token.content = "text", "", token.content
        if token.type != "link_open":
            continue
        target = str(token.attrGet("href") or "")
        document = _DOCUMENT.fullmatch(target)
        if document and document[1] in _FOR_USERS:
            token.attrSet("href", f"{document[1]}{document[2] or ''}")
        elif not target.startswith(("https://", "#")):
            token.attrs.pop("href", None)


def _scrolling_tables(html: str) -> str:
    """Put each table into a region of its own, which scrolls on a narrow screen."""
    first, *others = html.replace("</table>", "</table></div>").split("<table>")
    region = '<div class="scroll" tabindex="0" role="region" aria-label="Table {}"><table>'
    return first + "".join(
        region.format(number) + part for number, part in enumerate(others, start=1)
    )
