"""The difference between two texts, line by line and word by word, within bounds.

Lines are compared by the bit-parallel algorithm of rapidfuzz: 5,000 lines with 5,000 others
take 25 million steps of 64 at once, and 6 MB. What is beyond the bounds is said to be left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from rapidfuzz.distance import Levenshtein

from archives.regex_compat import compiled

MOST_LINES: Final = 5000
"""Lines of each text."""
_LONGEST_LINE: Final = 400
"""Characters. A longer line is divided at the ends of sentences, then anywhere."""
_MOST_WORDS: Final = 400
"""Words of a line that are compared; a line that is longer changes as a whole."""
_SENTENCE_END: Final = compiled(r"(?<=[.!?\u3002])\s++")
_PIECE: Final = compiled(r"\S++\s*+|\s++")

_MOST_PAIRS: Final = 400
"""Pairs of lines between two equal lines that are compared; in a larger region, none are."""
_SIMILAR: Final = 0.5
"""The similarity from which on two lines are side by side."""

RowKind = Literal["same", "changed", "added", "removed"]


class TextPiece(NamedTuple):
    """A part of a line: in both texts, or in one."""

    text: str
    is_changed: bool


class DiffRow(NamedTuple):
    """A line of the two texts, side by side."""

    kind: RowKind
    left: tuple[TextPiece, ...] = ()
    right: tuple[TextPiece, ...] = ()
    left_line: int = 0
    """From 1; 0 if the text has no such line."""
    right_line: int = 0

    @property
    def left_text(self) -> str:
        """The line of the first text."""
        return "".join(piece.text for piece in self.left)

    @property
    def right_text(self) -> str:
        """The line of the second text."""
        return "".join(piece.text for piece in self.right)


@dataclass(frozen=True, slots=True)
class TextDiff:
    """How two texts differ."""

    rows: tuple[DiffRow, ...]
    similarity: float
    """Share of the characters in lines that both have, and in the equal words of others."""
    is_cut: bool
    """Whether a text has more lines than were compared."""

    def count(self, kind: RowKind) -> int:
        """Return how many rows are of *kind*."""
        return sum(row.kind == kind for row in self.rows)

    @property
    def is_same(self) -> bool:
        """Whether all was compared, and nothing differs."""
        return not self.is_cut and all(row.kind == "same" for row in self.rows)


def lines_of(text: str) -> tuple[list[str], bool]:
    """Return the lines of *text* that are compared, and whether there are more."""
    lines: list[str] = []
    for line in text.splitlines():
        for piece in _divided(" ".join(line.split())):
            if len(lines) == MOST_LINES:
                return lines, True
            lines.append(piece)
    return lines, False


def _divided(line: str) -> Iterator[str]:
    if len(line) <= _LONGEST_LINE:
        yield from filter(None, (line,))
        return
    for sentence in _SENTENCE_END.split(line):
        for at in range(0, len(sentence), _LONGEST_LINE):
            yield sentence[at : at + _LONGEST_LINE]


def text_diff(left: str, right: str) -> TextDiff:
    """Return how *right* differs from *left*."""
    before, before_cut = lines_of(left)
    after, after_cut = lines_of(right)
    rows = tuple(_rows(before, after))
    total = sum(map(len, before)) + sum(map(len, after))
    same = sum(_same_characters(row) for row in rows)
    return TextDiff(rows, round(same / total, 4) if total else 1.0, before_cut or after_cut)


def _same_characters(row: DiffRow) -> int:
    return sum(len(p.text) for p in (*row.left, *row.right) if not p.is_changed)


def _rows(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffRow]:
    left = right = 0
    for block in Levenshtein.opcodes(before, after).as_matching_blocks():
        yield from _region(before, after, range(left, block.a), range(right, block.b))
        for n in range(block.size):
            line = (TextPiece(before[block.a + n], is_changed=False),)
            yield DiffRow("same", line, line, block.a + n + 1, block.b + n + 1)
        left, right = block.a + block.size, block.b + block.size


def _region(
    before: Sequence[str], after: Sequence[str], lefts: range, rights: range
) -> Iterator[DiffRow]:
    """Yield the rows of lines between two equal ones: similar lines are side by side."""
    left, right = lefts.start, rights.start
    for pair in (*_pairs(before, after, lefts, rights), (lefts.stop, rights.stop)):
        for n in range(left, pair[0]):
            yield DiffRow("removed", (TextPiece(before[n], is_changed=True),), (), n + 1)
        for n in range(right, pair[1]):
            yield DiffRow("added", (), (TextPiece(after[n], is_changed=True),), 0, n + 1)
        if pair[0] < lefts.stop:
            yield _row(before[pair[0]], after[pair[1]], pair[0] + 1, pair[1] + 1)
        left, right = pair[0] + 1, pair[1] + 1


def _pairs(
    before: Sequence[str], after: Sequence[str], lefts: range, rights: range
) -> list[tuple[int, int]]:
    """Return the pairs of similar lines, in order, whose similarity is the greatest in all."""
    if len(lefts) * len(rights) > _MOST_PAIRS:
        return []
    # best[r]: the sum for the lines so far and the first r of the others, with its pairs.
    best: list[tuple[float, tuple[tuple[int, int], ...]]] = [(0.0, ())] * (len(rights) + 1)
    for left in lefts:
        above, best = best, [best[0]]
        for n, right in enumerate(rights):
            found = max(above[n + 1], best[n], key=lambda b: b[0])
            similarity = Levenshtein.normalized_similarity(
                before[left], after[right], score_cutoff=_SIMILAR
            )
            if similarity and above[n][0] + similarity > found[0]:
                found = above[n][0] + similarity, (*above[n][1], (left, right))
            best.append(found)
    return [*best[-1][1]]


def _row(left: str, right: str, left_line: int, right_line: int) -> DiffRow:
    if left == right:
        same = (TextPiece(left, is_changed=False),)
        return DiffRow("same", same, same, left_line, right_line)
    pieces = _words(left), _words(right)
    if max(map(len, pieces)) > _MOST_WORDS:
        whole = (TextPiece(left, is_changed=True),), (TextPiece(right, is_changed=True),)
        return DiffRow("changed", *whole, left_line, right_line)
    sides: tuple[list[TextPiece], list[TextPiece]] = ([], [])
    for change in Levenshtein.opcodes(
        [w.strip() for w in pieces[0]], [w.strip() for w in pieces[1]]
    ):
        is_changed = change.tag != "equal"
        first = "".join(pieces[0][change.src_start : change.src_end])
        second = "".join(pieces[1][change.dest_start : change.dest_end])
        sides[0].extend([TextPiece(first, is_changed)] if first else [])
        sides[1].extend([TextPiece(second, is_changed)] if second else [])
    return DiffRow("changed", tuple(sides[0]), tuple(sides[1]), left_line, right_line)


def _words(line: str) -> list[str]:
    """Return the words of a line with the white space after them.

    A line without white space, as in Chinese, is divided into characters.
    """
    words: list[str] = _PIECE.findall(line)
    return words if len(words) > 1 or len(line) > _MOST_WORDS else [*line]
