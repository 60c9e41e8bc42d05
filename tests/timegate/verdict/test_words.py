"""A verdict in words: one sentence for each member, with the requested and the actual value."""

from dataclasses import replace

import pytest

from tests.timegate.resolution.resolutions import REGISTRY, asking, found, memento, resolved
from timegate.verdict import Member, Verdict, verdict
from timegate.verdict.words import explained, headline


def sentences_for(**members: Member) -> dict[str, tuple[str, str]]:
    judged = replace(Verdict(Member("approximate")), **members)
    return {point.topic: (point.tone, point.sentence) for point in explained(judged)}


@pytest.mark.parametrize(
    ("time", "tone", "sentence"),
    [
        (
            Member("exact", {"req": "R", "got": "G", "delta": 0}),
            "good",
            "Requested: R. The copy was captured G.",
        ),
        (
            Member("within", {"req": "R", "until": "U", "got": "G", "delta": 0}),
            "good",
            "Requested: R until U. The copy was captured G.",
        ),
        (
            Member("after", {"req": "R", "got": "G", "delta": 3 * 86_400}),
            "fair",
            "Requested: R. The copy was captured G, 3 days later.",
        ),
        (
            Member("before", {"req": "R", "got": "G", "delta": -1}),
            "fair",
            "Requested: R. The copy was captured G, 1 second earlier.",
        ),
        (
            Member("exact", {"req": "R", "got": "G", "doubt": "two dates"}),
            "fair",
            "Requested: R. The copy was captured G. The date is doubtful: two dates.",
        ),
        (
            Member("latest", {"got": "G"}),
            "good",
            "The copy was captured G; no time was requested, so this is the newest known copy.",
        ),
        (
            Member("unknown", {"req": "R"}),
            "poor",
            "Requested: R. It is not known when the copy was captured.",
        ),
    ],
)
def test_the_time_is_explained(time: Member, tone: str, sentence: str) -> None:
    assert sentences_for(time=time)["Time"] == (tone, sentence)


@pytest.mark.parametrize("value", ["any", "same", "alias", "other", "unknown"])
def test_every_archive_member_has_its_sentence(value: str) -> None:
    tone, sentence = sentences_for(
        archive=Member(value, {"req": "asked.example", "got": "got.example"})
    )["Archive"]

    assert tone == ("fair" if value in ("other", "unknown") else "good")
    assert ("asked.example" in sentence) == (value != "any")


@pytest.mark.parametrize("value", ["same", "normalized", "variant", "redirected", "unknown"])
def test_every_uri_member_has_its_sentence(value: str) -> None:
    tone, sentence = sentences_for(
        uri=Member(value, {"rule": "slash", "got": "http://got.example"})
    )["URL"]

    assert tone in ("good", "fair", "poor")
    assert ("http://got.example" in sentence) == (value in ("variant", "redirected"))


def test_a_member_without_a_difference_has_no_sentence() -> None:
    assert (
        sentences_for(
            granularity=Member("same"),
            coverage=Member("as-requested"),
            content=Member("unknown"),
            syntax=Member("strict"),
        )
        == {}
    )


@pytest.mark.parametrize(
    ("sources", "sentence"),
    [
        (
            {"asked": 9, "failed": 0, "unasked": 1},
            (
                "All archives that were queried have answered (9). "
                "The requested archive was not queried."
            ),
        ),
        (
            {"asked": 9, "failed": 0, "variants": 2},
            (
                "All archives that were queried have answered (9). "
                "Not every archive was queried for variants of the URL."
            ),
        ),
    ],
)
def test_an_archive_that_was_not_queried_is_mentioned(
    sources: dict[str, str | int | bool], sentence: str
) -> None:
    points = sentences_for(sources=Member("partial", sources))

    assert points["Sources"] == ("fair", sentence)


def test_a_member_with_a_difference_has_a_sentence() -> None:
    points = sentences_for(
        granularity=Member("padded", {"got": "day"}),
        coverage=Member("degraded", {"req": "site", "got": "page"}),
        content=Member("raw", {"status": 404}),
        sources=Member("partial", {"asked": 9, "failed": 2}),
        syntax=Member("repaired", {"diag": "missing-zone"}),
    )

    assert {tone for tone, _ in points.values()} == {"fair"}
    assert points["Extent"][1] == "A site was requested, but this is a page."
    assert points["Content"][1] == "The archived response has status 404."
    assert points["Sources"][1].startswith("2 of 9 archives did not answer")
    assert "missing-zone" in points["Reference"][1]


@pytest.mark.parametrize(
    ("stamp", "archive", "words"),
    [
        ("20160122112029", "internet-archive", ("good", "Exactly as requested")),
        (
            "20160125112029",
            "internet-archive",
            ("fair", "Close, but not exactly as requested"),
        ),
        ("20160125112029", "arquivo-pt", ("fair", "A substitute from another archive")),
    ],
)
def test_the_headline_is_that_of_the_match(
    stamp: str, archive: str, words: tuple[str, str]
) -> None:
    query = asking("20160122112029")
    judged = verdict(resolved(query, found(memento(stamp, archive))), REGISTRY)

    assert headline(judged) == words
