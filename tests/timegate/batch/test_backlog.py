"""Waiting items by lane and page."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.batch.backlog import ListBacklog, WaitingItem, decoded, encoded
from timegate.batch.model import Item

TEXTS = st.lists(st.text(), max_size=3).map(tuple)
ITEMS = st.builds(Item, st.integers(0, 2**40), st.text(), TEXTS, TEXTS, st.text(), TEXTS)


def waiting(position: int, lane: str = "a", page: str = "") -> WaitingItem:
    return WaitingItem(Item(position, f"{position}", ()), lane, page or f"example)/{position}")


def taken(backlog: ListBacklog, lane: str) -> list[int]:
    return [item.position for item in backlog.take(lane)]


@given(ITEMS)
def test_an_item_is_read_as_it_was_written(item: Item) -> None:
    assert decoded(encoded(item)) == item


@pytest.mark.parametrize(
    "content", ["{}", "[]", '[-1,"",[],[],"",[]]', '[0,"",[1],[],"",[]]', "[", "[0,1,2,3,4,5]"]
)
def test_anything_else_is_refused(content: str) -> None:
    with pytest.raises(ValueError, match=r"not an item|Expecting"):
        decoded(content)
    assert json.dumps("") == '""'


def test_items_are_taken_lane_by_lane_in_the_order_of_the_list() -> None:
    with ListBacklog() as backlog:
        backlog.put([waiting(2, "b"), waiting(1), waiting(0, "b")])
        backlog.put([waiting(3)])

        assert sorted(backlog.lanes()) == ["a", "b"]
        assert [taken(backlog, "a"), taken(backlog, "b"), taken(backlog, "a")] == [
            [1],
            [0],
            [3],
        ]
        assert backlog.lanes() == ["b"]
        assert taken(backlog, "a") == []
        assert backlog.left() == {"a": 2, "b": 2}


def test_items_of_one_page_are_taken_together() -> None:
    with ListBacklog() as backlog:
        backlog.put([waiting(0, page="p"), waiting(1), waiting(2, page="p")])

        assert [taken(backlog, "a"), taken(backlog, "a")] == [[0, 2], [1]]


def test_an_item_that_is_done_is_not_left() -> None:
    with ListBacklog() as backlog:
        backlog.put([waiting(0), waiting(1)])
        backlog.take("a")

        assert [backlog.done(0), backlog.done(0), backlog.done(1)] == [True, False, True]
        assert backlog.left() == {}


def test_items_that_were_taken_can_wait_again() -> None:
    with ListBacklog() as backlog:
        backlog.put([waiting(0), waiting(1)])
        backlog.take("a")

        assert backlog.taken("a") == 1
        backlog.take_back("a")
        assert (backlog.taken("a"), taken(backlog, "a")) == (0, [0])


def test_waiting_items_of_the_same_host_are_found() -> None:
    with ListBacklog() as backlog:
        pages = ["org,a)/2", "org,a)/1", "org,ab)/", "org,a,b)/", "org,a:80)/", "net,a)/"]
        backlog.put(waiting(n, page=page) for n, page in enumerate(pages))
        backlog.put([waiting(9, "b", "org,a)/3")])

        found = [page for page, _ in backlog.same_host("a", "org,a)/x", 10)]

        assert found == ["org,a)/1", "org,a)/2"]
        assert len(list(backlog.same_host("a", "org,a)/x", 1))) == 1
