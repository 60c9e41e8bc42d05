"""A verdict in words: one sentence for each member, with the requested and the actual value."""

from typing import Final

import pytest
from msgspec import structs

from archives.model import Closest, Hop
from tests.timegate.resolution.resolutions import REGISTRY, asking, found, memento, resolved
from timegate.verdict import Member, Verdict, header, in_words, verdict
from timegate.verdict.words import explained, grade


def sentences_for(**members: Member) -> dict[str, tuple[str, str]]:
    judged = structs.replace(Verdict(Member("approximate")), **members)
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
            Member("exact", {"req": "R", "got": "G", "basis": "asserted"}),
            "fair",
            "Requested: R. The copy is, as its writer asserted, of G.",
        ),
        (
            Member("latest", {"got": "G"}),
            "good",
            "The copy was captured G; no time was requested, so this is the newest copy found.",
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
    assert points["Archived response"][1] == "The archived response has status 404."
    assert points["Sources"][1].startswith("2 of 9 archives did not answer")
    assert points["Reference"][1] == "The reference was malformed and was repaired."


@pytest.mark.parametrize(
    ("stamp", "archive", "words"),
    [
        ("20160122112029", "internet-archive", ("good", "Exactly as requested")),
        ("20160122112030", "internet-archive", ("fair", "Close: one second away")),
        ("20160122232030", "internet-archive", ("fair", "Close: less than a day away")),
        ("20160125112029", "internet-archive", ("fair", "Near: some days away")),
        ("20160301112029", "internet-archive", ("fair", "Some weeks away")),
        (
            "20160901112029",
            "internet-archive",
            ("poor", "Months away: the page may have changed"),
        ),
        (
            "20090122112029",
            "internet-archive",
            ("poor", "More than a year away: probably another page"),
        ),
        ("20160122112029", "arquivo-pt", ("fair", "A substitute from another archive")),
        (
            "20160125112029",
            "arquivo-pt",
            ("fair", "A substitute from another archive, some days away"),
        ),
        (
            "20090125112029",
            "arquivo-pt",
            (
                "poor",
                (
                    "A substitute from another archive, more than a year away: "
                    "probably another page"
                ),
            ),
        ),
    ],
)
def test_the_grade_follows_from_the_match_and_the_distance(
    stamp: str, archive: str, words: tuple[str, str]
) -> None:
    judged = verdict(resolved(DATED, found(memento(stamp, archive))), REGISTRY)

    assert grade(judged)[:2] == words


DATED = asking("20160122112029")
COPY = memento("20160122112029")


def test_a_copy_that_is_only_promised_is_not_as_requested() -> None:
    judged = verdict(resolved(DATED, found(COPY, evidence="promised")), REGISTRY)

    assert grade(judged) == ("fair", "Promised by the archive, not checked", False, False)
    assert "promised by the archive, not checked" in in_words(judged)


def test_a_substitute_that_is_only_promised_does_not_meet_the_request() -> None:
    copy = memento("20160122112029", "arquivo-pt")

    delivered = verdict(resolved(DATED, found(copy)), REGISTRY)
    promised = verdict(resolved(DATED, found(copy, evidence="promised")), REGISTRY)

    assert grade(delivered).meets
    assert not grade(promised).meets


@pytest.mark.parametrize(
    ("status", "what"), [(404, "an error"), (503, "an error"), (302, "a redirect")]
)
def test_a_copy_of_an_error_is_not_as_requested(status: int, what: str) -> None:
    judged = verdict(resolved(DATED, found(COPY._replace(status=status))), REGISTRY)

    row = grade(judged)
    assert row.headline == f"A copy of {what} ({status})"
    assert (row.tone, row.redirects, row.meets) == ("fair", False, False)
    assert grade(judged, "any").meets


def test_the_view_that_was_checked_is_said_if_it_is_another_one() -> None:
    best = found(COPY)
    assert isinstance(best.outcome, Closest)
    raw = Hop("https://web.archive.org/web/20160122112029id_/http://www.dr.dk/", 200, None)
    checked = structs.replace(best, outcome=structs.replace(best.outcome, hops=(raw,)))

    judged = verdict(resolved(DATED, checked), REGISTRY)

    assert judged.evidence == Member("delivered", {"view": "raw"})
    assert header(judged).startswith("match=exact, evidence=delivered;view=raw, ")


def test_a_distant_copy_of_an_error_says_both() -> None:
    copy = memento("20160125112029")._replace(status=404)
    judged = verdict(resolved(DATED, found(copy)), REGISTRY)

    assert grade(judged).headline == "Near: some days away; a copy of an error (404)"


def test_a_copy_of_an_error_is_as_requested_for_a_part() -> None:
    query = asking("20160122112029", precision="part")
    copy = memento("20160122112029", uri="https://web.archive.org/web/20160122112029id_/x")
    judged = verdict(resolved(query, found(copy._replace(status=404))), REGISTRY)

    assert grade(judged).meets


MATCHES: Final = ("exact", "within", "promised", "approximate", "substitute", "none")
DELTAS: Final = (0, 1, 80_000, 3 * 86_400, 40 * 86_400, 300 * 86_400, 941 * 31_556_952)


@pytest.mark.parametrize("match", MATCHES)
def test_every_verdict_has_a_grade(match: str) -> None:
    for value in ("after", "before", "unknown", "within", "latest"):
        for delta in DELTAS:
            judged = Verdict(Member(match), time=Member(value, {"delta": delta}))
            assert grade(judged).headline


def test_an_empty_time_is_no_error_of_the_reference() -> None:
    extended = Member("repaired", {"diag": "ext-empty-timestamp"})
    malformed = Member("repaired", {"diag": "ext-empty-timestamp iri"})

    assert sentences_for(syntax=extended)["Reference"] == (
        "good",
        "The time of the reference is empty, which means now.",
    )
    assert "malformed" in sentences_for(syntax=malformed)["Reference"][1]
    assert "malformed" not in in_words(Verdict(Member("within"), syntax=extended))
    assert "malformed" in in_words(Verdict(Member("within"), syntax=malformed))


@pytest.mark.parametrize(
    ("failed", "headline", "phrase"),
    [
        (0, "As requested", "the newest copy, same URL"),
        (
            1,
            "The newest copy that was found",
            "the newest copy that was found, same URL; 1 of 2",
        ),
    ],
)
def test_the_newest_copy_is_that_of_all_archives(
    failed: int, headline: str, phrase: str
) -> None:
    verdict = Verdict(
        match=Member("within"),
        time=Member("latest", {"got": "2019-01-01"}),
        uri=Member("same"),
        coverage=Member("as-requested"),
        sources=Member("partial" if failed else "complete", {"asked": 2, "failed": failed}),
    )

    assert grade(verdict).headline == headline
    assert in_words(verdict).startswith(phrase)


def test_a_url_without_a_scheme_is_not_called_malformed() -> None:
    verdict = Verdict(
        match=Member("within"),
        uri=Member("same"),
        syntax=Member("repaired", {"diag": "scheme-assumed"}),
    )

    assert in_words(verdict) == "same URL; http:// was added to the URL, which has no scheme"
    [point] = [point for point in explained(verdict) if point.topic == "Reference"]
    assert point.sentence == "http:// was added to the URL, which has no scheme."
    both = structs.replace(
        verdict, syntax=Member("repaired", {"diag": "missing-zone scheme-assumed"})
    )
    assert in_words(both).endswith("the reference was malformed and was repaired")
