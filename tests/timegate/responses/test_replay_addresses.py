"""Addresses of whole pages and of their parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.markup import EmbeddedUrl, Kind, Role
from timegate.responses.replay_addresses import FRAME, PAGE, ReplayPlace, read_place

GATE = "http://gate.example"
PLACE = ReplayPlace("2010", "http://x.example/", "20100601120000", "mine", PAGE)


@pytest.mark.parametrize(
    ("kind", "role", "address"),
    [
        ("image", "part", "/view/2010-20100601120000@mine.im_/http://y.example/"),
        ("icon", "variant", "/view/2010-20100601120000@mine.im_/http://y.example/"),
        ("stylesheet", "part", "/view/2010-20100601120000@mine.cs_/http://y.example/"),
        ("frame", "part", "/view/2010-20100601120000@mine.fr_/http://y.example/"),
        ("font", "part", "/view/2010-20100601120000@mine.oe_/http://y.example/"),
        ("script", "part", None),
        ("other", "link", f"{GATE}/view/2010/http://y.example/"),
        ("frame", "link", "/view/2010-2010@mine.fr_/http://y.example/"),
    ],
)
def test_parts_keep_the_time_of_the_page_and_links_that_of_the_request(
    kind: Kind, role: Role, address: str | None
) -> None:
    url = EmbeddedUrl("http://y.example/", kind, role, "")

    assert PLACE.address_of("view", GATE, url) == address


@given(
    st.builds(
        ReplayPlace,
        st.from_regex("[0-9]{4,14}", fullmatch=True),
        st.just("http://x.example/a?b=c"),
        st.from_regex("[0-9]{14}", fullmatch=True),
        st.text("abc.-_/@ é", min_size=1, max_size=20),
        st.sampled_from([PAGE, FRAME]),
    )
    | st.builds(
        ReplayPlace,
        st.from_regex("[0-9]{4,14}", fullmatch=True),
        st.just("http://x.example/a?b=c"),
        archive=st.text("abc.-_/@ é", max_size=20),
    )
)
def test_an_address_is_read_back(place: ReplayPlace) -> None:
    assert read_place(place.path("view").removeprefix("/view/")) == place


@pytest.mark.parametrize("rest", ["", "2010/", "201/http://x/", "2010im_/http://x/", "x/2010"])
def test_what_is_no_address_is_none(rest: str) -> None:
    assert read_place(rest) is None


@pytest.mark.parametrize("archive", ["`" * 40, "%FF" * 20, "%C3%A9" * 40])
def test_an_archive_whose_addresses_could_not_be_read_back_is_none(archive: str) -> None:
    assert read_place(f"2010-20100601@{archive}.im_/http://x.example/") is None
