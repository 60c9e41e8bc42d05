"""Responses are kept for the same request, and for other times if they hold for them."""

from dataclasses import replace

import pytest

from archives.moment import Moment
from tests.clock import Clock
from timegate.responses.model import Response
from timegate.server.response_cache import Key, ResponseCache

OLD, NEW = Response(302, {"Location": "old"}, keep=60.0), Response(302, keep=60.0)
PLAIN = ("", "/timegate/http://x.org/", None, None, None, None)
RELOAD = (*PLAIN[:-1], "max-age=0, No-Cache")


def test_an_answer_without_caches_replaces_all_of_its_address() -> None:
    cache = ResponseCache(lambda: 0.0)
    other_form, other_page = (*PLAIN[:3], "text/html", None, None), ("", "/x", *PLAIN[2:])
    for key in (PLAIN, other_form, other_page):
        cache.put(key, OLD, cache.began())

    cache.put(RELOAD, NEW, cache.began())

    assert cache.get(PLAIN) is NEW
    assert cache.get(other_form) is None
    assert cache.get(other_page) is OLD


def test_an_answer_that_began_before_a_reload_does_not_replace_it() -> None:
    cache = ResponseCache(lambda: 0.0)
    slow, reload = cache.began(), cache.began()

    cache.put(RELOAD, replace(NEW, keep=0.0), reload)
    cache.put(PLAIN, OLD, slow)

    assert cache.get(PLAIN) is None


@pytest.mark.parametrize("control", ["max-age=0", "only-if-cached", "x-no-cache"])
def test_other_cache_directives_keep_nothing_and_replace_nothing(control: str) -> None:
    cache = ResponseCache(lambda: 0.0)
    cache.put(PLAIN, OLD, cache.began())

    cache.put((*PLAIN[:-1], control), NEW, cache.began())

    assert cache.get(PLAIN) is OLD


def test_the_age_of_a_response_grows_while_it_is_kept() -> None:
    now = [100.0]
    cache = ResponseCache(lambda: now[0])
    cache.put(PLAIN, Response(200, {"Age": "25"}, keep=60.0), cache.began())
    ages = []
    for now[0] in (100.0, 112.5, 159.9):
        found = cache.get(PLAIN)
        ages.append(None if found is None else found.headers["Age"])

    assert ages == ["25", "37", "84"]


class _Settled:
    """Responses for all times of a day; anything else is no such time."""

    keep, size = 30.0, 100

    def at(self, time: Moment) -> Response | None:
        return NEW if time.digits.startswith("20160122") else None


def _settled() -> Response:
    response = Response(302, {"Location": "http://a.example/"}, keep=60.0)
    response.mark_settled(_Settled())
    return response


def _asking(at: str | None, target: str = "/x", control: str | None = None) -> Key:
    return ("", target, at, None, None, control)


NOON = "Fri, 22 Jan 2016 12:00:00 GMT"
LATER = "Fri, 22 Jan 2016 12:00:01 GMT"


def test_a_settled_response_is_used_for_other_times() -> None:
    clock = Clock()
    cache = ResponseCache(clock)
    cache.put(_asking(NOON), _settled(), cache.began())

    assert cache.at_another_time(_asking(LATER)) is NEW
    assert cache.at_another_time(_asking("Sat, 23 Jan 2016 12:00:00 GMT")) is None
    assert cache.at_another_time(_asking(None)) is None
    assert cache.at_another_time(_asking(LATER, "/y")) is None
    assert cache.at_another_time(_asking(LATER, control="no-cache")) is None
    clock.advance(31)
    assert cache.at_another_time(_asking(LATER)) is None


def test_a_reload_replaces_settled_responses() -> None:
    cache = ResponseCache(lambda: 0.0)
    cache.put(_asking(NOON), _settled(), cache.began())

    cache.put(_asking(NOON, control="no-cache"), OLD, cache.began())

    assert cache.at_another_time(_asking(LATER)) is None


def test_a_response_that_was_changed_is_used_for_its_own_time_alone() -> None:
    cache = ResponseCache(lambda: 0.0)
    private = replace(_settled(), headers={"Cache-Control": "private"})

    cache.put(_asking(NOON), private, cache.began())

    assert cache.get(_asking(NOON)) is private
    assert cache.at_another_time(_asking(LATER)) is None


def test_only_the_latest_ranges_of_a_page_are_kept() -> None:
    cache = ResponseCache(lambda: 0.0)
    asked: list[int] = []

    class Elsewhere(_Settled):
        def __init__(self, number: int) -> None:
            self.number = number

        def at(self, time: Moment) -> Response | None:
            del time
            asked.append(self.number)
            return None

    for number in range(10):
        response = Response(302, keep=60.0)
        response.mark_settled(Elsewhere(number))
        cache.put(_asking(NOON), response, cache.began())

    assert cache.at_another_time(_asking(LATER)) is None
    assert asked == [9, 8, 7, 6]


@pytest.mark.parametrize("value", ["", "yesterday", "Fri, 22 Jan 2016 00:00:60 GMT"])
def test_a_settled_response_is_not_used_for_a_time_that_is_none(value: str) -> None:
    cache = ResponseCache()
    cache.put(_asking(NOON), _settled(), cache.began())

    assert cache.at_another_time(_asking(LATER)) is NEW
    assert cache.at_another_time(_asking(value)) is None
