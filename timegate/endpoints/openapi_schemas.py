"""The bodies and header fields of all addresses, as OpenAPI describes them (JSON Schema).

Members that clients rely on are required; others may be added at any time.
"""

from collections.abc import Mapping
from typing import Final

Json = dict[str, object]
_PROBLEM_TYPES: Final = "^https://timegate\\.example/problems/[a-z-]+$"
_TEXT: Final[Json] = {"type": "string"}
_OPTIONAL: Final[Json] = {"type": ["string", "null"]}
_COUNT: Final[Json] = {"type": "integer", "minimum": 0}
_FLAG: Final[Json] = {"type": "boolean"}
_OBJECT: Final[Json] = {"type": "object"}
_TIME: Final[Json] = {"type": "string", "format": "date-time"}
_URI: Final[Json] = {"type": "string", "minLength": 1}


def _object(required: Mapping[str, Json], **optional: Json) -> Json:
    return {
        "type": "object",
        "required": [*required],
        "properties": {**required, **optional},
    }


def _list(items: Json, **limits: int) -> Json:
    return {"type": "array", "items": items, **limits}


def _schema(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


_GRADE: Final = _object({"value": _TEXT})
_MEMENTO: Final = _object(
    {"uri": _URI, "datetime": _TIME, "archive": _TEXT},
    raw=_OPTIONAL,
    status={"type": ["integer", "null"], "minimum": 100, "maximum": 999},
)
_VERDICT: Final[Mapping[str, Json]] = {
    "identifier": _OPTIONAL,
    "original": _TEXT,
    **dict.fromkeys(
        (
            *("match", "evidence", "archive", "time", "granularity", "coverage", "uri"),
            *("content", "sources", "negotiation", "syntax"),
        ),
        _GRADE,
    ),
    "memento": {"anyOf": [_MEMENTO, {"type": "null"}]},
}
_SNAPSHOTS: Final = _object(
    {},
    closest=_object(
        {
            "available": _FLAG,
            "url": _URI,
            "timestamp": {"type": "string", "pattern": "^[0-9]{14}$"},
            "status": _TEXT,
        }
    ),
)
_ADDRESSES: Final = _object({"timemap_uri": _OBJECT, "timegate_uri": _URI})
SCHEMAS: Final[Mapping[str, Json]] = {
    "Text": {"type": "string"},
    "Bytes": {"description": "Octets of any media type."},
    "Problem": {
        **_object(
            {
                "type": {"type": "string", "pattern": _PROBLEM_TYPES},
                "title": {"type": "string", "minLength": 1},
                "status": {"type": "integer", "minimum": 400, "maximum": 599},
                "detail": {"type": "string", "minLength": 1},
            }
        ),
        "description": "RFC 9457; docs/http.md lists the types and their other members.",
        "examples": [
            {
                "type": "https://timegate.example/problems/no-memento",
                "title": "No archive that was queried holds a copy",
                "status": 404,
                "detail": "every archive that was queried answered that it holds no copy",
            }
        ],
    },
    "Verdict": {
        **_object(_VERDICT),
        "description": "How the memento differs from what was requested.",
    },
    "Report": {
        **_object(
            {
                **_VERDICT,
                "alternatives": _list(_OBJECT),
                "attempts": _list(_object({"archive": _TEXT, "outcome": _TEXT})),
                "headline": _TEXT,
                "words": _TEXT,
            }
        ),
        "description": "The verdict, what each archive answered, and both in words.",
    },
    "TimeMap": _object(
        {
            "original_uri": _URI,
            "self": _URI,
            "mementos": _object({"list": _list(_object({"datetime": _TEXT, "uri": _URI}))}),
            "timemap_uri": _OBJECT,
            "timegate_uri": _URI,
        }
    ),
    "CdxArray": {
        **_list({"type": "array", "items": {"type": ["string", "integer", "null"]}}),
        "description": "Rows; the first one has the names of the fields.",
    },
    "CslItems": _list({"type": "object"}),
    "CdxPages": _object(dict.fromkeys(("pages", "pageSize", "blocks"), _COUNT)),
    "MementoDescription": {
        **_object(
            {
                "original_uri": _URI,
                "mementos": _object(
                    {
                        "first": _OBJECT,
                        "last": _OBJECT,
                        "closest": _OBJECT,
                    }
                ),
                "timemap_uri": _OBJECT,
                "timegate_uri": _URI,
                "timegate": _schema("Report"),
            }
        ),
    },
    "MementoList": _object(
        {
            "original_uri": _URI,
            "archives": _list(_object({"archive": _TEXT, "uri": _URI, "datetime": _TEXT})),
            "timemap_uri": _OBJECT,
            "timegate_uri": _URI,
        }
    ),
    "Feed": {
        **_object(
            {
                "version": {"const": "https://jsonfeed.org/version/1.1"},
                "title": _TEXT,
                "items": _list(_object({"id": _TEXT, "url": _URI, "date_published": _TEXT})),
            }
        ),
        "description": "JSON Feed 1.1.",
    },
    "Citations": _object(
        {
            "identifier": _TEXT,
            "memento": _URI,
            "original": _TEXT,
            "datetime": _TEXT,
            "archive": _TEXT,
            "title": _OPTIONAL,
            "citations": {"type": "object", "additionalProperties": _OPTIONAL},
        }
    ),
    "Difference": _object(
        {
            "original": _TEXT,
            "copies": _list(
                _object({"uri": _URI, "archive": _TEXT, "datetime": _TEXT}),
                minItems=2,
                maxItems=2,
            ),
            "same": _FLAG,
            "similarity": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            "complete": _FLAG,
            "lines": _object(dict.fromkeys(("same", "changed", "added", "removed"), _COUNT)),
            "changes": _list(_object({"kind": _TEXT})),
        }
    ),
    "Parts": _object(
        {
            "memento": _MEMENTO,
            "summary": _object({"parts": _COUNT, "found": _COUNT, "missing": _COUNT}),
            "parts": _list(_object({"url": _TEXT, "outcome": _TEXT})),
            "unread": _list({}),
            "requests": _COUNT,
        }
    ),
    "Linkset": {
        **_object({"linkset": _list(_object({"anchor": _URI}))}),
        "description": "RFC 9264.",
    },
    "Availability": _object({"archived_snapshots": _SNAPSHOTS}),
    "Availabilities": _object(
        {"results": _list(_object({}, url=_TEXT, archived_snapshots=_SNAPSHOTS))}
    ),
    "AvailabilityForm": {
        **_object({"url": _URI}, timestamp=_TEXT),
        "examples": [{"url": "http://museum.example/", "timestamp": "20101105"}],
    },
    "BatchLines": {
        "type": "string",
        "format": "references",
        "maxLength": 1_000_000,
        "description": "At most 1,000 references, one per line.",
        "examples": ["duri:2010-11:http://museum.example/\nhttp://museum.example/gallery\n"],
    },
    "Archive": _object(
        {"id": _TEXT, "name": _TEXT, "kind": _OBJECT, "use": _FLAG, "access": _TEXT},
        state=_OBJECT,
    ),
    "Archives": _list(_schema("Archive")),
    "About": _object(
        {"name": _TEXT, "version": _TEXT, "contact": _OPTIONAL, "archives": _list(_TEXT)}
    ),
    "Readiness": _object({"ready": _FLAG, "overloaded": _FLAG, "draining": _FLAG}),
    "CollectionAddresses": _object(
        {
            "id": _TEXT,
            "name": _TEXT,
            "timegate": _URI,
            "timemap": _OBJECT,
            "cdx": _URI,
            "index": _URI,
            "replay": _URI,
            "raw": _URI,
            "pwid": _URI,
        }
    ),
    "Collections": _object({"collections": _list(_schema("CollectionAddresses"))}),
    "SeriesList": _object(
        {
            "series": _list(
                _object({"series": _TEXT, "pdi": _URI, "minting": _FLAG}, since=_OPTIONAL)
            )
        }
    ),
    "Assertion": {
        **_object({"key": {"type": "string", "pattern": "[^ \\t\\r\\n]"}, "value": _TEXT}),
        "examples": [{"key": "subject", "value": "tides"}],
    },
    "KeepRequest": {
        **_object({"url": {**_URI, "maxLength": 8192}}, live=_FLAG, parts=_FLAG),
        "additionalProperties": False,
        "examples": [{"url": "duri:2010-11:http://museum.example/", "live": False}],
    },
    "SearchForm": {
        **_object({"q": _TEXT}, at=_TEXT),
        "examples": [{"q": "duri:2010-11:http://museum.example/"}],
    },
    "CheckForm": {
        **_object({"archive": _TEXT, "token": _TEXT}),
        "examples": [{"archive": "internet-archive", "token": "..."}],
    },
}
_DIGITS: Final[Json] = {"type": "string", "pattern": "^[0-9]+$"}
_HTTP_DATE: Final[Json] = {
    "type": "string",
    "pattern": "^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$",
}
HEADERS: Final[Mapping[str, tuple[str, Json]]] = {
    "Location": ("Where to go", _URI),
    "Content-Location": ("The address of the memento", _URI),
    "Link": ("original, timegate, timemap, memento and others (RFC 7089, RFC 8288)", _TEXT),
    "Memento-Datetime": ("The time of the capture (RFC 7089)", _HTTP_DATE),
    "Memento-Precision": ("The verdict: how the memento differs from the request", _TEXT),
    "Memento-Sources": ("The archives that were queried, and those that are missing", _TEXT),
    "X-Memento-Count": ("The number of captures", _DIGITS),
    "Preference-Applied": ("The preferences that were used (RFC 7240)", _TEXT),
    "Vary": ("The request headers on which the answer depends", _TEXT),
    "Cache-Control": ("How long the answer may be used again", _TEXT),
    "ETag": ("Changes with the body", {"type": "string", "pattern": '^(?:W/)?".*"$'}),
    "Last-Modified": ("When the index last changed", _HTTP_DATE),
    "Accept-Ranges": ("Ranges are answered", {"type": "string", "enum": ["bytes"]}),
    "Content-Disposition": ("Types that could act are downloads", _TEXT),
    "X-Robots-Tag": ("Crawlers do not list it", _TEXT),
    "Timegate-Datetime": ("The time of the revision, with its fraction", _TIME),
    "Timegate-Diagnosis": ("What is wrong with the archived Content-Length", _TEXT),
    "Repr-Digest": ("The SHA-256 of the body (RFC 9530)", _TEXT),
    "Retry-After": (
        "Seconds until the next attempt",
        _DIGITS,
    ),
    "Allow": ("The methods of this address", _TEXT),
    "Access-Control-Allow-Methods": ("The methods for scripts of other sites", _TEXT),
    "Access-Control-Allow-Headers": ("The headers for scripts of other sites", _TEXT),
}
PROBLEMS: Final[Mapping[str, str]] = {
    "400": "The request, a parameter or the identifier cannot be read",
    "401": "A token is required",
    "403": "It may not be read or written from here",
    "404": "Nothing is there; no-memento only if every archive lacks the page",
    "405": "This server does not write here",
    "406": "There is no such media type",
    "408": "The body did not arrive in time",
    "409": "The instant or the name is taken",
    "410": "The document was removed",
    "411": "The request has no body",
    "412": "If-Match or If-None-Match does not hold",
    "413": "The body is too large",
    "414": "The identifier is too long",
    "415": "The body has a content coding",
    "416": "The range is outside the body",
    "422": "Archives cannot be queried for this",
    "429": "The limits of this client",
    "451": "Blocked by the operator",
    "500": "A fault of timegate",
    "502": "Nothing was found, and an archive gave no usable answer",
    "503": "The server is full, or cannot write",
    "504": "Nothing was found, and an archive did not answer in time",
    "507": "The store is full",
    "508": "The request has come back to this server",
}
ALWAYS: Final = ("400", "429", "500", "503", "508")
"""Problems of all addresses: of the request itself, and of the load."""
EXAMPLES: Final[Mapping[str, object]] = {
    "Text": "http://museum.example/\n",
    "Bytes": "The lamp room is open again.\n",
}
"""Of bodies of requests, by schema; other schemas have their own."""
