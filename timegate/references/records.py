"""Records that programs write: lines of logs, marks in saved pages, reports of link checkers.

Each is read by its own notation: which of its addresses is the page, and of what its time is
the time. Other text around them is prose.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, NamedTuple

from archives.moment import Moment
from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.dates import DateBasis, FoundDate, found_date
from timegate.references.links import TextLink, find_links
from timegate.text.written_dates import find_dates


class ProgramRecord(NamedTuple):
    """One page in the output of a program."""

    span: TextSpan
    """All of the text that the record takes; other addresses in it are no references."""
    link: TextSpan
    """Where the address is."""
    references: tuple[str, ...]
    """The address, and that of a copy."""
    dates: tuple[FoundDate, ...]


_REQUEST: Final = compiled(
    r"^(?P<before>[^\n]{0,400}?(?<![\w/-]))(?P<method>GET|HEAD|POST|PUT|DELETE|PATCH|OPTIONS|PROPFIND)"
    r"[ \t]{1,4}<?(?P<url>https?://[^\s\"'<>]{3,8000}+)>?(?P<after>[^\n]{0,4000}+)",
    re.MULTILINE,
)
"""A line with a request for a page, as in the logs of proxies and crawlers."""
_STATUS_AFTER: Final = compiled(
    r"(?:[ \t]{1,4}HTTP/[0-9.]{1,3}\"?[ \t]{1,4}(?=[0-9])"
    r"|[ \t]{1,4}(?=(?:20[06]|30[1-4]|30[78]|40[0134]|410|429|50[0234])"
    r"(?:[ \t]{1,4}[\"0-9-]|\r?$)))"
    r"(?P<status>[0-9]{3})\b"
)
_STATUS_BEFORE: Final = compiled(
    r"[A-Z_]{2,40}/(?P<squid>[0-9]{3})[ \t]{1,12}[0-9-]{1,20}[ \t]{1,4}$"
    r"|\bCrawled[ \t]\((?P<scrapy>[0-9]{3})\)[ \t]<$|[ \t](?P<failed>[45][0-9]{2})[ \t]{1,4}$"
)
"""Before the request in logs of Squid, of Scrapy, and of others if it failed."""
_EPOCH: Final = compiled(
    r"^[\[\"']?(?P<seconds>[19][0-9]{8,9})(?:[0-9]{3}|[0-9]{6})?(?:\.[0-9]{1,9})?[\]\"']?(?=[\s,;|])"
)
"""A time in seconds, milliseconds or microseconds since 1970, at the beginning of a line."""
_EXACT: Final = compiled(r"\s(?P<seconds>1[0-9]{9})\.[0-9]{3}(?=\s)")
"""A time of Squid after what another program has written before it."""
_OF_HOST: Final = compiled(
    r"^(?P<host>(?:[\w-]{1,63}\.){1,5}[A-Za-z]{2,18}):(?P<port>80|443)(?: \S{1,64}){3}"
    r" \[(?P<time>[^\]\n]{20,30})\] \"(?P<method>GET|HEAD|POST) (?P<path>/[^\s\"]{0,4000}+)"
    r"(?P<after>[^\n]{0,4000}+)",
    re.MULTILINE,
)
"""A line in the log of a server with several hosts."""
_CRAWLED: Final = compiled(
    r"^(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]{1,9})?Z)[ \t]{1,9}"
    r"(?P<status>-?[0-9]{1,5})[ \t]{1,20}(?:[0-9]{1,20}|-)[ \t]{1,9}"
    r"(?P<url>https?://\S{3,8000}+)[ \t]{1,9}(?:[A-Z]{1,60}|-)[ \t]{1,9}\S{1,8000}+[ \t]{1,9}"
    r"[\w./+-]{1,100}+[ \t]{1,9}#[0-9][^\n]{0,4000}+",
    re.MULTILINE,
)
"""A line in the log of the crawler Heritrix."""
_WGET: Final = compiled(
    r"^(?P<time>[0-9]{4}-[0-9]{2}-[0-9]{2}) [0-9:]{8} URL:[ ]?(?P<url>https?://\S{3,8000}+)"
    r" \[[0-9/]{1,40}\] -> [^\n]{0,4000}+",
    re.MULTILINE,
)
"""A line of wget without details."""
_HTTRACK: Final = compiled(
    r"\bMirrored from (?P<url>[^\s<>\"]{4,8000}+) by HTTrack\b[^\n<>]{0,200}?, "
    r"(?P<time>[A-Z][a-z]{2}, [0-9]{1,2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT)"
)
"""The comment that HTTrack adds to pages."""
_CAPTURED: Final = compiled(
    r"^(?:archive\.(?:today|is|ph|fo|li|md|vn)\s{1,4})?webpage capture\s{1,4}Saved from\s{1,9}"
    r"(?P<url>https?://\S{3,8000}+)"
    r"(?P<rest>(?:\r?\n(?![ \t]{0,8}\r?\n|webpage capture|archive\.\w{2,5}\s)"
    r"[^\n]{0,400}+){0,8})",
    re.MULTILINE | re.IGNORECASE,
)
"""The head of a page of archive.today."""
_SHORT: Final = compiled(
    r"https?://archive\.(?:today|is|ph|fo|li|md|vn)/[A-Za-z0-9]{4,6}(?![\w/.?#-])"
)
_WAY: Final = compiled(r"\b(?:Redirected from|Original|Via)\s{1,9}$")
"""Before an address on a page of archive.today that is not that of the page."""
_CHECKER: Final = compiled(
    r"^URL[ \t]{1,12}[`'](?P<url>[^\s'\n]{1,8000}+)'[^\n]{0,400}+"
    r"(?P<rest>(?:\r?\n[A-Z][\w/ ]{1,16}[ \t][^\n]{0,4000}+){1,20})",
    re.MULTILINE,
)
"""A link in a report of LinkChecker."""
_RESULT: Final = compiled(r"^Result[ \t]{1,12}(?P<valid>Valid\b)?", re.MULTILINE)
_REAL: Final = compiled(r"^Real URL[ \t]{1,12}(?P<url>https?://\S{3,8000}+)", re.MULTILINE)
_CHECKED_AT: Final = compiled(
    r"^Start checking at (?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2}) [0-9:]{8}", re.MULTILINE
)


def program_records(text: str) -> Iterator[ProgramRecord]:
    """Yield the records in *text*, in order, without overlaps."""
    found = sorted(record for read in _READERS for record in read(text))
    end = 0
    for record in found:
        if record.span.start >= end:
            yield record
            end = record.span.end


def _requests(text: str) -> Iterator[ProgramRecord]:
    """Yield the pages of the requests in a log that states their times."""
    if "://" not in text:
        return
    for line in _REQUEST.finditer(text):
        dates = [*_times(line["before"])]
        if len(dates) == 1:
            basis = _basis_of_request(line)
            yield _record(line, [dates[0]._replace(basis=basis)])


def _served(text: str) -> Iterator[ProgramRecord]:
    """Yield the pages that a server sent, whose log has the names of its hosts."""
    for line in _OF_HOST.finditer(text):
        scheme = "https" if line["port"] == "443" else "http"
        basis = _basis_of_request(line)
        span = TextSpan(*line.span())
        address = f"{scheme}://{line['host']}{line['path']}"
        link = TextSpan(*line.span("host"))
        yield ProgramRecord(span, link, (address,), tuple(_dated(line["time"], basis)))


def _basis_of_request(line: re.Match[str]) -> DateBasis:
    """Return what the time of a request is: a page was seen if it was sent."""
    before = _STATUS_BEFORE.search(line.groupdict().get("before") or "")
    after = _STATUS_AFTER.match(line["after"])
    status = (before[before.lastgroup or 0] if before else "") or (
        after["status"] if after else ""
    )
    if not status:
        return "unmarked"
    if status[0] in "23":
        return "accessed" if line["method"] == "GET" else "unmarked"
    return "dead"


def _times(line: str) -> Iterator[FoundDate]:
    """Yield the times in the beginning of a line of a log."""
    if epoch := _EPOCH.match(line) or _EXACT.search(line):
        yield _since_1970(epoch["seconds"])
        return
    for date in find_dates(line):
        yield found_date(date, "unmarked")


def _since_1970(seconds: str) -> FoundDate:
    moment = Moment.of(datetime.fromtimestamp(int(seconds), UTC))
    return FoundDate(str(moment), moment, "unmarked")


def _counted(text: str) -> Iterator[ProgramRecord]:
    """Yield the links on lines that begin with seconds since 1970: it is not said of what."""
    at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        epoch = _EPOCH.match(line[:_LONGEST_START]) if line[:1] in "[\"'19" else None
        if epoch is None:
            continue
        links = [*find_links(line[epoch.end() :])]
        if len(links) == 1:
            first = start + epoch.end()
            link = TextSpan(links[0].span.start + first, links[0].span.end + first)
            dates = (_since_1970(epoch["seconds"]),)
            yield ProgramRecord(
                TextSpan(start, start + len(line.rstrip())), link, (links[0].written,), dates
            )


_LONGEST_START: Final = 40


def _crawled(text: str) -> Iterator[ProgramRecord]:
    for line in _CRAWLED.finditer(text):
        basis: DateBasis = "archived" if line["status"][0] in "23" else "dead"
        yield _record(line, _dated(line["time"], basis))


def _downloaded(text: str) -> Iterator[ProgramRecord]:
    for line in [*_WGET.finditer(text), *_HTTRACK.finditer(text)]:
        yield _record(line, _dated(line["time"], "accessed"))


def _captured(text: str) -> Iterator[ProgramRecord]:
    """Yield the page of which archive.today shows a copy, with the address of the copy."""
    for head in _CAPTURED.finditer(text):
        dates = _dated(head["rest"], "archived")
        copies = [link for link in find_links(head["rest"]) if _SHORT.fullmatch(link.written)]
        if len(dates) == 1 and len(copies) == 1:
            record = _record(head, dates)
            floor, end = head.end("url"), head.start("rest") + copies[0].span.end
            named = find_links(text[floor:end])
            others = (each for each in named if each.written != copies[0].written)
            if all(_is_way(text, each, floor) for each in others):
                yield record._replace(
                    span=TextSpan(record.span.start, end),
                    references=(*record.references, copies[0].written),
                )


def _is_way(text: str, link: TextLink, floor: int) -> bool:
    """Whether *link*, counted from *floor*, is an address that led to the page."""
    start = floor + link.span.start
    return _WAY.search(text, max(0, start - _LONGEST_START), start) is not None


def _checked(text: str) -> Iterator[ProgramRecord]:
    """Yield the links that LinkChecker reports; the pages with them are no references."""
    began = _CHECKED_AT.search(text)
    for report in _CHECKER.finditer(text):
        result = _RESULT.search(report["rest"])
        is_whole = report["url"].startswith(("http://", "https://"))
        real = None if is_whole else _REAL.search(text, *report.span("rest"))
        if result is not None and (is_whole or real is not None):
            basis: DateBasis = "accessed" if result["valid"] else "dead"
            record = _record(real or report, _dated(began["day"], basis) if began else [])
            yield record._replace(span=TextSpan(*report.span()))


def _dated(text: str, basis: DateBasis) -> list[FoundDate]:
    return [found_date(date, basis) for date in find_dates(text)]


def _record(match: re.Match[str], dates: Sequence[FoundDate]) -> ProgramRecord:
    url = match["url"]
    address = url if "://" in url else f"http://{url}"
    span, link = TextSpan(*match.span()), TextSpan(*match.span("url"))
    return ProgramRecord(span, link, (address,), tuple(dates))


_YAML: Final = compiled(
    r"[ \t]{0,40}(?:-[ ]{1,3}){0,3}(?:[\"']?[\w$@./-]{1,60}[\"']?:(?:[ \t][^\n]{0,4000}+)?"
    r"|-[ ][^\n]{0,4000}+|---|\.\.\.|#[^\n]{0,4000}+)?\r?"
)
"""A line of YAML."""
_LEAST: Final = 3
"""Lines from which on a text may be YAML."""
_ITEMS: Final = (
    compiled(r"^[\"']?[\w./-]{1,60}[\"']?:[ \t]{0,9}\r?\n(?=[ \t])", re.MULTILINE),
    *(
        compiled(rf"^ {{{blanks}}}- [\"']?[\w-]{{1,40}}[\"']?:", re.MULTILINE)
        for blanks in (0, 2, 4, 6)
    ),
    compiled(r"^---[ \t]{0,9}\r?$", re.MULTILINE),
)
"""The beginnings of entries in YAML: a key, an item of a list, a document."""
_NEXT: Final = r"[\s,-]{1,24}"
_PARTS_OF_DATE: Final = compiled(
    r"(?P<name>[\w-]{1,40}):[ \t]{0,9}(?:\r?\n[ \t]{0,24}(?:-[ ]{1,3})?|\{[ ]{0,4})"
    r"(?:year:[ ]{0,4}|date-parts:\s{0,24}(?:\[\s{0,4}\[|-\s{1,4}-)\s{0,4})"
    r"[\"']?(?P<year>[0-9]{4})[\"']?"
    rf"(?:{_NEXT}(?:month:[ ]{{0,4}})?[\"']?(?P<month>[0-9]{{1,2}})[\"']?(?![0-9:])"
    rf"(?:{_NEXT}(?:day:[ ]{{0,4}})?[\"']?(?P<day>[0-9]{{1,2}})[\"']?(?![0-9:]))?)?"
    r"[\s\]}]{0,4}(?=\n|$)"
)
"""A date in the fields of CSL's YAML."""


def entries_in_yaml(text: str) -> list[TextSpan]:
    """Return the entries of a list in YAML; none if *text* is not YAML or has one entry.

    What is less indented than an entry, such as a field of the whole list, is outside.
    """
    lines = text.splitlines()
    if len(lines) < _LEAST or not all(map(_YAML.fullmatch, lines)):
        return []
    links = [link.span.start for link in find_links(text)]
    for item in _ITEMS:
        starts = [match.start() for match in item.finditer(text)]
        spans = [TextSpan(*pair) for pair in pairwise([*starts, len(text)])]
        before = bisect_left(links, starts[0]) if starts else 0
        inside = [
            bisect_left(links, span.end) - bisect_left(links, span.start) for span in spans
        ]
        if sum(map(bool, [before, *inside])) > 1:
            is_document = text.startswith("---", starts[0])
            return spans if is_document else [_without_outer(text, span) for span in spans]
    return []


def _without_outer(text: str, entry: TextSpan) -> TextSpan:
    """Return *entry* up to a line that is less indented: it is of more than the entry."""
    indentation = _indentation(text[entry.start : entry.start + _LONGEST_START])
    at = text.find("\n", entry.start, entry.end) + 1
    while 0 < at < entry.end:
        end = text.find("\n", at, entry.end)
        line = text[at : end if end >= 0 else entry.end]
        if line.strip() and _indentation(line) <= indentation:
            return TextSpan(entry.start, at)
        at = end + 1
    return entry


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def with_dates_of_yaml(text: str) -> str:
    """Return *text*, of the same length, with the dates of CSL's YAML on one line each."""
    return (
        _PARTS_OF_DATE.sub(_in_one, text) if "year:" in text or "date-parts:" in text else text
    )


def _in_one(date: re.Match[str]) -> str:
    parts = (date["year"], date["month"], date["day"])
    joined = "-".join(part.zfill(2) for part in parts if part)
    written = date[0].rstrip()
    return f"{date['name']}: {joined}".ljust(len(written)) + date[0][len(written) :]


_READERS: Final[Sequence[Callable[[str], Iterator[ProgramRecord]]]] = (
    *(_requests, _served, _crawled, _downloaded, _captured, _checked, _counted),
)
