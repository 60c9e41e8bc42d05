"""Precision and recall of our own classes, of a baseline, and of a public rival."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from tests.quality.corpus import Half, Pair, Sample, pairs, samples
from tests.quality.makes import makes
from tests.quality.wild import wild
from timegate.content.classes import classify
from timegate.content.main_text import PageText, extract
from timegate.content.similarity import is_same_page, words

CLASSES: Final = (
    *("soft-404", "parked", "consent-wall", "login-wall", "redirect-to-root", "nearly-empty"),
)


MORE: Final[Mapping[str, Callable[[int, int], Iterable[Sample]]]] = {
    "wild": wild,
    "makes": makes,
}
"""Corpora of single pages, without pairs."""


class Score(NamedTuple):
    """How often a decision is right."""

    hits: int
    false: int
    missed: int

    @property
    def precision(self) -> float:
        return self.hits / (self.hits + self.false) if self.hits + self.false else 0.0

    @property
    def recall(self) -> float:
        return self.hits / (self.hits + self.missed) if self.hits + self.missed else 0.0

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


class Outcome(NamedTuple):
    """Scores by name, and what went wrong: how often, by kind."""

    scores: Mapping[str, Score]
    errors: Counter[str]


Classifier = Callable[[Sample], str]
Decider = Callable[[Pair], bool]


def read(octets: bytes) -> PageText:
    is_declared = b"charset" in octets[:2000].lower()
    found = extract(octets, "text/html" if is_declared else "text/html; charset=utf-8")
    return found if isinstance(found, PageText) else PageText()


def ours(sample: Sample) -> str:
    found = classify(read(sample.octets), sample.url, sample.redirect).page_class
    return "" if found is None else str(found)


def baseline(sample: Sample) -> str:
    """Return the class by one word each: what one writes in ten minutes."""
    text = sample.octets.decode(errors="replace").casefold()
    if sample.redirect is not None:
        return "redirect-to-root"
    tests = {
        "soft-404": ("not found", "404"),
        "parked": ("domain",),
        "login-wall": ('type="password"', "type=password"),
        "consent-wall": ("accept all", "cookies"),
    }
    for name, marks in tests.items():
        if any(mark in text for mark in marks):
            return name
    return "nearly-empty" if len(text) < 200 else ""


def same_page(pair: Pair) -> bool:
    return is_same_page(read(pair.one), read(pair.other)) is True


def same_words(pair: Pair) -> bool:
    """Decide by the share of equal words in all text: the baseline."""
    one, other = ({*words(read(octets).text)} for octets in pair[:2])
    return len(one & other) >= 0.5 * len(one | other)


def classified(half: Half, rounds: int, seed: int, decide: Classifier) -> Outcome:
    """Return the scores of *decide* for each class."""
    pages = MORE[half](rounds, seed) if half in MORE else samples(half, rounds, seed)
    return scored(pages, decide)


def scored(pages: Iterable[Sample], decide: Classifier) -> Outcome:
    """Return the scores of *decide* for *pages*, for each class."""
    found = Counter[tuple[str, str]]()
    errors = Counter[str]()
    for sample in pages:
        given = decide(sample)
        found[sample.label, given] += 1
        if given != sample.label:
            errors[f"{sample.kind}: {given or 'none'} instead of {sample.label or 'none'}"] += 1
    return Outcome({name: _score(found, name) for name in CLASSES}, errors)


def _score(found: Mapping[tuple[str, str], int], name: str) -> Score:
    hits = found.get((name, name), 0)
    false = sum(n for (label, given), n in found.items() if given == name != label)
    missed = sum(n for (label, given), n in found.items() if label == name != given)
    return Score(hits, false, missed)


def decided(half: Half, rounds: int, seed: int, decide: Decider) -> Outcome:
    """Return the score of *decide* for pairs."""
    errors = Counter[str]()
    hits = false = missed = 0
    for pair in pairs(half, rounds, seed):
        given = decide(pair)
        hits += given and pair.same
        false += given and not pair.same
        missed += pair.same and not given
        if given != pair.same:
            errors[f"{pair.kind}: {'same' if given else 'not the same'}"] += 1
    return Outcome({"same page": Score(hits, false, missed)}, errors)


def lines(title: str, outcome: Outcome) -> Iterable[str]:
    """Yield a table of *outcome*."""
    yield f"{title:34} {'precision':>9} {'recall':>7} {'F1':>6} {'pages':>6}"
    for name, score in outcome.scores.items():
        number = score.hits + score.missed
        yield (
            f"  {name:32} {score.precision:9.3f} {score.recall:7.3f} {score.f1:6.3f} {number:6}"
        )
