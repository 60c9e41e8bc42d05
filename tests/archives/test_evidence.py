"""What an answer proves: addresses, links and dates, each against the others."""

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
def test_an_address_says_what_and_when_unless_it_does_not(
    uri: str, expected: tuple[str, str] | None
) -> None:
    assert address_of(uri) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
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
def test_pages_are_the_same_if_archives_fold_what_they_differ_in(
    one: str, other: str, *, same: bool
) -> None:
    assert same_page(one, other) is same


# Statements


def test_headers_are_read_in_any_case_and_resolved_against_the_reply() -> None:
    said = statement(
        TIMEGATE,
        302,
        vary="negotiate, Accept-DateTime",
        location=f" /web/20130615083000/{PAGE} ",
        content_location=f"//archive.example/web/20130615083000/{PAGE}",
        memento_datetime=DATE,
    )

    assert said.negotiates
    assert said.location == MEMENTO
    assert said.content_location == MEMENTO
    assert said.datetime == DATE


def test_an_answer_without_memento_headers_states_nothing() -> None:
    said = statement()

    assert said == Statement(
        MEMENTO, 200, None, None, None, negotiates=False, originals=(), links=()
    )
    assert not said.is_frame
    assert said.original(None, PAGE) == PAGE


@pytest.mark.parametrize(
    "target",
    [MEMENTO, f"/web/20130615083000/{PAGE}", f"//archive.example/web/20130615083000/{PAGE}"],
)
def test_links_to_mementos_may_be_relative(target: str) -> None:
    said = statement(link=f'<{target}>; rel="prev memento"; datetime="{DATE}"')

    assert said.links == (DatedLink(MEMENTO, DATE, ("prev",)),)


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
def test_what_is_no_link_to_a_memento_of_this_page_is_none(link: str) -> None:
    assert [link.uri for link in statement(link=link).links if link.uri == MEMENTO] == []


@pytest.mark.parametrize("anchor", [MEMENTO, PAGE])
def test_a_link_may_name_its_context(anchor: str) -> None:
    said = statement(
        link=f'<{PAGE}>; rel="original", '
        f'<{MEMENTO}>; rel="memento"; datetime="{DATE}"; anchor="{anchor}"'
    )

    assert said.date_of(MEMENTO) == DATE


def test_the_original_of_something_else_is_not_the_original() -> None:
    said = statement(link='<http://other/>; rel="original"; anchor="http://archive.example/"')

    assert said.originals == ()


@pytest.mark.parametrize(
    ("links", "asked", "expected"),
    [
        ([], PAGE, PAGE),
        (["https://www.example.org/"], PAGE, "https://www.example.org/"),
        (["http://other/", PAGE], PAGE, PAGE),
        (["http://other/", "https://www.example.org/"], PAGE, "https://www.example.org/"),
        (["http://other/"], PAGE, "http://other/"),
    ],
)
def test_of_several_originals_the_one_that_was_asked_for_counts(
    links: list[str], asked: str, expected: str
) -> None:
    said = statement(link=", ".join(f'<{target}>; rel="original"' for target in links))

    assert said.original(None, asked) == expected


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
def test_without_a_link_the_address_says_what_was_captured(uri: str, expected: str) -> None:
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
    said = statement(link=", ".join(f'<{target}>; rel="original"' for target in links))

    assert said.contradictions == doubts


# Which date belongs to an address


def dated(*links: tuple[str, str, str]) -> Statement:
    written = [f'<{uri}>; rel="{rel}"; datetime="{date}"' for uri, rel, date in links]
    return statement(TIMEGATE, vary="accept-datetime", link=", ".join(written))


def test_the_link_to_a_memento_dates_it() -> None:
    assert dated((MEMENTO, "memento", DATE)).date_of(MEMENTO) == DATE


def test_of_several_dates_the_one_in_the_address_counts() -> None:
    said = dated((MEMENTO, "first memento", ANOTHER_DATE), (MEMENTO, "last memento", DATE))

    assert said.date_of(MEMENTO) == DATE


def test_of_several_dates_that_of_the_plain_link_counts() -> None:
    uri = "http://archive.example/ABCD"
    said = dated((uri, "first memento", ANOTHER_DATE), (uri, "memento", DATE))

    assert said.date_of(uri) == DATE


def test_dates_that_contradict_each_other_are_none() -> None:
    uri = "http://archive.example/ABCD"
    said = dated((uri, "first memento", ANOTHER_DATE), (uri, "last memento", DATE))

    assert said.date_of(uri) is None


def test_a_raw_address_is_dated_by_the_plain_link() -> None:
    said = dated((MEMENTO, "memento", DATE), (f"{MEMENTO}x", "next memento", ANOTHER_DATE))

    assert said.date_of(f"http://archive.example/web/20130615083000id_/{PAGE}") == DATE


def test_an_address_is_not_dated_by_its_neighbours() -> None:
    assert dated((f"{MEMENTO}x", "next memento", DATE)).date_of(TIMEGATE) is None


# Frames, and addresses that only links tell


def test_a_frame_is_a_timegate_that_names_one_memento_and_dates_nothing() -> None:
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
def test_anything_else_is_no_frame(status: int, headers: dict[str, str]) -> None:
    link = f'<{MEMENTO}>; rel="memento"; datetime="{DATE}"'

    assert not statement(TIMEGATE, status, link=link, **headers).is_frame


def test_among_neighbours_the_plain_link_names_the_memento() -> None:
    said = dated((f"{MEMENTO}x", "next memento", ANOTHER_DATE), (MEMENTO, "memento", DATE))

    assert said.linked_address == MEMENTO


def test_among_neighbours_the_date_names_the_memento() -> None:
    said = statement(
        TIMEGATE,
        memento_datetime=DATE,
        link=f'<{MEMENTO}>; rel="first memento"; datetime="{DATE}", '
        f'<{MEMENTO}x>; rel="last memento"; datetime="{ANOTHER_DATE}"',
    )

    assert said.linked_address == MEMENTO


def test_several_neighbours_name_no_memento() -> None:
    said = dated(
        (MEMENTO, "first memento", DATE), (f"{MEMENTO}x", "last memento", ANOTHER_DATE)
    )

    assert said.linked_address is None


# Neighbours


def at(stamp: str) -> str:
    return f"http://archive.example/web/{stamp}/{PAGE}"


def test_neighbours_are_those_linked_with_plausible_stamp_dates() -> None:
    said = dated(
        (at("20100101120000"), "first prev memento", "Fri, 01 Jan 2010 12:00:00 GMT"),
        (MEMENTO, "memento", DATE),
        (at("20200202020202"), "next memento", ANOTHER_DATE),
        (at("21500101000000"), "last memento", "Thu, 01 Jan 2150 00:00:00 GMT"),
    )

    found = said.neighbours(chosen(), NOW)

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
def test_a_neighbour_whose_target_denies_it_is_none(target: str) -> None:
    said = dated((target, "last memento", ANOTHER_DATE))

    assert said.neighbours(chosen(), NOW) == {}


def test_a_neighbour_without_digits_is_none_if_it_is_the_chosen_one_under_another_date() -> (
    None
):
    uri = "http://archive.example/ABCD"
    said = dated(
        (uri, "first memento", ANOTHER_DATE),
        (uri, "prev memento", DATE),
        (f"{uri}E", "next memento", ANOTHER_DATE),
    )

    found = said.neighbours(chosen(uri), NOW)

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
def test_captures_are_as_old_as_the_web_and_not_from_tomorrow(
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
def test_a_date_is_believed_if_a_capture_can_have_it(date: str, stamp: str | None) -> None:
    assert plausible_stamp(date, NOW) == stamp


CONFLICT = "Memento-Datetime states 20200202020202, the address states 20130615083000"
LINK_CONFLICT = CONFLICT.replace("the address", "the link to it")


@pytest.mark.parametrize(
    ("header", "link", "uri", "asked", "expected"),
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
    header: str | None, link: str | None, uri: str, asked: str | None, expected: Dated
) -> None:
    assert weigh(header, link, uri, asked, NOW) == expected


def test_a_doubt_quotes_no_more_than_it_must() -> None:
    [doubt] = weigh("x" * 100_000, None, MEMENTO, None, NOW).doubts

    assert len(doubt) < 120
