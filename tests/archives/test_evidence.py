"""Evidence in an answer: addresses, links and dates, and their contradictions."""

import pytest

from archives.evidence import (
    Dated,
    DatedLink,
    ReplayAddress,
    Statement,
    address_of,
    plausible,
    plausible_stamp,
    same_page,
    weigh,
)
from archives.model import Memento
from tests.fakes import FakeReply

NOW = "20261115120000"
PAGE = "http://example.org/"
TIMEGATE = f"http://archive.example/timegate/{PAGE}"
MEMENTO = f"http://archive.example/web/20130615083000/{PAGE}"
DATE = "Sat, 15 Jun 2013 08:30:00 GMT"
ANOTHER_DATE = "Sun, 02 Feb 2020 02:02:02 GMT"


def statement(url: str = MEMENTO, status: int = 200, **headers: str) -> Statement:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Statement.of(FakeReply(url, status, named, (), None))


def chosen(uri: str = MEMENTO, stamp: str = "20130615083000") -> Memento:
    return Memento(stamp, uri, PAGE, "test")


# Addresses


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        (MEMENTO, ReplayAddress("20130615083000", PAGE)),
        ("https://a/20130615083000id_/https://e/?q=1", ("20130615083000", "https://e/?q=1")),
        ("https://a/coll/12/20130615083000mp_/e.org/a", ("20130615083000", "e.org/a")),
        ("https://a/20130615083000123/http://e/", ("20130615083000123", "http://e/")),
        ("https://a/wayback/20130615083000/http:/e/", ("20130615083000", "http:/e/")),
        ("https://a/2013/http://e/", None),
        ("https://a/20130230083000/http://e/", None),
        ("https://a/201306150830001234/http://e/", None),
        ("https://a/20130615083000/", None),
        ("https://perma.example/ABCD-1234", None),
        (f"http://archive.example/timegate/{MEMENTO}", None),
        (f"https://a/20200202020202/{MEMENTO}", ("20200202020202", MEMENTO)),
    ],
)
def test_an_address_may_have_a_stamp_and_an_original(
    uri: str, expected: tuple[str, str] | None
) -> None:
    assert address_of(uri) == expected


@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        ("http://example.org/", "https://www.EXAMPLE.org", True),
        ("http://example.org:80/a/", "http://example.org/a", True),
        ("https://example.org:443/a", "http://example.org/a", True),
        ("example.org/a", "http://example.org/a", True),
        ("example.org/a", "other.org/b", False),
        ("http://example.org/a", "http://example.org/A", False),
        ("http://example.org/?u=http://a/", "http://example.org/?u=http://b/", False),
        ("example.org/?u=http://a/", "http://example.org/?u=http://a/", True),
        ("example.org/?u=http://a/", "http://a/", False),
    ],
)
def test_pages_are_the_same_if_archives_ignore_their_differences(
    first: str, other: str, *, same: bool
) -> None:
    assert same_page(first, other) is same


# Statements


def test_headers_are_read_in_any_case_and_resolved_against_the_reply() -> None:
    answer = statement(
        TIMEGATE,
        302,
        vary="negotiate, Accept-DateTime",
        location=f" /web/20130615083000/{PAGE} ",
        content_location=f"//archive.example/web/20130615083000/{PAGE}",
        memento_datetime=DATE,
    )

    assert answer.negotiates
    assert answer.location == MEMENTO
    assert answer.content_location == MEMENTO
    assert answer.datetime == DATE


def test_an_answer_without_memento_headers_states_nothing() -> None:
    answer = statement()

    assert answer == Statement(
        MEMENTO, 200, None, None, None, negotiates=False, originals=(), links=()
    )
    assert not answer.is_frame
    assert answer.original(None, PAGE) == PAGE


@pytest.mark.parametrize(
    "target",
    [MEMENTO, f"/web/20130615083000/{PAGE}", f"//archive.example/web/20130615083000/{PAGE}"],
)
def test_links_to_mementos_may_be_relative(target: str) -> None:
    answer = statement(link=f'<{target}>; rel="prev memento"; datetime="{DATE}"')

    assert answer.links == (DatedLink(MEMENTO, DATE, ("prev",)),)


@pytest.mark.parametrize(
    "link",
    [
        f'<{MEMENTO}>; rel="memento"',
        f'<{MEMENTO}>; rel="original"; datetime="{DATE}"',
        f'<javascript:alert(1)>; rel="memento"; datetime="{DATE}"',
        f'<file:///web/20130615083000/{PAGE}>; rel="memento"; datetime="{DATE}"',
        f'<http://[/>; rel="memento"; datetime="{DATE}"',
        f'<http[::>; rel="memento"; datetime="{DATE}"',
        f'<{MEMENTO}>; rel="memento"; datetime="{DATE}"; anchor="http://other.example/"',
    ],
)
def test_other_links_are_no_links_to_mementos_of_this_page(link: str) -> None:
    assert [link.uri for link in statement(link=link).links if link.uri == MEMENTO] == []


@pytest.mark.parametrize("anchor", [MEMENTO, PAGE])
def test_a_link_may_name_its_context(anchor: str) -> None:
    answer = statement(
        link=f'<{PAGE}>; rel="original", '
        f'<{MEMENTO}>; rel="memento"; datetime="{DATE}"; anchor="{anchor}"'
    )

    assert answer.date_of(MEMENTO) == DATE


def test_an_original_of_another_context_is_ignored() -> None:
    answer = statement(link='<http://other/>; rel="original"; anchor="http://archive.example/"')

    assert answer.originals == ()


@pytest.mark.parametrize(
    ("links", "requested", "expected"),
    [
        ([], PAGE, PAGE),
        (["https://www.example.org/"], PAGE, "https://www.example.org/"),
        (["http://other/", PAGE], PAGE, PAGE),
        (["http://other/", "https://www.example.org/"], PAGE, "https://www.example.org/"),
        (["http://other/"], PAGE, "http://other/"),
    ],
)
def test_of_several_originals_the_requested_one_counts(
    links: list[str], requested: str, expected: str
) -> None:
    answer = statement(link=", ".join(f'<{target}>; rel="original"' for target in links))

    assert answer.original(None, requested) == expected


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        (
            f"http://archive.example/web/20130615083000/https://{PAGE[7:]}",
            "https://example.org/",
        ),
        ("http://archive.example/web/20130615083000/example.org/", PAGE),
        ("http://archive.example/ABCD", PAGE),
    ],
)
def test_without_a_link_the_original_is_read_from_the_address(uri: str, expected: str) -> None:
    assert statement().original(uri, PAGE) == expected


@pytest.mark.parametrize(
    ("links", "doubts"),
    [
        ([PAGE], ()),
        ([PAGE, PAGE], ()),
        ([PAGE, "https://www.example.org"], ()),
        ([PAGE, "http://other/"], ("links several originals",)),
    ],
)
def test_more_than_one_original_is_doubtful(links: list[str], doubts: tuple[str, ...]) -> None:
    answer = statement(link=", ".join(f'<{target}>; rel="original"' for target in links))

    assert answer.contradictions == doubts


# The date of an address


def dated(*links: tuple[str, str, str]) -> Statement:
    written = [f'<{uri}>; rel="{rel}"; datetime="{date}"' for uri, rel, date in links]
    return statement(TIMEGATE, vary="accept-datetime", link=", ".join(written))


def test_the_link_to_a_memento_dates_it() -> None:
    assert dated((MEMENTO, "memento", DATE)).date_of(MEMENTO) == DATE


def test_of_several_dates_the_one_in_the_address_counts() -> None:
    answer = dated((MEMENTO, "first memento", ANOTHER_DATE), (MEMENTO, "last memento", DATE))

    assert answer.date_of(MEMENTO) == DATE


def test_of_several_dates_that_of_the_plain_link_counts() -> None:
    uri = "http://archive.example/ABCD"
    answer = dated((uri, "first memento", ANOTHER_DATE), (uri, "memento", DATE))

    assert answer.date_of(uri) == DATE


def test_contradictory_dates_give_no_date() -> None:
    uri = "http://archive.example/ABCD"
    answer = dated((uri, "first memento", ANOTHER_DATE), (uri, "last memento", DATE))

    assert answer.date_of(uri) is None


def test_a_raw_address_is_dated_by_the_plain_link() -> None:
    answer = dated((MEMENTO, "memento", DATE), (f"{MEMENTO}x", "next memento", ANOTHER_DATE))

    assert answer.date_of(f"http://archive.example/web/20130615083000id_/{PAGE}") == DATE


def test_an_address_is_not_dated_by_its_neighbours() -> None:
    assert dated((f"{MEMENTO}x", "next memento", DATE)).date_of(TIMEGATE) is None


# Frames, and addresses that are only in links


def test_a_frame_negotiates_links_one_memento_and_has_no_memento_datetime() -> None:
    assert dated((MEMENTO, "memento", DATE)).is_frame
    assert dated((MEMENTO, "memento", DATE)).linked_address == MEMENTO


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (404, {"vary": "accept-datetime"}),
        (304, {"vary": "accept-datetime"}),
        (200, {"vary": "accept-datetime", "memento_datetime": DATE}),
        (200, {}),
    ],
)
def test_any_other_answer_is_no_frame(status: int, headers: dict[str, str]) -> None:
    link = f'<{MEMENTO}>; rel="memento"; datetime="{DATE}"'

    assert not statement(TIMEGATE, status, link=link, **headers).is_frame


def test_among_neighbours_the_plain_link_is_the_memento() -> None:
    answer = dated((f"{MEMENTO}x", "next memento", ANOTHER_DATE), (MEMENTO, "memento", DATE))

    assert answer.linked_address == MEMENTO


def test_among_neighbours_the_date_identifies_the_memento() -> None:
    answer = statement(
        TIMEGATE,
        memento_datetime=DATE,
        link=f'<{MEMENTO}>; rel="first memento"; datetime="{DATE}", '
        f'<{MEMENTO}x>; rel="last memento"; datetime="{ANOTHER_DATE}"',
    )

    assert answer.linked_address == MEMENTO


def test_several_neighbours_identify_no_memento() -> None:
    answer = dated(
        (MEMENTO, "first memento", DATE), (f"{MEMENTO}x", "last memento", ANOTHER_DATE)
    )

    assert answer.linked_address is None


# Neighbours


def at(stamp: str) -> str:
    return f"http://archive.example/web/{stamp}/{PAGE}"


def test_neighbours_are_links_with_plausible_dates() -> None:
    answer = dated(
        (at("20100101120000"), "first prev memento", "Fri, 01 Jan 2010 12:00:00 GMT"),
        (MEMENTO, "memento", DATE),
        (at("20200202020202"), "next memento", ANOTHER_DATE),
        (at("21500101000000"), "last memento", "Thu, 01 Jan 2150 00:00:00 GMT"),
    )

    found = answer.neighbours(chosen(), NOW)

    assert {name: memento.stamp for name, memento in found.items()} == {
        "first": "20100101120000",
        "prev": "20100101120000",
        "next": "20200202020202",
    }
    assert found["next"] == Memento("20200202020202", at("20200202020202"), PAGE, "test")


@pytest.mark.parametrize(
    "target",
    [
        MEMENTO,
        at("20200203020202"),
        "http://archive.example/web/20200202020202/http://other.example/",
    ],
    ids=["the chosen one", "other digits", "another page"],
)
def test_a_neighbour_is_dropped_if_its_address_contradicts_it(target: str) -> None:
    answer = dated((target, "last memento", ANOTHER_DATE))

    assert answer.neighbours(chosen(), NOW) == {}


def test_a_neighbour_is_dropped_if_it_is_the_chosen_memento_with_another_date() -> None:
    uri = "http://archive.example/ABCD"
    answer = dated(
        (uri, "first memento", ANOTHER_DATE),
        (uri, "prev memento", DATE),
        (f"{uri}E", "next memento", ANOTHER_DATE),
    )

    found = answer.neighbours(chosen(uri), NOW)

    assert {name: memento.uri for name, memento in found.items()} == {
        "prev": uri,
        "next": f"{uri}E",
    }


# Dates


@pytest.mark.parametrize(
    ("stamp", "possible"),
    [
        ("19891231235959", False),
        ("19900101000000", True),
        (NOW, True),
        ("20261115120000999", True),
        ("20261115120001", False),
    ],
)
def test_captures_are_no_older_than_the_web_and_not_in_the_future(
    stamp: str, *, possible: bool
) -> None:
    assert plausible(stamp, NOW) is possible


@pytest.mark.parametrize(
    ("date", "stamp"),
    [
        (DATE, "20130615083000"),
        ("Mon, 15 Jun 2013 08:30:00 GMT", "20130615083000"),
        ("Sun, 30 Feb 2013 08:30:00 GMT", None),
        ("Thu, 01 Jan 2150 00:00:00 GMT", None),
        ("sometime in 2013", None),
        ("", None),
        (f"{DATE}, {DATE}", None),
    ],
)
def test_a_date_is_plausible_if_a_capture_can_have_it(date: str, stamp: str | None) -> None:
    assert plausible_stamp(date, NOW) == stamp


CONFLICT = "Memento-Datetime states 20200202020202, the address states 20130615083000"
LINK_CONFLICT = CONFLICT.replace("the address", "the link to it")


@pytest.mark.parametrize(
    ("header", "link", "uri", "requested", "expected"),
    [
        (DATE, DATE, MEMENTO, None, Dated("20130615083000", ())),
        (DATE, None, "http://a/ABCD", None, Dated("20130615083000", ())),
        (None, DATE, "http://a/ABCD", None, Dated("20130615083000", ())),
        (None, None, MEMENTO, None, Dated("20130615083000", ())),
        (None, None, "http://a/ABCD", None, Dated(None, ())),
        (DATE, DATE, MEMENTO, "20130615083000", Dated("20130615083000", ())),
        (ANOTHER_DATE, None, MEMENTO, None, Dated("20200202020202", (CONFLICT,))),
        (
            None,
            ANOTHER_DATE,
            MEMENTO,
            None,
            Dated(
                "20130615083000",
                ("the address states 20130615083000, the link to it states 20200202020202",),
            ),
        ),
        (
            ANOTHER_DATE,
            DATE,
            "http://a/ABCD",
            None,
            Dated("20200202020202", (LINK_CONFLICT,)),
        ),
        (
            ANOTHER_DATE,
            None,
            MEMENTO,
            "20200202020202",
            Dated(
                "20130615083000",
                (CONFLICT, "Memento-Datetime repeats the requested time"),
            ),
        ),
        (
            "yesterday",
            None,
            MEMENTO,
            None,
            Dated(
                "20130615083000", ("Memento-Datetime states an impossible date: 'yesterday'",)
            ),
        ),
        (
            DATE,
            "Thu, 01 Jan 2150 00:00:00 GMT",
            at("21500101000000"),
            None,
            Dated(
                "20130615083000",
                (
                    "the link to it states an impossible date: 'Thu, 01 Jan 2150 00:00:00 GMT'",
                    "the address states an impossible date: 21500101000000",
                ),
            ),
        ),
        (
            DATE,
            None,
            "http://a/20130615083000250/http://e/",
            None,
            Dated("20130615083000250", ()),
        ),
    ],
    ids=[
        "all agree",
        "header alone",
        "link alone",
        "digits alone",
        "nothing",
        "an echo that is true",
        "header against digits",
        "digits against link",
        "header against link",
        "an echo that is not",
        "impossible header",
        "impossible link and digits",
        "a fraction in the address",
    ],
)
def test_the_time_of_a_capture_is_weighed(
    header: str | None, link: str | None, uri: str, requested: str | None, expected: Dated
) -> None:
    assert weigh(header, link, uri, requested, NOW) == expected


def test_a_doubt_quotes_a_bounded_part_of_the_value() -> None:
    [doubt] = weigh("x" * 100_000, None, MEMENTO, None, NOW).doubts

    assert len(doubt) < 120
