import gzip
import random
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.upstream.content_coding import BadCoding, ContentDecoder

brotli = import_module("brotli")
zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")

MB = 1024 * 1024


def raw_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}
codings = pytest.mark.parametrize("coding", PACKERS)


def decoded(coding: str, data: bytes, *, piece: int = 1000, limit: int = 256 * MB) -> bytes:
    decoder = ContentDecoder(coding, limit)
    content = [
        part
        for start in range(0, len(data), piece)
        for part in decoder.decode(data[start : start + piece])
    ]
    decoder.finish()
    return b"".join(content)


@given(st.binary(max_size=3000), st.sampled_from(list(PACKERS)), st.integers(1, 4000))
def test_encoded_content_is_decoded_however_it_arrives(
    content: bytes, coding: str, piece: int
) -> None:
    assert decoded(coding, PACKERS[coding](content), piece=piece) == content


@given(st.binary(max_size=500), st.sampled_from([*PACKERS, ""]), st.integers(1, 600))
def test_any_octets_are_decoded_or_rejected(data: bytes, coding: str, piece: int) -> None:
    with suppress(BadCoding):
        decoded(coding, data, piece=piece)


@given(st.binary(min_size=1, max_size=500), st.sampled_from(list(PACKERS)), st.data())
def test_truncated_content_is_never_taken_for_complete(
    content: bytes, coding: str, data: st.DataObject
) -> None:
    packed = PACKERS[coding](content)
    cut = data.draw(st.integers(1, len(packed) - 1))

    with pytest.raises(BadCoding, match=r"breaks off|is not"):
        decoded(coding, packed[:cut])


@codings
@pytest.mark.parametrize("piece", [1000, 10 * MB])
def test_large_content_is_whole_and_comes_in_small_slices(coding: str, piece: int) -> None:
    unpackable = random.Random(7).randbytes(100_000)  # noqa: S311 - no secret
    content = unpackable + bytes(4 * MB) + unpackable
    packed = PACKERS[coding](content)
    decoder = ContentDecoder(coding, 256 * MB)

    slices = [
        part
        for start in range(0, len(packed), piece)
        for part in decoder.decode(packed[start : start + piece])
    ]

    decoder.finish()
    assert b"".join(slices) == content
    # Brotli's own buffers double in size; its limit is where it stops adding more.
    assert max(map(len, slices)) <= 128 * 1024


@codings
def test_a_decompression_bomb_is_stopped(coding: str) -> None:
    bomb = PACKERS[coding](bytes(64 * MB))
    tracemalloc.start()

    with pytest.raises(BadCoding, match="unpacks to more than 200 times its size"):
        decoded(coding, bomb)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * MB


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_bomb_is_recognised_by_its_ratio_at_any_size(coding: str) -> None:
    pieces = ContentDecoder(coding, 256 * MB).decode(PACKERS[coding](bytes(64 * MB)))
    seen: list[int] = []

    with pytest.raises(BadCoding, match="200 times"):
        seen.extend(len(piece) for piece in pieces)

    assert sum(seen) <= MB


@pytest.mark.parametrize("piece", [1000, 10 * MB])
def test_a_long_list_of_one_page_is_no_bomb(piece: int) -> None:
    page = "http://archive.example/web/2013010{}{:06}/http://example.org/"
    stamps = (divmod(number, 100_000) for number in range(60_000))
    lines = [f'<{page.format(*stamp)}>; rel="memento",\n' for stamp in stamps]
    content = "".join(lines).encode()

    assert decoded("gzip", gzip.compress(content, 9), piece=piece) == content


@codings
def test_content_beyond_the_limit_is_rejected(coding: str) -> None:
    with pytest.raises(BadCoding, match="larger than 100 bytes"):
        decoded(coding, PACKERS[coding](b"x" * 101), limit=100)


def test_plain_content_beyond_the_limit_is_rejected() -> None:
    with pytest.raises(BadCoding, match="larger than 100 bytes"):
        decoded("", b"x" * 101, limit=100)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_several_members_are_one_body(coding: str) -> None:
    pack = PACKERS[coding]

    assert decoded(coding, pack(b"one ") + pack(b"") + pack(b"two")) == b"one two"


def test_a_thousand_members_pass_and_more_do_not() -> None:
    member = gzip.compress(b"x")

    assert decoded("gzip", member * 1024) == b"x" * 1024
    with pytest.raises(BadCoding, match="more than 1024 gzip members"):
        decoded("gzip", member * 1025, piece=64 * 1024)


def test_zeros_after_the_last_member_are_padding() -> None:
    assert decoded("gzip", gzip.compress(b"x") + bytes(5000)) == b"x"


@codings
@pytest.mark.parametrize("piece", [1, 100_000])
def test_anything_else_after_the_end_is_rejected(coding: str, piece: int) -> None:
    with pytest.raises(BadCoding):
        decoded(coding, PACKERS[coding](b"content") + b"<script>", piece=piece)


def test_raw_deflate_is_read() -> None:
    assert decoded("deflate", raw_deflate(b"content" * 100)) == b"content" * 100


@pytest.mark.parametrize("field", ["", "identity", " Identity , "])
def test_unencoded_content_passes(field: str) -> None:
    assert decoded(field, b"as it is") == b"as it is"


@pytest.mark.parametrize("field", ["GZIP", " gzip ", "gzip, identity", ",gzip,"])
def test_the_name_of_a_coding_is_read_in_every_spelling(field: str) -> None:
    assert decoded(field, gzip.compress(b"x")) == b"x"


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ("gzip, gzip", "has 2 content codings"),
        ("gzip,br,gzip", "has 3 content codings"),
        ("compress", "cannot read: 'compress'"),
        ("gzip;q=1", "cannot read"),
    ],
)
def test_an_unknown_coding_is_rejected_before_the_first_octet(field: str, why: str) -> None:
    with pytest.raises(BadCoding, match=why):
        ContentDecoder(field, MB)


def test_empty_content_is_complete_only_if_its_length_was_stated() -> None:
    ContentDecoder("gzip", MB).finish()

    with pytest.raises(BadCoding, match="breaks off"):
        ContentDecoder("gzip", MB).finish(empty_is_whole=False)
