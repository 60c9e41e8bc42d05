"""JSON of known programs."""

import pytest

from timegate.references.json_shapes import has_other_pages, known_pages

_COPY = "http://web.archive.org/web/20100505102030/http://museum.example/"


@pytest.mark.parametrize(
    ("value", "pages"),
    [
        ({"url": "a", "archived_snapshots": {"closest": {"url": _COPY}}}, [_COPY]),
        (
            [["timestamp", "original"], ["20100505", "http://museum.example/"], []],
            [{"url": "http://museum.example/", "archived": "20100505"}],
        ),
        (
            {"startedDateTime": "2010-05-05T10:20:30.123Z", "request": {"url": "http://a.b/"}},
            [{"url": "http://a.b/", "accessed": "2010-05-05T10:20:30Z"}],
        ),
        ({"mementos": {"list": [{"uri": _COPY}]}}, [_COPY]),
        ({"mementos": {"closest": {"uri": [_COPY]}}}, [_COPY]),
        ({"identifier": "a", "original": "a", "memento": {"uri": _COPY}}, [_COPY]),
        (
            {"identifier": "a", "original": "a", "memento": None, "time": {"req": "2010"}},
            [{"url": "a", "accessed": "2010"}],
        ),
    ],
)
def test_known_shapes_are_read_by_their_members(value: object, pages: list[object]) -> None:
    assert known_pages(value) == pages


@pytest.mark.parametrize(
    "value",
    [
        *(None, 7, "a", [], {}, [[]], [["timestamp"]], {"archived_snapshots": {}}),
        *({"log": {"entries": [{"request": 7}]}}, {"mementos": 7}, {"original": 7}),
    ],
)
def test_other_values_are_of_no_known_shape(value: object) -> None:
    assert known_pages(value) is None


def test_other_addresses_are_seen_at_any_level() -> None:
    value = {
        "id": "http://id.example/",
        "url": "http://a.b/",
        "more": [{"c": "https://www.c.d/"}],
    }

    assert has_other_pages(value, ["http://a.b"])
    assert not has_other_pages(value, ["http://a.b", "https://c.d"])


def test_deep_and_long_values_are_bounded() -> None:
    value: dict[str, object] = {"url": "http://a.b/"}
    for _ in range(100_000):
        value = {"x": value}

    assert not has_other_pages(value, [])
    assert has_other_pages({"x": ["http://a.b/"] * 100_000}, [])


@pytest.mark.parametrize(
    ("method", "status", "name"),
    [("GET", 200, "accessed"), ("GET", 404, "requested"), ("POST", 200, "requested")],
)
def test_a_request_says_that_a_page_was_seen_if_it_was_sent(
    method: str, status: int, name: str
) -> None:
    entry = {
        "startedDateTime": "2010-11-05T10:15:00Z",
        "request": {"method": method, "url": "http://a.example/"},
        "response": {"status": status},
    }

    assert known_pages({"log": {"entries": [entry]}}) == [
        {"url": "http://a.example/", name: "2010-11-05T10:15:00Z"}
    ]
