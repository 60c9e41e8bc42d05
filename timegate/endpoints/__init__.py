"""HTTP endpoints, one module for each family of addresses.

A module describes its addresses in ``PATHS``; the OpenAPI description is collected from these.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

Content = Mapping[str, str]
"""Media types, each with the name of its schema in `timegate.endpoints.openapi_schemas`."""

NO_CONTENT: Final[Content] = MappingProxyType({})
HTML_CONTENT: Final[Content] = {"text/html": "Text"}
TEXT_CONTENT: Final[Content] = {"text/plain": "Text"}
LINES_CONTENT: Final[Content] = {"application/x-ndjson": "Text"}
EVENTS_CONTENT: Final[Content] = {"text/event-stream": "Text"}
ANY_CONTENT: Final[Content] = {"*/*": "Bytes"}


class AnswerDescription(NamedTuple):
    """One answer of an address, for OpenAPI."""

    description: str
    content: Content = NO_CONTENT
    headers: tuple[str, ...] = ()
    """Their names in `timegate.endpoints.openapi_schemas`; ``Location`` is always there."""


class WriteDescription(NamedTuple):
    """A method with a body, for OpenAPI."""

    summary: str
    body: Content
    responses: Mapping[str, AnswerDescription]
    parameters: tuple[str, ...] = ()
    """Those of the path, and others, as in `PathDescription`."""
    problems: tuple[str, ...] = ()


VERDICT: Final = ("Memento-Precision", "Link", "Vary", "Cache-Control", "Preference-Applied")
MEMENTO: Final = ("Memento-Datetime", "Link", "ETag", "Accept-Ranges", "Content-Disposition")
REDIRECT: Final = {
    "302": AnswerDescription(
        "To the memento; the verdict is in Memento-Precision, and in the body",
        {"application/json": "Verdict"},
        ("Location", *VERDICT),
    )
}
STATIC: Final[tuple[str, ...]] = ()
"""Problems of addresses for which no archive is queried, beyond those of all addresses."""
QUERIED: Final = ("404", "414", "422", "451", "502", "504")
"""Problems of addresses for which archives are queried."""
WRITTEN: Final = (
    *("401", "403", "404", "405", "408", "409", "412", "413", "415", "451", "502", "507"),
)


NO_WRITES: Final[Mapping[str, WriteDescription]] = MappingProxyType({})


OF_COLLECTION: Final = (*QUERIED, "403")
"""A collection may be restricted to a reading room."""


class PathDescription(NamedTuple):
    """The description of one address, for OpenAPI."""

    summary: str
    responses: Mapping[str, AnswerDescription]
    """Answers to GET by status, without problems; empty if GET is not answered here."""
    parameters: tuple[str, ...] = ()
    """Their keys in `timegate.endpoints.openapi_parameters`."""
    description: str = ""
    problems: tuple[str, ...] = QUERIED
    """Statuses of problems; those of all addresses are added."""
    writes: Mapping[str, WriteDescription] = NO_WRITES
    """By method."""


def answered(
    description: str, content: Content, *headers: str
) -> Mapping[str, AnswerDescription]:
    """Return an answer with the status 200."""
    return {"200": AnswerDescription(description, content, headers)}


UNCHANGED: Final = {
    "304": AnswerDescription("If-None-Match has the current ETag", {}, ("ETag",))
}
RAW_BYTES: Final = {
    **answered(
        "The archived bytes; another archived status, such as 404 or 301, is sent as it is",
        ANY_CONTENT,
        *("Memento-Precision", "Content-Location", *MEMENTO),
    ),
    "206": AnswerDescription("The requested range of them", ANY_CONTENT, MEMENTO),
    "302": AnswerDescription(
        "To the address of the capture; the body, if there is one, is the verdict as JSON",
        {},
        ("Location", *VERDICT),
    ),
}
TIMEMAPS: Final[Content] = {
    "application/link-format": "Text",
    "application/json": "TimeMap",
    "application/cdxj+ors": "Text",
}
PYWB_CDX: Final[Content] = {
    **TEXT_CONTENT,
    "text/x-cdxj": "Text",
    "text/x-ndjson": "Text",
    "application/json": "CdxPages",
}
"""As a CDX server of pywb answers; the number of pages is JSON."""
TIMEMAP_HEADERS: Final = ("Memento-Sources", "X-Memento-Count", "Link", "ETag", "Last-Modified")
STORED: Final = ("Memento-Datetime", "Timegate-Datetime", "Repr-Digest")
CREATED: Final = {
    "201": AnswerDescription(
        "It is on disk and is served", ANY_CONTENT, ("Location", *STORED, "ETag", "Link")
    ),
    "200": AnswerDescription(
        "The same bytes were there already", ANY_CONTENT, (*STORED, "ETag", "Link")
    ),
}
MINTABLE: Final[Content] = {**TEXT_CONTENT, **HTML_CONTENT}
"""What is usually minted; any media type with a format token is accepted."""
REVISED: Final = {status: answer._replace(content={}) for status, answer in CREATED.items()}
"""The same, of a store: the headers say all."""
WRITE_HEADERS: Final = ("Timegate-Datetime", "If-None-Match", "If-Match", "Repr-Digest")
CDX_PARAMETERS: Final = (
    *("cdx-matchType", "cdx-from", "cdx-to", "cdx-limit", "cdx-offset", "cdx-filter"),
    *("cdx-collapse", "cdx-fl", "cdx-sort", "cdx-closest", "cdx-page", "cdx-pageSize"),
    *("cdx-resumeKey", "cdx-showResumeKey", "cdx-showNumPages", "cdx-showDupeCount"),
    *("cdx-showSkipCount", "cdx-lastSkipTimestamp", "archives", "exclude", "wait"),
)
PDIS: Final = ("/pdi:", "/urn:pdi:")
"""Where PDIs are served."""
STORE: Final = "/store/"
"""Where stores are served."""
