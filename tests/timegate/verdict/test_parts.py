"""The members on the parts of a page, in the header and in words."""

from dataclasses import replace
from typing import Any

import http_sf

from timegate.parts.coherence import Coherence
from timegate.parts.composite import PartsSummary
from timegate.verdict import Verdict, header, in_words
from timegate.verdict.header import Member
from timegate.verdict.parts import part_members
from timegate.verdict.words import explained

WHOLE = PartsSummary(
    parts=14,
    found=12,
    missing=2,
    earliest=-3 * 86_400,
    latest=41 * 86_400,
    coherence=Coherence.POSSIBLE,
    classes={Coherence.COHERENT: 9, Coherence.POSSIBLE: 3},
)


def judged(found: PartsSummary) -> Verdict:
    members = part_members(found)
    return Verdict(
        Member("exact"),
        parts=members.get("parts"),
        spread=members.get("spread"),
        coherence=members.get("coherence"),
    )


def test_the_header_has_an_integer_a_string_and_a_token() -> None:
    field = header(judged(WHOLE))

    assert field == (
        'match=exact, parts=14;found=12;missing=2, spread="-P3D/P41D";from=-259200;to=3542400, '
        "coherence=possibly-coherent;prima-facie-coherent=9;possibly-coherent=3"
    )
    written: Any = http_sf.parse(field.encode("ascii"), tltype="dictionary")
    assert written["parts"][0] == 14
    assert written["spread"][0] == "-P3D/P41D"
    assert written["coherence"][0] == http_sf.Token("possibly-coherent")


def test_without_looking_there_is_no_member_and_no_word_about_parts() -> None:
    verdict = Verdict(Member("exact"))

    assert header(verdict) == "match=exact"
    assert "part" not in in_words(verdict)


def test_the_words_say_how_many_were_found_and_how_they_fit() -> None:
    words = in_words(judged(WHOLE))

    assert "12 of 14 parts found, 2 missing" in words
    assert "9 as when the page was captured, 3 perhaps changed before" in words


def test_what_is_not_known_is_said() -> None:
    found = replace(WHOLE, missing=0, unknown=1, not_looked=1, partial=True)

    field, words = header(judged(found)), in_words(judged(found))

    assert "parts=14;found=12;unknown=1;not-looked=1;read=partial" in field
    assert "12 of 14 parts found, 1 unknown, 1 not looked for, and perhaps more" in words


def test_a_page_without_parts_has_neither_spread_nor_coherence() -> None:
    verdict = judged(PartsSummary())

    assert header(verdict) == "match=exact, parts=0;found=0"
    assert "nothing is embedded in it" in in_words(verdict)


def test_a_page_that_could_not_be_read_claims_nothing_of_its_parts() -> None:
    verdict = judged(PartsSummary(failure="one is down"))

    assert header(verdict) == 'match=exact, parts=unknown;failed="one is down"'
    assert "not known" in in_words(verdict)
    assert [point.tone for point in explained(verdict)] == ["poor"]


def test_each_member_is_explained_on_the_page() -> None:
    points = {point.topic: point.sentence for point in explained(judged(WHOLE))}

    assert points == {
        "Parts": "12 of 14 parts found, 2 missing.",
        "Times of the parts": "The parts were captured from 3 days before the page to 41 days "
        "after the page.",
        "Coherence": "9 as when the page was captured, 3 perhaps changed before the page was "
        "captured.",
    }


def test_parts_of_the_same_second_are_not_called_a_difference() -> None:
    same = replace(WHOLE, earliest=0, latest=0)

    points = {point.topic: point for point in explained(judged(same))}

    assert points["Times of the parts"].tone == "good"
    assert "in the same second as the page" in points["Times of the parts"].sentence
