import logging

import pytest

from archives.errors import UnforeseenLog


class Surprise(Exception):
    """What nobody foresees."""


def surprise() -> None:
    raise Surprise("http://secret.example/")


def test_an_unforeseen_exception_is_logged_once_a_minute_with_its_trace_and_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [0.0]
    log = UnforeseenLog("record-internal-error", lambda: now[0])

    with caplog.at_level(logging.ERROR):
        for now[0] in (0.0, 1.0, 59.0, 60.0):
            try:
                surprise()
            except Surprise as error:
                log(error)

    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("record-internal-error times=1 error=Surprise at=")
    assert "test_errors.py" in first
    assert " times=3 " in second
    assert "secret" not in caplog.text
    assert log.total == 4
