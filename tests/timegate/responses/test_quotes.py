"""Quotations in JSON and in words."""

import pytest

from archives.model import Memento
from archives.registry import Registry
from timegate.content.findings import LookedAt, QuoteFinding, WordEdit, finding
from timegate.content.fragments import TextQuote
from timegate.responses.quotes import quote_json, quote_words

WANTED = TextQuote("open all year")
CHOSEN = Memento("20101105101500", "http://a.example/1", "http://o.example/", "a")
OTHER = Memento("20120101000000", "http://b.example/2", "http://o.example/", "b")
NONE = Registry(())
FOUND = LookedAt(CHOSEN, "found", 1.0, "Open\nall year")
NEAR = LookedAt(
    CHOSEN, "near", 0.9, "open\x1b most years", (WordEdit("all year", "most years"),)
)
ABSENT = LookedAt(CHOSEN, "absent")
UNREAD = LookedAt(CHOSEN, "not-looked", why="the archive\x1b did not answer")
LACKS = "the text of the copy was read whole, and does not have it"
UNKNOWN = "it is not known whether the copy has it (the archive\ufffd did not answer)"
BESIDE = LookedAt(OTHER, "found", 1.0, "open all year")


@pytest.mark.parametrize(
    ("copies", "status", "words"),
    [
        ((FOUND,), "found", "the copy has this text"),
        (
            (NEAR,),
            "near",
            "the copy has nearly this text (\u201cmost years\u201d for \u201call year\u201d)",
        ),
        ((ABSENT,), "absent", LACKS),
        (
            (ABSENT, BESIDE),
            "elsewhere",
            f"{LACKS}; the copy of 2012-01-01 in b has it",
        ),
        (
            (UNREAD, BESIDE),
            "elsewhere",
            f"{UNKNOWN}; the copy of 2012-01-01 in b has it",
        ),
        (
            (UNREAD,),
            "not-looked",
            UNKNOWN,
        ),
        ((), "not-looked", "it is not known whether the copy has it (no time)"),
    ],
)
def test_a_finding_in_words(copies: tuple[LookedAt, ...], status: str, words: str) -> None:
    found = finding(WANTED, copies, CHOSEN, "" if copies else "no time")
    assert found.status == status
    assert quote_words(found, NONE) == words


def test_edits_in_words() -> None:
    def words(*edits: WordEdit) -> str:
        return quote_words(
            finding(WANTED, (LookedAt(CHOSEN, "near", 0.9, "x", edits),), CHOSEN), NONE
        )

    assert "(without \u201ca\u201d)" in words(WordEdit("a", ""))
    assert "(with \u201ca\u201d)" in words(WordEdit("", "a"))
    assert "; 1 more)" in words(*[WordEdit("", "a")] * 4)
    assert "(within other words)" in words()


def test_the_member_of_a_report() -> None:
    document = quote_json(finding(WANTED, (NEAR,), CHOSEN), "http://a.example/1")
    assert document == {
        "status": "near",
        "text": "open\ufffd most years",
        "score": 0.9,
        "memento": "http://a.example/1#:~:text=open%1B%20most%20years",
        "asked": "open all year",
        "edits": [{"quoted": "all year", "written": "most years"}],
        "reason": None,
        "copies": [
            {
                "uri": "http://a.example/1",
                "archive": "a",
                "datetime": "2010-11-05T10:15:00Z",
                "status": "near",
                "score": 0.9,
                "reason": None,
            }
        ],
    }


def test_the_link_leads_to_the_copy_that_has_it() -> None:
    document = quote_json(finding(WANTED, (ABSENT, BESIDE), CHOSEN), "http://a.example/raw")
    assert document["memento"] == "http://b.example/2#:~:text=open%20all%20year"


def test_nothing_is_linked_that_no_copy_has() -> None:
    document = quote_json(finding(WANTED, (ABSENT,), CHOSEN))
    assert (document["memento"], document["text"], document["score"]) == (None, None, None)


def test_only_a_copy_that_has_it_gets_the_directive() -> None:
    uri = "http://a.example/raw"
    assert finding(WANTED, (ABSENT, BESIDE), CHOSEN).linked(uri) == uri
    assert finding(WANTED, (FOUND,), CHOSEN).linked(uri) == f"{uri}#:~:text=Open,all%20year"
    assert QuoteFinding(WANTED, "not-looked").holder is None
