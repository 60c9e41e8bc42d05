"""Quotations: whether a text contains one, exactly, nearly or not at all.

Both texts are folded: what typesetting, extraction and copying change is left out, and what
changes the meaning stays. Folding is linear, and near matches are looked for only where pieces
of the quotation occur, in windows and numbers that are bounded: no text takes long (R-19).
"""

import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Final, Literal

from rapidfuzz.distance import Levenshtein

from archives.regex_compat import compiled
from timegate.content.findings import WordEdit
from timegate.content.fragments import LONGEST_QUOTE, TextQuote

Presence = Literal["found", "near", "absent"]

NEAR: Final = 0.8
"""The similarity from which on a passage is nearly the quotation."""
_NEAR_SHORT: Final = 0.88
_SHORT: Final = 24
"""Folded characters. One word of a short quotation may change everything."""
_SHORTEST_NEAR: Final = 12
"""Folded characters. Any two words are similar."""

# Marks in the place of characters whose surroundings decide; each is as long as what it
# replaces. They are noncharacters, which no text should contain.
_APOSTROPHE, _SIGN, _DIGIT_SPACE = "\ufdd0", "\ufdd1", "\ufdd2"
_QUOTE_MARKS: Final = (
    "\"'`\u00b4\u2018-\u201f\u2032-\u2037\u2039\u203a\u00ab\u00bb\u300c-\u300f"
)
_DASHES: Final = "\u2010-\u2015\u2212\ufe58\ufe63\uff0d\\-"
_IN_WORD: Final = compiled(r"(?<=[^\W_])['\u2019\u02bc\u2032\uff07](?=[^\W_])")
_BEFORE_DIGIT: Final = compiled(rf"[{_DASHES}](?=\d)")
_BETWEEN_DIGITS: Final = compiled(r"(?<=\d)\s(?=\s{0,8}\d)")
# Omissions, and the marks of notes, which readers leave out of a quotation.
_LEFT_OUT: Final = compiled(
    r"\.{2,}+|\.(?:\s\.){2,9}+|\[(?:\d{1,3}|[Nn]ote \d{1,3}|citation needed|edit|sic)\]"
)
_OMISSION: Final = compiled(
    r"\s*+[\[(]\s?(?:\.\s?){2,4}[\])]\s*+|\s*+[\[(]?\u2026[\])]?\s*+"
    r"|\s*+\.{3,}+\s*+|\s\.(?:\s\.){2,3}\s"
)
_DROPPED: Final = compiled(
    rf"[{_QUOTE_MARKS}{_DASHES}\[\]{{}}|*_#~^\\\u2022\u00b7\u2023\u25aa\u25cf\u25a0\u25e6\u2026\u2025]"
)
# Scripts that are written without spaces: a passage may begin at any character.
_UNSPACED: Final = compiled(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff]"
)
_WORD: Final = compiled(
    rf"(?:[{_DASHES}](?=\d))?+\w++(?:(?:['\u2019]|[{_DASHES}]\n?)\w++)*+|[^\w\s]"
)
_INVISIBLE: Final = compiled(r"[\u00ad\u200b-\u200f\u2060\ufeff]")
_BLOCK: Final = 2048
_PIECE: Final = 192


class _FoldedCharacters(dict[int, str]):
    """What each character is folded to, worked out when it is met first."""

    def __missing__(self, code: int) -> str:
        folded = _folded_character(chr(code))
        if len(self) < 20_000:
            self[code] = folded
        return folded


def _folded_character(character: str) -> str:
    if _DROPPED.fullmatch(character):
        return ""
    text = unicodedata.normalize("NFKD", character).casefold()
    return "".join(c for c in unicodedata.normalize("NFKD", text) if _is_kept(c))


def _is_kept(character: str) -> bool:
    """Whether it is a letter, mark, digit, symbol or a mark between words."""
    return unicodedata.category(character)[0] in "LMNPS" and not _DROPPED.match(character)


_TABLE: Final = _FoldedCharacters(
    {ord(_APOSTROPHE): "'", ord(_SIGN): "-", ord(_DIGIT_SPACE): " "}
)


def _marked(text: str) -> str:
    """Return *text*, as long as before, with marks where the surroundings decide."""
    text = _LEFT_OUT.sub(lambda found: " " * len(found[0]), text)
    text = _IN_WORD.sub(_APOSTROPHE, text)
    text = _BEFORE_DIGIT.sub(_SIGN, text)
    return _BETWEEN_DIGITS.sub(_DIGIT_SPACE, text)


def _composed(text: str) -> str:
    """Return *text* in normal form C.

    In pieces, because Python's normalisation is quadratic: 2.5 s for 40,000 marks on a letter.
    """
    if text.isascii():
        return text
    pieces = []
    at = 0
    while at < len(text):
        end = min(at + _PIECE, len(text))
        while at + _PIECE // 2 < end < len(text) and unicodedata.combining(text[end]):
            end -= 1
        pieces.append(unicodedata.normalize("NFC", text[at:end]))
        at = end
    return "".join(pieces)


class FoldedText:
    """A text for searching: folded, with the way back to the characters of the text."""

    def __init__(self, text: str) -> None:
        self.text = _composed(text)
        """The text in normal form C, to which positions refer."""
        self._starts = [*_block_starts(self.text)]
        marked = _marked(self.text)
        ends = (*self._starts[1:], len(self.text))
        self._marked = marked
        blocks = [
            marked[start:end].translate(_TABLE)
            for start, end in zip(self._starts, ends, strict=True)
        ]
        self.folded = "".join(blocks)
        self._folded_starts = [0, *accumulate(map(len, blocks))][:-1]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where in the text the folded characters from *start* to *end* are."""
        return self._position(start), self._position(end - 1) + 1

    def _position(self, folded: int) -> int:
        """Return the position of the character that the folded one at *folded* is from."""
        number = bisect_right(self._folded_starts, folded) - 1
        at, left = self._starts[number], folded - self._folded_starts[number]
        for position in range(at, len(self.text)):
            left -= len(_TABLE[ord(self._marked[position])])
            if left < 0:
                return position
        return len(self.text) - 1

    def folded_from(self, position: int) -> int:
        """Return how many folded characters are before *position* of the text."""
        number = bisect_right(self._starts, position) - 1
        if number < 0:
            return 0
        start = self._starts[number]
        inside = self._marked[start:position].translate(_TABLE)
        return self._folded_starts[number] + len(inside)

    def is_bounded(self, start: int, end: int) -> bool:
        """Whether the passage of the text begins and ends with whole words."""
        text = self.text
        before, after = text[max(start - 1, 0) : start], text[end : end + 1]
        return not _joined(before, text[start]) and not (
            _joined(text[end - 1], after) and not (after.isdigit() and text[end - 1].isalpha())
        )


def _joined(left: str, right: str) -> bool:
    """Whether two characters are within one word."""
    if not left or not right or not (left.isalnum() and right.isalnum()):
        return False
    return not (_UNSPACED.match(left) or _UNSPACED.match(right))


def _block_starts(text: str) -> Iterator[int]:
    """Yield where blocks begin: after white space, if there is any."""
    at = 0
    while at < len(text) or at == 0:
        yield at
        if len(text) - at <= _BLOCK:
            return
        blank = max(text.rfind(blank, at + 1, at + _BLOCK) for blank in (" ", "\n"))
        at = blank + 1 if blank > at else at + _BLOCK


@dataclass(frozen=True, slots=True)
class QuoteMatch:
    """Where a text has a quotation, and how well."""

    presence: Presence
    score: float = 0.0
    """The similarity, 0 to 1; 1 only if it is found."""
    passage: str = ""
    """The passage as the text has it, with its lines."""
    edits: tuple[WordEdit, ...] = ()
    """How the passage differs; only if it is near."""
    before: str = ""
    """The words before the passage, where the same words occur earlier in the text."""


ABSENT: Final = QuoteMatch("absent")


def match_quote(wanted: TextQuote, text: FoldedText) -> QuoteMatch:
    """Return whether *text* has the quotation *wanted*."""
    # What is around a quotation only says which of several passages is meant.
    spans = _exact(wanted, text) or _exact(wanted._replace(prefix="", suffix=""), text)
    if spans is not None:
        return _found(text, *spans)
    if not wanted.end:
        spans = _with_omissions(wanted.start, text)
        if spans is not None:
            return _found(text, *spans)
    near = _nearest(wanted.text, text)
    return near or ABSENT


def _found(text: FoldedText, start: int, end: int) -> QuoteMatch:
    return QuoteMatch("found", 1.0, text.text[start:end], (), _before(text, start, end))


def _before(text: FoldedText, start: int, end: int) -> str:
    """Return the words before a passage that is not the first of its words."""
    words = text.text[start:end].split("\n")[0]
    # Browsers find text in any case.
    if words.lower() not in text.text[: start + len(words) - 1].lower():
        return ""
    line = text.text[max(start - 120, 0) : start].rpartition("\n")[2]
    return " ".join(line.split()[-4:])


def _exact(wanted: TextQuote, text: FoldedText) -> tuple[int, int] | None:
    """Return the span of the first passage that is the quotation, as folded."""
    for start, end in _occurrences(wanted.start, text):
        if not _preceded(text, start, wanted.prefix):
            continue
        if wanted.end:
            end = next((e for _, e in _occurrences(wanted.end, text, end)), -1)  # noqa: PLW2901
            if end < 0:
                return None
        if _followed(text, end, wanted.suffix):
            return start, end
    return None


def _preceded(text: FoldedText, start: int, prefix: str) -> bool:
    folded = fold(prefix)
    at = text.folded_from(start) - len(folded)
    return not folded or (at >= 0 and text.folded.startswith(folded, at))


def _followed(text: FoldedText, end: int, suffix: str) -> bool:
    folded = fold(suffix)
    return not folded or text.folded.startswith(folded, text.folded_from(end))


_MOST_OCCURRENCES: Final = 200


def _occurrences(words: str, text: FoldedText, after: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the spans of whole words in *text* that fold to the same, in order."""
    folded = fold(words)
    at = text.folded_from(after) - 1
    for _ in range(_MOST_OCCURRENCES if folded else 0):
        at = text.folded.find(folded, at + 1)
        if at < 0:
            return
        start, end = text.span(at, at + len(folded))
        if text.is_bounded(start, end):
            yield start, end


@lru_cache(maxsize=256)
def fold(words: str) -> str:
    """Return *words* folded, without the marks at their ends."""
    composed = _composed(words[:LONGEST_QUOTE])
    return _marked(composed).translate(_TABLE).strip(".,;:!? ")


_MOST_PARTS: Final = 8
_SHORTEST_PART: Final = 8
"""Folded characters of a part between omissions; a shorter one is found anywhere."""
_WIDEST_OMISSION: Final = 4000
"""Characters of the text between two parts."""


def _with_omissions(words: str, text: FoldedText) -> tuple[int, int] | None:
    """Return the span of a quotation whose parts follow each other in the text."""
    parts = [part for part in _OMISSION.split(words) if fold(part)]
    if not 2 <= len(parts) <= _MOST_PARTS:
        return None
    if any(len(fold(part)) < _SHORTEST_PART for part in parts):
        return None
    for start, end in _occurrences(parts[0], text):
        last = _following(parts[1:], text, end)
        if last is not None:
            return start, last
    return None


def _following(parts: Sequence[str], text: FoldedText, end: int) -> int | None:
    for part in parts:
        start, after = next(_occurrences(part, text, end), (end, -1))
        if after < 0 or start - end > _WIDEST_OMISSION:
            return None
        end = after
    return end


_SEED: Final = 7
_MOST_SEEDS: Final = 64
_HITS_OF_SEED: Final = 24
_CANDIDATES: Final = 4
_WORDS_AROUND: Final = 6


def _nearest(words: str, text: FoldedText) -> QuoteMatch | None:
    """Return the passage most similar to *words*; None if none is similar enough."""
    folded = fold(words)
    if len(folded) < _SHORTEST_NEAR:
        return None
    found = [_aligned(words, text, where) for where in _candidates(folded, text.folded)]
    best = max(filter(None, found), key=lambda match: match.score, default=None)
    least = NEAR if len(folded) >= _SHORT else _NEAR_SHORT
    return best if best is not None and best.score >= least else None


def _candidates(folded: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the windows of *text* in which most pieces of *folded* occur, best first."""
    width = max(16, len(folded) // 4)
    hits = [*_hits(folded, text)]
    offsets: defaultdict[int, set[int]] = defaultdict(set)
    for offset, place in hits:
        for diagonal in range((place - offset) // width - 1, (place - offset) // width + 2):
            offsets[diagonal].add(offset)
    taken: list[int] = []
    for diagonal in sorted(offsets, key=lambda d: -len(offsets[d])):
        if len(taken) == _CANDIDATES:
            return
        if all(abs(diagonal - other) > 1 for other in taken):
            taken.append(diagonal)
            yield _window(folded, hits, diagonal, width)


def _hits(folded: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where pieces of *folded* are: the offset in it, and the place in *text*."""
    last = len(folded) - _SEED
    step = max(1, last // _MOST_SEEDS)
    for offset in range(0, last + 1, step):
        seed, at = folded[offset : offset + _SEED], -1
        for _ in range(_HITS_OF_SEED):
            at = text.find(seed, at + 1)
            if at < 0:
                break
            yield offset, at


def _window(
    folded: str, hits: Sequence[tuple[int, int]], diagonal: int, width: int
) -> tuple[int, int]:
    near = [hit for hit in hits if abs((hit[1] - hit[0]) // width - diagonal) <= 1]
    (first, start), (last, end) = min(near, key=lambda h: h[1]), max(near, key=lambda h: h[1])
    return max(0, start - first), end + len(folded) - last


def _aligned(words: str, text: FoldedText, where: tuple[int, int]) -> QuoteMatch | None:
    """Return the passage around *where* whose words are the most similar to *words*."""
    last = len(text.folded)
    begin, end = text.span(min(where[0], last - 1), max(min(where[1], last), 1))
    if end <= begin:
        return None
    margin = 30 * _WORDS_AROUND
    low, high = max(0, begin - margin), min(len(text.text), end + margin)
    tokens = [(m.start() + low, m.end() + low) for m in _WORD.finditer(text.text[low:high])]
    if not tokens:
        return None
    inside = [n for n, (s, e) in enumerate(tokens) if e > begin and s < end] or [0]
    first, final = _trimmed(fold(words), text, tokens, inside[0], inside[-1])
    passage = text.text[tokens[first][0] : tokens[final][1]]
    score = _similarity(fold(words), fold(passage))
    if score == 1.0:
        # The same when folded, but within other words: `art` in `start`.
        score = 0.99
    edits = tuple(_edits(words, passage))
    start, end = tokens[first][0], tokens[final][1]
    return QuoteMatch("near", round(score, 4), passage, edits, _before(text, start, end))


def _trimmed(
    folded: str, text: FoldedText, tokens: Sequence[tuple[int, int]], first: int, last: int
) -> tuple[int, int]:
    """Return the first and the last token between which the text is the most similar."""

    def scored(begin: int, end: int) -> float:
        return _similarity(folded, fold(text.text[tokens[begin][0] : tokens[end][1]]))

    begins = range(max(0, first - _WORDS_AROUND), min(first + _WORDS_AROUND, last) + 1)
    first = max(begins, key=lambda n: scored(n, last))
    ends = range(
        max(first, last - _WORDS_AROUND), min(last + _WORDS_AROUND, len(tokens) - 1) + 1
    )
    last = max(ends, key=lambda n: (scored(first, n), -n))
    first = max(begins, key=lambda n: (scored(min(n, last), last), n))
    return min(first, last), last


def _similarity(one: str, other: str) -> float:
    return Levenshtein.normalized_similarity(one, other)


def _edits(words: str, passage: str) -> Iterator[WordEdit]:
    """Yield the differences between *words* and *passage*, word by word."""
    quoted, written = _tokens(words), _tokens(passage)
    keys = (
        [fold(token) or token for token in quoted],
        [fold(token) or token for token in written],
    )
    for change in Levenshtein.opcodes(*keys):
        if change.tag != "equal":
            yield WordEdit(
                " ".join(quoted[change.src_start : change.src_end]),
                " ".join(written[change.dest_start : change.dest_end]),
            )


def _tokens(words: str) -> list[str]:
    """Return the words and marks that count in a comparison."""
    visible = _INVISIBLE.sub("", _composed(words))
    return [token for token in _WORD.findall(visible) if _marked(token).translate(_TABLE)]
