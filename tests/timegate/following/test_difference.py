from hypothesis import given
from hypothesis import strategies as st

from archives.model import Memento
from tests.timegate.following.pages import capture
from timegate.following.difference import MOST_KNOWN, KnownCaptures, difference, differs

stamps = st.lists(
    st.integers(20000101000000, 20000101000059).map(str), unique=True, max_size=20
).map(sorted)


def new_stamps(captures: list[Memento], known: KnownCaptures) -> list[str]:
    return [each.memento.stamp for each in difference(captures, known)[0]]


@given(stamps, stamps)
def test_each_capture_is_new_once(before: list[str], after: list[str]) -> None:
    first, known = difference([capture(s) for s in before], KnownCaptures())
    second, known = difference([capture(s) for s in after], known)
    again, _ = difference([capture(s) for s in sorted({*before, *after})], known)

    assert [each.memento.stamp for each in first] == before
    assert [each.memento.stamp for each in second] == [s for s in after if s not in before]
    assert again == []


@given(stamps)
def test_what_is_known_can_be_written_and_read(listed: list[str]) -> None:
    _, known = difference([capture(s) for s in listed], KnownCaptures())

    assert KnownCaptures.read(known.written(), known.since) == known


def test_captures_that_vanish_and_return_are_not_new() -> None:
    all_of_them = [capture("20200101000000"), capture("20210101000000")]
    _, known = difference(all_of_them, KnownCaptures())
    _, known = difference(all_of_them[1:], known)

    assert new_stamps(all_of_them, known) == []


def test_captures_within_one_second_are_different() -> None:
    first, second = capture("20200101000000125"), capture("20200101000000250")
    _, known = difference([first], KnownCaptures())

    assert new_stamps([first, second], known) == ["20200101000000250"]


def test_whether_the_content_changed_is_said_only_where_digests_compare() -> None:
    captures = [
        capture("20200101000000", "sha1:AAAA"),
        capture("20200102000000", "sha1:AAAA"),
        capture("20200103000000", "sha1:BBBB"),
        capture("20200104000000"),
        capture("20200105000000", "sha1:BBBB"),
        capture("20200106000000", "sha256:0123456789"),
    ]

    new, _ = difference(captures, KnownCaptures())

    assert [each.changed for each in new] == [None, False, True, None, None, None]


def test_digests_without_a_name_compare_if_they_have_the_same_length() -> None:
    assert differs("AAAA", "AAAA") is False
    assert differs("AAAA", "BBBB") is True
    assert differs("AAAA", "BBBBB") is None
    assert differs("sha1:AAAA", "AAAA") is None


def test_of_a_very_long_list_the_newest_are_known() -> None:
    listed = [capture(str(20000101000000 + n)) for n in range(MOST_KNOWN + 10)]

    _, known = difference(listed, KnownCaptures())

    assert len(known.hashes) == MOST_KNOWN
    assert new_stamps([capture("19990101000000"), *listed], known) == []
    assert new_stamps([*listed, capture("20300101000000")], known) == ["20300101000000"]
