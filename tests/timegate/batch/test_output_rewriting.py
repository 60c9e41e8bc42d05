"""Documents with rewritten archive links."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from archives.registry import load_known
from tests.timegate.batch.results import FOUND, a_result
from timegate.batch.model import ItemResult
from timegate.batch.output import rewriting
from timegate.citations.archive_links import edited
from timegate.references import InputFormat
from timegate.references.bibtex import read_bibtex
from timegate.references.formats import places_in
from timegate.references.wikitext import read_wikitext
from timegate.resolution.model import Preferences

LINK = "https://archive.today/20130203040506/http://www.dr.dk/"


def is_archive_link(link: str) -> bool:
    return link.startswith("https://archive.")


def rewritten(text: str, result: ItemResult | None) -> str:
    places = read_wikitext(text, is_archive_link)
    return b"".join(edited(text, rewriting(text, places, lambda _: result).edits)).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2013-02-03", "2013-02-04"),
        ("3 February 2013", "4 February 2013"),
        ("February 3, 2013", "February 4, 2013"),
        ("3 Feb 2013", "4 Feb 2013"),
        ("", "2013-02-04"),
    ],
)
def test_the_link_and_its_date_change_and_nothing_else(before: str, after: str) -> None:
    page = "é {{{{cite web|url=x|archive-url= {} |archive-date={}|title=\u00a0T}}}}\r\n"

    assert rewritten(page.format(LINK, before), a_result()) == page.format(FOUND, after)


@pytest.mark.parametrize(
    ("dates", "day"),
    [
        ("|access-date=5 November 2010", "4 February 2013"),
        ("|access-date=November 5, 2010 |date=2009-05-03", "February 4, 2013"),
        ("|access-date=2010-11-05 |date=3 May 2009", "2013-02-04"),
        ("|date=3 May 2009", "4 February 2013"),
        ("|date=May 2009", "2013-02-04"),
        ("|abruf=3. Februar 2010", "2013-02-04"),
    ],
)
@pytest.mark.parametrize("empty", ["", " |archive-url= |archive-date="])
def test_a_new_date_is_written_as_the_other_dates_of_the_citation(
    dates: str, day: str, empty: str
) -> None:
    page = f"{{{{cite web|url=http://a/{empty} {dates} |url-status=dead}}}}"

    assert f"|archive-date={day}" in rewritten(page, a_result())


def test_a_missing_archive_link_is_added() -> None:
    page = "{{cite web|url=http://a/ |url-status=dead}}"

    assert rewritten(page, a_result()) == (
        f"{{{{cite web|url=http://a/ |archive-url={FOUND} |archive-date=2013-02-04"
        " |url-status=dead}}"
    )


@pytest.mark.parametrize(
    "result",
    [
        None,
        a_result(code=1),
        a_result(code=3, uri=None),
        a_result(uri="javascript:alert(1)"),
        a_result(status=404),
    ],
)
def test_a_result_that_is_less_than_asked_changes_nothing(result: ItemResult | None) -> None:
    page = f"{{{{cite|archive-url={LINK}|archive-date=2013-02-03}}}} [{LINK} x]"

    assert rewritten(page, result) == page


def test_a_link_to_the_copy_that_it_names_stays() -> None:
    result = a_result(outcome="exact")
    report = {**(result.report or {}), "archive": {"value": "same"}}
    same = ItemResult(result.item, "exact", 0, final=True, date=None, why="", report=report)

    assert rewritten(f"[{LINK}]", same) == f"[{LINK}]"


def test_what_was_changed_and_what_stays_why_adds_up_to_all_references() -> None:
    page = (
        "@misc{a, url={http://a/}, urldate={2013-02-03}}\n"
        f"@misc{{b, url={{{LINK}}}, archivedate={{2013-02-03}}}}\n"
        "@misc{c, url={http://c/}}\n"
        "@misc{d, doi={10.1/x}, urldate={2013}}\n"
        "@misc{e, url={http://e/}, urldate={03/04/2013}}\n"
        "@misc{f, url={http://f/}, urldate={2013}}\n"
    )
    doubtful = a_result(code=1, outcome="approximate", text="http://e/")
    doubtful = replace(doubtful, item=doubtful.item._replace(doubt=True))
    results = {4: doubtful, 5: a_result(code=3, outcome="absent", text="http://f/")}
    places = read_bibtex(page, is_archive_link)

    made = rewriting(page, places, lambda number: results.get(number, a_result()))

    assert [*made.lines] == [
        "1 link replaced, 1 archive link added; 4 references stay as they are:",
        "  substitute: http://www.dr.dk/ (no date of access, which --at or --published gives)",
        "  substitute: http://www.dr.dk/ (no link to replace)",
        "  approximate: http://e/ (another date may be meant)",
        "  absent: http://f/",
    ]


def test_only_the_first_references_that_stay_are_listed() -> None:
    page = f"{LINK}\n" * 13
    absent = a_result(code=3, outcome="absent", uri=None)
    places = read_wikitext(page, is_archive_link)

    first, *listed, last = rewriting(page, places, lambda _: absent).lines

    assert first == "no link changed; 13 references stay as they are:"
    assert listed == ["  absent: http://www.dr.dk/"] * 10
    assert last.startswith("  and 3 more; ")


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (a_result(code=1), "(why)"),
        (a_result(status=404), "(the copy is one of status 404)"),
        (a_result(uri="javascript:alert(1)"), "(the copy has no address on the web)"),
    ],
)
def test_a_link_that_stays_comes_with_its_reason(result: ItemResult, reason: str) -> None:
    places = read_wikitext(f"[{LINK}]", is_archive_link)

    _, listed = rewriting(f"[{LINK}]", places, lambda _: result).lines

    assert listed == f"  substitute: http://www.dr.dk/ {reason}"


def unchecked(cause: str) -> ItemResult:
    result = a_result(text=LINK)
    referral = {"archive": "archive-today", "uri": LINK, "cause": cause}
    return replace(result, report={**(result.report or {}), "referral": referral})


@pytest.mark.parametrize("cause", ["not-in-use", "gated", "no-answer", "rate-limited"])
def test_a_link_into_an_archive_that_gave_no_answer_stays(cause: str) -> None:
    places = [*read_wikitext(f"[{LINK}]", is_archive_link)]

    made = rewriting(f"[{LINK}]", places, lambda _: unchecked(cause))

    assert not made.edits
    because = "(not checked in archive-today; --distrust archive-today replaces the link)"
    assert [*made.lines] == [
        "no link changed; 1 reference stays as it is:",
        f"  substitute: {LINK} {because}",
    ]


def test_a_link_stays_if_its_archive_did_not_answer_for_the_copy() -> None:
    result = a_result(text=LINK)
    check = {"archive": "archive-today", "uri": LINK, "outcome": "unknown"}
    failed = replace(result, report={**(result.report or {}), "checks": [check]})
    gone = replace(
        result, report={**(result.report or {}), "checks": [{**check, "outcome": "gone"}]}
    )

    assert rewritten(f"[{LINK}]", failed) == f"[{LINK}]"
    assert rewritten(f"[{LINK}]", gone) == f"[{FOUND}]"


@pytest.mark.parametrize(
    ("cause", "preferences"),
    [
        ("defunct", Preferences()),
        ("not-in-use", Preferences(exclude=frozenset({"archive-today"}))),
        ("not-in-use", Preferences(archives=frozenset({"internet-archive"}))),
    ],
)
def test_a_link_into_an_archive_that_is_closed_or_not_wanted_is_replaced(
    cause: str, preferences: Preferences
) -> None:
    page = f"[{LINK}]"
    places = read_wikitext(page, is_archive_link)

    made = rewriting(page, places, lambda _: unchecked(cause), (), preferences)

    assert b"".join(edited(page, made.edits)).decode() == f"[{FOUND}]"


@pytest.mark.parametrize(
    "identifier",
    [
        "urn:pwid:archive.org:2010-11-05T10:15:00Z:page:http://a.example/",
        "pwid:archive.org:2010-11-05T10:15:00Z:page:http://a.example/",
        "duri:2010-11-05:http://a.example/",
        "https://resolver.example/urn:pwid:archive.org:2010-11-05:page:http://a.example/",
    ],
)
def test_a_persistent_identifier_stays(identifier: str) -> None:
    text = f"PWID: {identifier}\nSee http://b.example/ (accessed 5 May 2014).\n"
    places = [*places_in(text, "text", REGISTRY, NOW)]

    made = rewriting(text, places, lambda _: a_result())

    new = b"".join(edited(text, made.edits)).decode()
    assert new == text.replace("http://b.example/", FOUND)
    assert made.replaced == 1


def test_an_archive_cannot_inject_wikitext() -> None:
    evil = "https://a/}}|[[x]] <script>\n|é"

    page = rewritten(f"{{{{cite|archive-url={LINK}}}}}", a_result(uri=evil))

    assert page == (
        "{{cite|archive-url=https://a/%7D%7D%7C%5B%5Bx%5D%5D%20%3Cscript%3E%0A%7C%C3%A9}}"
    )


def test_bibtex_is_rewritten_in_place() -> None:
    text = (
        f"@misc{{a,\n\tnote = {{ \\url{{{LINK}}} }},\n  archivedate={{2013-02-03}}\n}}\n% end"
    )
    places = read_bibtex(text, is_archive_link)

    new = b"".join(edited(text, rewriting(text, places, lambda _: a_result()).edits)).decode()

    assert new == text.replace(LINK, FOUND).replace("2013-02-03", "2013-02-04")


@given(st.binary(max_size=200))
def test_a_document_without_edits_is_unchanged_octet_for_octet(octets: bytes) -> None:
    text = octets.decode(errors="surrogateescape")

    assert b"".join(edited(text, [])) == octets


REGISTRY = load_known()
NOW = datetime(2026, 11, 1, tzinfo=UTC)
LINKS = {
    "markdown": "[the (page)](http://a.example/{}_(x)?q=1&r=2) (accessed 5 May 2014)",
    "rst": "`page <http://a.example/{}/>`_ (accessed 2014-05-05)",
    "latex": "\\href{{http://a.example/{}\\_x?a=1\\&b=2}}{{T}}, accessed 5~May 2014",
    "html": "<a href='http://a.example/{}?x=1&amp;y=2'>T</a> (accessed 5 May 2014)",
    "text": "Doe. http://a.example/{}. Accessed 5 May 2014.",
    "ris": "TY  - ELEC\nUR  - https://web.archive.org/web/20140505000000/http://a/{}\nER  - ",
    "bibtex": "@misc{{k{0}, url={{{1}x/{0}}}, urldate={{2014-05-05}}}}",
    "wikitext": "{{{{cite web|url=http://a.example/{0}|archive-url={1}{0}|archive-date=x}}}}",
}
"""A dated link in each format; the number of the link and an archive link are filled in."""
HOSTILE = (
    *(
        "\r\n",
        "\n\n",
        "\r",
        "\ufeff",
        "\udce9\udcff",
        "\x00",
        "\u200b",
        "\u202e",
        "a\u0301",
        " ",
    ),
    *("[", "]", "](", "((", "))", "{{", "}}", "{", "}", "<", ">", "|", "\\", "%", "&amp;", "`"),
    *(
        "```\nhttp://code.example/x (accessed 5 May 2014)\n```\n",
        "`http://b.example/(`",
        "<!--",
    ),
    *(
        "-->",
        "<pre>",
        "<code>",
        "\\begin{verbatim}",
        "\\end{verbatim}",
        "\n.. code-block:: sh\n\n  ",
    ),
    *(
        "http://",
        "https://c.example/[x](y)",
        "www.d.example/a_(b)_(c)",
        "2013-01-01",
        "accessed",
    ),
)
PIECES = st.lists(
    st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8), st.integers(0, 3)), max_size=12
)


@pytest.mark.parametrize("form", LINKS)
@settings(max_examples=60, deadline=None)
@given(pieces=PIECES)
@example(pieces=["\ufeff", 1, "\r\n", "\udce9", 2, "(", 3, ")"])
@example(pieces=["```\nhttp://code.example/x (accessed 5 May 2014)\n```\n", 0, "<!--", 1])
def test_a_hostile_document_changes_in_its_links_only(
    form: InputFormat, pieces: list[str | int]
) -> None:
    text = "\n".join(
        LINKS[form].format(piece, LINK) if isinstance(piece, int) else piece for piece in pieces
    )
    places = list(places_in(text, form, REGISTRY, NOW))

    made = rewriting(
        text, places, lambda number: a_result(uri=f"https://new.example/{number}/")
    ).edits

    new = b"".join(edited(text, made)).decode(errors="surrogateescape")
    rest = new
    undone = ""
    for span, written in made:
        before, _, rest = rest.partition(written)
        undone += before + text[span.start : span.end]
    assert undone + rest == text
    for (start, end), written in made:
        if written.startswith("https://new.example/"):
            assert text[start:end].lower().startswith(("http", "www.", "//", "a.", "d."))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("markdown", "```sh\ncurl {}\n```"),
        ("markdown", "Run `curl {}`"),
        ("markdown", "<!-- {} -->"),
        ("rst", ".. code-block:: sh\n\n   curl {}\n"),
        ("rst", "Run ``curl {}``"),
        ("latex", "\\begin{{verbatim}}\n{}\n\\end{{verbatim}}"),
        ("latex", "% {}"),
        ("html", "<pre>{}</pre>"),
        ("html", "<code>{}</code>"),
    ],
)
def test_a_link_in_code_or_in_a_comment_stays(form: InputFormat, text: str) -> None:
    page = text.format("http://a.example/x (accessed 5 May 2014)")

    made = rewriting(page, places_in(page, form, REGISTRY, NOW), lambda _: a_result()).edits

    assert made == []


@pytest.mark.parametrize("form", LINKS)
def test_a_dated_link_of_every_format_is_rewritten(form: InputFormat) -> None:
    page = LINKS[form].format(1, LINK)

    made = rewriting(page, places_in(page, form, REGISTRY, NOW), lambda _: a_result()).edits

    assert FOUND in made[0].text
