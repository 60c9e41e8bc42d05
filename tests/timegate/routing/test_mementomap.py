"""Looking up holdings: the most specific line decides, and silence is not absence."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.diagnostics import Malformed
from timegate.routing.mementomap import ABSENT, UNKNOWN, MementoMap, Presence

WHITELIST = b"""\
com,cnn)/* 400
com,cnn)/profiles/* 0
com,cnn)/world 0
com,twitter)/ 100
edu,odu,cs)/~mln/ 40
pt,* 10000
uk,co,bbc)/images/* 300
"""


def holds(octets: bytes, surt: str, *, complete: bool = True) -> Presence:
    return MementoMap.load(octets, complete=complete).holds(surt)


@pytest.mark.parametrize(
    ("surt", "state", "line"),
    [
        ("com,cnn)/", "present", "com,cnn)/*"),
        ("com,cnn)/2019/x?y=1", "present", "com,cnn)/*"),
        ("com,cnn)/profiles/someone", "absent", "com,cnn)/profiles/*"),
        ("com,cnn)/profiles", "absent", "com,cnn)/profiles/*"),
        ("com,cnn)/world", "absent", "com,cnn)/world"),
        ("com,cnn)/world?x=1", "absent", "com,cnn)/world"),
        ("com,cnn)/world/today", "present", "com,cnn)/*"),
        ("com,cnn,edition)/", "absent", None),
        ("com,twitter)/", "present", "com,twitter)/"),
        ("com,twitter)/foo", "absent", None),
        ("edu,odu,cs)/~mln", "present", "edu,odu,cs)/~mln/"),
        ("pt,publico)/a/b", "present", "pt,*"),
        ("pt,publico,www2:8080)/a", "present", "pt,*"),
        ("uk,co,bbc)/", "absent", None),
        ("uk,co,bbc)/images/a/b/c.png", "present", "uk,co,bbc)/images/*"),
        ("localhost)/", "unknown", None),
        ("urn:isbn:0451450523", "unknown", None),
    ],
)
def test_the_most_specific_line_decides(surt: str, state: str, line: str | None) -> None:
    presence = holds(WHITELIST, surt)

    assert (presence.state, presence.line) == (state, line)


def test_an_unlisted_page_is_unknown_unless_the_map_lists_everything() -> None:
    assert holds(WHITELIST, "org,example)/", complete=False) == UNKNOWN
    assert holds(WHITELIST, "org,example)/", complete=True) == ABSENT


def test_a_total_says_nothing_of_a_page_but_a_total_of_zero_does() -> None:
    assert holds(b"* 54321\ncom,* 10000\n", "org,example)/") == UNKNOWN
    assert holds(b"* 0\ncom,* 10000\n", "org,example)/").state == "absent"


def test_keys_as_the_tool_writes_them_are_found() -> None:
    """`mementomap generate` strips slashes and commas from the ends of keys."""
    assert holds(b"com,twitter) 100\n", "com,twitter)/").state == "present"


def test_a_line_nearer_to_the_page_ranks_higher() -> None:
    lines = (b"com,*", b"com,a,*", b"com,a)/*", b"com,a)/b/*", b"com,a)/b/c/*", b"com,a)/b/c")

    ranks = [holds(line + b" 1\n", "com,a)/b/c").rank for line in lines]

    assert ranks == sorted(set(ranks))
    assert ranks[-1] == 1.0


def test_perhaps_zero_is_unknown() -> None:
    assert holds(b"com,* 9\ncom,a)/* 0~\n", "com,a)/b") == UNKNOWN


def test_one_year_of_nothing_does_not_make_a_page_absent() -> None:
    years = b"""!fields {keys: ["surt", "datetime"], values: ["frequency"]}
com,a)/* 2014 0
com,b)/* 2014 0
com,b)/* 2015 7
com,c)/* :    0
"""
    found = MementoMap.load(years)

    states = [found.holds(f"com,{site})/").state for site in "abc"]

    assert states == ["unknown", "present", "absent"]


def test_lines_in_any_order_are_found() -> None:
    lines = [b"com,site%d)/* %d" % (number, number + 1) for number in range(500)]

    found = MementoMap.load(b"\n".join(lines[1::2] + lines[::2]))

    assert all(found.holds(f"com,site{n})/x").state == "present" for n in range(500))


def test_a_map_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "map.ukvs"
    path.write_bytes(b'!meta {updated_at: "2018-09-03"}\n' + WHITELIST)

    found = MementoMap.load(path)

    assert len(found) == 7
    assert found.updated == "2018-09-03"


def test_a_file_that_is_no_mementomap_is_rejected() -> None:
    with pytest.raises(Malformed, match="line 1"):
        MementoMap.load(b"<html>\n")


def test_a_url_of_thousands_of_segments_costs_no_more_than_the_map_is_deep() -> None:
    surt = "com,cnn)" + "/a" * 1_000_000

    assert holds(WHITELIST, surt).line == "com,cnn)/*"


words = st.text("ab", min_size=1, max_size=2)
keys = st.builds(
    lambda labels, segments, end: ",".join(labels) + ")/" + "/".join(segments) + end,
    st.lists(words, min_size=2, max_size=3),
    st.lists(words, max_size=2),
    st.sampled_from(["", "/*"]),
)


@given(st.lists(keys, max_size=20), keys)
def test_a_listed_page_is_never_absent(listed: list[str], other: str) -> None:
    octets = "".join(f"{key.replace('//', '/')} 1\n" for key in listed).encode()
    found = MementoMap.load(octets, complete=True)

    pages = [key.removesuffix("/*") for key in listed]

    assert all(found.holds(page).state == "present" for page in pages)
    assert found.holds(other).state in ("present", "absent")
