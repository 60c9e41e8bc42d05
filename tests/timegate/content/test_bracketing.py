from base64 import b32encode
from hashlib import sha1, sha256

from hypothesis import given
from hypothesis import strategies as st

from archives.model import Memento
from archives.moment import Moment
from timegate.content.bracketing import DatedCapture, bracket, corroborating

AT = Moment("20160515120000")


def sha(content: str) -> str:
    return b32encode(sha1(content.encode(), usedforsecurity=False).digest()).decode()


def capture(  # noqa: PLR0913 -- what captures differ in
    stamp: str,
    content: str | None = "a",
    archive: str = "one",
    status: int | None = 200,
    *,
    digits: int = 14,
    asserted: bool = False,
) -> DatedCapture:
    digest = None if content is None else sha(content)
    memento = Memento(
        stamp, f"http://{archive}/{stamp}", "http://e.org/", archive, status, None, digest
    )._replace(is_asserted=asserted)
    return DatedCapture.of(memento, digits)


BEFORE, AFTER = capture("20160401000000"), capture("20160601000000", archive="two")


def test_the_same_octets_on_both_sides_are_a_bracket() -> None:
    found = bracket([BEFORE, AFTER], AT)
    assert found == (BEFORE.memento, AFTER.memento)


def test_a_nearer_capture_with_other_octets_prevents_it() -> None:
    assert bracket([BEFORE, AFTER, capture("20160514000000", "b")], AT) is None


def test_a_nearer_capture_without_a_digest_prevents_it() -> None:
    assert bracket([BEFORE, AFTER, capture("20160514000000", None)], AT) is None


def test_a_farther_capture_with_other_octets_does_not_matter() -> None:
    assert bracket([BEFORE, AFTER, capture("20150101000000", "b")], AT) is not None


def test_one_side_is_no_bracket() -> None:
    assert bracket([BEFORE, capture("20150101000000")], AT) is None
    assert bracket([], AT) is None


def test_equal_error_pages_are_no_bracket() -> None:
    pair = [capture("20160401000000", status=404), capture("20160601000000", status=404)]
    assert bracket(pair, AT) is None


def test_a_revisit_without_a_status_counts_by_its_digest() -> None:
    assert bracket([BEFORE, capture("20160601000000", status=None)], AT) is not None


def test_a_capture_in_the_interval_is_itself_the_answer() -> None:
    assert bracket([BEFORE, AFTER], Moment("2016")) is None


def test_a_time_that_its_writer_asserted_is_no_side() -> None:
    assert bracket([BEFORE, AFTER, capture("20100101000000", asserted=True)], AT) is None


def test_a_padded_time_that_may_be_on_either_side_prevents_it() -> None:
    padded = capture("20160515000000", digits=8)
    assert bracket([BEFORE, AFTER, padded], AT) is None


def test_digests_of_different_algorithms_are_not_compared() -> None:
    memento = AFTER.memento._replace(digest=f"sha256:{sha256(b'a').hexdigest()}")
    assert bracket([BEFORE, DatedCapture.of(memento)], AT) is None


def test_archives_with_the_same_octets_on_the_same_day_corroborate() -> None:
    others = [
        capture("20160401120000", archive="two"),
        capture("20160401120000", "b", archive="three"),
        capture("20160403000001", archive="four"),
        capture("20160401000000", archive="one"),
    ]
    assert corroborating(BEFORE, others) == ("two",)


# Random captures: times are minutes of one hour, contents are known to the test alone.
CAPTURES = st.lists(
    st.tuples(
        st.integers(0, 59),
        st.sampled_from("abc"),
        st.sampled_from(["one", "two", "three"]),
        st.sampled_from([200, 200, None, 404]),
        st.booleans(),
        st.sampled_from([14, 14, 14, 10]),
    ),
    max_size=12,
)


@given(CAPTURES, st.integers(0, 59), st.sampled_from([12, 14]))
def test_never_the_same_around_where_the_sides_differ(
    drawn: list[tuple[int, str, str, int | None, bool, int]], minute: int, granularity: int
) -> None:
    contents: dict[tuple[str, str], set[str | None]] = {}
    captures = []
    for at, content, archive, status, known, digits in drawn:
        stamp = f"2016051512{at:02}30" if digits == 14 else "20160515120000"
        captures.append(
            capture(stamp, content if known else None, archive, status, digits=digits)
        )
        contents.setdefault((stamp, str(digits)), set()).add(
            content if known and status != 404 else None
        )
    moment = Moment(f"2016051512{minute:02}00"[:granularity])
    found = bracket(captures, moment)
    if found is None:
        return
    exact = {stamp: each for (stamp, digits), each in contents.items() if digits == "14"}
    start, end = (f"{edge:%Y%m%d%H%M%S}" for edge in moment.window)
    # An hour of unknown minutes may be on either side: nothing may be claimed.
    assert len(exact) == len(contents)
    assert found.before.stamp == max(stamp for stamp in exact if stamp < start)
    assert found.after.stamp == min(stamp for stamp in exact if stamp > end)
    assert not any(start <= stamp <= end for stamp in exact)
    states = exact[found.before.stamp] | exact[found.after.stamp]
    assert len(states) == 1
    assert None not in states
