"""Properties of every decoder."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from archives.formats.cdx import CdxLines
from archives.formats.linkformat import LinkSplitter, link
from archives.formats.rows import LONGEST_ITEM, Backlog, ListDecoder, Row
from archives.formats.timemap_json import JsonTimeMap
from archives.formats.timemap_link import LinkTimeMap
from archives.moment import Moment

DECODERS: list[Callable[[str], ListDecoder]] = [LinkTimeMap, CdxLines, JsonTimeMap]
DATE = b"Tue, 31 Dec 1996 23:58:47 GMT"
# Pieces of all formats, valid and broken, so that random documents contain rows.
PIECES = [
    b'<http://a/%d>; rel="memento"; datetime="%s",\n' % (number, DATE) for number in range(2)
] + [
    *(
        b"<a>",
        b"<",
        b">",
        b";",
        b",",
        b'"',
        b"'",
        b"\\",
        b"\n",
        b"\r\n",
        b" ",
        b"=",
        b"\xef\xbb\xbf",
    ),
    *(
        b"rel=memento",
        b'rel="first memento"',
        b'; datetime="' + DATE + b'"',
        b"datetime=",
        DATE,
    ),
    *(b"; anchor='b'", b'title="', b"\xe9", b"x" * 50, b"Tue,", b'<o>;rel="original",'),
    *(b"{", b"}", b"[", b"]", b":", b'"uri"', b'"datetime":"2016-01-22T11:20:29Z"', b'"a\\"b"'),
    *(b'["urlkey","timestamp","original"]', b'["k","20160122112029","o"]', b"[]", b'["key"]'),
    *(b'{"datetime":"2016-01-22T11:20:29Z","uri":"http://x/"}', b'"list":', b"null", b"12"),
    *(
        b"com,a)/ 20160122112029 http://a/ text/html 200 D 12\n",
        b"k 20160122112029 {",
        b"!meta {",
    ),
    *(
        b'{"timestamp":"20000008241731","url":"u"}\n',
        b"20160122112029 ",
        b" CDX N b a\n",
        b"-\n",
    ),
    *(
        b"x" * LONGEST_ITEM,
        b'"' + b"x<" * (LONGEST_ITEM // 2),
        b" " * LONGEST_ITEM,
        b"y" * 60000,
    ),
]


class Document(bytes):
    """Bytes with a short repr: hypothesis refuses to print tens of kilobytes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(bytes(self[:200]))


documents = st.lists(st.sampled_from(PIECES), max_size=25).map(
    lambda all_: Document(b"".join(all_))
)


def summary(decoder: ListDecoder, rows: list[Row]) -> tuple[object, ...]:
    return (
        rows,
        decoder.pages,
        decoder.original,
        decoder.timegate,
        decoder.resume_key,
        decoder.skipped,
        decoder.repaired,
        decoder.shortfall,
        decoder.complete,
    )


def read(decoder: ListDecoder, chunks: list[bytes]) -> tuple[object, ...]:
    rows = [row for chunk in chunks for row in decoder.feed(chunk)]
    return summary(decoder, [*rows, *decoder.close()])


def cut(document: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({min(place, len(document)) for place in places} | {0, len(document)})
    return [document[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("decoder", DECODERS)
@given(document=documents, places=st.lists(st.integers(0, 400) | st.integers(0, 70000)))
@example(document=b"<a>; rel=memento; datetime=" + DATE, places=[31])
@example(document=b"<a>; x='b, c'; rel=memento", places=[10])
@example(document=b" " * 9000 + b"20150101000000", places=[8500])
def test_the_division_into_chunks_makes_no_difference(
    decoder: Callable[[str], ListDecoder], document: bytes, places: list[int]
) -> None:
    whole = read(decoder("http://base/"), [document])

    pieces = read(decoder("http://base/"), cut(document, places))

    assert pieces == whole


@pytest.mark.parametrize("decoder", DECODERS)
@given(document=documents.map(lambda document: document[:400]))
def test_a_document_may_arrive_byte_by_byte(
    decoder: Callable[[str], ListDecoder], document: bytes
) -> None:
    whole = read(decoder("http://base/"), [document])

    single_bytes = read(decoder("http://base/"), [bytes([byte]) for byte in document])

    assert single_bytes == whole


@pytest.mark.parametrize("decoder", DECODERS)
@given(document=st.binary(max_size=200) | documents)
def test_any_bytes_give_rows_and_raise_nothing(
    decoder: Callable[[str], ListDecoder], document: bytes
) -> None:
    reader = decoder("http://base/")

    rows = [*reader.feed(document), *reader.close()]

    assert all(Moment(row.stamp) for row in rows)


def slow_rows(document: bytes) -> list[Row]:
    """Read a TimeMap with the general reader only."""
    decoder = LinkTimeMap("http://base/")
    rows: list[Row] = []
    found, _ = LinkSplitter().split(document.decode("latin-1"), last=True)
    for target, params in found:
        decoder._read_link(rows, link(target, params))  # noqa: SLF001
    return rows


def fast_rows(document: bytes) -> list[Row]:
    decoder = LinkTimeMap("http://base/")
    return [*decoder.feed(document), *decoder.close()]


@given(document=documents)
def test_the_fast_readers_of_links_agree_with_the_slow_one(document: bytes) -> None:
    assert fast_rows(document) == slow_rows(document)


@pytest.mark.parametrize("inside", [b"<", b"\r", b"\n", b"\n<", b"\xe9", b" ", b'"', b"\\"])
def test_they_agree_on_odd_characters_within_usual_lines(inside: bytes) -> None:
    odd = PIECES[0].replace(b"http://a/", b"http://a/" + inside)
    document = PIECES[0] + odd + PIECES[1] * 3

    assert fast_rows(document) == slow_rows(document)


@pytest.mark.parametrize("more", range(-4, 5))
@pytest.mark.parametrize("end", [b",", b",\n", b" ,x", b"", b"\n<b>; rel=original"])
def test_the_limit_of_an_item_does_not_depend_on_chunks(more: int, end: bytes) -> None:
    start = b'<a>; rel=memento; datetime="' + DATE + b'"; x='
    document = start + b"y" * (LONGEST_ITEM - len(start) + more) + end
    whole = read(LinkTimeMap("http://base/"), [document])

    for place in range(LONGEST_ITEM - 8, len(document)):
        chunks = [document[:1], document[1:place], document[place:]]
        assert read(LinkTimeMap("http://base/"), chunks) == whole


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize(
    "filler", [b"<", b'"', b"[", b"{", b'{"', b",", b" ", b"x", b"\n", b'<a>; "']
)
def test_endless_invalid_text_takes_bounded_memory(
    decoder: Callable[[str], ListDecoder], filler: bytes
) -> None:
    reader = decoder("http://base/")
    chunk = filler * (65536 // len(filler))

    for _ in range(8):
        assert not reader.feed(chunk)

    assert len(reader._backlog.drain()) <= 2 * 65536  # noqa: SLF001


def test_a_backlog_is_read_again_only_when_it_has_doubled() -> None:
    backlog = Backlog()
    backlog.keep("x" * 1000)

    attempts = sum(bool(backlog.add(b"y")) for _ in range(1000))

    assert attempts == 1
