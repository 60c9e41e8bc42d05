"""Reading references and their positions from BibTeX."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.references.bibtex import read_bibtex
from timegate.references.model import ReferencePlace

LINK = "https://archive.today/20130203040506/http://www.dr.dk/a_b"


def read(text: str) -> list[ReferencePlace]:
    return list(read_bibtex(text, lambda link: link.startswith("https://archive.")))


def test_an_entry_is_read_with_its_dates_in_order_of_preference() -> None:
    text = (
        "% @misc{no, url={http://no/}}\n@string{a = {http://b/}}\n"
        '@online{key,\n  title = {A {B} "C"},\n  url = {http://www.dr.dk/},\n'
        '  year = 2015, month = mar,\n  urldate = "2016-02-03",\n}\n'
    )

    (place,) = read(text)

    assert place.item.references == ("http://www.dr.dk/",)
    assert place.item.dates == ("2016-02-03",)
    assert place.link == place.date
    assert not text[slice(*place.link or (0, 1))]
    assert place.before_link.strip(", \n").startswith("archiveurl")


@pytest.mark.parametrize(
    "field",
    [
        f"url = {{{LINK}}}",
        f'URL="{LINK}"',
        f"howpublished = {{\\url{{{LINK}}}}}",
        f"note = {{Archived at {LINK}.}}",
        f"url = {{http://www.dr.dk/}}, note = {{\\href{{{LINK}}}{{copy}}}}",
    ],
)
def test_an_archive_link_is_found_in_place(field: str) -> None:
    text = f"@misc{{key, title={{T}}, {field}, archivedate = {{2013-02-03}} }}"

    (place,) = read(text)

    assert place.item.references[0] == LINK
    assert place.link is not None
    assert text[slice(*place.link)] == LINK
    assert place.date is not None
    assert text[slice(*place.date)] == "2013-02-03"


def test_escaped_characters_are_decoded() -> None:
    (place,) = read(r"@misc{a, url = {http://a/b\_c\%20d}}")

    assert place.item.text == "http://a/b_c%20d"


@pytest.mark.parametrize(
    ("field", "link"),
    [
        (r"url = {http://a/\textasciitilde{}me/{\_}b\#c}", "http://a/~me/_b#c"),
        (r"url = {http://a/$\sim$me/\~{}you/{\textasciitilde}we}", "http://a/~me/~you/~we"),
        (r"url = {{http://a/0,1518,2.html?x=\$1\&y}}", "http://a/0,1518,2.html?x=$1&y"),
        (r"howpublished = {\url{http://a/b_(c)}, seen}", "http://a/b_(c)"),
        ("note = {(see http://a/b.).}", "http://a/b"),
        ("url = http://a/", "http://a/"),
        ("url = {www.a.example/b}", "www.a.example/b"),
        (r"url = {\url{www.a.example/b}}", "www.a.example/b"),
    ],
)
def test_a_link_is_read_as_tex_would_print_it(field: str, link: str) -> None:
    (place,) = read(f"@misc{{a, {field}, year = 2015}}")

    assert place.item.text == link
    assert (place.item.dates, place.item.published) == ((), "2015")
    assert place.item.trouble == ""


def test_pieces_and_macros_are_concatenated() -> None:
    text = (
        '@string{base = "http://" # {a/}}\n@STRING(old = base # "old/")\n'
        '@misc{x, url = Old # "2015/" # {b}, month = "10~" # mar, year = 2015}'
    )

    (place,) = read(text)

    assert place.item.text == "http://a/old/2015/b"
    assert (place.item.dates, place.item.published) == ((), "2015-03-10")
    assert place.link is None


def test_a_concatenated_archive_link_is_read_but_not_rewritten() -> None:
    (place,) = read(f'@misc{{x, url = "{LINK[:30]}" # "{LINK[30:]}"}}')

    assert place.item.text == LINK
    assert place.link is None


@pytest.mark.parametrize("url", ['base # "b"', '"http://a/" # base', "base"])
def test_an_undefined_macro_is_reported(url: str) -> None:
    (place,) = read(f"@misc{{x, url = {url}, year = 2015}}")

    assert (
        place.item.trouble == "the macro base is not defined before this entry, or is too long"
    )
    assert (place.item.dates, place.item.published) == ((), "2015")


def test_nested_macros_cannot_grow_without_end() -> None:
    doubled = "".join(f"@string{{a{n + 1} = a{n} # a{n}}}\n" for n in range(60))
    text = f"@string{{a0 = {{http://a/}}}}\n{doubled}@misc{{x, url = {'a7 # ' * 99} a7}}"

    troubles = [place.item.trouble for place in read(f"{text}\n@misc{{y, url = a60}}")]

    assert ["longer than 8192" in troubles[0], "too long" in troubles[1]] == [True, True]


def test_one_line_may_contain_several_entries() -> None:
    text = "@misc{a, url={http://a/}} @misc{b, url={http://b/},}@misc(c, url={http://c/})"

    assert [place.item.text for place in read(text)] == ["http://a/", "http://b/", "http://c/"]


def test_an_accent_does_not_end_a_value_in_quotation_marks() -> None:
    text = (
        ' @misc{ wiki:xxx,\n   author = "{Wikipedia contributors}",\n'
        '   title = "Plankalk\\"ul --- {Wikipedia}{,} The Free Encyclopedia",\n'
        '   edition = "2\\"",\n'
        "   howpublished = {\\url{https://en.wikipedia.org/w/index.php?title=Plankalk%C3%BCl}},\n"
        '   note = "[Online; accessed 19-September-2014]"\n }\n'
    )

    (place,) = read(text)

    assert place.item.references == (
        "https://en.wikipedia.org/w/index.php?title=Plankalk%C3%BCl",
    )
    assert place.item.dates == ("19-September-2014",)


def test_comments_and_preambles_are_not_entries() -> None:
    text = (
        '@comment{jabref-meta: url = {http://no/}}\n@preamble{"\\newcommand{\\url}" # "x"}\n'
        "@misc{a, url={http://a/}}\n"
    )

    assert [place.item.text for place in read(text)] == ["http://a/"]


@pytest.mark.parametrize(
    ("fields", "dates"),
    [
        ("urldate = {{2016-02-03}}", ("2016-02-03",)),
        ("urldate = {[3 Feb 2016]}", ("3 Feb 2016",)),
        ('note = "[Online; accessed 3-February-2016]"', ("3-February-2016",)),
        ("note = {Accessed: 2016-02-03.}", ("2016-02-03",)),
        ("note = {Retrieved on February 3, 2016, again}", ("February 3, 2016",)),
        (
            "lastaccessed = {February~3, 2016}, month = 2, year = {2015}",
            ("February 3, 2016",),
        ),
        ("urldate = when, month = {}, note = {accessed daily}", ()),
    ],
)
def test_dates_are_read_in_the_forms_that_are_in_use(
    fields: str, dates: tuple[str, ...]
) -> None:
    (place,) = read(f"@misc{{a, url={{http://a/}}, {fields}}}")

    assert place.item.dates == dates


def test_a_missing_brace_spoils_only_one_entry() -> None:
    places = read("@misc{a, title={x, url={http://a/}\n}\n@misc{b, url={http://b/}}\n")

    assert places[-1].item.text == "http://b/"


@pytest.mark.parametrize(
    "piece",
    ["@a{x={", '@a{x="', "\n@a{x={", "{", "@a{b,c=d ", "a=b,", "a=b#c#", "note={http://a/)),("],
)
def test_a_hundred_thousand_openings_are_read_in_one_pass(piece: str) -> None:
    assert len(read("@misc{" + piece * 100_000)) <= 1


_PIECES = st.sampled_from(
    [
        "@misc{",
        "\n@misc{",
        "}",
        "{",
        '"',
        "=",
        ",",
        "#",
        "url",
        "note",
        "date",
        "2016",
        " ",
        "key,",
        LINK,
        "http://a/",
        "\\url{",
        "\n@string{",
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_positions_are_those_of_the_link(text: str) -> None:
    for place in read(text):
        assert place.link is None or text[slice(*place.link)] == place.item.text
