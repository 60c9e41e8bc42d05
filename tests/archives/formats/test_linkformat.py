"""Links as archives write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.formats.linkformat import Link, LinkReader, parse_header, resolved
from archives.formats.rows import LONGEST_ITEM

DATE = "Tue, 31 Dec 1996 23:58:47 GMT"
MEMENTO = Link("1", ("memento",), {"rel": "memento", "datetime": DATE})


def read(body: bytes) -> tuple[list[Link], LinkReader]:
    reader = LinkReader()
    return reader.feed(body) + reader.close(), reader


@pytest.mark.parametrize(
    "written",
    [
        '<1>; rel="memento"; datetime="%s"',
        '<1>;rel="memento";datetime="%s"',
        "<1>; rel=memento; datetime='%s'",
        "<1>; rel=memento; datetime=%s",
        '<1>; REL="memento"; DateTime="%s"',
        '<1> ; rel = "memento" ; datetime\t=\t"%s" ,',
        '<1>\n;rel\n=\n"memento"\r\n;datetime="%s"\n',
        '<1>;; rel="memento"; datetime="%s";',
        '<1>; rel="memento"; datetime="\\%s"',
        '\ufeff<1>; rel=memento; datetime="%s",\n',
        '<1>; rel="memento"; rel="original"; datetime="%s"; datetime="never"',
    ],
)
def test_a_link_can_be_written_in_many_ways(written: str) -> None:
    assert parse_header(written % DATE) == [MEMENTO]


def test_commas_and_semicolons_in_brackets_and_quotes_do_not_separate() -> None:
    header = '<http://a.example/?a=1,2;b="3">; rel="original"; title="x, <y>; z", <b>; rel=self'

    links = parse_header(header)

    assert [link.target for link in links] == ['http://a.example/?a=1,2;b="3"', "b"]
    assert links[0].params["title"] == "x, <y>; z"


def test_relations_are_separate_words_in_any_order_and_case() -> None:
    (link,) = parse_header('<a>; rel="Prev  first\tMEMENTO"')

    assert link.rels == ("prev", "first", "memento")


def test_the_comma_between_links_may_be_missing() -> None:
    """RFC 7089 figure 30 prints such a TimeMap."""
    links = parse_header('<a>; rel="original"\n<b>;rel=timegate <c>; rel="memento"')

    assert [link.target for link in links] == ["a", "b", "c"]


def test_two_header_lines_joined_are_one_list() -> None:
    """scholarlyorphans sent its origin's header first, with an unquoted rel=shortlink."""
    links = parse_header(
        "<https://x.example/?p=1>; rel=shortlink, <u>; rel=original, , <v>; rel=x,"
    )

    assert [link.rels for link in links] == [("shortlink",), ("original",), ("x",)]


def test_an_escaped_quote_is_part_of_the_value() -> None:
    (link,) = parse_header(r'<a>; title="say \"<x>, y\" \\"; rel="z"')

    assert link.params["title"] == r'say "<x>, y" \ '.strip()
    assert link.rels == ("z",)


def test_a_title_in_the_extended_notation_is_decoded() -> None:
    (link,) = parse_header("<a>; title=plain; title*=UTF-8'de'n%c3%a4chstes%20Kapitel")

    assert link.params["title"] == "nächstes Kapitel"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_utf8_and_latin1_are_both_read(encoding: str) -> None:
    links, _ = read('<http://a.example/ä>; title="Übersicht"'.encode(encoding))

    assert links == [Link("http://a.example/ä", (), {"title": "Übersicht"})]


def test_an_anchor_is_the_context_of_a_link() -> None:
    (link,) = parse_header('<t>; anchor="http://a.example/"; rel="timemap"')

    assert link.anchor == "http://a.example/"


@pytest.mark.parametrize(
    "damage",
    [
        '<bad>; rel="unbalanced, and so on',
        "<never closed; rel=x",
        '<bad>; rel="a" "b"',
        "<bad> rel=memento",
        "no link at all",
        '<bad>; =;"',
        "<bad>; rel='",
    ],
)
def test_damage_ends_with_its_line_and_is_counted(damage: str) -> None:
    links, reader = read(f"<a>; rel=self,\n{damage}\n<b>; rel=memento,\n".encode())

    assert [link.target for link in links] == ["a", "b"]
    assert reader.skipped == 1
    assert reader.complete


def test_an_item_that_is_too_long_is_dropped_and_reading_continues() -> None:
    long_link = b'<a>; title="' + b"x" * LONGEST_ITEM + b'",\n'

    links, reader = read(long_link + b"<b>; rel=memento")

    assert [link.target for link in links] == ["b"]
    assert (reader.skipped, reader.complete) == (1, False)


@pytest.mark.parametrize("end", ["<a", '<a>; rel="mem', "<a>; rel='mem", '<a>; title="x\\'])
def test_a_body_that_ends_inside_a_link_is_incomplete(end: str) -> None:
    _, reader = read(f"<b>; rel=self,\n{end}".encode())

    assert not reader.complete


@pytest.mark.parametrize(
    "filler", [b'<a>; x="', b"<", b",", b'"', b"<a>; x=", b"\n", b"<a>;", b"\\"]
)
def test_megabytes_of_invalid_text_take_bounded_memory(filler: bytes) -> None:
    reader = LinkReader()
    chunk = filler * (65536 // len(filler))

    for _ in range(4):
        reader.feed(chunk)

    assert len(reader._backlog.drain()) <= LONGEST_ITEM + 2  # noqa: SLF001


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("http://b.example/", "http://b.example/"),
        ("//b.example/x", "https://b.example/x"),
        ("/web/2010/http://c.example/../d", "https://a.example/web/2010/http://c.example/../d"),
        ("2010", "https://a.example/timemap/2010"),
        ("urn:x", "urn:x"),
        ("", "https://a.example/timemap/link"),
    ],
)
def test_a_target_is_resolved_against_the_address_of_the_document(
    target: str, expected: str
) -> None:
    assert resolved(target, "https://a.example/timemap/link") == expected


@pytest.mark.parametrize(
    ("octets", "expected"),
    [
        (b"/web/2016/http://x.example/\xff", "https://a.example/web/2016/http://x.example/%FF"),
        (b"http://x.example/\xc3\xa9\xe9", "http://x.example/é%E9"),
        (b"\xff", "https://a.example/timemap/%FF"),
    ],
)
def test_octets_of_a_target_that_are_not_utf8_become_triplets(
    octets: bytes, expected: str
) -> None:
    target = octets.decode(errors="surrogateescape")

    assert resolved(target, "https://a.example/timemap/link") == expected


def test_a_lone_surrogate_of_json_becomes_triplets() -> None:
    assert resolved("http://x.example/\ud800", "https://a.example/") == (
        "http://x.example/%ED%A0%80"
    )


def test_a_title_that_is_not_in_extended_notation_is_unchanged() -> None:
    (link,) = parse_header("<a>; title*=plain")

    assert link.params["title"] == "plain"


def test_text_with_lone_surrogates_is_read() -> None:
    (link,) = parse_header("<\ud800>; rel=x")

    assert link.target == "?"


@given(st.text())
def test_any_text_is_a_list_of_links(text: str) -> None:
    for link in parse_header(text):
        assert not set("<>\r\n") & set(link.target)


plain_parameters = st.lists(
    st.tuples(
        st.sampled_from(["rel", "datetime", "anchor", "title"]),
        st.sampled_from(
            ["memento", "Prev memento", DATE, "", "a, <b>; c='d'", "\u00fc", '\\"']
        ),
    ),
    max_size=4,
)


@given(
    st.lists(st.tuples(st.sampled_from(["http://a/?b,c;d='e'", "x", ""]), plain_parameters)),
    st.sampled_from([", ", ", ", ",", " ", ",\n"]),
    st.integers(0, 5),
)
def test_a_header_is_read_like_a_body(
    links: list[tuple[str, list[tuple[str, str]]]], separator: str, cut: int
) -> None:
    written = separator.join(
        f"<{target}>" + "".join(f'; {name}="{value}"' for name, value in parameters)
        for target, parameters in links
    )
    header = written[: len(written) - cut]

    assert parse_header(header) == read(header.encode())[0]


@pytest.mark.parametrize("length", [LONGEST_ITEM - 1, LONGEST_ITEM, LONGEST_ITEM + 1])
def test_a_plain_header_has_the_limits_of_a_body(length: int) -> None:
    start = '<http://a.example/>; rel="original"; title="'
    header = f'{start}{"x" * (length - len(start) - 2)}", <b>; rel="memento"'

    assert parse_header(header) == read(header.encode())[0]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            "../../../../web/2010/http://e.example/",
            "https://a.example/web/2010/http://e.example/",
        ),
        ("2010//x", "https://a.example/gate/http://e.example/2010//x"),
        ("./y?z=../..#f", "https://a.example/gate/http://e.example/y?z=../..#f"),
        ("..", "https://a.example/gate/http://"),
        ("../../../../../../..", "https://a.example/"),
        ("?q", "https://a.example/gate/http://e.example/?q"),
    ],
)
def test_a_relative_target_keeps_the_slashes_of_a_url_in_it(target: str, expected: str) -> None:
    assert resolved(target, "https://a.example/gate/http://e.example/?x=/y") == expected
