import pickle

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from archives.model import Closest
from tests.timegate.cache.samples import ARCHIVE, capture, found, outcomes
from timegate.cache.encoding import CorruptEntry, decode_answer, encode_answer, sealed, unsealed


@given(outcomes)
def test_an_encoded_answer_is_decoded_unchanged(outcome: Closest | None) -> None:
    value = encode_answer("question", outcome)

    assert decode_answer(value, "question", ARCHIVE) == outcome


def test_a_large_encoded_answer_is_decoded_unchanged() -> None:
    outcome = Closest(capture("20140101000000"), "cdx", ("doubt",) * 1000)

    assert decode_answer(encode_answer("q", outcome), "q", ARCHIVE) == outcome


@given(st.binary(max_size=300))
@example(b"")
@example(b"\x01")
@example(pickle.dumps(print))
@example(sealed(b""))
@example(sealed(b"\xc1"))
def test_foreign_octets_are_rejected(value: bytes) -> None:
    with pytest.raises(CorruptEntry):
        decode_answer(value, "question", ARCHIVE)


@given(st.data())
def test_a_flipped_bit_is_noticed(data: st.DataObject) -> None:
    value = bytearray(encode_answer("question", found()))
    value[data.draw(st.integers(0, len(value) - 1))] ^= 1 << data.draw(st.integers(0, 7))

    with pytest.raises(CorruptEntry):
        decode_answer(bytes(value), "question", ARCHIVE)


@given(st.data())
def test_a_value_cut_short_is_noticed(data: st.DataObject) -> None:
    value = encode_answer("question", found())

    with pytest.raises(CorruptEntry):
        decode_answer(value[: data.draw(st.integers(0, len(value) - 1))], "question", ARCHIVE)


GOOD = list(capture("20140101000000"))


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        "text",
        {"asked": "question"},
        ["question", None, "timegate", [], {}, "one more"],
        ["question", None, "telepathy", [], {}],
        ["question", 7, "timegate", [], {}],
        ["question", GOOD, "timegate", "doubt", {}],
        ["question", GOOD, "timegate", [], {"sideways": GOOD}],
        ["question", GOOD[:2], "timegate", [], {}],
        ["question", ["2014", *GOOD[1:]], "timegate", [], {}],
        ["question", ["20140230000000", *GOOD[1:]], "timegate", [], {}],
        ["question", ["0" * 14, *GOOD[1:]], "timegate", [], {}],
        ["question", ["2014010100000\n", *GOOD[1:]], "timegate", [], {}],
        ["question", [GOOD[0], "javascript:alert(1)", *GOOD[2:]], "timegate", [], {}],
        ["question", [GOOD[0], "https://a/\r\nSet-Cookie: x", *GOOD[2:]], "timegate", [], {}],
        ["question", [*GOOD[:3], "another-archive"], "timegate", [], {}],
        ["question", GOOD, "timegate", [], {"prev": ["2013", *GOOD[1:]]}],
        ["another question", None, "timegate", [], {}],
    ],
)
def test_an_answer_of_another_shape_is_rejected(answer: object) -> None:
    value = sealed(msgspec.msgpack.encode(answer))

    with pytest.raises(CorruptEntry):
        decode_answer(value, "question", ARCHIVE)


@given(st.binary(max_size=100))
def test_a_sealed_value_is_opened_unchanged(payload: bytes) -> None:
    assert unsealed(sealed(payload)) == payload
