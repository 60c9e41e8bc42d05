"""Which copies to read to learn when a page had a quotation.

A text may come and go: only what was read is known, and nothing between two copies is claimed.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise


def next_to_read(captures: int, read: Mapping[int, bool | None]) -> int | None:
    """Return the index of the capture to read next, of *captures* in order of time.

    *read* says of each capture that was read whether it has the quotation; None if that is not
    known. First both ends are read around a capture that has it, then the middle of the gaps
    between one that has it and one that has not; without any that has it, the middle of the
    largest gap. None if nothing more can be learned.
    """
    known = sorted(index for index, has_it in read.items() if has_it is not None)
    if not any(read[index] for index in known):
        return _middle_of_largest(captures, read)
    for end, nearest in ((0, known[0]), (captures - 1, known[-1])):
        if read[nearest] and end not in read:
            return end
    gaps = [(before, after) for before, after in pairwise(known) if read[before] != read[after]]
    for before, after in sorted(gaps, key=lambda gap: gap[0] - gap[1]):
        middle = _unread_near((before + after) // 2, before, after, read)
        if middle is not None:
            return middle
    return None


def _middle_of_largest(captures: int, read: Mapping[int, bool | None]) -> int | None:
    edges = [-1, *sorted(read), captures]
    before, after = max(pairwise(edges), key=lambda gap: (gap[1] - gap[0], -gap[0]))
    return (before + after) // 2 if after - before > 1 else None


def _unread_near(
    middle: int, before: int, after: int, read: Mapping[int, bool | None]
) -> int | None:
    """Return the capture nearest to *middle* that was not read, between two others."""
    for index in _outwards(middle, before, after):
        if index not in read:
            return index
    return None


def _outwards(middle: int, before: int, after: int) -> Iterator[int]:
    for distance in range(after - before):
        for index in (middle + distance, middle - distance):
            if before < index < after:
                yield index
