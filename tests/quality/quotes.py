"""Quotations over generated pages: exact, edited, moved and absent, as readers copy them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from random import Random
from typing import Final, NamedTuple

from archives.model import Memento
from tests.quality.texts import WORDS, article
from timegate.content.findings import CopyText
from timegate.content.fragments import read_quote
from timegate.content.main_text import PageText, extract
from timegate.extract.quote_search import looked_at

KINDS: Final = ("exact", "moved", "edited", "absent")
_COPY: Final = Memento("20160122112029", "http://a.example/", "http://o.example/", "a")
_TYPESET: Final[Mapping[str, str]] = {
    "'": "&rsquo;",
    '"': "&ldquo;",
    "-": "&#8209;",
    "fi": "\ufb01",
    "ff": "\ufb00",
    " of ": "&nbsp;of ",
    "tion": "&shy;tion",
}


class QuoteSample(NamedTuple):
    """A quotation, and what is true of the page."""

    kind: str
    page: bytes
    quote: str


def quote_samples(rounds: int, seed: int) -> Iterator[QuoteSample]:
    """Yield four quotations for each page."""
    random = Random(seed)
    for _ in range(rounds):
        language = random.choice([*WORDS])
        text = article(random, language, random.randint(12, 60))
        other = [s for s in article(random, language, 40) if s not in text]
        page = _page(text, random)
        at = random.randrange(len(text) - 3)
        passage = " ".join(text[at : at + random.randint(1, 3)])
        yield QuoteSample("exact", page, _copied(passage, random))
        moved = [*text[at + 3 :], *text[: at + 3]]
        yield QuoteSample("moved", _page(moved, random), _copied(text[at], random))
        yield QuoteSample("edited", page, _edited(passage, random))
        if other:
            yield QuoteSample("absent", page, _copied(random.choice(other), random))


def _page(text: list[str], random: Random) -> bytes:
    """Return *text* as a page with boilerplate, typeset in one of several ways."""
    paragraphs = []
    for at in range(0, len(text), 4):
        words = escape(" ".join(text[at : at + 4]), quote=False)
        for plain, set_as in _TYPESET.items():
            if random.random() < 0.5:
                words = words.replace(plain, set_as)
        pieces = words.split(" ")
        for n in range(random.randrange(3)):
            place = random.randrange(len(pieces))
            pieces[place] = (f"<b>{pieces[place]}</b>", f"<a href='#{n}'>{pieces[place]}</a>")[
                n % 2
            ]
        paragraphs.append(f"<p>{random.choice((' ', chr(10), '  ')).join(pieces)}</p>")
    menu = "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(8))
    return (
        f"<!doctype html><meta charset='utf-8'><title>Page</title><nav><ul>{menu}</ul></nav>"
        f"<main><article>{''.join(paragraphs)}</article></main><footer>Contact</footer>"
    ).encode()


def _copied(passage: str, random: Random) -> str:
    """Return *passage* as a reader copies it."""
    changes = (
        lambda t: t,
        lambda t: t.replace("'", "\u2019").replace("-", "\u2013"),
        lambda t: t.rstrip(".") + "\u2026",
        lambda t: f"\u201c{t}\u201d",
        lambda t: t.replace(" ", "\n", 3),
        lambda t: t.upper() if t.isascii() else t,
        _hyphenated,
    )
    return random.choice(changes)(passage)


def _hyphenated(text: str) -> str:
    """Return *text* with its longest word broken at the end of a line."""
    word = max(text.split(), key=len)
    half = len(word) // 2
    broken = f"{word[:half]}-\n{word[half:]}"
    return text.replace(word, broken, 1) if word.isalpha() and half > 2 else text


def _edited(passage: str, random: Random) -> str:
    """Return *passage* with one word replaced, left out or added."""
    words = passage.split()
    at = random.randrange(1, len(words) - 1)
    change = random.randrange(3)
    if change == 0:
        words[at] = "otherwise"
    elif change == 1:
        del words[at]
    else:
        words.insert(at, "never")
    return " ".join(words)


def quote_figures(rounds: int, seed: int) -> dict[str, Counter[str]]:
    """Return how often each kind has each status."""
    figures: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for sample in quote_samples(rounds, seed):
        figures[sample.kind][status_of(sample)] += 1
    return figures


def status_of(sample: QuoteSample) -> str:
    """Return the status of a quotation in its page."""
    page, wanted = extract(sample.page, "text/html; charset=utf-8"), read_quote(sample.quote)
    if not isinstance(page, PageText) or wanted is None:
        return "not-looked"
    return looked_at(wanted, CopyText(_COPY, page, sample.page)).status


def baseline_figures(rounds: int, seed: int) -> dict[str, Counter[str]]:
    """Return the same for a plain search with white space made equal."""
    figures: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for sample in quote_samples(rounds, seed):
        page = extract(sample.page, "text/html; charset=utf-8")
        text = " ".join(page.text.split()) if isinstance(page, PageText) else ""
        found = " ".join(sample.quote.split()) in text
        figures[sample.kind]["found" if found else "absent"] += 1
    return figures


def quote_lines(title: str, figures: Mapping[str, Counter[str]]) -> Iterator[str]:
    """Yield the figures as lines."""
    yield title
    for kind, counts in figures.items():
        total = counts.total() or 1
        shares = ", ".join(f"{name} {n / total:.4f}" for name, n in sorted(counts.items()))
        yield f"  {kind:8} {total:6}  {shares}"
