"""The parameters of all addresses, as OpenAPI describes them: values, limits and examples.

The formats ``http-url``, ``reference``, ``stamp`` and the like are our own. Examples are those
of the demo, so that each of them has an answer there.
"""

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from timegate.cdx.formats import NAMES
from timegate.citations import UrlStatus
from timegate.citations.forms import FORMS_OF_COPIES
from timegate.content.fragments import LONGEST_QUOTE
from timegate.endpoints.diff import DIFF_FORMS
from timegate.endpoints.memento_formats import MEMGATOR
from timegate.endpoints.parts import PARTS_FORMS
from timegate.endpoints.resolve import RESPONSE_FORMS
from timegate.endpoints.thttp import OPERATIONS
from timegate.following.feeds import FORMATS as CHANGES_FORMATS
from timegate.identifiers import KINDS
from timegate.resolution.preferences import ALSO, PARAMETERS, Parameter
from timegate.responses.model import FORMAT_PARAMETER
from timegate.timemaps import FORMATS

Json = dict[str, object]
_LONGEST: Final = 8192
_RAW: Final = "Raw, to the end of the target, query string included; nothing in it is decoded."
_KINDS: Final = "; ".join(kind.label for kind in KINDS if kind.is_reference)
_PAGE: Final = "http://museum.example/"
_URL: Final[Json] = {
    "type": "string",
    "format": "http-url",
    "pattern": r"^https?://\S+$",
    "maxLength": _LONGEST,
}
_REFERENCE: Final[Json] = {
    "type": "string",
    "format": "reference",
    "minLength": 1,
    "maxLength": _LONGEST,
}
_STAMP: Final[Json] = {
    "type": "string",
    "format": "stamp",
    "pattern": "^[0-9]{4}(?:[0-9]{2}){0,5}$",
}
_DIGITS: Final[Json] = {"type": "string", "format": "stamp", "pattern": "^[0-9]{1,14}$"}
_NAME: Final[Json] = {"type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,62}$"}
_FLAG: Final[Json] = {"type": "boolean"}
_FIELD: Final = "|".join(NAMES)


def _one_of(values: Iterable[str]) -> Json:
    return {"type": "string", "enum": [*values]}


def _query(schema: Json, description: str, name: str = "", **more: object) -> Json:
    named = {"name": name} if name else {}
    return {**named, "in": "query", "schema": schema, "description": description, **more}


def _header(description: str, example: str, schema: Json | None = None) -> Json:
    return {
        "in": "header",
        "schema": schema or {"type": "string", "pattern": "^[ -~]*$"},
        "description": description,
        "example": example,
    }


_ETAG: Final[Json] = {"type": "string", "pattern": '^(?:[*]|(?:W/)?"[!#-~]{0,99}")$'}
_PREFERENCES: Final[Mapping[str, Json]] = {
    "archives": {"type": "string", "format": "archive-ids", "pattern": "^[A-Za-z0-9._~, -]+$"},
    "exclude": {"type": "string", "format": "archive-ids", "pattern": "^[A-Za-z0-9._~, -]+$"},
    "tolerance": {"type": "string", "pattern": "^(?:[0-9]{1,5}[smhdw]|P[0-9]{1,4}D)$"},
    "wait": {"type": "number", "exclusiveMinimum": 0, "maximum": 30, "multipleOf": 0.5},
    ALSO: {"type": "array", "items": _URL, "minItems": 1, "maxItems": 5},
    "quote": {"type": "string", "format": "quotation", "maxLength": LONGEST_QUOTE},
}
_EXAMPLES: Final[Mapping[str, object]] = {
    "archives": "harbour",
    "exclude": "lantern",
    "tolerance": "24h",
    "wait": 5,
    ALSO: ["http://museum.example/gallery"],
    "quote": "The lamp room is open again.",
}


def _preference(parameter: Parameter) -> Json:
    name = parameter.name
    schema = _one_of(parameter.values) if parameter.values else _PREFERENCES[name]
    example = {"example": _EXAMPLES[name]} if name in _EXAMPLES else {}
    description = f"{parameter.description} Allowed: {parameter.allowed}."
    return _query(schema, description) | example


_CDX: Final[Mapping[str, Json]] = {
    "cdx-url": _query(
        _URL,
        "The URL of the captures, percent-encoded; with * at its end, all that begin so.",
        "url",
        required=True,
        example=_PAGE,
    ),
    "cdx-matchType": _query(
        _one_of(("exact", "prefix", "host", "domain")),
        "Captures of this URL, or of many.",
        "matchType",
    ),
    "cdx-wayback-output": _query(_one_of(("json", "text")), "The format.", "output"),
    "cdx-pywb-output": _query(_one_of(("cdxj", "json", "text")), "The format.", "output"),
    "cdx-from": _query(_DIGITS, "Not before this time.", "from", example="2009"),
    "cdx-to": _query(_DIGITS, "Not after this time.", "to", example="2012"),
    "cdx-limit": _query(
        {"type": "integer", "minimum": -1000, "maximum": 100_000},
        "The most rows; negative for the last ones, without resumeKey and page. At most 25,000"
        " with closest or another order than oldest first.",
        "limit",
        example=10,
    ),
    "cdx-offset": _query(
        {"type": "integer", "minimum": 0, "maximum": 100_000}, "Rows to leave out.", "offset"
    ),
    "cdx-filter": _query(
        {
            "type": "array",
            "items": {"type": "string", "pattern": f"^!?[=~]?(?:{_FIELD}):[A-Za-z0-9/]*$"},
            "maxItems": 5,
        },
        "Only rows whose field has this value; expressions are plain ones.",
        "filter",
        example=["!statuscode:404"],
    ),
    "cdx-collapse": _query(
        {
            "type": "array",
            "items": {"type": "string", "pattern": f"^(?:{_FIELD})(?::[1-9][0-9]{{0,3}})?$"},
            "maxItems": 5,
        },
        "One row of neighbours with the same value, or its first characters.",
        "collapse",
        example=["timestamp:8"],
    ),
    "cdx-fl": _query(
        {"type": "string", "pattern": f"^(?:{_FIELD})(?:,(?:{_FIELD})){{0,9}}$"},
        "The fields.",
        "fl",
        example="timestamp,original",
    ),
    "cdx-sort": _query(
        _one_of(("default", "reverse")),
        "The order of the rows; with closest it is closest.",
        "sort",
    ),
    "cdx-closest": _query(_DIGITS, "The nearest captures first.", "closest"),
    "cdx-resumeKey": _query(
        {"type": "string", "format": "resume-key", "pattern": "^[A-Za-z0-9_=-]+$"},
        "The key at the end of an earlier answer.",
        "resumeKey",
    ),
    "cdx-page": _query(
        {"type": "integer", "minimum": 0, "maximum": 1000}, "The number of a page.", "page"
    ),
    "cdx-pageSize": _query(
        {"type": "integer", "minimum": 1, "maximum": 50}, "Blocks of 3,000 rows.", "pageSize"
    ),
    **{
        f"cdx-{name}": _query(_FLAG, text, name)
        for name, text in {
            "showResumeKey": "End with the key for the following rows.",
            "showNumPages": "The number of pages alone.",
            "showDupeCount": "Add how many rows before have the same digest.",
            "showSkipCount": "Add how many rows were collapsed.",
            "lastSkipTimestamp": "Add the time of the last row that was collapsed.",
        }.items()
    },
}
PARAMETERS_BY_KEY: Final[Mapping[str, Json]] = {
    "url": {"description": _RAW, "schema": _URL, "example": _PAGE},
    "identifier": {
        "description": f"One of: {_KINDS}. {_RAW}",
        "schema": _REFERENCE,
        "example": f"duri:2010-11:{_PAGE}",
    },
    "stamp": {
        "description": "4 to 14 digits, UTC; more for raw bytes",
        "schema": _STAMP,
        "example": "20101105101500",
    },
    "wayback-stamp": {
        "name": "stamp",
        "description": "1 to 14 digits, UTC",
        "schema": _DIGITS,
        "example": "20101105101500",
    },
    "modifier": {
        "description": "As at the Wayback Machine; id_ for the bytes as they were harvested.",
        "schema": _one_of(("id_", "if_", "im_", "js_", "cs_")),
    },
    "format": {
        "description": "; ".join(f"{name}: {w.description}" for name, w in FORMATS.items()),
        "schema": _one_of(FORMATS),
    },
    "wayback-format": {
        "name": "format",
        "description": "The format, as at the Wayback Machine.",
        "schema": _one_of(("json", "cdx", "link")),
    },
    "index-url": _query(_URL, "One page; without it, all.", "url", example=_PAGE),
    "after": _query(
        {"type": "string", "format": "index-position"},
        "The value of next in the list before it.",
    ),
    "changes-format": {
        "name": "format",
        "description": "Atom, JSON Feed or server-sent events.",
        "schema": _one_of(CHANGES_FORMATS),
    },
    "changes-as": _query(
        _one_of(CHANGES_FORMATS), "The format; without it, by Accept.", FORMAT_PARAMETER
    ),
    "Last-Event-ID": _header(
        "The id of the last event that the client has; for server-sent events", "12"
    ),
    "memgator-format": {
        "name": "format",
        "description": "The format of the description.",
        "schema": _one_of(MEMGATOR),
    },
    "id": {"description": "The id of an archive", "schema": _NAME, "example": "harbour"},
    "series": {
        "description": "The name of a series, such as oma.eop.gov.us",
        "schema": {"type": "string", "pattern": "^[a-z0-9][a-z0-9.-]{0,62}$"},
        "example": "oma.eop.gov.us",
    },
    "document": {
        "description": "YYYY/MM/DD/id.format.version; format and version may be left out, "
        "and * stands for any. A fragment follows as %23char=37,51. See docs/pdi.md.",
        "schema": {"type": "string", "format": "pdi-document"},
        "example": "1994/11/14/1.text.1",
    },
    "pdi-name": {
        "name": "name",
        "description": "The rest of a PDI that is written as a URN.",
        "schema": {"type": "string", "format": "pdi-urn"},
        "example": "//oma.eop.gov.us/1994/11/14/1.text.1",
    },
    "name": {
        "description": "The id of a list, without ~",
        "schema": _NAME,
        "example": "reading",
    },
    "pwid": _query(
        {**_REFERENCE, "format": "pwid"},
        "A PWID, percent-encoded",
        required=True,
        example=f"urn:pwid:harbour.example:2010-11-05T10:15:00Z:page:{_PAGE}",
    ),
    "time": _query(
        {"type": "string", "format": "pwid-time", "pattern": "^[0-9]{4}[0-9TZ:.-]*$"},
        "The time of a PWID: 2016-01-22T11:20:29Z",
        required=True,
        example="2010-11-05T10:15:00Z",
    ),
    "coverage": _query(
        {"type": "string", "format": "coverage"},
        "The precision of a PWID: page, part, site ...",
        example="page",
    ),
    "item": _query(
        _URL,
        "The archived URL, or ~ and an id. The last one.",
        required=True,
        example=_PAGE,
    ),
    "extent": _query(
        _one_of(("site", "subsite")),
        "The precision of a PWID of many pages.",
        "coverage",
        required=True,
        example="site",
    ),
    "archive": _query(
        {"type": "string", "format": "archive-id"},
        "An archive-id; without it, any archive.",
        example="harbour.example",
    ),
    "cite-id": _query(
        _REFERENCE,
        f"The reference, percent-encoded. One of: {_KINDS}.",
        "id",
        required=True,
        example=f"duri:2010-11:{_PAGE}",
    ),
    "cite-format": _query(
        _one_of(FORMS_OF_COPIES),
        "One citation as text; without it, all as JSON or as a page.",
        "format",
    ),
    "title": _query(
        {"type": "string", "minLength": 1, "maxLength": 300},
        "The title; without it, that of the copy.",
        example="The Lighthouse Museum",
    ),
    "access-date": _query(
        {"type": "string", "format": "date"},
        "The day on which the reader consulted the page; without it, none is stated.",
        example="2016-01-22",
    ),
    "citation": _query(
        {"type": "string", "maxLength": 4000},
        "A citation of the page, such as {{cite web |url=...}}, to which the copy is added.",
    ),
    "url-status": _query(_one_of(get_args(UrlStatus)), "The state of the original, for cs1."),
    "available-url": _query(_URL, "The URL.", "url", required=True, example=_PAGE),
    "timestamp": _query(_DIGITS, "The time; without it, the newest.", example="20101105"),
    "operation": {"description": "The operation.", "schema": _one_of(OPERATIONS)},
    "Accept-Datetime": _header(
        "RFC 7089; for example Thu, 31 May 2007 20:35:00 GMT",
        "Thu, 31 May 2007 20:35:00 GMT",
        {"type": "string", "format": "http-date"},
    ),
    "Accept-Datetime-Precise": _header(
        "A time with a fraction of a second, in RFC 3339; beside Accept-Datetime it must be of"
        " the same second",
        "2007-05-31T20:35:00.25Z",
        {"type": "string", "format": "date-time"},
    ),
    "Prefer": _header(
        f"RFC 7240; {', '.join(p.name for p in PARAMETERS)}", "wait=5, precision=day"
    ),
    "Range": _header(
        "One range of bytes (RFC 9110 14.2)",
        "bytes=0-99",
        {"type": "string", "pattern": "^bytes=[0-9]{1,15}-[0-9]{0,15}$"},
    ),
    "If-None-Match": _header("An ETag of an earlier answer", '"1"', _ETAG),
    "If-Match": _header("Write only if the current revision has this ETag", '"1"', _ETAG),
    "Repr-Digest": _header(
        "The SHA-256 of the body (RFC 9530)",
        f"sha-256=:{'A' * 43}=:",
        {"type": "string", "pattern": "^sha-256=:[A-Za-z0-9+/]{43}=:$"},
    ),
    "Timegate-Datetime": _header(
        "The time of the revision, if it is not now",
        "2026-11-17T20:35:00.123456789Z",
        {
            "type": "string",
            "format": "instant",
            "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
            "(?:[.][0-9]{1,9})?Z$",
        },
    ),
    "question": _query(_REFERENCE, "The reference that is looked for.", "q"),
    "at": _query({"type": "string", "format": "time-or-part"}, "The time.", example="2010-11"),
    "answer": {
        "name": "name",
        "description": "The name of an answer that was shown.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"},
        "example": "x",
    },
    "document-name": {
        "name": "name",
        "description": "The name of a document, or api.",
        "schema": {"type": "string", "pattern": "^[a-z-]{1,40}$"},
        "example": "http",
    },
    "file-name": {
        "name": "name",
        "description": "The name of a file.",
        "schema": {"type": "string", "pattern": "^[a-z0-9.-]{1,60}$"},
        "example": "robust.js",
    },
    FORMAT_PARAMETER: _query(_one_of(RESPONSE_FORMS), "The form; without it, by Accept."),
    "parts-format": _query(
        _one_of(PARTS_FORMS), "The form; without it, by Accept.", FORMAT_PARAMETER
    ),
    "diff-format": _query(
        _one_of(DIFF_FORMS), "The form; without it, by Accept.", FORMAT_PARAMETER
    ),
    **_CDX,
    **{parameter.name: _preference(parameter) for parameter in PARAMETERS},
}
