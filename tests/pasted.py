"""Runs a set of pasted texts through the page, the command line and batches, and judges each.

``python -m tests.pasted FILE [--only ID,...] [--quiet]`` reads one JSON object a line::

    {"id": "a1", "kind": "apa", "text": "...", "ambiguous": false, "why": "...",
     "expect": [{"url": "http://example.org/", "date": "2010-11-05", "archive": null}],
     "may": [...]}

All three search one local archive that holds every page at every time, so that a copy is never
missing, and what is read is all that can be wrong. A reference is *ticked* if its answer is "as
requested" or "exactly as requested": a green sign on the page, the headline on the command line
and in a batch. Exit code 0 is no tick: it is also that of a copy from another archive.

right           every reference with its date, and none more; of an ambiguous text, one of the
                readings with a doubt; nothing, where nothing is to be found
doubt           another date, or none, or a part of the references, with a doubt shown; or a
                doubt where the text is clear
wrong           a reference is missing, another page, or refused; nothing of it is ticked
WRONGLY TICKED  a wrong page or date is ticked; an ambiguous text is ticked; the only date of
                the text is not used, and the answer is ticked
"""

import argparse
import asyncio
import html
import json
import re
import shlex
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote, unquote, urlsplit
from urllib.request import Request, urlopen

from aiohttp import web
from click.testing import CliRunner

from tests.end_to_end.server import serving
from timegate.cli import main as timegate
from timegate.text.written_dates import find_dates

Grade = Literal["right", "doubt", "wrong", "WRONGLY TICKED"]
_GRADES: Final[Sequence[Grade]] = ("right", "doubt", "wrong", "WRONGLY TICKED")
_NEWEST: Final = datetime(2026, 11, 1, 12, tzinfo=UTC)
_MOST_CHOICES: Final = 30


class Read(NamedTuple):
    """A reference that was found in a text."""

    url: str
    date: str | None
    ticked: bool
    """Whether its answer is "as requested"."""
    archive: str | None = None
    offered: tuple[str, ...] = ()
    """Other dates that are offered."""

    def __str__(self) -> str:
        sign = "ticked" if self.ticked else "not ticked"
        return f"{self.url} | {self.date or '-'} | {self.archive or '-'} | {sign}"


class Expected(NamedTuple):
    """A reference that must be found."""

    url: str
    date: str | None
    archive: str | None

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> "Expected":
        return cls(members["url"], members["date"], members.get("archive"))


class Row(NamedTuple):
    """One pasted text."""

    id: str
    kind: str
    text: str
    expect: tuple[Expected, ...]
    ambiguous: bool
    may: tuple[Expected, ...] = ()
    why: str = ""

    @classmethod
    def of(cls, line: str) -> "Row":
        row = json.loads(line)
        return cls(
            row["id"],
            row["kind"],
            row["text"],
            tuple(map(Expected.of, row["expect"])),
            row["ambiguous"],
            tuple(map(Expected.of, row.get("may") or ())),
            row.get("why", ""),
        )


# What is equal -------------------------------------------------------------------------------

_TRACKING: Final = re.compile(r"(?:utm_[^=]*|fbclid|gclid)=")
_TODAY: Final = re.compile(r"archive\.(?:today|is|ph|fo|li|md|vn)$")


def same_url(found: str, expected: str, text: str) -> bool:
    """Whether two addresses are of the same page, for a text that contains one of them."""
    scheme = expected.partition("://")[0].lower()
    host = urlsplit(expected).netloc
    written = f"{scheme}://" in text.lower() or f"{scheme}%3a" in text.lower()
    keep = written and f"{scheme}://{host}".lower() in unquote(text).lower()
    return _core(found, keep_scheme=keep) == _core(expected, keep_scheme=keep)


def _core(url: str, *, keep_scheme: bool) -> str:
    parts = urlsplit(url)
    scheme = parts.scheme.lower() if keep_scheme else ""
    host = parts.netloc.lower()
    host = re.sub(r":(?:80|443)$", "", host)
    try:
        host = host.encode("idna").decode()
    except UnicodeError:
        host = host.encode("punycode").decode()
    host = host.replace("dx.doi.org", "doi.org")
    path = unquote(parts.path) or "/"
    if host == "doi.org":
        path, scheme = path.lower(), ""
    query = "&".join(p for p in parts.query.split("&") if p and not _TRACKING.match(p))
    return f"{scheme}://{host}{path}?{unquote(query)}"


_WITHOUT_ZONE: Final = re.compile(r"T[0-9:.]+$")


def compare_dates(found: str | None, expected: str | None) -> Literal["same", "coarser", "no"]:
    """Return how a date that was found agrees with the one that must be found."""
    if found == expected:
        return "same"
    if found is None or expected is None:
        return "no"
    one, other = (re.sub(r"\D", "", date) for date in (found, expected))
    # The sets write a time that is given to the minute with ":00".
    if one == other or (len(one) == len("201011051020") and other == f"{one}00"):
        return "same"
    # A clock time without a zone counts as its day: of such a time, only the day is known.
    if _WITHOUT_ZONE.search(expected) and one == other[: len("20101105")]:
        return "same"
    if other.startswith(one):
        return "coarser"
    is_finer = one.startswith(other) and len(other) == len("20101105")
    return "same" if is_finer else "no"


def same_archive(found: str | None, expected: str | None) -> bool:
    """Whether the named archive is the expected one; none named is no error."""
    if found is None or expected is None:
        return True
    one, other = found.lower(), expected.lower()
    if _TODAY.search(one) and _TODAY.search(other):
        return True
    return one.endswith(other) or other.endswith(one)


# Judging -------------------------------------------------------------------------------------

_MONTHS: Final = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DATE_IN_TEXT: Final = re.compile(
    rf"(?<!\d)(?:19|20)\d\d-\d\d(?!\d)|\b(?:{_MONTHS})[a-z]*\.?,?\s(?:\d{{1,2}},\s)?(?:19|20)\d\d(?!\d)"
    r"|(?<![\d./])\d{1,2}[./]\d{1,2}[./](?:19|20)?\d\d(?!\d)",
    re.IGNORECASE,
)
_LINK: Final = re.compile(r"\S*(?:://|www\.)\S*")


def has_date(text: str) -> bool:
    """Whether a text has a date outside its links, in the commonest notations."""
    return _DATE_IN_TEXT.search(_LINK.sub(" ", text)) is not None


def judge(  # noqa: C901, PLR0911 -- one branch for each grade
    row: Row, found: Sequence[Read]
) -> tuple[Grade, str]:
    """Return the grade of what was found in a text, and why."""
    if row.ambiguous:
        return _judge_ambiguous(row, found)
    rest = [read for read in found if not any(_is(read, one, row) for one in row.may)]
    wanted = list(row.expect)
    reads = rest if len(rest) >= len(wanted) else list(found)
    wrong, coarse = [], []
    for read in reads:
        match = next((one for one in wanted if same_url(read.url, one.url, row.text)), None)
        if match is None:
            if not any(same_url(read.url, one.url, row.text) for one in row.may):
                wrong.append((read, "no such page is referred to"))
            continue
        wanted.remove(match)
        agreement = compare_dates(read.date, match.date)
        if agreement == "no":
            wrong.append((read, f"its date is {match.date}"))
        elif not same_archive(read.archive, match.archive):
            wrong.append((read, f"its archive is {match.archive}"))
        elif agreement == "coarser":
            coarse.append(read)
    if any(read.ticked for read, _ in wrong):
        read, why = next(each for each in wrong if each[0].ticked)
        return "WRONGLY TICKED", f"{read}: {why}"
    if wrong:
        read, why = wrong[0]
        is_page = why != "no such page is referred to"
        return ("doubt" if is_page else "wrong"), f"{read}: {why}"
    if wanted:
        return "wrong", f"{wanted[0].url} is missing"
    unused = row.expect and not any(one.date for one in row.expect) and has_date(row.text)
    if unused and any(read.ticked for read in found):
        return "WRONGLY TICKED", "the date of the text is not used"
    if coarse:
        return "doubt", f"{coarse[0]}: only a part of the date"
    # Where a date is not used, the doubt is right.
    needless = [read for read in rest if not read.ticked and read.date and read.archive is None]
    return ("doubt", f"{needless[0]}: the text is clear") if needless else ("right", "")


def _judge_ambiguous(row: Row, found: Sequence[Read]) -> tuple[Grade, str]:
    if not row.expect and not found:
        return "right", ""
    ticked = [read for read in found if read.ticked]
    pages = {one.url for one in row.expect}
    if len(ticked) == len(found) and ticked:
        return "WRONGLY TICKED", f"{ticked[0]}: the text is ambiguous"
    for read in ticked:
        if not any(_is(read, one, row) for one in row.expect):
            return "WRONGLY TICKED", f"{read}: not one of the readings"
    if any(_is(read, one, row) for read in found for one in row.expect):
        return "right", ""
    if any(same_url(read.url, page, row.text) for read in found for page in pages):
        return "doubt", f"{found[0]}: another date"
    return "wrong", "none of the readings"


def _is(read: Read, one: Expected, row: Row) -> bool:
    if not same_url(read.url, one.url, row.text):
        return False
    dates = (read.date, *read.offered) if row.ambiguous else (read.date,)
    return any(compare_dates(date, one.date) == "same" for date in dates)


# The archive ---------------------------------------------------------------------------------


async def _timegate(request: web.Request) -> web.Response:
    """Answer as an archive that holds every page at every time."""
    original = request.raw_path.partition("/timegate/")[2]
    asked = request.headers.get("Accept-Datetime")
    time = parsedate_to_datetime(asked) if asked else _NEWEST
    place = f"http://{request.host}/web/{time:%Y%m%d%H%M%S}/{original}"
    shown = format_datetime(time, usegmt=True)
    link = f'<{original}>; rel="original", <{place}>; rel="memento"; datetime="{shown}"'
    headers = {"Location": place, "Vary": "accept-datetime", "Link": link}
    return web.Response(status=302, headers=headers)


async def _memento(request: web.Request) -> web.Response:
    stamp, _, original = request.raw_path.removeprefix("/web/").partition("/")
    time = datetime.strptime(stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    headers = {
        "Memento-Datetime": format_datetime(time, usegmt=True),
        "Link": f'<{original}>; rel="original"',
        "Content-Type": "text/html",
    }
    return web.Response(text="<title>A page</title><p>A page", headers=headers)


@contextmanager
def archive_of_everything() -> Iterator[str]:
    """Run the archive in a thread of its own; yields its address."""
    ready, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()
    places: list[str] = []

    async def serve() -> None:
        application = web.Application()
        application.router.add_get("/timegate/{page:.*}", _timegate)
        application.router.add_get("/web/{page:.*}", _memento)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        places.append("http://{}:{}".format(*runner.addresses[0][:2]))
        ready.set()
        await over.wait()
        await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(30)
        yield places[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(30)
        loop.close()


def _configured(folder: Path, archive: str) -> Path:
    config = folder / "pasted.toml"
    config.write_text(
        'contact = "mailto:tests@example.org"\n[archives]\nuse = []\n'
        '[[archive]]\nid = "everything"\nname = "Archive of Everything"\nkind = "memento"\n'
        f'timegate = "{archive}/timegate/"\n'
    )
    return config


# Reading answers -----------------------------------------------------------------------------

_AS_REQUESTED: Final = ("As requested", "Exactly as requested")
_LENGTHS: Final = {"year": 4, "month": 7, "day": 10, "hour": 13, "minute": 16}


def reported(report: Mapping[str, Any], *, ticked: bool, said: str = "") -> Read:
    """Return what was searched for, by the report of an answer, and what is *said* of it."""
    time = report.get("time") or {}
    date = time.get("req")
    granularity = (report.get("granularity") or {}).get("req")
    if date is not None and granularity in _LENGTHS:
        date = date[: _LENGTHS[granularity]]
    archive = (report.get("archive") or {}).get("req")
    named = (str(date.moment) for date in find_dates(said) if date.moment)
    offered = tuple(dict.fromkeys([*_OFFERED.findall(said), *named]))
    return Read(report["original"], date, ticked, archive, offered)


_OFFERED: Final = re.compile(r"(?:at=|--at |be |or )([0-9]{4}(?:-[0-9]{2}){0,2}(?:T[0-9:]+Z)?)")


_CHOICE: Final = re.compile(r'<li>\s*<a class="address" href="([^"]+)"')
_HEADING: Final = re.compile(r'id="verdict" class="verdict (\w+)"')
_JSON: Final = re.compile(r'href="(/answers/[^"]+)"')
_CAPTURES: Final = re.compile(r'href="/timemap/html/([^"]+)"')
_OPAQUE: Final = re.compile(r'rel="noreferrer" href="([^"]+)">open the archive link')
_FIELD: Final = re.compile(r'<input id="at" name="at" value="([^"]*)"')


def on_page(address: str, text: str) -> list[Read]:
    """Return what the page finds in *text*."""
    page = _fetched(f"{address}/?q={quote(text, safe='')}")
    choices = _CHOICE.findall(page)
    if not choices:
        return list(_of_page(address, page))
    found: list[Read] = []
    for choice in choices[:_MOST_CHOICES]:
        found += _of_page(address, _fetched(f"{address}{html.unescape(choice)}"))
    return found


def _of_page(address: str, page: str) -> Iterator[Read]:
    heading = _HEADING.search(page)
    answer = _JSON.search(page)
    if answer is not None and heading is not None:
        report = json.loads(_fetched(f"{address}{html.unescape(answer[1])}"))
        said = unquote(page.partition("Search with another date")[2].partition("</p>")[0])
        yield reported(report, ticked=heading[1] == "good", said=said)
    elif opaque := _OPAQUE.search(page):
        field = _FIELD.search(page)
        yield _opaque(html.unescape(opaque[1]), (field and field[1]) or None)
    elif "This is a list of captures" in page and (link := _CAPTURES.search(page)):
        yield Read(unquote(html.unescape(link[1])), None, ticked=False)


def _opaque(link: str, date: str | None) -> Read:
    """Return the id of a copy in an archive, which is named by it and cannot be queried."""
    return Read(link, date, ticked=False, archive=urlsplit(link).hostname)


def _fetched(url: str) -> str:
    request = Request(url, headers={"Accept": "text/html,application/json;q=0.9"})
    try:
        with urlopen(request, timeout=60) as answer:
            return str(answer.read().decode())
    except HTTPError as error:
        return error.read().decode()


_TYPED: Final = re.compile(r"timegate (?:resolve|timemap) .*")


def by_command(config: Path, text: str, depth: int = 0) -> list[Read]:
    """Return what ``timegate resolve`` finds in *text*."""
    return _by_arguments(config, ["--", text], depth)


def _by_arguments(config: Path, words: list[str], depth: int) -> list[Read]:
    arguments = [*([] if "--config" in words else ["--config", str(config)]), *words]
    ran = CliRunner().invoke(timegate, ["resolve", "--json", *arguments])
    lines = [line for line in ran.output.splitlines() if line.startswith("{")]
    if not lines:
        return []
    answer = json.loads(lines[-1])
    if "original" in answer:
        said = " ".join(answer.get("read", {}).get("said", ()))
        ticked = answer["headline"] in _AS_REQUESTED
        return [reported(answer, ticked=ticked, said=said)]
    if "references" in answer and not depth:
        shown = CliRunner().invoke(timegate, ["resolve", *arguments])
        found: list[Read] = []
        for line in shown.output.splitlines():
            if line.startswith("  timegate "):
                found += _typed(config, line, depth + 1)
        return found
    typed = _TYPED.search(answer.get("error", ""))
    named = f"{answer['input']} {answer.get('error', '')}"
    return _typed(config, typed[0], depth + 1, named) if typed else []


def _typed(config: Path, line: str, depth: int, text: str = "") -> list[Read]:
    """Return what a suggested command finds."""
    _, command, *words = shlex.split(line)
    if command == "timemap":
        return [Read(words[-1], None, ticked=False)]
    if words[-1] == "URL":
        link = re.search(r"https?://\S+[\w/]", text)
        at = words[words.index("--at") + 1]
        return [_opaque(link[0] if link else "", None if at == "DATE" else at)]
    return _by_arguments(config, [*words[:-1], "--", words[-1]], depth)


def in_batch(config: Path, folder: Path, text: str) -> list[Read]:
    """Return what ``timegate resolve --batch`` finds in *text*."""
    results = folder / "results.jsonl"
    results.unlink(missing_ok=True)
    arguments = ["resolve", "--config", str(config), "--batch", "-", "--output", str(results)]
    ran = CliRunner().invoke(timegate, [*arguments, "--to", "jsonl"], input=text.encode())
    if not results.exists():
        assert ran.exit_code == 2, ran.output
        return []
    return [read for line in results.open() for read in _of_result(json.loads(line))]


_CALENDAR: Final = re.compile(r"^(?:https?://)?[^/]+/web/[0-9]*\*/")


def _of_result(result: Mapping[str, Any]) -> Iterator[Read]:
    if result["report"] is not None:
        ticked = result["report"]["headline"] in _AS_REQUESTED
        yield reported(result["report"], ticked=ticked, said=result["why"])
    elif "list of captures" in result["why"]:
        page = _CALENDAR.sub("", result["input"])
        yield Read(page if "://" in page else f"http://{page}", None, ticked=False)
    elif result["outcome"] == "unknown":
        yield _opaque(result["input"], result["date"])


# The run -------------------------------------------------------------------------------------


def run(rows: Sequence[Row], *, quiet: bool) -> dict[str, Counter[Grade]]:
    """Judge *rows* in all three ways, print each that is not right, and return the counts."""
    counts: dict[str, Counter[Grade]] = {}
    with TemporaryDirectory() as name, archive_of_everything() as archive:
        folder = Path(name)
        config = _configured(folder, archive)
        with serving("--config", str(config)) as server:
            ways: dict[str, Callable[[str], list[Read]]] = {
                "page": lambda text: on_page(server.url, text),
                "cli": lambda text: by_command(config, text),
                "batch": lambda text: in_batch(config, folder, text),
            }
            for row in rows:
                _run_row(row, ways, counts, quiet=quiet)
    return counts


def _run_row(
    row: Row,
    ways: Mapping[str, Callable[[str], list[Read]]],
    counts: dict[str, Counter[Grade]],
    *,
    quiet: bool,
) -> None:
    graded = {}
    for way, read in ways.items():
        found = read(row.text)
        grade, why = judge(row, found)
        counts.setdefault(way, Counter())[grade] += 1
        graded[way] = (grade, why, found)
    grades = " ".join(f"{way}={grade}" for way, (grade, _, _) in graded.items())
    print(f"{row.id} {row.kind:18} {grades}", flush=True)
    if quiet or all(grade == "right" for grade, _, _ in graded.values()):
        return
    print(f"    text: {row.text!r}\n    want: {'ambiguous ' if row.ambiguous else ''}", end="")
    print(*(f"{one.url} | {one.date} | {one.archive}" for one in row.expect), sep="; ")
    for way, (grade, why, found) in graded.items():
        print(f"    {way}: {grade}: {why}")
        for each in found:
            print(f"        {each}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the set that is named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.pasted", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="", help="ids of rows, with commas between them")
    parser.add_argument("--quiet", action="store_true", help="no details of rows")
    options = parser.parse_args(arguments)
    only = {*filter(None, options.only.split(","))}
    with options.file.open(encoding="utf-8") as lines:
        rows = [Row.of(line) for line in lines if line.strip()]
    counts = run([row for row in rows if not only or row.id in only], quiet=options.quiet)
    for way, graded in counts.items():
        total = sum(graded.values())
        shares = ", ".join(
            f"{grade} {graded[grade]} ({graded[grade] / total:.1%})" for grade in _GRADES
        )
        print(f"{way:6} {total} texts: {shares}")
    return 1 if any(graded["WRONGLY TICKED"] for graded in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
