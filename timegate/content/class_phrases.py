"""Phrases and words of page classes (`class_words.toml`), and where a text has them."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from re import Pattern, escape
from typing import Final

from archives.regex_compat import compiled
from timegate.content.similarity import words


@cache
def heading_fillers() -> frozenset[str]:
    """Return words that name no subject in a heading: also what can be missing."""
    objects = (
        word for each in listed("soft-404", "objects") for word in words(each.rstrip("~"))
    )
    return fillers().union(objects)


@cache
def fillers() -> frozenset[str]:
    return words_of("soft-404", "fillers")


@cache
def words_of(name: str, group: str) -> frozenset[str]:
    """Return the words of a group, as a text is divided into words."""
    return frozenset(word for each in listed(name, group) for word in words(each.rstrip("~")))


_GAP: Final = 70
"""Characters between a noun and what is said of it: some eight words."""


def said_near(name: str, text: str) -> str:
    """Return a noun and what is said of it, where both are near each other; empty if not."""
    nouns, others = _pairs(name)
    places = [span for _, span in nouns.occurrences(text)]
    if not places:
        return ""
    for _, (begins, ends) in others.occurrences(text):
        for start, end in places:
            first, last = min(start, begins), max(end, ends)
            if last - first <= _GAP and (end <= begins + 1 or ends <= start + 1):
                return text[first:last].strip()
    return ""


def first_said(name: str, group: str, text: str) -> str:
    return next(all_said(name, group, text), "")


def all_said(name: str, group: str, text: str) -> Iterator[str]:
    """Yield what of *text* each phrase of a group is, once for each phrase."""
    found: set[int] = set()
    for number, (start, end) in _phrases(name, group).occurrences(text):
        if number not in found:
            found.add(number)
            yield text[start:end].strip()


class _Phrases:
    """Phrases by their first word: a text is read once, whatever their number."""

    def __init__(self, phrases: Sequence[str]) -> None:
        self._whole: dict[str, list[tuple[int, Pattern[str]]]] = {}
        self._begun: dict[str, list[tuple[int, Pattern[str]]]] = {}
        for number, phrase in enumerate(phrases):
            first, *_ = phrase.split()
            key = words(first.rstrip("~"))[0]
            is_begun = first.endswith("~") and len(words(first.rstrip("~"))) == 1
            index, key = (self._begun, key[:2]) if is_begun else (self._whole, key)
            index.setdefault(key, []).append((number, compiled(_pattern(phrase))))

    def occurrences(self, text: str) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the number of each phrase that begins at a word of *text*, and where."""
        for word in _WORDS.finditer(text):
            key, start = word[0], max(0, word.start() - 1)
            for number, pattern in (
                *self._whole.get(key, ()),
                *self._begun.get(key[:2], ()),
            ):
                found = pattern.match(text, start)
                if found:
                    yield number, found.span()


_WORDS: Final = compiled(r"[^ ]++")


@cache
def _phrases(name: str, group: str) -> _Phrases:
    return _Phrases(listed(name, group))


@cache
def _pairs(name: str) -> tuple[_Phrases, _Phrases]:
    """Return the two groups of words that stand near each other."""
    groups = _lexicon()[name]["near"]
    if not isinstance(groups, dict):  # pragma: no cover -- the file has both groups
        raise TypeError(name)
    return _Phrases([*dict.fromkeys(groups["nouns"])]), _Phrases(
        [*dict.fromkeys(groups["others"])]
    )


def _pattern(phrase: str) -> str:
    """Return the expression of a phrase over words with single spaces between."""
    pieces = [" "]
    for piece in phrase.split():
        if piece == "*":
            pieces.append("(?:[^ ]{1,40} ){0,4}")
            continue
        written = " ".join(words(piece.rstrip("~")))
        pieces.append(escape(written) + ("[^ ]{0,20} " if piece.endswith("~") else " "))
    return "".join(pieces)


@cache
def listed(name: str, group: str) -> tuple[str, ...]:
    found = _lexicon()[name][group]
    return tuple(dict.fromkeys(found))


@cache
def _lexicon() -> Mapping[str, Mapping[str, list[str] | dict[str, list[str]]]]:
    text = (files("timegate.content") / "class_words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def words_beside(heading: str, phrase: str) -> int:
    """Return how many words a heading has beside *phrase*."""
    known = heading_fillers()
    return sum(word not in known for word in heading.replace(phrase, " ").split())
