"""Fragments agree with an independent reading: html.parser, pixels, samples of WAV files."""

import random
import wave
from html.parser import HTMLParser
from io import BytesIO
from itertools import accumulate
from xml.parsers import expat

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from PIL import Image

from timegate.series.fragments import (
    BadFragment,
    DocumentPart,
    OutOfRange,
    Unextracted,
    extracted,
    read_fragment,
)

_WORDS = st.text("ab cé\n\r<>&;'\"=/-!日", max_size=8)
_PIECES = st.one_of(
    st.sampled_from(
        [
            "<p>", "</p>", "<br/>", "<b class='x>y'>", "</b>", '<a name="N1">', "<a name=N2>",
            "<!-- <i> -->", "<!doctype html>", "<?pi <u> ?>", "<script>if (a<b) '<p>'</script>",
            "<style>p > b {}</style>", "<IMG SRC=x>", "</a\n>",
        ]
    ),
    st.text("abc é\n日.", max_size=6),
)  # fmt: skip
HTML = st.lists(_PIECES, max_size=20).map("".join)


class _Positions(HTMLParser):
    """The positions of tags, as html.parser finds them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._text = text
        self.spans: list[tuple[int, int]] = []
        self.names: dict[str, int] = {}
        self.feed(text)
        self.close()

    def _here(self) -> int:
        line, column = self.getpos()
        return self._starts[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        start = self._here()
        for name, value in attrs:
            if name == "name" and value is not None:
                self.names.setdefault(value, len(self.spans))
        self.spans.append((start, start + len(self.get_starttag_text() or "")))

    def handle_endtag(self, tag: str) -> None:
        del tag
        start = self._here()
        self.spans.append((start, self._text.index(">", start) + 1))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)


def part_of(fragment: str, media_type: str, body: bytes) -> DocumentPart:
    found = extracted(read_fragment(fragment, media_type), media_type, body)
    assert isinstance(found, DocumentPart), found
    return found


@given(HTML, st.integers(0, 25), st.integers(0, 25))
def test_tags_of_html_are_those_of_another_parser(text: str, first: int, last: int) -> None:
    spans = _Positions(text).spans
    assume(first <= last)
    kind = "text/html; charset=utf-8"
    if last >= len(spans):
        with pytest.raises(OutOfRange) as caught:
            part_of(f"elt={first},{last}", kind, text.encode())
        assert caught.value.size == f"{len(spans)} tags"
        return
    part = part_of(f"elt={first},{last}", kind, text.encode())

    assert part.body.decode() == text[spans[first][0] : spans[last][1]]


@given(HTML)
def test_names_are_those_of_another_parser(text: str) -> None:
    found = _Positions(text)
    for first, one in found.names.items():
        for last, other in found.names.items():
            if one <= other:
                part = part_of(f"name={first},{last}", "text/html", text.encode())
                expected = text[found.spans[one][0] : found.spans[other][1]]
                assert part.body.decode() == expected


_XML = st.recursive(
    st.sampled_from(
        ["text", "<!-- <c> -->", "<![CDATA[<d>]]>", "<?pi <e> ?>", '<f name="x"/>']
    ),
    lambda inner: st.lists(inner, max_size=4).map(lambda all_: f"<a b='>'>{''.join(all_)}</a>"),
    max_leaves=12,
).map(lambda inner: f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY e "v">]><r>{inner}</r>')


@given(_XML)
def test_tags_of_xml_are_those_of_expat(text: str) -> None:
    starts: list[int] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda *_: starts.append(parser.CurrentByteIndex)
    parser.EndElementHandler = lambda *_: starts.append(parser.CurrentByteIndex)
    parser.Parse(text.encode(), True)  # noqa: FBT003 -- expat's
    # The end of an empty element is stated behind its only tag.
    begins = sorted({n for n in starts if text[n] == "<" and text[n + 1] not in "!?"})
    for number, begin in enumerate(begins):
        part = part_of(f"elt={number},{number}", "text/xml", text.encode())
        assert part.body.decode().startswith(text[begin : begin + 2])
        assert text.startswith(part.body.decode(), begin)
    with pytest.raises(OutOfRange):
        part_of(f"elt={len(begins)},{len(begins)}", "text/xml", text.encode())


@given(_WORDS, st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.data())
def test_characters_are_those_of_the_text_with_crlf(
    text: str, charset: str, data: st.DataObject
) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    canonical = "\r\n".join(lines)
    start = data.draw(st.integers(0, len(canonical)))
    end = data.draw(st.integers(start, len(canonical)))
    kind = f"text/plain; charset={charset}"
    body = text.encode(charset)

    assert (
        part_of(f"char={start},{end}", kind, body).body.decode(charset)
        == (canonical[start:end])
    )
    with pytest.raises(OutOfRange) as caught:
        part_of(f"{start},{len(canonical) + 1}", kind, body)
    assert caught.value.size == f"{len(canonical)} characters"


@given(st.binary(max_size=50), st.data())
def test_neighbouring_octets_join_to_the_whole(body: bytes, data: st.DataObject) -> None:
    middle = data.draw(st.integers(0, len(body)))
    left = part_of(f"byte=0,{middle}", "application/pdf", body)
    right = part_of(f"byte={middle},{len(body)}", "application/pdf", body)

    assert left.body + right.body == body


@pytest.mark.parametrize("form", ["PNG", "GIF", "JPEG", "BMP"])
def test_pixels_of_a_rectangle_are_those_of_the_image(form: str) -> None:
    chance = random.Random(7)  # noqa: S311 -- of a test
    image = Image.new("RGB", (31, 17))
    image.putdata([tuple(chance.randbytes(3)) for _ in range(31 * 17)])
    octets = BytesIO()
    image.save(octets, form)
    with Image.open(BytesIO(octets.getvalue())) as read:
        whole = read.convert("RGB")
    for _ in range(20):
        left, right = sorted(chance.sample(range(32), 2))
        upper, lower = sorted(chance.sample(range(18), 2))
        part = part_of(
            f"({left},{upper}),({right},{lower})", f"image/{form.lower()}", octets.getvalue()
        )
        with Image.open(BytesIO(part.body)) as cut:
            pixels = cut.convert("RGB")
        assert pixels.size == (right - left, lower - upper)
        assert pixels.tobytes() == whole.crop((left, upper, right, lower)).tobytes()
    with pytest.raises(OutOfRange) as caught:
        part_of("(0,0),(32,17)", "image/png", octets.getvalue())
    assert caught.value.size == "31 by 17 pixels and 1 frames"


@given(
    st.integers(1, 2),
    st.sampled_from([1, 2]),
    st.integers(1, 50),
    st.integers(0, 200),
    st.data(),
)
def test_samples_are_those_whose_time_is_in_the_interval(
    channels: int, width: int, rate: int, frames: int, data: st.DataObject
) -> None:
    samples = random.Random(frames).randbytes(frames * channels * width)  # noqa: S311
    octets = BytesIO()
    with wave.open(octets, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(samples)
    most = frames * 1000 // rate
    start = data.draw(st.integers(0, most))
    end = data.draw(st.integers(start, most))

    part = part_of(f"msec={start},{end}", "audio/wav", octets.getvalue())

    with wave.open(BytesIO(part.body)) as cut:
        assert cut.getparams()[:3] == (channels, width, rate)
        found = cut.readframes(cut.getnframes())
    size = channels * width
    expected = b"".join(
        samples[n * size : (n + 1) * size]
        for n in range(frames)
        if start * rate <= n * 1000 < end * rate
    )
    assert found == expected
    with pytest.raises(OutOfRange):
        part_of(f"sec=0,{frames // rate + 1}", "audio/wav", octets.getvalue())


@pytest.mark.parametrize(
    ("fragment", "media_type"),
    [
        ("char=1", "text/plain"),
        ("char=2,1", "text/plain"),
        ("char=a,b", "text/plain"),
        ("37,51", "application/pdf"),
        ("rect=(1,2)", "image/png"),
        ("rect=(9,9),(1,1)", "image/png"),
        ("crop=hours,1,2", "video/mpeg"),
        ("crop=sec,1,2,3,4", "video/mpeg"),
    ],
)
def test_positions_that_mean_nothing_are_refused(fragment: str, media_type: str) -> None:
    with pytest.raises(BadFragment):
        extracted(read_fragment(fragment, media_type), media_type, b"whatever is here")


@pytest.mark.parametrize(
    ("fragment", "media_type"),
    [
        ("sec=1,2", "audio/mpeg"),
        ("sec=1,2", "video/mpeg"),
        ("crop=sec,1,2", "video/mpeg"),
        ("char=1,2", "image/png"),
        ("elt=1,2", "text/plain"),
        ("rect=(1,2),(3,4)", "image/png"),
        ("rect=(1,2),(3,4)", "text/plain"),
        ("voxel=1,2,3", "text/plain"),
        ("char=1,2", "text/plain; charset=nonsense"),
        ("sec=0,1", "audio/wav"),
    ],
)
def test_what_cannot_be_extracted_is_said(fragment: str, media_type: str) -> None:
    body = b"RIFF\0\0\0\0WAVEnothing" if "wav" in media_type else b"no such thing \xff"

    found = extracted(read_fragment(fragment, media_type), media_type, body)

    assert isinstance(found, Unextracted)
    assert found.why
