"""Descriptions of the addresses that `timegate.pages` serves, for OpenAPI."""

from typing import Final

from timegate.endpoints import (
    ANY_CONTENT,
    EVENTS_CONTENT,
    HTML_CONTENT,
    LINES_CONTENT,
    STATIC,
    AnswerDescription,
    PathDescription,
    WriteDescription,
    answered,
)

PATHS: Final = {
    "/": PathDescription(
        "The page for people; with q, the answer",
        answered("The page", HTML_CONTENT),
        ("question", "at"),
        writes={
            "post": WriteDescription(
                "The same, for the form of the page",
                {"application/x-www-form-urlencoded": "SearchForm"},
                {
                    "303": AnswerDescription("To the answer", {}, ("Location",)),
                    **answered("The page, for a text that no address can hold", HTML_CONTENT),
                },
                problems=("400", "408", "413"),
            )
        },
    ),
    "/docs": PathDescription(
        "The documentation of this release", answered("The list", HTML_CONTENT), problems=STATIC
    ),
    "/docs/{name}": PathDescription(
        "One document",
        answered("The document", HTML_CONTENT),
        ("document-name",),
        problems=("404",),
    ),
    "/events": PathDescription(
        "What a search on the page does now; not a stable interface",
        answered("A stream until the search ends", EVENTS_CONTENT),
    ),
    "/timeline/{url}": PathDescription(
        "Captures for the page; not a stable interface",
        answered("A line of JSON for each archive", LINES_CONTENT),
        ("url",),
    ),
    "/answers/{name}": PathDescription(
        "An answer that the page has shown; not a stable interface",
        {
            **answered("The page", HTML_CONTENT),
            "302": AnswerDescription("To the first page", {}, ("Location",)),
        },
        ("answer",),
        problems=("404",),
    ),
    "/static/{name}": PathDescription(
        "Files of the pages",
        {
            **answered("The file", ANY_CONTENT, "ETag"),
            "304": AnswerDescription("It is the same"),
        },
        ("file-name",),
        problems=("404",),
    ),
    "/favicon.ico": PathDescription(
        "The icon",
        {
            **answered("The icon", {"image/svg+xml": "Text"}, "ETag"),
            "304": AnswerDescription("It is the same"),
        },
        problems=STATIC,
    ),
    "/checks": PathDescription(
        "The form on the page of an archive; if checks are configured",
        {},
        writes={
            "post": WriteDescription(
                "Starts a check of an archive",
                {"application/x-www-form-urlencoded": "CheckForm"},
                {
                    "303": AnswerDescription("To the page of the archive", {}, ("Location",)),
                },
                problems=("403", "404", "408", "413"),
            )
        },
    ),
}
