"""The report of a run as one HTML file: charts in SVG, the numbers in tables, no scripts.

All text from lists and archives is escaped; the page loads nothing.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from timegate.batch.model import ItemResult
from timegate.text import counted, masked

_EDGES: Final = (
    (60, "minute"),
    (3_600, "hour"),
    (86_400, "day"),
    (7 * 86_400, "week"),
    (30 * 86_400, "month"),
    (365 * 86_400, "year"),
    (3_652 * 86_400, "ten years"),
)
_LIMITS: Final = [seconds for seconds, _ in _EDGES]
_SIDE: Final = len(_EDGES) + 1
_MOST_ARCHIVES: Final = 1000


class Bar(NamedTuple):
    """A bar of a chart."""

    label: str
    number: int


class Statistics:
    """Counts results."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.archives: Counter[str] = Counter()
        self.codes: Counter[int] = Counter()
        self.comparisons: Counter[str] = Counter()
        self.quotes: Counter[str] = Counter()
        self._drift = [0] * (2 * _SIDE + 1)
        self.undated = 0
        """Number of copies without a distance: no time was asked for, or the copy has none."""
        self.doubtful = 0
        """Number of copies for a text that leaves a doubt about the date."""

    @property
    def total(self) -> int:
        """Number of results."""
        return self.outcomes.total()

    @property
    def worst(self) -> int:
        """The highest code; 0 without results."""
        return max(self.codes, default=0)

    def add(self, result: ItemResult) -> None:
        """Count *result*."""
        self.outcomes[result.outcome] += 1
        self.codes[result.code] += 1
        if result.comparison is not None:
            self.comparisons[result.comparison] += 1
        if result.quote is not None:
            self.quotes[result.quote] += 1
        memento = result.memento
        if memento is None:
            return
        self.doubtful += result.item.doubt
        archive = str(memento["archive"])
        if archive in self.archives or len(self.archives) < _MOST_ARCHIVES:
            self.archives[archive] += 1
        if result.delta is None:
            self.undated += 1
        else:
            self._drift[_SIDE + _step(result.delta)] += 1

    @property
    def drift(self) -> list[Bar]:
        """Copies by distance from the requested time, from years before to years after."""
        return [Bar(_label(at - _SIDE), number) for at, number in enumerate(self._drift)]


def _step(delta: int) -> int:
    """Return the index of the bar for *delta* seconds: 0 for none, negative for before."""
    if delta == 0:
        return 0
    step = 1 + bisect_right(_LIMITS, abs(delta) - 1)
    return step if delta > 0 else -step


def _label(step: int) -> str:
    if step == 0:
        return "in time"
    side = "before" if step < 0 else "after"
    last = abs(step) == _SIDE
    name = _EDGES[-1][1] if last else _EDGES[abs(step) - 1][1]
    return f"{'more than' if last else 'up to'} {_with_article(name)} {side}"


def _with_article(name: str) -> str:
    if name.startswith("ten"):
        return name
    return f"an {name}" if name == "hour" else f"a {name}"


class _Shape(NamedTuple):
    """How a chart is drawn."""

    name: str
    width: int
    labels: int
    """Width of the labels beside the bars; 0 if they are above these."""
    step: int


_BAR: Final = 18
_WIDE: Final = _Shape("wide", 720, 190, _BAR)
_NARROW: Final = _Shape("narrow", 340, 0, 2 * _BAR + 4)
"""For phones, on which the text of a wide one would be too small."""
_LEAST: Final = 3
"""Minimum width of a bar, so that one lost reference is visible beside thousands."""
_MOST_ROWS: Final = 10_000
_LONGEST: Final = 300
_STYLE: Final = (
    ":root{color-scheme:light dark;--paper:#fbfaf7;--ink:#1d2326;--soft:#566066;"
    "--line:#dcdad2;--accent:#0b655e;--serif:Charter,Cambria,Georgia,serif}"
    "@media(prefers-color-scheme:dark){:root{--paper:#15191b;--ink:#e8e6e0;--soft:#a7b0b4;"
    "--line:#363e42;--accent:#6fd3c6}}"
    "body{font:16px/1.55 system-ui,sans-serif;max-width:58rem;margin:0 auto;"
    "padding:0 1.25rem 3rem;color:var(--ink);background:var(--paper)}"
    "h1,h2,.brand{font-family:var(--serif);line-height:1.2;font-weight:600}"
    ".brand{font-size:1.2rem;padding:1.1rem 0}h1{font-size:2rem}h2{font-size:1.35rem}"
    "a{color:var(--accent);text-underline-offset:.18em}.scroll{overflow-x:auto}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{text-align:left;"
    "padding:.4rem .8rem .4rem 0;vertical-align:top;overflow-wrap:anywhere;"
    "border-bottom:1px solid var(--line)}thead th{color:var(--soft);font-size:.85rem}"
    ".gaps td:nth-child(2){overflow-wrap:normal;min-width:7rem}.narrow{display:none}"
    "@media(max-width:40rem){.wide,.gaps thead{display:none}.narrow{display:block}"
    ".gaps,.gaps tbody,.gaps tr,.gaps td{display:block}.gaps td{border:0;padding:0}"
    ".gaps tr{padding:.5rem 0;border-bottom:1px solid var(--line)}}"
    "td.n,th.n{text-align:right}svg{max-width:100%;height:auto}.bar{fill:var(--accent)}"
    "svg text{font:13px system-ui,sans-serif;fill:currentColor}"
)
"""The colours and fonts of the pages of the server; the report is a file of its own."""


_BEGINNING: Final = '<!doctype html><html lang="en"><head><meta charset="utf-8">'
_GENERATOR: Final = '<meta name="generator" content="timegate resolve --batch">'
_HEAD: Final = (
    '<meta name="viewport" content="width=device-width">'
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)
_OWN: Final = (
    f"{_BEGINNING}{_GENERATOR}".encode(),
    # Of earlier releases, which did not name the generator.
    f"{_BEGINNING}{_HEAD}<title>References of ".encode(),
)
"""How reports begin: another run may replace a file that begins so."""


def is_report(path: Path) -> bool:
    """Whether the file at *path* is a report of a run. Raises OSError."""
    with path.open("rb") as file:
        return file.read(max(map(len, _OWN))).startswith(_OWN)


def as_html(title: str, statistics: Statistics, gaps: Iterable[ItemResult]) -> Iterator[str]:
    """Yield the page in pieces; *gaps* are the results that are less than asked."""
    outcomes = [Bar(name, count) for name, count in statistics.outcomes.most_common()]
    archives = [Bar(name, count) for name, count in statistics.archives.most_common()]
    yield (
        f"{_BEGINNING}{_GENERATOR}{_HEAD}"
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>"
        '<header class="brand">timegate</header><main>'
        f"<h1>{_text(title)}</h1><p>{counted(statistics.total, 'reference')}, "
        f"{statistics.codes[0]} as asked.</p>"
    )
    yield from _section("Outcomes", "outcome", "References by outcome", outcomes)
    yield from _section(
        "Drift", "distance", "Copies by distance from the requested time", statistics.drift
    )
    if statistics.undated:
        yield f"<p>Without a distance: {statistics.undated}, because no time was requested.</p>"
    yield from _section("Archives", "archive", "Copies by archive", archives)
    if statistics.comparisons:
        found = [Bar(name, count) for name, count in statistics.comparisons.most_common()]
        yield from _section("Content", "comparison", "Copies by comparison", found)
    if statistics.quotes:
        found = [Bar(name, count) for name, count in statistics.quotes.most_common()]
        yield from _section("Quotations", "quotation", "References by quotation", found)
    yield from _gaps(gaps)
    yield "</main></body></html>\n"


def _section(title: str, heading: str, meaning: str, bars: Sequence[Bar]) -> Iterator[str]:
    yield f"<section><h2>{_text(title)}</h2>"
    if any(bar.number for bar in bars):
        yield from _chart(meaning, bars, _WIDE)
        yield from _chart(meaning, bars, _NARROW)
    yield "<details><summary>The numbers</summary>"
    yield f'<table><tr><th scope="col">{_text(heading)}</th><th scope="col" class="n">number'
    yield "</th></tr>"
    for bar in bars:
        yield f'<tr><th scope="row">{_text(bar.label)}</th><td class="n">{bar.number}</td></tr>'
    yield "</table></details></section>"


def _chart(meaning: str, bars: Sequence[Bar], shape: _Shape) -> Iterator[str]:
    """Yield a bar chart."""
    name = "".join(c if c.isalnum() else "-" for c in f"{meaning.lower()}-{shape.name}")
    left, height = shape.labels, shape.step * len(bars) + 8
    scale = (shape.width - left - 70) / max(bar.number for bar in bars)
    description = "; ".join(f"{bar.label}: {bar.number}" for bar in bars if bar.number)
    yield f'<svg class="{shape.name}" viewBox="0 0 {shape.width} {height}" role="img"'
    yield f' aria-labelledby="{name}-t {name}-d">'
    yield f'<title id="{name}-t">{_text(meaning)}</title>'
    yield f'<desc id="{name}-d">{_text(description)}</desc>'
    for number, bar in enumerate(bars):
        top = shape.step * number + 4
        width = max(bar.number * scale, _LEAST) if bar.number else 0.0
        label = _text(bar.label)
        side = f'x="{left - 8}" text-anchor="end"' if left else 'x="0"'
        yield f'<text {side} y="{top + 13}">{label}</text>'
        top += 0 if left else _BAR
        yield f'<rect class="bar" x="{left}" y="{top}" width="{width:.1f}" height="14"/>'
        yield f'<text x="{left + width + 6:.1f}" y="{top + 13}">{bar.number}</text>'
    yield "</svg>"


def _gaps(gaps: Iterable[ItemResult]) -> Iterator[str]:
    rest = iter(gaps)
    first = next(rest, None)
    if first is None:
        return
    yield '<section><h2>Less than asked</h2><div class="scroll"><table class="gaps"><thead><tr>'
    yield "".join(f'<th scope="col">{name}</th>' for name in ("reference", "copy", "why"))
    yield "</tr></thead><tbody>"
    for number, result in enumerate(chain([first], rest)):
        if number == _MOST_ROWS:
            yield f'<tr><td colspan="3">more; the first {_MOST_ROWS} are listed</td></tr>'
            break
        yield (
            f"<tr><td>{_linked(result.item.text)}</td><td>{_outcome(result)}</td>"
            f"<td>{_text(result.why)}{_content(result)}{_referral(result)}</td></tr>"
        )
    yield "</tbody></table></div></section>"


def _content(result: ItemResult) -> str:
    """Return whether it is the same page, and has the quotation; empty if none was asked."""
    said = [
        *(["content: " + result.comparison] if result.comparison else []),
        *(["quotation: " + result.quote] if result.quote else []),
    ]
    return f" <strong>{_text('; '.join(said))}</strong>" if said else ""


def _linked(text: str) -> str:
    """Return *text*, as a link if it is the address of a web page."""
    if not _is_web_address(text):
        return _text(text)
    return f'<a rel="noreferrer" href="{escape(masked(text))}">{_text(text)}</a>'


def _is_web_address(text: str) -> bool:
    return text.lower().startswith(("http://", "https://")) and not set(text) & set(" \t\n")


def _referral(result: ItemResult) -> str:
    """Return the unchecked link to the named archive; empty if there is none."""
    uri = result.referral
    if uri is None or not _is_web_address(uri):
        return ""
    return f' <a rel="noreferrer" href="{escape(masked(uri))}">unchecked link</a>'


def _outcome(result: ItemResult) -> str:
    uri = str((result.memento or {}).get("uri") or "")
    if not _is_web_address(uri):
        return _text(result.outcome)
    return f'<a rel="noreferrer" href="{escape(masked(uri))}">{_text(result.outcome)}</a>'


def _text(text: str) -> str:
    cut = f"{text[:_LONGEST]} ..." if len(text) > _LONGEST else text
    return escape(masked(cut))
