"""Faults of dates and choices."""

from typing import Final

import pytest

from tests.timegate.misbehave.asking import (
    NEAR_THE_PAIR,
    PAIR_LATER,
    REPLAY,
    TIMEGATE,
    TIMEMAP,
    location,
    pure,
    relations,
)
from timegate.misbehave import (
    EXAMPLE,
    Archive,
    ArchiveOptions,
)
from timegate.misbehave.site import http_date
from timegate.misbehave.wire import WholeAnswer, WireRequest

STYLES: Final = (ArchiveOptions(timegate="302"), ArchiveOptions(timegate="200"))


def dated(fault: str, options: ArchiveOptions, path: str = TIMEGATE) -> WholeAnswer:
    archive = Archive(fault=fault, options=options)
    answer = archive.reply(WireRequest("GET", path, (("accept-datetime", NEAR_THE_PAIR),)))
    assert isinstance(answer, WholeAnswer)
    return answer


@pytest.mark.parametrize("options", STYLES)
def test_datetime_missing_leaves_no_date_at_all(options: ArchiveOptions) -> None:
    for path in (TIMEGATE, REPLAY):
        answer = dated("datetime-missing", options, path)

        assert answer.value("Memento-Datetime") is None
        assert "datetime=" not in (answer.value("Link") or "")


def test_datetime_wrong_contradicts_links_and_address() -> None:
    answer = dated("datetime-wrong", STYLES[1])
    replay = pure("datetime-wrong", REPLAY)

    assert replay.value("Memento-Datetime") == "Fri, 15 Jun 2012 08:30:00 GMT"
    assert answer.value("Memento-Datetime") == "Mon, 30 Jun 2014 23:59:59 GMT"
    assert relations(answer)["memento"][1] == PAIR_LATER


@pytest.mark.parametrize(
    ("fault", "date"),
    [
        ("datetime-future", "Thu, 01 Jan 2150 00:00:00 GMT"),
        ("datetime-ancient", "Tue, 01 Jan 1901 00:00:00 GMT"),
        ("datetime-unparsable", "sometime in 2013"),
    ],
)
def test_impossible_dates_are_in_header_links_and_timemap(fault: str, date: str) -> None:
    timegate, timemap = dated(fault, STYLES[1]), dated(fault, STYLES[0], TIMEMAP)

    assert timegate.value("Memento-Datetime") == date
    assert relations(timegate)["memento"][1] == date
    assert timemap.body.decode().count(f'datetime="{date}"') == len(EXAMPLE)


def test_stamp_differs_by_a_day_and_still_replays() -> None:
    target, date = relations(dated("stamp-differs", STYLES[0]))["memento"]
    replay = pure("stamp-differs", target)

    assert "/web/20150701235959/" in target
    assert date == replay.value("Memento-Datetime") == PAIR_LATER


@pytest.mark.parametrize("options", STYLES)
def test_echo_asked_repeats_the_requested_time(options: ArchiveOptions) -> None:
    answer = dated("echo-asked", options)

    target, date = relations(answer)["memento"]
    assert date == NEAR_THE_PAIR
    assert "/web/20150630235959/" in target
    if options.timegate == "200":
        assert answer.value("Memento-Datetime") == NEAR_THE_PAIR


def test_wrong_closest_is_the_farthest() -> None:
    assert "/web/20100101120000/" in location(dated("wrong-closest", STYLES[0]))


def test_first_and_last_lead_to_the_chosen_capture_with_their_own_dates() -> None:
    found = relations(dated("first-last-chosen", STYLES[0]))

    assert found["first memento"][0] == found["memento"][0]
    assert found["first memento"][1] == http_date(EXAMPLE[0].at)


def test_claims_everything_holds_any_page_at_any_second() -> None:
    unknown = "http://unheard.example/of"

    timegate = pure("claims-everything", f"/timegate/{unknown}", accept_datetime=NEAR_THE_PAIR)
    replay = pure("claims-everything", f"/web/20150701000030/{unknown}")

    assert location(timegate).endswith(f"/web/20150701000030/{unknown}")
    assert replay.value("Memento-Datetime") == NEAR_THE_PAIR


@pytest.mark.parametrize("status", [301, 404, 429])
def test_archived_errors_are_mementos(status: int) -> None:
    answer = pure(f"archived-{status}", REPLAY)

    assert answer.status == status
    assert answer.value("Memento-Datetime") == "Sat, 15 Jun 2013 08:30:00 GMT"


@pytest.mark.parametrize(
    ("fault", "chosen"),
    [
        ("looks-back", "20130615083000"),
        ("always-newest", "20200202020202"),
        ("always-oldest", "20100101120000"),
        ("second-nearest", "20150630235959"),
        ("promises-everything", "20150101000000"),
        ("location-wrong", "20100101120000"),
    ],
)
def test_timegates_that_choose_another_memento(fault: str, chosen: str) -> None:
    answer = pure(fault, TIMEGATE, accept_datetime="Thu, 01 Jan 2015 00:00:00 GMT")

    assert f"/web/{chosen}/" in location(answer)


def test_looks_back_chooses_the_first_before_the_first() -> None:
    answer = pure("looks-back", TIMEGATE, accept_datetime="Tue, 01 Jan 2002 00:00:00 GMT")

    assert "/web/20100101120000/" in location(answer)


def test_location_wrong_keeps_the_links_of_the_chosen_memento() -> None:
    answer = pure("location-wrong", TIMEGATE, accept_datetime=PAIR_LATER)

    assert relations(answer)["memento"][1] == PAIR_LATER


def test_content_location_wrong_contradicts_memento_datetime() -> None:
    answer = dated("content-location-wrong", STYLES[1])

    assert "/web/20100101120000/" in (answer.value("Content-Location") or "")
    assert answer.value("Memento-Datetime") == PAIR_LATER


def test_false_next_leads_to_no_memento_of_that_time() -> None:
    answer = pure("false-next", TIMEGATE, accept_datetime="Thu, 01 Jan 2015 00:00:00 GMT")
    target, date = relations(answer)["next memento"]

    assert date == "Thu, 01 Jan 2015 00:00:01 GMT"
    assert "/web/20150101000001/" in target
    assert "/web/20150630235958/" in location(answer)
    replay = pure("false-next", f"/web/20150101000001/{EXAMPLE[0].original}")
    assert "/web/20150630235958/" in location(replay)


def test_memento_redated_states_2017_at_the_memento_alone() -> None:
    assert pure("memento-redated", REPLAY).value("Memento-Datetime") == (
        "Sun, 01 Jan 2017 00:00:00 GMT"
    )
    assert "2017" not in (pure("memento-redated", TIMEGATE).value("Link") or "")


def test_memento_other_original_links_another_page_at_the_memento_alone() -> None:
    link = pure("memento-other-original", REPLAY).value("Link") or ""

    assert link.startswith('<http://other.example/>; rel="original"')
    assert "other.example" not in (pure("memento-other-original", TIMEGATE).value("Link") or "")


def test_frame_repeats_the_digits_and_its_raw_view_does_not() -> None:
    frame = pure("frame-repeats", f"/web/20110101000000/{EXAMPLE[0].original}")
    raw = pure("frame-repeats", f"/web/20110101000000id_/{EXAMPLE[0].original}")

    assert frame.value("Memento-Datetime") == "Sat, 01 Jan 2011 00:00:00 GMT"
    assert "/web/20100101120000id_/" in location(raw)
