"""``/series`` and ``/series/{name}/{year}/{month}/{day}/{id}``: pages, and the same as JSON."""

import json
from typing import Final
from urllib.parse import parse_qs

from timegate.endpoints import (
    HTML_CONTENT,
    STATIC,
    PathDescription,
    answered,
)
from timegate.endpoints.series import SeriesEndpoint
from timegate.pages.rendering import wants_page
from timegate.pages.series import SeriesPages
from timegate.responses.model import ClientRequest, Response
from timegate.responses.problems import problem
from timegate.series.catalogue import Listing
from timegate.series.description import of_representation, of_series
from timegate.series.opening import OpenSeries
from timegate.series.resolution import reading

PATHS: Final = {
    "/series": PathDescription(
        "The series of documents of this server",
        answered("The series", {"application/json": "SeriesList", **HTML_CONTENT}, "Vary"),
        problems=STATIC,
    )
}
_WIDTHS: Final = (4, 2, 2)
_PER_PAGE: Final = 200


class SeriesBrowsing:
    """Answers requests for the pages of series."""

    def __init__(self, endpoint: SeriesEndpoint, pages: SeriesPages) -> None:
        self._endpoint = endpoint
        self._pages = pages

    async def all(self, request: ClientRequest) -> Response:
        """Answer with the list of all series."""
        series = [of_series(site.settings, ()) for site in self._sites()]
        if wants_page(request.header("Accept")):
            return self._pages.all(series)
        body = json.dumps({"series": series}).encode()
        return Response(200, {"Content-Type": "application/json", "Vary": "accept"}, body)

    async def one(self, request: ClientRequest) -> Response:
        """Answer for a series, a year, a month, a day or a document."""
        text, _, query = request.rest.partition("?")
        name, *path = text.rstrip("/").split("/")
        site = self._endpoint.series.by_name.get(name.lower())
        if site is None:
            return problem(404, "not-found", "this series is not served here")
        return await self._of_site(request, site, path, query)

    async def _of_site(
        self, request: ClientRequest, site: OpenSeries, path: list[str], query: str
    ) -> Response:
        text = "/".join([site.settings.name, *path])
        is_page = wants_page(request.header("Accept"))
        if len(path) > len(_WIDTHS) or (path and "." in path[-1]):
            return await self._document(f"pdi://{text}", is_page=is_page)
        if not all(
            len(part) == width and part.isascii() and part.isdecimal()
            for part, width in zip(path, _WIDTHS, strict=False)
        ):
            return problem(404, "not-found", "write /series/{name}/YYYY/MM/DD")
        listing = Listing(site.settings.name, _date(path))
        if not is_page:
            name = f"pdi://{site.settings.name}/{'/'.join(listing.date)}/*"
            return await self._endpoint.list_of(
                request, site, listing, name, query or "as=json"
            )
        if len(path) == len(_WIDTHS):
            after = parse_qs(query).get("after", [None])[0]
            return await self._day(site, listing, after)
        digits = (4, 7, 10)[len(path)]
        counts = await self._endpoint.read_series(
            reading(site.catalogue.counts, listing, digits)
        )
        return self._pages.dates(of_series(site.settings, ()), path, counts)

    async def _day(self, site: OpenSeries, listing: Listing, after: str | None) -> Response:
        page = await self._endpoint.read_series(
            reading(site.catalogue.listed, listing, _PER_PAGE, after)
        )
        documents = [
            {
                **of_representation(each, self._endpoint.base),
                "page": f"/series/{str(each.document).removeprefix('pdi://')}",
            }
            for each in page.representations
        ]
        return self._pages.day(
            of_series(site.settings, ()), listing.date, documents, page.after
        )

    async def _document(self, text: str, *, is_page: bool) -> Response:
        found = self._endpoint.read(text)
        if found is None:
            return problem(404, "not-found", "there is no such document")
        response = await self._endpoint.description(found)
        if not is_page or response.status != 200:
            return response
        return self._pages.document(json.loads(response.body))

    def _sites(self) -> list[OpenSeries]:
        return sorted(self._endpoint.series.by_name.values(), key=lambda s: s.settings.name)


def _date(path: list[str]) -> tuple[str, str, str]:
    year, month, day = [*path, "*", "*", "*"][:3]
    return year, month, day
