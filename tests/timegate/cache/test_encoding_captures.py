from itertools import chain

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from archives.model import Memento
from archives.moment import Moment
from archives.nearest import nearest
from tests.timegate.cache.samples import ARCHIVE, capture, mementos, stamps
from timegate.cache.encoding import BLOCK, CorruptEntry, PackedCaptures, encode_captures, sealed

lists = st.lists(mementos, max_size=30) | st.lists(
    stamps.map(capture), min_size=BLOCK - 2, max_size=BLOCK * 3
)
moments = st.none() | st.builds(
    lambda stamp, length: Moment(stamp[:length]), stamps, st.sampled_from([4, 6, 8, 10, 14, 17])
)


def packed(captures: list[Memento]) -> PackedCaptures:
    return PackedCaptures(encode_captures("question", captures), "question", ARCHIVE)


@settings(max_examples=30)
@given(lists)
def test_all_captures_are_decoded_in_the_order_of_time(captures: list[Memento]) -> None:
    unpacked = list(chain.from_iterable(packed(captures).blocks()))

    assert unpacked == sorted(captures, key=lambda capture: (capture.stamp, capture.uri))


@settings(max_examples=50)
@given(lists, moments)
@example([capture("20161231235959"), capture("20161231235960")], Moment("20161231235959"))
@example([capture("20140101000000")] * (BLOCK * 2), Moment("20140101000000"))
def test_the_choice_is_the_one_from_the_whole_list(
    captures: list[Memento], at: Moment | None
) -> None:
    chosen = packed(captures).closest(at)

    best = nearest(sorted(captures, key=lambda c: (c.stamp, c.uri)), at)
    assert (chosen and chosen.memento[:2]) == (best and best[:2])


def test_the_choice_has_its_neighbours() -> None:
    captures = [capture(f"20{year:02}0601000000") for year in range(100)]

    chosen = packed(captures).closest(Moment("2063"))

    assert chosen is not None
    assert chosen.via == "timemap"
    assert chosen.memento == captures[63]
    assert chosen.neighbours == {
        "first": captures[0],
        "prev": captures[62],
        "next": captures[64],
        "last": captures[99],
    }


twins = st.lists(
    st.sampled_from(
        [f"2014010100000{n}{f}" for n in range(4) for f in ("", "", "1", "25", "250")]
    ).map(capture),
    min_size=1,
    max_size=BLOCK + 6,
)


@settings(max_examples=60)
@given(twins, st.sampled_from(["2014", "20140101000002", "2014010100000225"]).map(Moment))
def test_neighbours_have_the_nearest_earlier_and_later_stamps(
    captures: list[Memento], at: Moment
) -> None:
    chosen = packed(captures).closest(at)

    assert chosen is not None
    all_stamps = [each.stamp for each in captures]
    earlier = [stamp for stamp in all_stamps if stamp < chosen.memento.stamp]
    later = [stamp for stamp in all_stamps if stamp > chosen.memento.stamp]
    expected = {"first": min(all_stamps), "last": max(all_stamps)}
    expected |= {"prev": max(earlier)} if earlier else {}
    expected |= {"next": min(later)} if later else {}
    assert {name: m.stamp for name, m in chosen.neighbours.items()} == expected


def test_a_single_capture_has_no_previous_and_no_next() -> None:
    chosen = packed([capture("20140101000000")]).closest(None)

    assert chosen is not None
    assert set(chosen.neighbours) == {"first", "last"}


def test_of_captures_of_one_second_the_page_is_chosen_and_not_the_redirect() -> None:
    redirect = capture("20140101000000", status=302)
    page = capture("20140101000000", status=200)

    chosen = packed([redirect] * BLOCK + [page]).closest(Moment("20140101"))

    assert chosen is not None
    assert chosen.memento == page


@given(st.binary(max_size=200))
def test_foreign_octets_are_rejected(value: bytes) -> None:
    with pytest.raises(CorruptEntry):
        PackedCaptures(value, "question", ARCHIVE)


@given(st.data())
def test_damage_is_noticed_or_harmless(data: st.DataObject) -> None:
    captures = [capture(f"20{year:02}0601000000") for year in range(100)]
    value = bytearray(encode_captures("question", captures))
    value[data.draw(st.integers(0, len(value) - 1))] ^= 1 << data.draw(st.integers(0, 7))

    try:
        chosen = PackedCaptures(bytes(value), "question", ARCHIVE).closest(Moment("2010"))
    except CorruptEntry:
        return

    assert chosen is not None
    assert chosen.memento == captures[10]


GOOD = [capture("20140101000000")]


@pytest.mark.parametrize(
    ("asked", "starts", "blocks"),
    [
        ("another question", ["20140101000000"], [GOOD]),
        ("question", [], [GOOD]),
        ("question", ["20140101000000"], [[]]),
        ("question", ["20140101000000"] * 2, [GOOD, GOOD]),
        ("question", ["20140101000000"], [GOOD * (BLOCK + 1)]),
        ("question", ["20140101000000"], [[capture("20140101000000", archive="other")]]),
        ("question", ["20140101000000"], [["20140101000000"]]),
        ("question", ["20140101000000"], [[capture("20149901000000")]]),
    ],
)
def test_a_list_of_another_shape_is_rejected(
    asked: str, starts: list[str], blocks: list[object]
) -> None:
    head = sealed(msgspec.msgpack.encode([asked, starts]))
    value = msgspec.msgpack.encode([head, [sealed(msgspec.msgpack.encode(b)) for b in blocks]])

    with pytest.raises(CorruptEntry):
        PackedCaptures(value, "question", ARCHIVE).closest(Moment("2014"))
