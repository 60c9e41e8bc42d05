"""Which answers of an archive are accepted as the bytes of a copy."""

import pytest

from archives.errors import ArchiveError, Misbehaved, Unreachable
from tests.fakes import Canned, FakeFetcher
from tests.timegate.extract.copies import COPY, DATED, RAW
from tests.warcs import digest
from timegate.extract.fetching import fetched

LATER = {"Memento-Datetime": "Sat, 23 Jan 2016 11:20:29 GMT"}
HTML = {"Content-Type": "text/html"}


async def taken(answer: Canned | ArchiveError, most: int = 10_000_000) -> bytes:
    async with fetched(COPY, FakeFetcher({RAW: answer}), most) as content:
        body = content.body.read()
        assert (content.length, content.digest) == (len(body), digest(body))
        return body


@pytest.mark.parametrize(
    "answer",
    [
        Canned(200, {**DATED, **HTML}, b"a page"),
        Canned(404, DATED, b"an archived error"),
        Canned(301, DATED),
        Canned(200, {"Content-Type": "image/png"}, b"a picture of an archive without dates"),
        Canned(200, DATED, [b"x" * 700_000] * 4),
    ],
)
async def test_the_bytes_of_a_copy_are_fetched(answer: Canned) -> None:
    body = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)

    assert await taken(answer) == body


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Canned(200, HTML, b"are you human?"), "without Memento-Datetime"),
        (Canned(200, {}, b"?"), "without Memento-Datetime"),
        (Canned(404, HTML), "answers 404 where"),
        (Canned(302, {"Location": "http://archive.example/"}), "answers 404 where"),
        (Canned(302, {"Location": "http://gate.example/"}), "registry does not name"),
        (Canned(302, {"Location": RAW}), "redirects too often"),
        (Canned(206, DATED), "answers 206, which was not requested"),
        (Canned(999, DATED), "answers 999, which was not requested"),
        (Canned(200, LATER), "sends the copy of 2016-01-23T11:20:29Z instead"),
        (Canned(200, {"Memento-Datetime": "soon"}), "an invalid Memento-Datetime"),
        (Canned(200, DATED, b"x" * 101), "larger than 100 bytes"),
        (Unreachable("test", RAW, "no answer"), "no answer"),
        (Canned(200, DATED, b"x", Misbehaved("test", RAW, "broke off")), "broke off"),
    ],
)
async def test_other_answers_are_rejected(answer: Canned | ArchiveError, why: str) -> None:
    with pytest.raises(ArchiveError, match=why):
        await taken(answer, most=100)


async def test_a_redirect_from_https_to_http_is_not_followed() -> None:
    secure = RAW.replace("http://", "https://", 1)
    back = Canned(302, {"Location": RAW})

    with pytest.raises(Misbehaved, match="redirects from https to http"):
        async with fetched(
            COPY._replace(raw=secure), FakeFetcher({secure: back, RAW: Canned(200, DATED)})
        ):
            pass  # pragma: no cover -- never entered


async def test_a_copy_without_raw_view_is_not_requested() -> None:
    fetch = FakeFetcher({})

    with pytest.raises(Misbehaved, match="does not offer the bytes"):
        async with fetched(COPY._replace(raw=None), fetch):
            pass  # pragma: no cover -- never entered

    assert fetch.lines == []


async def test_a_redirect_of_the_archive_itself_is_followed() -> None:
    moved = Canned(302, {"Location": "/20160122112029500id_/http://a.example/"})
    there = "http://archive.example/20160122112029500id_/http://a.example/"
    fetch = FakeFetcher({RAW: moved, there: Canned(200, DATED, b"bytes")})

    async with fetched(COPY, fetch) as content:
        assert content.body.read() == b"bytes"
        assert content.url == there
