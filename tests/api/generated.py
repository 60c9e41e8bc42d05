"""Values for the formats of our own in the description, and what is left out.

Schemathesis loads this file in its own environment.
"""

from datetime import date
from typing import Any

import schemathesis  # type: ignore[import-not-found]
from hypothesis import strategies as st

HOSTS = st.sampled_from(("museum.example", "www.museum.example", "nowhere.example"))
PATHS = st.text("abcXYZ0189-_.~/", max_size=12)
QUERIES = st.sampled_from(("", "?a=b", "?q=1&r=2", "?x"))
URLS = st.builds("http{}://{}/{}{}".format, st.sampled_from(("", "s")), HOSTS, PATHS, QUERIES)
DATES = st.dates(date(1996, 1, 1), date(2025, 12, 31)).map(str)
TIMES = DATES.map(lambda day: f"{day}T12:00:00Z")
STAMPS = st.builds(
    lambda day, size: f"{day.replace('-', '')}120000"[:size],
    DATES,
    st.sampled_from((4, 6, 8, 10, 12, 14)),
)
PWIDS = st.builds("urn:pwid:harbour.example:{}:page:{}".format, TIMES, URLS)
REFERENCES = URLS | st.builds("duri:{}:{}".format, DATES, URLS) | PWIDS
SERIES = "reports.example.us"
STORE = "notes"
ENDS = st.sampled_from(("/1", "/1.text", "/1.text.1", "/*", "/2.html"))
FORMATS = {
    "http-url": URLS,
    "reference": REFERENCES,
    "references": st.lists(REFERENCES, max_size=3).map("\n".join),
    "pwid": PWIDS,
    "stamp": STAMPS,
    "archive-ids": st.sampled_from(("harbour", "lantern", "harbour,lantern")),
    "archive-id": st.sampled_from(("harbour.example", "lantern.example")),
    "quotation": st.text("abc xyz.", min_size=3, max_size=40).filter(str.strip),
    "coverage": st.sampled_from(("page", "part", "site")),
    "pwid-time": TIMES,
    "time-or-part": DATES,
    "instant": TIMES,
    "http-date": st.just("Thu, 31 May 2007 20:35:00 GMT"),
    "pdi-document": st.builds(
        "{}{}".format, DATES.map(lambda day: day.replace("-", "/")), ENDS
    ),
    "pdi-urn": st.builds(
        lambda day, end: f"//{SERIES}/{day.replace('-', '/')}{end}", DATES, ENDS
    ),
}
for name, values in FORMATS.items():
    schemathesis.openapi.format(name, values)


@schemathesis.hook  # type: ignore[untyped-decorator]
def before_call(_context: Any, _case: Any, kwargs: dict[str, Any]) -> None:
    """Answers are redirects: they are compared, and not followed."""
    kwargs["allow_redirects"] = False


@schemathesis.hook  # type: ignore[untyped-decorator]
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    """Write to the store and the series that there are."""
    path = context.operation.path
    known = {"id": STORE} if path.startswith("/store/") else {"series": SERIES}
    return (path_parameters or {}) | {
        name: value for name, value in known.items() if name in (path_parameters or {})
    }


@schemathesis.hook  # type: ignore[untyped-decorator]
def map_headers(_context: Any, headers: Any) -> Any:
    """State one time: two fields must state the same second, which OpenAPI cannot express."""
    if headers and "Accept-Datetime-Precise" in headers:
        return {name: headers[name] for name in headers if name != "Accept-Datetime"}
    return headers


@schemathesis.hook  # type: ignore[untyped-decorator]
def filter_case(_context: Any, case: Any) -> bool:
    """Leave out streams, positions that only an earlier answer states, and contradictions.

    The number of pages is an earlier answer too: `/cdx` answers as pywb does, with 400 after
    the last page.
    """
    query, path = case.query or {}, case.path_parameters or {}
    streams = "events" in (query.get("as"), path.get("format"))
    position = {"resumeKey", "after"} & query.keys() or int(query.get("page") or 0) > 0
    wanted, excluded = (set(str(query.get(n, "")).split(",")) for n in ("archives", "exclude"))
    # The bound of both together; and the digest must be that of the body.
    combined = "offset" in query or "Repr-Digest" in (case.headers or {})
    # Rows that are not the oldest first are sorted in memory, which has a bound of its own.
    sorted_rows = "closest" in query or query.get("sort") not in (None, "default")
    combined = combined or (sorted_rows and abs(int(query.get("limit") or 0)) > 25_000)
    # The format in the name of a document must be that of the body.
    named = str(path.get("document") or path.get("name") or "")
    combined = combined or (case.method == "PUT" and named.endswith((".text", "*", ".1", "ml")))
    contradiction = ("exclude" in query and wanted <= excluded) or combined
    return not (streams or position or contradiction)
