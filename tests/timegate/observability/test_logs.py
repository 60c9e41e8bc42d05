"""The log on standard error: its lines, and what it must not contain."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from tests.clock import Clock
from timegate.config.schema import LogSection
from timegate.observability.logs import (
    Access,
    AccessLog,
    LogCounter,
    RateLimitedFilter,
    TextLines,
    Unforeseen,
    event,
    set_up,
)


@pytest.fixture(autouse=True)
def _afterwards() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    ours = {name: logging.getLogger(name).level for name in ("timegate", "timegate.access")}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in ours.items():
        logging.getLogger(name).setLevel(before)


def lines(stream: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_a_line_of_json() -> None:
    stream = io.StringIO()
    set_up(LogSection(format="json"), stream)

    event("reload", taken=True)
    logging.getLogger("timegate.cache.trouble").warning("the cache is %s", "gone\nfor good")

    one, other = lines(stream)
    assert (one["event"], one["level"], one["taken"]) == ("reload", "info", True)
    assert other["event"] == "the cache is gone for good"
    assert str(one["time"]).endswith("+00:00")


def test_a_message_that_does_not_fit_its_arguments_is_written_unformatted() -> None:
    record = logging.LogRecord("library", logging.INFO, "", 1, "%d items", ("many",), None)

    assert TextLines().format(record) == "%d items"


def test_the_text_format() -> None:
    stream = io.StringIO()
    set_up(LogSection(), stream)

    event("reload", taken=True)
    event("archive", logging.WARNING, id="x", state="open")

    assert stream.getvalue() == "reload taken=True\nwarning: archive id=x state=open\n"


def test_text_lines_have_no_control_characters() -> None:
    stream = io.StringIO()
    set_up(LogSection(), stream)

    event("archive", id="\x1b]0;title\x07\n\u202e")

    assert stream.getvalue() == "archive id=\\u001b]0;title\\u0007\\u000a\\u202e\n"


def test_the_level_applies_and_a_second_setup_replaces_the_first() -> None:
    first, second = io.StringIO(), io.StringIO()
    set_up(LogSection(), first)
    set_up(LogSection(level="error"), second)

    event("quiet")
    event("loud", logging.ERROR)

    assert first.getvalue() == ""
    assert second.getvalue() == "error: loud\n"


def test_messages_of_aiohttp_about_clients_are_replaced() -> None:
    stream = io.StringIO()
    set_up(LogSection(format="json"), stream)
    try:
        int("http://secret.example/page")
    except ValueError:
        logging.getLogger("aiohttp.server").exception("Error handling request from 192.0.2.77")

    assert "secret" not in stream.getvalue()
    assert "192.0.2.77" not in stream.getvalue()
    (line,) = lines(stream)
    assert (line["event"], line["error"]) == ("a request failed", "ValueError")
    assert "test_logs.py" in str(line["at"])


def test_messages_of_asyncio_about_tasks_are_replaced() -> None:
    stream = io.StringIO()
    set_up(LogSection(format="json"), stream)

    logging.getLogger("asyncio").error("<Task exception=Unreachable('http://secret.example')>")

    assert "secret" not in stream.getvalue()
    assert [line["event"] for line in lines(stream)] == ["something failed in the background"]


def test_the_access_log_contains_no_url_query_or_full_address() -> None:
    stream = io.StringIO()
    set_up(LogSection(format="json", access=True), stream)
    log = AccessLog(b"key")

    for query in ("?one", "?two"):
        target = f"/timegate/http://secret.example/{query}"
        log(Access("GET", "/timegate/", target, 302, 0.0123, "192.0.2.77"))

    assert "secret" not in stream.getvalue()
    one, two = lines(stream)
    assert (one["client"], one["milliseconds"], one["status"]) == ("192.0.2.0/24", 12.3, 302)
    assert one["url"] == two["url"]


def test_the_access_log_is_off_by_default() -> None:
    stream = io.StringIO()
    set_up(LogSection(), stream)

    AccessLog()(Access("GET", "/", "/", 200, 0.0, "192.0.2.77"))

    assert stream.getvalue() == ""


def test_lines_are_rate_limited_and_dropped_ones_counted() -> None:
    clock = Clock()
    bounded = RateLimitedFilter(2, clock)

    def passes() -> logging.LogRecord | None:
        record = logging.LogRecord("x", logging.INFO, "", 0, "x", (), None)
        return record if bounded.filter(record) else None

    first = [passes() for _ in range(5)]
    clock.advance(1.0)
    then = passes()

    assert [one is not None for one in first] == [True, True, False, False, False]
    assert then is not None
    assert then.__dict__["dropped"] == 3


class _Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, f"No space left on device for {text}")


def test_a_full_disk_stops_the_log_and_nothing_else() -> None:
    set_up(LogSection(), _Full())

    event("start")


def test_standard_error_is_written_by_a_thread_and_a_second_setup_ends_the_first(
    capfd: pytest.CaptureFixture[str],
) -> None:
    set_up(LogSection())
    event("first")
    set_up(LogSection())
    event("second")
    (ours,) = [
        one for one in logging.getLogger().handlers if type(one).__name__ == "_ThreadedHandler"
    ]
    ours.flush()

    assert set(capfd.readouterr().err.splitlines()) == {"first", "second"}


def test_frequent_events_are_written_once_a_minute() -> None:
    stream, clock = io.StringIO(), Clock()
    set_up(LogSection(format="json"), stream)
    tally = LogCounter("refused", clock)

    for reason in ("full", "full", "share"):
        tally(reason)
    clock.advance(60)
    tally("full")

    first, second = lines(stream)
    assert first["full"] == 1
    assert (second["full"], second["share"]) == (2, 1)


def test_a_traceback_is_written_once_a_minute_for_each_subject() -> None:
    stream = io.StringIO()
    set_up(LogSection(format="json"), stream)
    clock = Clock()
    unforeseen = Unforeseen("archive-internal-error", clock)

    for archive in ("a", "a", "b", "a"):
        _raise_into(unforeseen, archive)
    clock.advance(60)
    _raise_into(unforeseen, "a")

    written = lines(stream)
    assert [(line["id"], line["times"]) for line in written] == [("a", 1), ("b", 1), ("a", 3)]
    assert written[0]["error"] == "ValueError"
    assert "_raise_into" in str(written[0]["at"])
    assert "http://secret.example/" not in stream.getvalue()


def _raise_into(unforeseen: Unforeseen, subject: str) -> None:
    try:
        int("http://secret.example/")
    except ValueError as error:
        unforeseen(subject, error)
