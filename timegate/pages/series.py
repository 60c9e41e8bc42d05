"""Pages of series: by year, month and day, and each document with how to cite it."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from timegate.pages.rendering import HEADERS, Pages
from timegate.responses.model import Response

Json = Mapping[str, object]
_NO_CACHE: Final = {"Cache-Control": "no-cache", "Vary": "accept"}
_EXAMPLES: Final = {
    "text": ("#char=37,51", "characters 37 up to 51"),
    "image": ("#rect=(5,10),(25,30)", "a rectangle, from (5,10) up to (25,30)"),
    "audio": ("#sec=23,57", "seconds 23 up to 57"),
    "video": ("#sec=23,57", "seconds 23 up to 57"),
}
_OTHER: Final = ("#byte=23,57", "octets 23 up to 57")
_MARKUP: Final = ("#elt=3,8", "everything from tag 3 to tag 8")


class SeriesStep(NamedTuple):
    """A link to a part of a series."""

    text: str
    path: str
    documents: int | None = None


class SeriesPages:
    """Renders the pages."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def all(self, series: Sequence[Json]) -> Response:
        """Return the page of all series."""
        return self._page("all_series", series=series)

    def dates(
        self, series: Json, date: Sequence[str], counts: Sequence[tuple[str, int]]
    ) -> Response:
        """Return the page of a series, a year or a month; *counts* by the next part."""
        name = str(series["series"])
        steps = [
            SeriesStep(day.replace("/", "-"), f"/series/{name}/{day}", count)
            for day, count in counts
        ]
        return self._page(
            "series", series=series, series_name=name, way=_way(name, date), steps=steps
        )

    def day(
        self, series: Json, date: Sequence[str], documents: Sequence[Json], after: str | None
    ) -> Response:
        """Return the page of the documents of a day."""
        name = str(series["series"])
        return self._page(
            "series_day",
            series_name=name,
            way=_way(name, date),
            documents=documents,
            after=after,
            day="/".join(date),
        )

    def document(self, described: Json) -> Response:
        """Return the page of a document."""
        name, date = str(described["series"]), str(described["date"]).split("-")
        found = described["representations"]
        shown = [
            {**each, "examples": _examples(str(each["media_type"]), str(each["pdi"]))}
            for each in (found if isinstance(found, list) else [])
        ]
        shown.sort(key=lambda each: (-int(each["version"]), str(each["format"])))
        return self._page(
            "series_document",
            document=described,
            representations=shown,
            series_name=name,
            way=_way(name, date),
        )

    def _page(self, template: str, **values: object) -> Response:
        body = self._pages.render(template, **values).encode()
        return Response(200, {**HEADERS, **_NO_CACHE}, body)


def _way(name: str, date: Sequence[str]) -> list[SeriesStep]:
    """Return the links from the series to a day."""
    parts = (date[:n] for n in range(1, len(date) + 1))
    steps = [SeriesStep("-".join(part), f"/series/{name}/{'/'.join(part)}") for part in parts]
    return [SeriesStep(name, f"/series/{name}"), *steps]


def _examples(media_type: str, pdi: str) -> list[tuple[str, str]]:
    """Return how parts of a document of this type are cited, as PDIs with their meaning."""
    base = media_type.partition(";")[0].strip().lower()
    example = _EXAMPLES.get(base.partition("/")[0], _OTHER)
    found = [example]
    if base in {"text/html", "text/xml", "text/sgml", "application/xhtml+xml"}:
        found.append(_MARKUP)
    return [(pdi + fragment, meaning) for fragment, meaning in found]
