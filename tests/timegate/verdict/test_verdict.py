"""Each member of Memento-Precision: every value, and when it applies."""

from dataclasses import replace

import http_sf
import pytest
from msgspec import structs

from archives.model import Closest, Negotiation
from archives.moment import Moment
from archives.registry import Registry, entry_from, load_known
from tests.fakes import an_entry
from tests.timegate.resolution.resolutions import (
    PAGE,
    REGISTRY,
    absent,
    asking,
    failed,
    found,
    memento,
    resolved,
)
from timegate.identifiers import parse
from timegate.resolution.model import Attempt, Query, Rule, Skip, Syntax
from timegate.resolution.query import query_for, query_for_url
from timegate.verdict import (
    Member,
    Verdict,
    header,
    in_words,
    location,
    raw_address,
    verdict,
)

SECOND = "20160122112029"


def judged(query: Query, best: Attempt | None, *others: Attempt) -> Verdict:
    return verdict(resolved(query, best, *others), REGISTRY)


def of(member: Member | None) -> Member:
    assert member is not None
    return member


def test_the_worked_example_is_written_to_the_letter() -> None:
    """X-9, with the three members that it leaves out."""
    text = "urn:pwid:archive.org:2016-01-22T11:20:29Z:site:http://www.dr.dk/"
    query = query_for(parse(text, load_known()), load_known())
    copy = memento("20160123040000", "arquivo-pt")
    others = [*map(absent, "abcdef"), failed("g")]
    resolution = replace(resolved(query, found(copy), *others), unanswered=("h",))

    field = header(verdict(resolution, load_known()))

    assert field == (
        "match=substitute, evidence=delivered, "
        'archive=other;req="archive.org";got="arquivo.pt", '
        'time=after;req="2016-01-22T11:20:29Z";got="2016-01-23T04:00:00Z";delta=59971, '
        "granularity=same;req=second;got=second, coverage=ignored;req=site;got=page, "
        "uri=same, content=rewritten, sources=partial;asked=9;failed=2, "
        "negotiation=identifier, syntax=strict"
    )


@pytest.mark.parametrize(
    ("archive_id", "archive", "value", "match"),
    [
        ("archive.org", "internet-archive", "same", "exact"),
        ("ARCHIVE.org", "internet-archive", "same", "exact"),
        ("web.archive.org", "internet-archive", "alias", "exact"),
        ("wayback.archive.org", "internet-archive", "alias", "exact"),
        (None, "internet-archive", "any", "exact"),
        ("archive.org", "arquivo-pt", "other", "substitute"),
        ("archive.org", "gone-from-the-registry", "other", "substitute"),
        ("~unheard", "arquivo-pt", "unknown", "substitute"),
        ("europarchive.org", "internet-archive", "unknown", "substitute"),
    ],
)
def test_the_answering_archive_is_compared_with_the_named_one(
    archive_id: str | None, archive: str, value: str, match: str
) -> None:
    result = judged(asking(SECOND, archive_id), found(memento(SECOND, archive)))

    assert of(result.archive).value == value
    assert of(result.archive)["req"] == archive_id
    assert result.match.value == match


def test_an_archive_without_a_pwid_id_is_called_by_its_id() -> None:
    query = asking(SECOND, "nameless", archive="nameless")

    result = judged(query, found(memento(SECOND, "nameless")))

    assert result.archive == Member("same", {"req": "nameless", "got": "nameless"})


@pytest.mark.parametrize(
    ("asked", "stamp", "time", "delta", "granularity", "match"),
    [
        (SECOND, SECOND, "exact", 0, "same", "exact"),
        (SECOND, "20160122112028", "before", -1, "same", "approximate"),
        (SECOND, "20160122112030", "after", 1, "same", "approximate"),
        (SECOND, SECOND + "123", "within", 0, "finer", "within"),
        ("201601221120", SECOND, "within", 0, "finer", "within"),
        ("20160122", SECOND, "within", 0, "finer", "within"),
        ("20160122", "20160123000000", "after", 1, "finer", "approximate"),
        ("2016", "20151231235959", "before", -1, "finer", "approximate"),
        (SECOND + "123", SECOND, "within", 0, "truncated", "approximate"),
        (SECOND + "123", SECOND + "123", "within", 0, "same", "approximate"),
        (SECOND + "123456", SECOND + "123", "within", 0, "coarser", "approximate"),
        (SECOND + "123", SECOND + "123456", "within", 0, "finer", "approximate"),
        (SECOND + "123", SECOND + "124", "after", 0, "same", "approximate"),
        (SECOND + "123", SECOND + "122", "before", 0, "same", "approximate"),
        ("20161231235960", "20161231235959", "within", 0, "truncated", "approximate"),
        ("20161231235960", "20161231235960", "exact", 0, "same", "exact"),
        ("20161231235959", "20161231235960", "after", 0, "same", "approximate"),
        ("20161231235960", "20170101000000", "after", 1, "truncated", "approximate"),
        ("9999", "99991231235959", "within", 0, "finer", "within"),
    ],
)
def test_the_time_of_the_capture_is_compared_with_the_requested_time(  # noqa: PLR0913, PLR0917
    asked: str, stamp: str, time: str, delta: int, granularity: str, match: str
) -> None:
    result = judged(asking(asked), found(memento(stamp)))

    assert of(result.time).value == time
    assert of(result.time)["delta"] == delta
    assert of(result.granularity).value == granularity
    assert result.match.value == match


def test_an_interval_is_reported_with_its_end() -> None:
    result = judged(asking("201602"), found(memento("20160201000000")))

    assert dict(of(result.time).params) == {
        "req": "2016-02-01T00:00:00Z",
        "until": "2016-03-01T00:00:00Z",
        "got": "2016-02-01T00:00:00Z",
        "delta": 0,
    }
    assert dict(of(result.granularity).params) == {"req": "month", "got": "second"}


@pytest.mark.parametrize(
    ("asked", "req", "until"), [("5", ".5Z", ".6Z"), ("500", ".500Z", ".501Z")]
)
def test_a_fraction_is_reported_with_the_digits_that_were_stated(
    asked: str, req: str, until: str
) -> None:
    second = "2016-01-22T11:20:29"

    result = judged(asking(SECOND + asked), found(memento(SECOND + "500")))

    time = of(result.time)
    times = time["req"], time["until"], time["got"]
    assert times == (second + req, second + until, second + ".500Z")


@pytest.mark.parametrize(
    ("asked", "stamp", "time", "got"),
    [
        ("20160122112000", "20160122112000", "within", "minute"),
        ("201601221120", "20160122112000", "within", "minute"),
        ("20160122112029", "20160122112000", "before", "minute"),
        ("20160122110000", "20160122110000", "within", "hour"),
        ("20160122000000", "20160122000000", "within", "day"),
        (None, "20160122112000", "latest", "minute"),
    ],
)
def test_zeros_that_may_be_padding_prove_nothing(
    asked: str | None, stamp: str, time: str, got: str
) -> None:
    result = judged(asking(asked, "zeros.example"), found(memento(stamp, "zeros")))

    assert of(result.time).value == time
    assert of(result.granularity).value == "padded"
    assert of(result.granularity)["got"] == got
    assert result.match.value != "exact"


def test_other_stamps_of_an_archive_that_pads_are_trusted() -> None:
    result = judged(asking(SECOND, "zeros.example"), found(memento(SECOND, "zeros")))

    assert result.match.value == "exact"


@pytest.mark.parametrize("identifier", ["duri::http://www.dr.dk/", "tdb::http://www.dr.dk/"])
def test_an_empty_date_means_the_newest_and_reports_that_the_live_web_was_not_tried(
    identifier: str,
) -> None:
    result = judged(asking(None, None, identifier=identifier), found(memento(SECOND)))

    assert of(result.time).value == "latest"
    assert of(result.time)["live"] == "not-tried"
    assert result.match.value == "within"


def test_without_a_requested_time_the_newest_memento_is_within() -> None:
    result = judged(asking(None, None), found(memento(SECOND)))

    assert result.time == Member("latest", {"got": "2016-01-22T11:20:29Z"})
    assert result.match.value == "within"


def test_a_time_that_a_writer_asserted_is_marked() -> None:
    asserted = memento(SECOND)._replace(is_asserted=True)
    result = judged(asking("20160122", None), found(asserted))

    assert of(result.time)["basis"] == "asserted"
    assert ";basis=asserted" in header(result)
    assert "the time of the copy is what its writer asserted" in in_words(result)


def test_the_minting_day_of_a_pdi_is_reported_as_such() -> None:
    result = judged(asking("20160122", None, minted=True), found(memento(SECOND)))

    assert of(result.time)["basis"] == "minted"
    assert ";basis=minted" in header(result)
    assert "the day on which the identifier was minted" in in_words(result)


@pytest.mark.parametrize(
    ("asked", "archive", "value", "got", "content", "match"),
    [
        (None, "internet-archive", "as-requested", "page", "rewritten", "exact"),
        ("page", "internet-archive", "as-requested", "page", "rewritten", "exact"),
        ("webpage", "internet-archive", "as-requested", "page", "rewritten", "exact"),
        ("part", "internet-archive", "as-requested", "part", "raw", "exact"),
        ("part", "nameless", "degraded", "page", "unknown", "substitute"),
        ("site", "internet-archive", "degraded", "page", "rewritten", "approximate"),
        ("subsite", "internet-archive", "degraded", "page", "rewritten", "approximate"),
        ("collection", "internet-archive", "degraded", "page", "rewritten", "approximate"),
        ("snapshot", "internet-archive", "degraded", "page", "rewritten", "approximate"),
        ("recording", "internet-archive", "degraded", "page", "rewritten", "approximate"),
        ("site", "arquivo-pt", "ignored", "page", "rewritten", "substitute"),
        ("other", "internet-archive", "ignored", "page", "rewritten", "approximate"),
        ("hologram", "internet-archive", "ignored", "page", "rewritten", "approximate"),
    ],
)
def test_the_delivered_coverage_is_compared_with_the_requested_one(  # noqa: PLR0913, PLR0917
    asked: str | None, archive: str, value: str, got: str, content: str, match: str
) -> None:
    result = judged(asking(SECOND, precision=asked), found(memento(SECOND, archive)))

    assert of(result.coverage).value == value
    assert of(result.coverage)["got"] == got
    assert of(result.content).value == content
    assert result.match.value == match


def test_raw_bytes_where_a_page_was_meant_are_less_than_a_page() -> None:
    copy = memento(SECOND, uri=f"https://web.archive.org/web/{SECOND}id_/{PAGE}")

    result = judged(asking(SECOND, precision="page"), found(copy))

    assert result.coverage == Member("degraded", {"req": "page", "got": "part"})
    assert of(result.content).value == "raw"


def test_a_part_is_where_the_raw_bytes_are_and_a_page_where_replay_is() -> None:
    copy = found(memento(SECOND))

    part = location(resolved(asking(SECOND, precision="part"), copy), REGISTRY)
    page = location(resolved(asking(SECOND, precision="page"), copy), REGISTRY)

    assert part == f"https://web.archive.org/web/{SECOND}id_/{PAGE}"
    assert page == f"https://internet-archive/{SECOND}/{PAGE}"
    assert location(resolved(asking(SECOND), None), REGISTRY) is None


def test_a_location_is_valid_in_a_header_whatever_the_archive_wrote() -> None:
    copy = memento(SECOND, uri='https://a.example/1/http://b/ä <x>"\r\nSet-Cookie:%20')

    target = location(resolved(asking(SECOND), found(copy)), REGISTRY)

    assert target == "https://a.example/1/http://b/%C3%A4%20%3Cx%3E%22%0D%0ASet-Cookie:%20"


@pytest.mark.parametrize(
    ("status", "reported"), [(None, None), (200, None), (404, 404), (302, 302)]
)
def test_an_archived_status_other_than_200_is_reported(
    status: int | None, reported: int | None
) -> None:
    copy = memento(SECOND)._replace(status=status)

    result = judged(asking(SECOND), found(copy))

    assert of(result.content)["status"] == reported
    assert result.match.value == "exact"


@pytest.mark.parametrize(
    ("asked", "original", "value", "rule"),
    [
        ("http://a.example/x", "http://a.example/x", "same", None),
        ("http://a.example/", "http://a.example", "normalized", "slash"),
        ("http://a.example", "http://a.example:80/", "normalized", "port"),
        ("https://a.example/x", "https://a.example:443/x", "normalized", "port"),
        ("http://a.example/x", "HTTP://A.example/x", "normalized", "case"),
        ("http://a.example/%2f", "http://a.example/%2F", "normalized", "case"),
        ("http://[2001:db8::1]/", "http://[2001:DB8::1]:80/", "normalized", "port"),
        ("http://a.example/x", "https://a.example/x", "variant", "scheme"),
        ("http://a.example/x", "https://a.example:443/x", "variant", "scheme"),
        ("http://a.example/x", "a.example/x", "variant", "scheme"),
        ("http://a.example/x", "http://www.a.example/x", "variant", "www"),
        ("http://a.example/x", "https://www.a.example/x", "variant", "www"),
        ("http://a.example/x", "http://a.example/x/", "variant", "slash"),
        ("http://a.example/~x", "http://a.example/%7Ex", "variant", "percent"),
        ("http://a.example/X", "http://a.example/x", "variant", "case"),
        ("http://a.example/?a&b", "http://a.example/?b&a", "variant", "query-order"),
        ("http://a.example/?a=~", "http://a.example/?a=%7E", "variant", "percent"),
        ("http://a.example/?A", "http://a.example/?a", "variant", "case"),
        ("http://a.example/?t=1", "http://a.example/", "variant", "fuzzy"),
        ("http://a.example/", "http://a.example/?", "variant", "fuzzy"),
        ("http://a.example/x", "http://a.example/y", "redirected", None),
        ("http://a.example/x", "http://b.example/x", "redirected", None),
        ("http://a.example/x", "http://.a.example/x", "redirected", None),
        ("http://a.example/x", "http:/.a.example/x", "redirected", None),
        ("http://a.example/x", "http://a.example:8080/x", "redirected", None),
        ("http://a.example/x", "ftp://a.example/x", "redirected", None),
        ("http://a.example/x", "http://me@a.example/x", "variant", "userinfo"),
        ("http://a..example/x", "http://a.example/x", "variant", "fuzzy"),
        ("http://a.example/x", "http://a.example./x", "variant", "fuzzy"),
        ("http://a.example/b/../x", "http://a.example/x", "variant", "fuzzy"),
        ("http://a.example:8080/x", "http://a.example:8080//x", "variant", "fuzzy"),
        ("http://a.example/?u=http://b/", "a.example/?u=http://b/", "variant", "scheme"),
        ("http://a.example/x", "", "unknown", None),
    ],
)
def test_the_url_of_the_memento_is_compared_with_the_requested_one(
    asked: str, original: str, value: str, rule: str | None
) -> None:
    query = asking(SECOND, original=asked)

    result = judged(query, found(memento(SECOND, original=original), asked))

    assert of(result.uri).value == value
    assert of(result.uri)["rule"] == rule
    assert of(result.uri)["got"] == (original or None if value != "same" else None)
    assert (result.match.value == "exact") == (value in ("same", "normalized"))


@pytest.mark.parametrize(
    ("tried", "variant", "original", "value", "rule"),
    [
        ("http://a.example/b%3Fc", "percent", "http://a.example/b%3Fc", "variant", "percent"),
        ("https://a.example/b?c", "scheme", "https://a.example/b?c", "variant", "scheme"),
        ("https://a.example/b?c", "scheme", "https://a.example/b/?c", "variant", "slash"),
        ("https://a.example/b?c", "scheme", "http://a.example/b?c", "same", None),
        ("https://a.example/b?c", "scheme", "https://b.example/", "redirected", None),
    ],
)
def test_a_variant_that_we_tried_explains_the_difference(
    tried: str, variant: Rule, original: str, value: str, rule: str | None
) -> None:
    query = asking(SECOND, original="http://a.example/b?c")

    result = judged(query, found(memento(SECOND, original=original), tried, variant))

    assert of(result.uri).value == value
    assert of(result.uri)["rule"] == rule


@pytest.mark.parametrize("fragment", ["", "#top"])
def test_a_user_name_that_is_not_sent_to_archives_is_a_difference(fragment: str) -> None:
    query = query_for_url(f"http://me:secret@www.dr.dk/{fragment}", Moment(SECOND))

    result = judged(query, found(memento(SECOND)))

    assert of(result.uri) == Member("variant", {"rule": "userinfo"})
    assert of(result.syntax)["diag"] == "item-user"
    assert result.match.value == "approximate"
    assert "secret" not in header(result)


def test_a_fragment_that_was_part_of_the_identifier_is_a_difference() -> None:
    text = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/%23top"
    query = query_for(parse(text, REGISTRY), REGISTRY)

    result = judged(query, found(memento(SECOND)))

    assert result.uri == Member("variant", {"rule": "fragment"})
    assert result.match.value == "approximate"


@pytest.mark.parametrize(
    ("specifier", "value", "req"),
    [
        (".html.1#char=0,10", "degraded", "fragment char=0,10"),
        (".html.7", "ignored", "version 7"),
        (".gif.99", "ignored", "format gif, version 99"),
        (".html.7#37,51", "ignored", "version 7, fragment 37,51"),
    ],
)
def test_a_part_of_a_pdi_that_was_not_applied_is_said(
    specifier: str, value: str, req: str
) -> None:
    text = f"pdi://a.us/2016/01/22/http:%2f%2fwww%2edr%2edk%2f{specifier}"
    query = query_for(parse(text, REGISTRY), REGISTRY)

    result = judged(query, found(memento(SECOND)))

    assert result.coverage == Member(value, {"req": req, "got": "page"})
    assert f'coverage={value};req="{req}";got=page' in header(result)
    assert result.match.value == "approximate"
    assert f"{req} not applied: this is the whole page" in in_words(result)
    assert "-not-applied" in str(of(result.syntax)["diag"])


def test_a_pdi_of_a_whole_page_is_as_requested() -> None:
    text = "pdi://a.us/2016/01/22/http:%2f%2fwww%2edr%2edk%2f.html.1"
    query = query_for(parse(text, REGISTRY), REGISTRY)

    result = judged(query, found(memento(SECOND)))

    assert of(result.coverage).value == "as-requested"
    assert result.match.value == "within"


def test_a_fragment_that_an_archive_adds_is_no_difference() -> None:
    result = judged(asking(SECOND), found(memento(SECOND, original=PAGE + "#top")))

    assert of(result.uri).value == "same"


def test_archives_that_answered_are_counted_once_and_those_that_did_not_are_failed() -> None:
    variant = structs.replace(absent("b"), original="https://www.dr.dk/", variant="scheme")
    others = [absent("a"), absent("b"), variant, failed("c")]

    result = judged(asking(SECOND), found(memento(SECOND)), *others)

    assert result.sources == Member("partial", {"asked": 4, "failed": 1})
    assert result.match.value == "exact"


def test_sources_are_complete_if_every_archive_answered() -> None:
    result = judged(asking(SECOND), found(memento(SECOND)), absent("a"))

    assert result.sources == Member("complete", {"asked": 2, "failed": 0})


@pytest.mark.parametrize("via", ["timegate", "timemap", "cdx", "template"])
def test_the_negotiation_is_reported_unless_the_reference_has_the_time(
    via: Negotiation,
) -> None:
    copy = found(memento(SECOND), via=via)

    negotiated = judged(asking(SECOND, None), copy)
    named = judged(asking(SECOND, None, identifier="duri:2016:http://www.dr.dk/"), copy)
    newest = judged(asking(None, None, identifier=PAGE), copy)

    assert of(negotiated.negotiation).value == via
    assert of(named.negotiation).value == "identifier"
    assert of(newest.negotiation).value == via


@pytest.mark.parametrize("syntax", ["strict", "legacy", "repaired"])
def test_repairs_are_reported_and_do_not_change_the_match(syntax: Syntax) -> None:
    query = asking(SECOND, syntax=syntax, diagnostics=("missing-zone", "iri", "missing-zone"))

    result = judged(query, found(memento(SECOND)))

    assert result.syntax == Member(syntax, {"diag": "missing-zone iri"})
    assert result.match.value == "exact"
    assert header(result).endswith(f'syntax={syntax};diag="missing-zone iri"')


def test_without_a_memento_only_the_sources_are_reported() -> None:
    result = judged(asking(SECOND), None, absent("a"), failed("b"))

    assert header(result) == "match=none, sources=partial;asked=2;failed=1, syntax=strict"
    assert in_words(result) == "no copy found; 1 of 2 archives did not answer"


def test_a_url_outside_ascii_is_written_in_ascii() -> None:
    copy = memento(SECOND, original='http://www.dr.dk/æ\r\n"x\\\ud800')

    field = header(judged(asking(SECOND), found(copy)))

    written = http_sf.parse(field.encode("ascii"), tltype="dictionary")
    assert isinstance(written, dict)
    assert written["uri"] == (
        http_sf.Token("redirected"),
        {"got": 'http://www.dr.dk/%C3%A6%0D%0A"x\\?'},
    )


def test_a_url_too_long_for_a_header_is_left_to_the_report() -> None:
    copy = memento(SECOND, original="http://www.dr.dk/" + "x" * 2500)

    result = judged(asking(SECOND), found(copy))

    assert "uri=redirected, content" in header(result)
    assert len(str(of(result.uri)["got"])) > 2500


@pytest.mark.parametrize(
    ("query", "stamp", "archive", "words"),
    [
        (asking(SECOND), SECOND, "internet-archive",
         "at exactly the requested time, in the requested archive, same URL"),
        (asking(SECOND), "20160125112029", "arquivo-pt",
         "3 days later, in another archive, same URL"),
        (asking(SECOND), "20160122112028", "internet-archive",
         "1 second earlier, in the requested archive, same URL"),
        (asking("2016", None), "20091231235959", "arquivo-pt", "6 years earlier, same URL"),
        (asking("2016", None), SECOND, "arquivo-pt", "within the requested time, same URL"),
        (asking(None, None), SECOND, "arquivo-pt", "the newest copy, same URL"),
        (asking(SECOND + "1"), SECOND + "2", "internet-archive",
         "less than a second later, in the requested archive, same URL"),
        (asking(SECOND, precision="site"), SECOND, "internet-archive",
         ("at exactly the requested time, in the requested archive, same URL; "
         "a page instead of a site")),
    ],
)  # fmt: skip
def test_a_verdict_in_words(query: Query, stamp: str, archive: str, words: str) -> None:
    assert in_words(judged(query, found(memento(stamp, archive)))) == words


@pytest.mark.parametrize(
    ("replay", "value"),
    [("http://us.example/collections/mine", "raw"), ("http://pywb.example/mine", "rewritten")],
)
def test_an_own_memento_is_unaltered_unless_another_server_replays_it(
    replay: str, value: str
) -> None:
    entry = entry_from(
        {
            "id": "mine",
            "kind": "warc",
            "path": "/srv/warcs",
            "replay": replay + "/{time14}/{uri}",
            "raw": "http://us.example/collections/mine/{time14}id_/{uri}",
        },
        "here",
    )
    copy = memento(SECOND, "mine")._replace(uri=f"{replay}/{SECOND}/{PAGE}")

    result = verdict(resolved(asking(SECOND), found(copy)), Registry((entry,)))

    assert of(result.content).value == value
    assert of(result.coverage).value == "as-requested"


def test_a_doubt_in_words() -> None:
    certain = found(memento(SECOND))
    assert isinstance(certain.outcome, Closest)
    doubtful = structs.replace(
        certain, outcome=structs.replace(certain.outcome, doubts=("two dates",))
    )

    result = judged(asking(SECOND), doubtful)

    assert result.match.value == "approximate"
    assert "; doubtful: two dates" in in_words(result)


def test_sources_are_partial_if_the_named_archive_was_not_queried() -> None:
    skip = Skip("internet-archive", "not-in-use", "off")
    resolution = replace(resolved(asking(SECOND), None, absent("arquivo-pt")), named_skip=skip)

    result = verdict(resolution, REGISTRY)

    assert header(result) == (
        "match=none, sources=partial;asked=1;failed=0;unasked=1, syntax=strict"
    )
    assert in_words(result) == "no copy found; the requested archive was not queried"


def test_an_archive_with_an_attempt_was_queried_whatever_the_plan_says() -> None:
    skip = Skip("internet-archive", "excluded", "its copy could not be verified")
    resolution = replace(
        resolved(asking(SECOND), None, failed("internet-archive")), named_skip=skip
    )

    assert resolution.unqueried is None
    assert verdict(resolution, REGISTRY).sources == Member("partial", {"asked": 1, "failed": 1})


def test_without_any_queried_archive_sources_are_not_complete() -> None:
    result = judged(asking(SECOND), None)

    assert header(result) == "match=none, sources=partial;asked=0;failed=0, syntax=strict"
    assert in_words(result) == "no copy found; no archive was queried"


HELD = an_entry(
    "warc",
    id="mine",
    pwid=("mine.example",),
    replay="https://gate.example/collections/mine/{time14}/{uri}",
    raw="https://gate.example/collections/mine/{time14}id_/{uri}",
)


@pytest.mark.parametrize(
    ("asked", "stamp", "time", "granularity", "match"),
    [
        (SECOND + "250", SECOND + "250", "exact", "same", "exact"),
        (SECOND + "25", SECOND + "250", "within", "finer", "within"),
        (SECOND + "250", SECOND + "25", "within", "coarser", "approximate"),
        (SECOND + "250", SECOND, "within", "truncated", "approximate"),
        (SECOND + "250", SECOND + "900", "after", "same", "approximate"),
        (SECOND, SECOND + "250", "within", "finer", "within"),
        (SECOND, SECOND, "exact", "same", "exact"),
    ],
)
def test_a_held_record_with_the_same_digits_is_exact(
    asked: str, stamp: str, time: str, granularity: str, match: str
) -> None:
    query = replace(asking(asked, None), archive_id="mine.example", archive="mine")
    copy = memento(stamp, "mine", uri=f"https://gate.example/collections/mine/{stamp}/{PAGE}")

    result = verdict(resolved(query, found(copy)), Registry([HELD]))

    assert of(result.time).value == time
    assert of(result.granularity).value == granularity
    assert result.match.value == match


def test_the_bytes_of_a_held_record_are_at_an_address_with_all_its_digits() -> None:
    copy = memento(SECOND + "250", "mine", uri=f"https://other.example/{SECOND}250/{PAGE}")

    raw = "https://gate.example/collections/mine/{}id_/" + PAGE
    assert raw_address(copy, HELD) == raw.format(SECOND + "250")
    remote = replace(HELD, kind=an_entry("memento", timegate="https://t.example/").kind)
    assert raw_address(copy, remote) == raw.format(SECOND)
