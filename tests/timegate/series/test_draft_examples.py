"""Every example of the draft, put in place, resolves as its text says."""

import struct
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from tests.timegate.series.serving import SeriesClient, serving_series
from timegate.series import Content
from timegate.series.requests import content_of

OMA = "oma.eop.gov.us"
NASA, NPR = "images.satellite.nasa.gov.us", "audio.npr.org.us"
CNN, ADOBE, SHORT = "video.cnn.co.us", "documentation.adobe.co.us", "oma.eop.gov"
SERIES = (OMA, NASA, NPR, CNN, ADOBE, SHORT)
QUOTED = b"fourteen chars"
TEXT = b"0123456789" * 3 + b"abcdefg" + QUOTED + b" and more"
CITING = b"-" * 103 + QUOTED + b"."
WHITEHOUSE = f"pdi://{OMA}/1994/10/20/http%3a%2f%2fwww%2ewhitehouse%2egov%2f.html.1"
PDF = bytes(range(200))
FILM = b"\0\0\1\xba" + b"film" * 20
RATE = 100


def a_gif() -> bytes:
    """Return an animation of three frames, with another colour at each pixel."""
    frames = []
    for number in range(3):
        image = Image.new("P", (40, 40))
        image.putpalette([value for n in range(256) for value in (n, 255 - n, number * 80)])
        image.putdata([(x * 7 + y * 13 + number) % 256 for y in range(40) for x in range(40)])
        frames.append(image)
    octets = BytesIO()
    frames[0].save(octets, "GIF", save_all=True, append_images=frames[1:], optimize=False)
    return octets.getvalue()


def an_au() -> bytes:
    """Return a minute of sound, whose sample n is n modulo 251."""
    samples = bytes(n % 251 for n in range(60 * RATE))
    return struct.pack(">4sIIIII", b".snd", 24, len(samples), 1, RATE, 1) + samples


GIF, AU = a_gif(), an_au()
DOCUMENTS: dict[str, bytes | Content] = {
    f"pdi://{OMA}/1997/09/01/1.text.1": TEXT,
    f"pdi://{OMA}/1997/11/03/4.text.1": CITING,
    WHITEHOUSE: b"<h1>The White House</h1>",
    f"pdi://{NASA}/1997/09/30/1234.gif.1": GIF,
    f"pdi://{NPR}/1997/09/30/1234.au.1": AU,
    f"pdi://{CNN}/1997/09/30/1234.mpeg.1": FILM,
    f"pdi://{ADOBE}/1997/09/30/1234.pdf.1": PDF,
    f"pdi://{SHORT}/1997/09/01.html.1": b"<p>mistkae",
    f"pdi://{SHORT}/1997/09/01.text.1": b"mistkae",
    f"pdi://{SHORT}/1997/09/01.text.2": b"mistake",
}


async def answered(client: SeriesClient, pdi: str) -> tuple[int, bytes, str, str]:
    seen = await client.ask(pdi.replace("#", "%23"))
    location = seen.headers.get("Content-Location", "")
    return seen.status, seen.body, location, seen.headers.get("Memento-Precision", "")


@pytest.mark.parametrize(
    ("pdi", "body"),
    [
        (WHITEHOUSE, b"<h1>The White House</h1>"),
        (f"pdi://{OMA}/1997/09/01/1.text.1#char=37,51", QUOTED),
        (f"pdi://{OMA}/1997/09/01/1.text.1#37,51", QUOTED),
        (f"pdi://{NPR}/1997/09/30/1234.au#sec=23,57", b""),
        (f"pdi://{ADOBE}/1997/09/30/1234.pdf#byte=23,57", PDF[23:57]),
        (f"pdi://{OMA}/1997/11/03/4.text.1", CITING),
        (f"pdi://{SHORT}/1997/09/01.html.1", b"<p>mistkae"),
        (f"pdi://{SHORT}/1997/09/01.text.1", b"mistkae"),
        (f"pdi://{SHORT}/1997/09/01.text.2", b"mistake"),
        (f"pdi://{SHORT}/1997/09/01.text", b"mistake"),
    ],
)
async def test_an_example_is_the_bytes_of_its_text(
    tmp_path: Path, pdi: str, body: bytes
) -> None:
    async with serving_series(tmp_path, *SERIES, documents=DOCUMENTS) as client:
        status, found, location, verdict = await answered(client, pdi)

    assert status == 200
    if "1234.au" in pdi:
        # From second 23 up to but not including second 57.
        assert found[24:] == AU[24 + 23 * RATE : 24 + 57 * RATE]
    else:
        assert found == body
    assert "match=exact" in verdict
    assert ("fragment=applied" in verdict) == ("#" in pdi)
    if ".1#" not in pdi and "#" in pdi:
        assert "version-missing" in verdict
        assert ".1#" in location


@pytest.mark.parametrize(("frame", "number"), [("", 0), (",0", 0), (",2", 2)])
async def test_an_image_fragment_is_the_rectangle_of_its_frame(
    tmp_path: Path, frame: str, number: int
) -> None:
    pdi = f"pdi://{NASA}/1997/09/30/1234.gif#(5,10),(25,30){frame}"
    async with serving_series(tmp_path, *SERIES, documents=DOCUMENTS) as client:
        status, found, _, verdict = await answered(client, pdi)

    with Image.open(BytesIO(GIF)) as image, Image.open(BytesIO(found)) as part:
        image.seek(number)
        whole, cut = image.convert("RGB"), part.convert("RGB")
        # The maximal rectangle including (5,10), (24,10), (24,29), (5,29).
        assert cut.size == (20, 20)
        for x, y in ((5, 10), (24, 10), (24, 29), (5, 29), (11, 17)):
            assert cut.getpixel((x - 5, y - 10)) == whole.getpixel((x, y))
    assert status == 200
    assert "fragment=applied" in verdict


@pytest.mark.parametrize(
    "fragment", ["sec,23,51", "crop=sec,23,51", "crop=sec,23,51,(10,10),(20,20)"]
)
async def test_a_video_is_delivered_whole_and_said(tmp_path: Path, fragment: str) -> None:
    pdi = f"pdi://{CNN}/1997/09/30/1234.mpeg.1#{fragment}"
    async with serving_series(tmp_path, *SERIES, documents=DOCUMENTS) as client:
        status, found, location, verdict = await answered(client, pdi)

    assert (status, found) == (200, FILM)
    assert location == f"pdi://{CNN}/1997/09/30/1234.mpeg.1"
    assert "fragment=ignored" in verdict


async def test_the_citation_of_the_draft_is_found(tmp_path: Path) -> None:
    pdi = f"pdi://{OMA}/1997/11/03/4.text.1@103=pdi://{OMA}/1997/09/01/1.text.1#37,51"
    nested = f"pdi://{OMA}/1997/11/03/4.text.1@0={pdi}"
    async with serving_series(tmp_path, *SERIES, documents=DOCUMENTS) as client:
        status, found, _, verdict = await answered(client, pdi)
        nested_status, _, _, nested_verdict = await answered(client, nested)

    assert (status, found) == (200, CITING)
    assert "citation=quoted" in verdict
    assert nested_status == 200
    assert "citation=unknown" in nested_verdict
    assert "nested-citation" in nested_verdict


async def test_a_series_without_country_mints_nothing(tmp_path: Path) -> None:
    async with serving_series(tmp_path, *SERIES, documents=DOCUMENTS) as client:
        seen = await client.put(f"pdi://{SHORT}/", "x", {"format": "text"})

    assert seen.status == 405


def test_the_formats_of_the_examples_have_their_types() -> None:
    assert content_of({"format": "au"}, None, b"x").media_type == "audio/basic"
    assert content_of({"format": "mpeg"}, None, b"x").media_type == "video/mpeg"
    assert content_of({"format": "pdf"}, None, b"x").media_type == "application/pdf"
