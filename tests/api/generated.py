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
    "http-date": st.just("Thu, 31 May 2007 20:35:00 GMT"),
}
for name, values in FORMATS.items():
    schemathesis.openapi.format(name, values)


@schemathesis.hook  # type: ignore[untyped-decorator]
def before_call(_context: Any, _case: Any, kwargs: dict[str, Any]) -> None:
    """Answers are redirects: they are compared, and not followed."""
    kwargs["allow_redirects"] = False


@schemathesis.hook  # type: ignore[untyped-decorator]
def filter_case(_context: Any, case: Any) -> bool:
    """Leave out streams, and positions that only an earlier answer states."""
    query, path = case.query or {}, case.path_parameters or {}
    streams = "events" in (query.get("as"), path.get("format"))
    return not (streams or "resumeKey" in query or "after" in query)
