"""Framing of replies: any split into pieces, and a bounded size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.redis.connections import MOST_OCTETS, MOST_PARTS, Frames, TooLarge

LINES = st.binary(max_size=20).map(lambda text: b"+" + text.replace(b"\r", b"") + b"\r\n")
VALUES = st.one_of(
    st.binary(max_size=50),
    # What would be too large, were it not inside a value.
    st.sampled_from([b"*999999999\r\n", b"\r\n$999999999\r\n", b"\r\n", b"\r", b""]),
).map(lambda value: b"$%d\r\n%s\r\n" % (len(value), value))
REPLIES = st.recursive(
    LINES | VALUES | st.sampled_from([b":1\r\n", b"$-1\r\n", b"*-1\r\n", b"_\r\n"]),
    lambda parts: st.lists(parts, max_size=4).map(
        lambda these: b"*%d\r\n%s" % (len(these), b"".join(these))
    ),
)


def fed(text: bytes, sizes: list[int]) -> None:
    frames = Frames()
    place = 0
    for size in [*sizes, len(text)]:
        frames.follow(text[place : place + size])
        place += size


@given(st.lists(REPLIES, max_size=10), st.lists(st.integers(1, 30), max_size=20))
def test_a_reply_within_the_limit_passes_in_any_pieces(
    replies: list[bytes], sizes: list[int]
) -> None:
    fed(b"".join(replies), sizes)


@given(
    st.lists(REPLIES, max_size=10),
    st.sampled_from([b"*%d\r\n" % (MOST_PARTS + 1), b"$%d\r\n" % (MOST_OCTETS + 1)]),
    st.lists(st.integers(1, 30), max_size=20),
)
def test_a_reply_beyond_the_limit_is_noticed_in_any_pieces(
    replies: list[bytes], lie: bytes, sizes: list[int]
) -> None:
    with pytest.raises(TooLarge):
        fed(b"".join(replies) + lie, sizes)


def test_the_length_of_a_line_is_bounded() -> None:
    with pytest.raises(TooLarge, match="its reply does not end"):
        fed(b"+" + b"x" * 70_000, [10_000] * 7)


def test_the_size_of_a_reply_is_bounded() -> None:
    value = b"$1048576\r\n" + bytes(1 << 20) + b"\r\n"
    with pytest.raises(TooLarge, match="its reply does not end"):
        fed(b"*100\r\n" + 10 * value, [65_536] * 200)


def test_the_depth_of_nested_lists_is_bounded() -> None:
    with pytest.raises(TooLarge, match="a list of 1,000"):
        fed(b"*1000\r\n" * 1000, [])


def test_the_bound_is_for_one_reply_and_not_for_many() -> None:
    value = b"$1048576\r\n" + bytes(1 << 20) + b"\r\n"

    fed(20 * value, [65_536] * 400)


@pytest.mark.parametrize("line", [b"$x\r\n", b"*\r\n", b"$1e9\r\n"])
def test_a_length_that_is_no_number_is_rejected(line: bytes) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        Frames().follow(line)
