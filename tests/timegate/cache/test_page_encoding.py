import pickle
from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from archives.model import Closest, Memento
from tests.timegate.cache.samples import ARCHIVE, NOW, capture, found, pages
from timegate.cache.encoding import CorruptEntry, check_memento
from timegate.cache.page_encoding import (
    LARGEST,
    PackedPage,
    encode_page,
    encode_record,
    merge_values,
    sealed_page,
)
from timegate.cache.page_record import (
    ArchiveRecord,
    KnownAnswer,
    KnownCheck,
    PageRecord,
    merged_pages,
)

KEY = "0123/v1/page"
FIELD = f"public/{ARCHIVE}"


def answered(*outcomes: Closest | None) -> ArchiveRecord:
    answers = [KnownAnswer(NOW + n, f"{2000 + n}", each) for n, each in enumerate(outcomes)]
    return ArchiveRecord(answers)


@given(pages)
def test_an_encoded_page_is_decoded_unchanged(page: PageRecord) -> None:
    decoded = PackedPage(KEY, encode_page(KEY, page))

    assert dict(decoded) == dict(page)
    assert decoded.rejected == 0


@given(pages, pages)
def test_encoded_pages_merge_like_pages(one: PageRecord, other: PageRecord) -> None:
    value = merge_values(KEY, encode_page(KEY, one), encode_page(KEY, other))

    assert dict(PackedPage(KEY, value)) == dict(merged_pages(one, other))


def test_neighbours_at_the_same_address_are_stored_as_their_stamps() -> None:
    one = encode_record(answered(Closest(capture("20140101000000"), "timegate")))
    all_four = encode_record(answered(found()))

    assert len(all_four) - len(one) < 80


@given(st.binary(max_size=300))
@example(b"")
@example(b"\x02")
@example(pickle.dumps(print))
def test_foreign_octets_are_rejected(value: bytes) -> None:
    with pytest.raises(CorruptEntry):
        PackedPage(KEY, value)


@given(st.data())
def test_a_flipped_bit_or_a_missing_end_is_noticed(data: st.DataObject) -> None:
    value = bytearray(encode_page(KEY, {FIELD: answered(found())}))
    place = data.draw(st.integers(0, len(value) - 1))
    cut = bytes(value[:place])
    value[place] ^= 1 << data.draw(st.integers(0, 7))

    for damaged in (bytes(value), cut):
        with pytest.raises(CorruptEntry):
            PackedPage(KEY, damaged)


def test_the_value_of_another_page_is_rejected() -> None:
    with pytest.raises(CorruptEntry):
        PackedPage("4567/v1/page", encode_page(KEY, {FIELD: answered(None)}))


def test_a_damaged_value_is_replaced_by_what_was_learned() -> None:
    learned = encode_page(KEY, {FIELD: answered(None)})

    assert merge_values(KEY, b"damaged", learned) == learned


GOOD = list(capture("20140101000000")._replace(archive=""))


def an_answer(memento: object, *rest: object) -> list[object]:
    return [[[NOW, "2014", [memento, "timegate", [], *rest]]]]


@pytest.mark.parametrize(
    "part",
    [
        None,
        [],
        "text",
        {"answers": []},
        [[[NOW, "2014"]]],
        [[["now", "2014", None]]],
        [[[float("nan"), "2014", None]]],
        [[[float("inf"), "2014", None]]],
        [[[NOW, "2014", None]] * 9],
        [[], {str(n): [NOW, None] for n in range(33)}],
        [[], {}, {"films": NOW}],
        [[], {}, {}, "one more"],
        an_answer(7),
        an_answer(GOOD[:2]),
        an_answer(["2014", *GOOD[1:]]),
        an_answer(["20140230000000", *GOOD[1:]]),
        an_answer(["0" * 14, *GOOD[1:]]),
        an_answer(["2014010100000\n", *GOOD[1:]]),
        an_answer([GOOD[0], "javascript:alert(1)", *GOOD[2:]]),
        an_answer([GOOD[0], "https://a/\r\nSet-Cookie: x", *GOOD[2:]]),
        an_answer([*GOOD[:3], "another-archive"]),
        an_answer(GOOD, {"sideways": GOOD}),
        an_answer(GOOD, {"prev": "2013"}),
        an_answer(GOOD, {"prev": "20130230000000"}),
        an_answer(GOOD, {"prev": ["2013", *GOOD[1:]]}),
        an_answer(GOOD, {}, "hearsay"),
    ],
)
def test_a_part_of_another_shape_is_left_out_and_counted(part: object) -> None:
    good = encode_record(answered(found(archive="other")))
    value = sealed_page(KEY, {FIELD: msgspec.msgpack.encode(part), "public/other": good})

    page = PackedPage(KEY, value)

    assert list(page) == ["public/other"]
    assert page.get(FIELD) is None
    assert page.rejected == 1


def test_text_that_cannot_be_encoded_is_refused() -> None:
    spoilt = Closest(capture("20140101000000"), "timegate", ("\udcff",))

    with pytest.raises(UnicodeEncodeError):
        encode_record(answered(spoilt))


def test_the_archives_that_answered_longest_ago_are_dropped_if_a_page_is_too_large() -> None:
    long = "d" * (LARGEST // 4)
    page = {
        f"public/a{n}": ArchiveRecord(
            [KnownAnswer(NOW - n, "2014", Closest(_of(f"a{n}"), "timegate", (long,)))]
        )
        for n in range(6)
    }

    value = encode_page(KEY, page)

    assert len(value) <= LARGEST + 1000
    assert list(PackedPage(KEY, value)) == ["public/a0", "public/a1", "public/a2"]


def _of(archive: str) -> Memento:
    memento = capture("20140101000000", archive=archive)
    check_memento(memento, archive)
    return memento


def test_checked_mementos_and_lists_are_encoded_too() -> None:
    delivered = Closest(capture("20140101000000"), "template", evidence="delivered")
    checks: Mapping[str, KnownCheck] = {"https://a/1": KnownCheck(NOW, delivered)}
    page = {FIELD: ArchiveRecord(checks=checks, lists={"timemap": NOW})}

    assert dict(PackedPage(KEY, encode_page(KEY, page))) == page
