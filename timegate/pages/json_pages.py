"""Pages for browsers in place of JSON documents. Programs get the document itself."""

import json
from dataclasses import replace
from typing import Final

from timegate.pages.rendering import HEADERS, Pages, wants_page
from timegate.responses.model import ClientRequest, Handler, Response, StreamingResponse

_JSON: Final = "application/json"


class JsonPage:
    """Answers as *handler*, but shows its JSON documents on a page if a browser asks."""

    def __init__(self, handler: Handler, pages: Pages, template: str) -> None:
        self._handler = handler
        self._pages = pages
        self._template = template

    async def __call__(self, request: ClientRequest) -> Response | StreamingResponse:
        """Return the page, or what the handler answers."""
        response = await self._handler(request)
        if (
            isinstance(response, StreamingResponse)
            or response.status != 200
            or response.headers.get("Content-Type") != _JSON
        ):
            return response
        headers = {**response.headers, "Vary": "accept"}
        if not wants_page(request.header("Accept")):
            return replace(response, headers=headers)
        page = self._pages.render(self._template, document=json.loads(response.body))
        return replace(response, headers={**headers, **HEADERS}, body=page.encode())
