"""Faults without an answer: refusals, errors, delays, closed connections."""

import asyncio

import pytest
from yarl import URL

from tests.timegate.misbehave.asking import (
    CDX,
    REPLAY,
    TIMEGATE,
    TIMEMAP,
    ask,
    ask_raw,
    pure,
)
from timegate.misbehave import (
    Archive,
    ArchiveOptions,
    misbehaving_archive,
)
from timegate.misbehave.site import read_http_date
from timegate.misbehave.wire import WholeAnswer, WireRequest


@pytest.mark.parametrize("path", [TIMEGATE, TIMEMAP, CDX])
async def test_a_bot_challenge_is_a_200_in_html(path: str) -> None:
    async with misbehaving_archive(fault="bot-challenge") as archive:
        answer = await ask(archive, path)
        replay = await ask(archive, REPLAY)

        assert answer.status == 200
        assert answer.headers["Content-Type"].startswith("text/html")
        assert "Memento-Datetime" not in answer.headers
        assert "Memento-Datetime" in replay.headers


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("too-many-seconds", 429),
        ("too-many-date", 429),
        ("too-many-silent", 429),
        ("unavailable", 503),
        ("forbidden", 403),
        ("server-error", 500),
    ],
)
def test_refusals_have_their_status_and_no_memento_datetime(fault: str, status: int) -> None:
    for path in (TIMEGATE, TIMEMAP, REPLAY, CDX):
        answer = pure(fault, path)

        assert answer.status == status
        assert answer.value("Memento-Datetime") is None


def test_retry_after_is_in_seconds_a_date_or_missing() -> None:
    assert pure("too-many-seconds", TIMEGATE).value("Retry-After") == "120"
    assert read_http_date(pure("too-many-date", TIMEGATE).value("Retry-After") or "")
    assert pure("too-many-silent", TIMEGATE).value("Retry-After") is None
    assert pure("unavailable", TIMEGATE).value("Retry-After") == "120"


def test_a_block_page_is_a_200_that_is_not_a_memento() -> None:
    answer = pure("block-page", REPLAY)

    assert (answer.status, answer.value("Memento-Datetime")) == (200, None)


def test_slow_is_correct_after_the_delay() -> None:
    archive = Archive(fault="slow", options=ArchiveOptions(delay=7.0))

    answer = archive.reply(WireRequest("GET", TIMEGATE))

    assert isinstance(answer, WholeAnswer)
    assert (answer.status, answer.delay) == (302, 7.0)


@pytest.mark.parametrize(("fault", "asked"), [("close-at-once", 0), ("close-unanswered", 1)])
async def test_a_connection_is_closed_without_an_answer(fault: str, asked: int) -> None:
    async with misbehaving_archive(fault=fault) as archive:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(archive.url).port)
        if asked:
            writer.write(b"GET / HTTP/1.1\r\n\r\n")

        assert await reader.read() == b""
        assert len(archive.journal.requests) == asked
        writer.close()


async def test_reset_ends_with_a_tcp_reset() -> None:
    async with misbehaving_archive(fault="reset") as archive:
        with pytest.raises(ConnectionResetError):
            await ask_raw(archive, TIMEGATE)


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("memento-lost", 404),
        ("memento-500", 500),
        ("memento-403", 403),
        ("memento-429", 429),
        ("memento-503", 503),
    ],
)
def test_mementos_that_are_not_served_are_still_promised(fault: str, status: int) -> None:
    assert pure(fault, REPLAY).status == status
    assert pure(fault, REPLAY).value("Memento-Datetime") is None
    assert pure(fault, TIMEGATE).status == 302
    assert pure(fault, TIMEMAP).status == 200


async def test_memento_hang_answers_everything_but_mementos() -> None:
    small = ArchiveOptions(interval=0.01, patience=0.1)
    async with misbehaving_archive(fault="memento-hang", options=small) as archive:
        assert (await ask(archive, TIMEGATE)).status == 302
        assert await ask_raw(archive, REPLAY) == b""
